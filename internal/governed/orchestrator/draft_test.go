//go:build unix

package orchestrator

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

func init() {
	half := func(w *worker) {
		w.append("work.txt")
		if err := os.WriteFile(w.staging, []byte(`{"schema_version":"1.0","turn`), 0o644); err != nil {
			panic(err)
		}
		w.outside("pids", "there")
	}
	workers["writes half and hangs"] = func(w *worker) { half(w); time.Sleep(time.Minute) }
	workers["writes half and dies"] = func(w *worker) { half(w); os.Exit(3) }
}

// A draft is a person's: a wait that ends leaves it where it is, and the turn open.
func TestADraftStays(t *testing.T) {
	t.Parallel()
	for name, draft := range map[string]func(p *world, turn string) string{
		"template": func(p *world, turn string) string {
			return strings.Replace(p.read(filepath.Join(filepath.Dir(protocol.StagedFile(turn)), "turn-result.template.json")), "<what you decided>", "it is small", 1)
		},
		"half":  func(*world, string) string { return `{"schema_version":"1.0","run_id":` },
		"notes": func(*world, string) string { return "did it, write this down later" },
	} {
		for end, o := range map[string]govern.StepOptions{"interrupted": {}, "timed out": {Timeout: 300 * time.Millisecond}} {
			t.Run(name+", "+end, func(t *testing.T) {
				t.Parallel()
				p := newProject(t, one(manualRuntime, ""))
				turn := p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true}).TurnID
				text := draft(p, turn)
				p.stage(turn, text)
				for range 2 {
					p.forget()
					ctx, cancel := context.WithCancel(t.Context())
					if o.Timeout == 0 {
						go func() {
							eventually(t, "the draft is looked at", func() bool { return strings.Contains(strings.Join(p.heard("output"), "\n"), "not ready yet") })
							cancel()
						}()
					}
					r, err := p.engine().Step(ctx, o)
					cancel()
					if err != nil {
						t.Fatal(err)
					}
					if r.Outcome != govern.OutcomeInterrupted || r.Attempt != 1 || r.Next != "drawbar govern step" || !strings.Contains(r.Hint, "turn-result.json") {
						t.Fatalf("%s %s, attempt %d, next %s, hint %q", r.Outcome, r.Code, r.Attempt, r.Next, r.Hint)
					}
				}
				if got := p.read(protocol.StagedFile(turn)); got != text {
					t.Errorf("the draft is now %q", got)
				}
				if at := p.state().ActiveTurns.At(turn); at == nil || at.Attempt != 1 || p.state().Status != protocol.RunActive {
					t.Errorf("%+v, run %s", at, p.state().Status)
				}
				if n := len(p.events("acceptance_failed")) + len(p.events("turn_rejected")); n > 0 {
					t.Errorf("%d events speak of a result", n)
				}
				p.write("work.txt", "by hand\n")
				p.stage(turn, handWritten(p, turn, "work.txt"))
				if r := p.step(govern.OutcomeAccepted); r.TurnID != turn || r.Attempt != 1 {
					t.Errorf("%+v", r)
				}
				p.sound()
			})
		}
	}
}

// A person who corrects what accept refused is not judged before they are ready.
func TestADraftAfterARefusal(t *testing.T) {
	t.Parallel()
	p := newProject(t, one(manualRuntime, ""))
	turn := p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true}).TurnID
	p.stage(turn, `{"schema_version":"1.0"}`)
	if r, err := p.engine().Accept(t.Context(), govern.AcceptOptions{}); err != nil || r.Outcome != govern.OutcomeFailed {
		t.Fatalf("%+v %v", r, err)
	}
	p.stage(turn, `{"schema_version":"1.0","run`)
	if r := p.step(govern.OutcomeFailed); r.Attempt != 1 || !strings.Contains(strings.Join(r.Errors, " "), "turn-result.json") {
		t.Errorf("%+v", r)
	}
	if got := p.read(protocol.StagedFile(turn)); got == "" {
		t.Error("the draft is gone")
	}
	p.write("work.txt", "by hand\n")
	p.stage(turn, handWritten(p, turn, "work.txt"))
	p.step(govern.OutcomeAccepted)
}

// What a program had half written when it was ended is no result: the turn is as far as if nothing were there.
func TestHalfAResult(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		worker, on string
		want       govern.Outcome
		timeout    time.Duration
	}{
		"interrupted": {worker: "writes half and hangs", want: govern.OutcomeInterrupted},
		"timed out":   {worker: "writes half and hangs", want: govern.OutcomeBlocked, on: "dispatch:timeout", timeout: 700 * time.Millisecond},
		"dead":        {worker: "writes half and dies", want: govern.OutcomeBlocked, on: "dispatch:exit-3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside := t.TempDir()
			p := newProject(t, one(strings.Replace(runtimeOf(c.worker), `"env":{`, `"env":{"DRAWBAR_TEST_OUTSIDE":"`+outside+`",`, 1), ""))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.want == govern.OutcomeInterrupted {
				go func() {
					eventually(t, "half is written", func() bool { _, err := os.Stat(filepath.Join(outside, "pids")); return err == nil })
					cancel()
				}()
			}
			r, err := p.engine().Step(ctx, govern.StepOptions{Timeout: c.timeout})
			if err != nil || r.Outcome != c.want || protocol.Deref(p.state().BlockedOn) != c.on || r.Attempt != 1 {
				t.Fatalf("%s %s, attempt %d, blocked on %q: %v", r.Outcome, r.Code, r.Attempt, protocol.Deref(p.state().BlockedOn), err)
			}
			if n := len(p.events("acceptance_failed")); n > 0 {
				t.Error("half a result was judged")
			}
			p.write("agentxchain.json", one(runtimeOf("ok"), ""))
			if r := p.step(govern.OutcomeAccepted, govern.StepOptions{Resume: true}); r.Attempt != 1 {
				t.Errorf("%+v", r)
			}
			p.sound()
		})
	}
}
