package adaptertest_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	variants := map[string]func() execution.Capabilities{
		"capable": at.Capable,
		"native limits": func() execution.Capabilities {
			c := at.Capable()
			c.Agent.MaxTurns, c.Agent.Budget = true, true
			return c
		},
		"one shot": func() execution.Capabilities {
			c := at.Capable()
			c.Agent.InteractiveMode, c.Agent.Verbs = false, []execution.Verb{}
			return c
		},
	}
	for name, declared := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := at.FakeSubject(&at.Fake{Declared: declared})
			s.Source = "../../execution"
			at.Test(t, s)
		})
	}
}

// TestBareConforms runs the suite on a backend that can do nothing but answer: whatever it lacks is refused.
func TestBareConforms(t *testing.T) {
	t.Parallel()
	s := at.FakeSubject(&at.Fake{Declared: at.Bare})
	s.Cannot = map[at.Scenario]string{at.Clarify: "it does not ask", at.Approval: "it does not ask", at.Steps: "it makes one call",
		at.Spend: "it is free", at.Talk: "it answers once", at.Think: "it does not think"}
	skipped := 0
	failures := at.RunAll(t.Context(), s, func(o at.Outcome) {
		if o.Verdict == at.Skipped {
			skipped++
			if o.Message == "" {
				t.Errorf("%s is skipped without a reason", o.Check.Name)
			}
		}
		if o.Verdict == at.Failing {
			t.Errorf("%s: %s", o.Check.Name, o.Message)
		}
	})
	if failures > 0 || skipped == 0 {
		t.Errorf("%d failures, %d skipped", failures, skipped)
	}
}

func TestRunAllReportsEachCheckOnce(t *testing.T) {
	t.Parallel()
	s := at.FakeSubject(&at.Fake{})
	s.Cannot = map[at.Scenario]string{at.Hang: "it never hangs", at.Crash: ""}
	seen := map[string]at.Outcome{}
	n := 0
	failures := at.RunAll(t.Context(), s, func(o at.Outcome) { n++; seen[o.Check.Name] = o })
	if n != len(at.Suite()) || len(seen) != n {
		t.Errorf("%d outcomes for %d checks, want one each of %d", n, len(seen), len(at.Suite()))
	}
	if o := seen["cancel"]; o.Verdict != at.Skipped || !strings.Contains(o.Message, "it never hangs") {
		t.Errorf("cancel: %s %q, want a skip with its reason", o.Verdict, o.Message)
	}
	if o := seen["failure-crash"]; o.Verdict != at.Failing {
		t.Errorf("failure-crash: %s %q, want a failure for a scenario that is left out silently", o.Verdict, o.Message)
	}
	if failures != 1 {
		t.Errorf("%d failures, want 1", failures)
	}
	if o := seen["imports"]; o.Verdict != at.Skipped || o.Message == "" {
		t.Errorf("imports: %s %q, want a skip with its reason", o.Verdict, o.Message)
	}
}

// TestLastRequestRuns: a subject's requests may share a file that points at the model, so no check makes one for another scenario
// before it has run the one it made.
func TestLastRequestRuns(t *testing.T) {
	t.Parallel()
	for _, c := range at.Suite() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var last execution.Prompt
			w := &twisted{Fake: &at.Fake{}}
			w.execute = func(inner adapter.Adapter, ctx context.Context, req execution.Request, in adapter.Inbox) iter.Seq2[execution.Event, error] {
				mu.Lock()
				defer mu.Unlock()
				if text := req.Message.Text; strings.HasPrefix(string(text), "play ") && text != last {
					t.Errorf("%q is run after the request for %q was made", text, last)
				}
				return inner.Execute(ctx, req, in)
			}
			s := at.FakeSubject(w.Fake)
			s.Backend = func() agent.Backend {
				return agent.Backend{Name: "fake", Adapter: w, DefaultModel: "fake-1", Models: []execution.Model{{ID: "fake-1"}}}
			}
			s.Request = func(sc at.Scenario) execution.Request {
				req := at.PlayRequest(sc)
				mu.Lock()
				defer mu.Unlock()
				last = req.Message.Text
				return req
			}
			if o := at.RunOne(t.Context(), s, c); o.Verdict == at.Failing {
				t.Error(o.Message)
			}
		})
	}
}

func TestRunOneContainsPanics(t *testing.T) {
	t.Parallel()
	s := at.FakeSubject(&at.Fake{})
	s.Backend = func() agent.Backend { panic("no backend") }
	for _, c := range at.Suite() {
		o := at.RunOne(t.Context(), s, c)
		if o.Verdict == at.Pass || o.Verdict == at.Failing && !strings.Contains(o.Message, "no backend") {
			t.Errorf("%s: %s %q", c.Name, o.Verdict, strings.SplitN(o.Message, "\n", 2)[0])
		}
	}
}

func TestCancelledSuiteFails(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := at.FakeSubject(&at.Fake{})
	for _, c := range at.Suite() {
		if c.Name == "simple-completes" {
			if o := at.RunOne(ctx, s, c); o.Verdict != at.Failing {
				t.Errorf("%s %s under a cancelled context", o.Verdict, o.Message)
			}
		}
	}
}

func TestSizeWarns(t *testing.T) {
	t.Parallel()
	for _, c := range at.Suite() {
		if c.Name != "size" {
			continue
		}
		s := at.FakeSubject(&at.Fake{})
		s.Source = "."
		if o := at.RunOne(t.Context(), s, c); o.Verdict != at.Pass || !strings.Contains(o.Message, "warning") {
			t.Errorf("a large adapter: %s %q, want a pass with a warning", o.Verdict, o.Message)
		}
		s.Source = module(t, map[string]string{"adapter.go": "package x\n\n// comment\nvar X = 1\n"})
		if o := at.RunOne(t.Context(), s, c); o.Verdict != at.Pass || o.Message != "" {
			t.Errorf("a small adapter: %s %q, want a pass", o.Verdict, o.Message)
		}
	}
}

// TestRefusesASecond: an agent that has one run at a time and refuses the others is not held to keep them apart; one that refuses all is.
func TestRefusesASecond(t *testing.T) {
	t.Parallel()
	isolation := at.Suite()[slices.IndexFunc(at.Suite(), func(c at.Check) bool { return c.Name == "isolation" })]
	for first, want := range map[int32]at.Verdict{1: at.Skipped, 0: at.Failing} {
		b := newBroken()
		var n atomic.Int32
		b.edit(result(func(r *execution.Result) {
			if n.Add(1) > first {
				r.Status, r.Error = execution.StatusUnsupported, &execution.ResultError{Code: execution.FailureUnsupportedCapability, Message: "another run has it"}
			}
		}))
		if o := at.RunOne(t.Context(), b.s, isolation); o.Verdict != want {
			t.Errorf("%d of the runs complete: %s %q, want %s", first, o.Verdict, o.Message, want)
		}
	}
}
