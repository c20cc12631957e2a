//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/execution"
)

// TestInterruptKeepsTheConversation: an interrupt, by the key and by the command, ends the turn and its tool; the next message
// is answered; two interrupts between turns leave.
func TestInterruptKeepsTheConversation(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"x"}]}`)
		// An agent may ask its model once more within a turn that is interrupted, so an answer belongs to a message, not to a place.
		on := func(message, answer string) string {
			return fmt.Sprintf(`{"match":{"contains":%q},%s}`, message, answer)
		}
		tool := fmt.Sprintf(`"tools":[%s]`, k.shell("tail -f /dev/null"))
		l = relab(t, l, `{"onExhausted":"text:more","turns":[`+strings.Join([]string{on("begin 0", tool), on("go on 0", `"text":"I go on."`),
			on("begin 1", tool), on("go on 1", `"text":"And on."`)}, ",")+`]}`)
		s := l.startWith(true, "-i", "--approve", "yolo", "begin 0")
		say := func(line string) {
			if _, err := io.WriteString(s.in, line+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		interrupt := func() {
			if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
		turnEnds := func() execution.TurnEnd {
			e := s.until("turn_end", func(e execution.Event) bool {
				if e.Terminal() {
					t.Fatalf("the run ended: %+v", e.Body)
				}
				_, ok := e.Body.(execution.TurnEnd)
				return ok && e.Parent == ""
			})
			return e.Body.(execution.TurnEnd)
		}
		for i, how := range []func(){interrupt, func() { say("/interrupt") }} {
			s.toolRuns()
			how()
			if end := turnEnds(); end.Reason != execution.TurnInterrupted {
				t.Errorf("interrupt %d: the turn ended %s", i, end.Reason)
			}
			say(fmt.Sprintf("go on %d", i))
			if end := turnEnds(); end.Reason != execution.TurnCompleted || end.Text != []string{"I go on.", "And on."}[i] {
				t.Errorf("after interrupt %d: the turn ended %s, %q", i, end.Reason, end.Text)
			}
			if i == 0 {
				say("begin 1")
			}
		}
		interrupt()
		time.Sleep(300 * time.Millisecond) // the kernel merges pending signals of one kind
		interrupt()
		o := s.end()
		if u := o.result.Usage; u == nil || u.Input < 400 && (o.result.Cost == nil || !o.result.Cost.Unpriced) {
			t.Errorf("tokens of four calls, %+v, and the cost says nothing of a rest: %+v", u, o.result.Cost)
		}
		t.Logf("%s %+v, usage %+v, cost %+v, metadata %v", o.result.Outcome(), o.result.Error, o.result.Usage, o.result.Cost, o.result.Metadata)
		if o.code != 0 || o.result.Status != execution.StatusCompleted || o.result.TurnCount != 4 {
			t.Errorf("leaving: exit %d, %s, %d turns, %+v", o.code, o.result.Outcome(), o.result.TurnCount, o.result.Error)
		}
	})
}

// TestInterruptAtTheStart: an interrupt that comes before the agent works, or just then, is not lost.
func TestInterruptAtTheStart(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		moments := map[string]func(execution.Event) bool{
			"at once": nil,
			"session": func(e execution.Event) bool { return e.Body.Type() == execution.SessionStart{}.Type() },
			"turn":    func(e execution.Event) bool { return e.Body.Type() == execution.TurnStart{}.Type() },
		}
		for name, reached := range moments {
			l := newLab(t, k, `{"turns":[{"hang":true,"repeat":true}]}`)
			c := l.talk(execution.Request{Message: execution.Message{Text: "hang"}}, drawbar.RunOptions{})
			if reached != nil {
				c.until(name, reached)
			}
			if err := c.run.Interrupt(); err != nil {
				t.Fatal(err)
			}
			c.run.CloseInput()
			if res, err := c.run.Result(t.Context()); err != nil || res.Error.ErrorCode() != execution.CodeInterrupted {
				t.Errorf("%s: %s %+v %v", name, res.Status, res.Error, err)
			}
		}
	})
}
