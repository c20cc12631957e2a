//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// TestInterruptKeepsTheConversation: an interrupt, by the key and by the command, ends the turn and its tool; the next message
// is answered; two interrupts between turns leave.
func TestInterruptKeepsTheConversation(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"x"}]}`)
		tool := fmt.Sprintf(`{"tools":[%s]}`, k.shell("tail -f /dev/null"))
		l = relab(t, l, `{"onExhausted":"text:more","turns":[`+tool+`,{"text":"I go on."},`+tool+`,{"text":"And on."}]}`)
		s := l.startWith(true, "-i", "--approve", "yolo", "go")
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
			say("go on")
			if end := turnEnds(); end.Reason != execution.TurnCompleted {
				t.Errorf("after interrupt %d: the turn ended %s", i, end.Reason)
			}
			if i == 0 {
				say("once more")
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
