package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

func TestDeadlines(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		ctx       time.Duration
		timeout   int64
		elapsed   int64
		options   time.Duration
		wantAfter time.Duration
	}{
		{"ctx", time.Second, 0, 0, 0, time.Second},
		{"timeout", 0, 2000, 0, 0, 2 * time.Second},
		{"maxElapsedMs", 0, 0, 50, 0, 50 * time.Millisecond},
		{"options", 0, 0, 0, 20 * time.Minute, 20 * time.Minute},
		{"ctx is shortest", time.Second, 2000, 3000, 4 * time.Second, time.Second},
		{"timeout is shortest", 4 * time.Second, 1000, 3000, 4 * time.Second, time.Second},
		{"maxElapsedMs is shortest", 4 * time.Second, 3000, 1000, 4 * time.Second, time.Second},
		{"options are shortest", 4 * time.Second, 3000, 2000, time.Second, time.Second},
		{"longer than a duration can be", time.Second, 0, 18_446_744_073_710, 0, time.Second}, // times 10^6 it wraps around to 0.4 ms
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tt.ctx > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.ctx)
					defer cancel()
				}
				req := request("x")
				req.Run.TimeoutMs = tt.timeout
				req.Requirements = &execution.Requirements{MaxElapsedMs: tt.elapsed}
				begun := time.Now()
				r, err := agent.New(backend(hang)).Start(ctx, req, agent.Options{MaxElapsed: tt.options})
				if err != nil {
					t.Fatal(err)
				}
				res, events := finish(t, r)
				if took := time.Since(begun); took != tt.wantAfter {
					t.Errorf("ended after %v, want %v", took, tt.wantAfter)
				}
				want(t, res, execution.StatusFailed, execution.FailureTimeout)
				if res.ExitReason != execution.ExitByTimeout || r.State() != execution.StateTimedOut || !res.Error.Retryable {
					t.Errorf("got %s %s %+v", res.ExitReason, r.State(), res.Error)
				}
				if n := bodies[execution.Timeout](events); len(n) != 1 || n[0].Kind != execution.TimeoutRun {
					t.Errorf("timeout events: %+v", n)
				}
				if res.Continuation == nil || res.Continuation.Kind != execution.ContinuationDeferred || res.Continuation.State["sessionId"] != "s-1" {
					t.Errorf("no way to go on: %+v", res.Continuation)
				}
			})
		})
	}
}

func TestCancelIsNoTimeout(t *testing.T) {
	t.Parallel()
	quota := errors.New("quota")
	late := context.DeadlineExceeded // somebody else's deadline, as a cause
	for _, cause := range []error{nil, quota, late} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			req := request("x")
			req.Run.TimeoutMs = 60_000
			r, err := agent.New(backend(hang)).Start(ctx, req, agent.Options{})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			cancel(cause)
			res, events := finish(t, r)
			want(t, res, execution.StatusFailed, execution.FailureCancelled)
			if res.ExitReason != execution.ExitReasonAbort || r.State() != execution.StateAborted {
				t.Errorf("got %s %s", res.ExitReason, r.State())
			}
			if cause != nil && !strings.Contains(res.Error.Message, cause.Error()) {
				t.Errorf("%q does not say %v", res.Error.Message, cause)
			}
			if len(bodies[execution.Timeout](events)) != 0 || len(bodies[execution.Aborted](events)) != 1 {
				t.Errorf("got %v", types(events))
			}
		})
	}
}

func TestCancelledBeforeTheStart(t *testing.T) {
	t.Parallel()
	f := &at.Fake{Script: answer}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := agent.New(agent.Backend{Name: "fake", Adapter: f}).Start(ctx, request("x"), agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	res, _ := finish(t, r)
	want(t, res, execution.StatusFailed, execution.FailureCancelled)
	if f.Starts() != 0 {
		t.Error("the backend was started")
	}
}

func TestAbort(t *testing.T) {
	t.Parallel()
	mine := errors.New("changed my mind")
	synctest.Test(t, func(t *testing.T) {
		r := start(t, backend(hang), request("x"), agent.Options{})
		synctest.Wait()
		r.Abort(mine)
		r.Abort(nil)
		res, events := finish(t, r)
		want(t, res, execution.StatusFailed, execution.FailureCancelled)
		if !strings.Contains(res.Error.Message, mine.Error()) || res.Text != "working" {
			t.Errorf("got %+v %q", res.Error, res.Text)
		}
		if n := len(bodies[execution.Aborted](events)); n != 1 {
			t.Errorf("%d aborted events", n)
		}
		r.Abort(nil)
		if again, _ := r.Result(t.Context()); again.Error.Message != res.Error.Message {
			t.Error("abort after the end changed the result")
		}
	})
	// In every other state, and at once.
	for name, prepare := range map[string]func(*testing.T, *agent.Run){
		"at once": func(*testing.T, *agent.Run) {},
		"paused": func(t *testing.T, r *agent.Run) {
			synctest.Wait()
			if err := r.Pause(); err != nil {
				t.Error(err)
			}
		},
		"interrupted": func(t *testing.T, r *agent.Run) {
			synctest.Wait()
			if err := r.Interrupt(); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := start(t, backend(hang), conversation(), agent.Options{})
				prepare(t, r)
				r.Abort(nil)
				res, _ := finish(t, r)
				want(t, res, execution.StatusFailed, execution.FailureCancelled)
				if r.State() != execution.StateAborted {
					t.Errorf("the run is %s", r.State())
				}
			})
		})
	}
}

// interruptible ends a turn when it is interrupted, and goes on with the next message.
func interruptible(c *at.Call) execution.Result {
	opened(c)
	c.Say("working")
	for {
		cmd, err := c.Next()
		if err != nil {
			return at.Failed(execution.CodeAborted, err.Error())
		}
		switch cmd := cmd.(type) {
		case execution.Interrupt:
			_ = c.Sleep(time.Second)
			c.Emit(execution.TurnEnd{Reason: execution.TurnInterrupted})
			if !c.Request.Run.Interactive {
				return at.Completed()
			}
		case execution.Say:
			c.Emit(execution.InputTaken{ID: cmd.ID}, execution.TurnStart{})
			c.Say(cmd.Text)
			ended(c)
		case execution.EndInput:
			if c.Request.Run.Interactive {
				return at.Completed()
			}
		}
	}
}

// TestInactivityThatInterrupts: an agent that ends its turn as interrupted when it is stopped for its silence was silent, not interrupted.
func TestInactivityThatInterrupts(t *testing.T) {
	t.Parallel()
	res, _ := run(t, backend(func(c *at.Call) execution.Result {
		opened(c)
		c.Emit(execution.Timeout{Kind: execution.TimeoutInactivity}, execution.TurnEnd{Reason: execution.TurnInterrupted})
		silent := at.Failed(execution.CodeInactivityTimeout, "the agent was silent")
		silent.ExitReason = execution.ExitInactivity
		return silent
	}), request("x"), agent.Options{})
	if res.Error.ErrorCode() != execution.CodeInactivityTimeout || res.ExitReason != execution.ExitInactivity {
		t.Errorf("got %s %+v", res.ExitReason, res.Error)
	}
}

func TestInterruptConversation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, backend(interruptible), conversation(), agent.Options{})
		synctest.Wait()
		for range 3 { // once is enough
			if err := r.Interrupt(); err != nil {
				t.Fatal(err)
			}
		}
		if s := r.State(); s != execution.StateInterrupted {
			t.Errorf("the run is %s", s)
		}
		time.Sleep(2 * time.Second)
		if s := r.State(); s != execution.StateRunning {
			t.Errorf("after the turn the run is %s", s)
		}
		if err := r.Interrupt(); execution.CodeOf(err) != execution.CodeInvalidStateTransition {
			t.Errorf("between turns: %v", err)
		}
		if _, err := r.Send("go on", ""); err != nil {
			t.Fatal(err)
		}
		r.CloseInput()
		res, events := finish(t, r)
		want(t, res, execution.StatusCompleted, "")
		if n := len(bodies[execution.Interrupted](events)); n != 1 || res.TurnCount != 2 || res.Text != "workinggo on" {
			t.Errorf("%d interrupted, %d turns, %q", n, res.TurnCount, res.Text)
		}
		if err := r.Interrupt(); execution.CodeOf(err) != execution.CodeRunNotActive {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestInterruptEndsRuns(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		b    agent.Backend
		req  execution.Request
	}{
		{"one shot", backend(interruptible), request("x")},
		{"no message for it", declaring(hang, func(c *execution.Capabilities) { c.Agent.Verbs = nil }), request("x")},
		{"no message for it, conversation", declaring(hang, func(c *execution.Capabilities) { c.Agent.Verbs = nil }), conversation()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := start(t, tt.b, tt.req, agent.Options{})
				synctest.Wait()
				if err := r.Interrupt(); err != nil {
					t.Fatal(err)
				}
				res, events := finish(t, r)
				want(t, res, execution.StatusFailed, execution.FailureCancelled)
				if res.ExitReason != execution.ExitInterrupted || res.Error.ErrorCode() != execution.CodeInterrupted || r.State() != execution.StateCompleted {
					t.Errorf("got %s %s %s", res.ExitReason, res.Error.ErrorCode(), r.State())
				}
				ends := bodies[execution.TurnEnd](events)
				if n := len(bodies[execution.Interrupted](events)); n != 1 || len(ends) != 1 || ends[0].Reason != execution.TurnInterrupted {
					t.Errorf("%d interrupted, ends %+v", n, ends)
				}
			})
		})
	}
}

// TestIgnoredInterrupt: a backend that does not end its turn after an interrupt is stopped, also when the interrupt came before the turn; one that
// ended it goes on.
func TestIgnoredInterrupt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before time.Duration // until the turn starts
		deaf   bool
		after  time.Duration
	}{"ignored": {0, true, 30 * time.Second}, "before the turn": {10 * time.Second, true, 30 * time.Second}, "obeyed": {0, false, time.Hour}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				req := conversation()
				req.Run.GracePeriodMs = new(int64(0))
				r := start(t, backend(func(call *at.Call) execution.Result {
					_ = call.Sleep(c.before)
					opened(call)
					if _, err := call.Next(); err == nil && !c.deaf {
						call.Emit(execution.TurnEnd{Reason: execution.TurnInterrupted})
						_ = call.Sleep(time.Hour)
						return at.Completed()
					}
					<-call.Ctx.Done()
					return at.Failed(execution.CodeAborted, "stopped")
				}), req, agent.Options{})
				synctest.Wait()
				began := time.Now()
				if err := r.Interrupt(); err != nil {
					t.Fatal(err)
				}
				r.CloseInput()
				res, _ := finish(t, r)
				if took := time.Since(began); took != c.after || res.Error.ErrorCode() != execution.CodeInterrupted {
					t.Errorf("after %v: %s %+v", took, res.Status, res.Error)
				}
			})
		})
	}
}

// TestCrashAfterInterrupt is a crash when a new turn had begun, and an interrupt when not.
func TestCrashAfterInterrupt(t *testing.T) {
	t.Parallel()
	for _, newTurn := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := start(t, backend(func(c *at.Call) execution.Result {
				opened(c)
				_, _ = c.Next()
				c.Emit(execution.TurnEnd{Reason: execution.TurnInterrupted})
				if newTurn {
					c.Emit(execution.TurnStart{})
				}
				return at.Failed(execution.CodeAgentCrash, "gone")
			}), conversation(), agent.Options{})
			synctest.Wait()
			if err := r.Interrupt(); err != nil {
				t.Fatal(err)
			}
			res, _ := finish(t, r)
			if crashed := res.Error.Code == execution.FailureBackendExecution; crashed != newTurn {
				t.Errorf("new turn %v: got %+v", newTurn, res.Error)
			}
		})
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := backend(func(c *at.Call) execution.Result {
			opened(c)
			for i := range 10 {
				c.Say(string(rune('0' + i)))
				_ = c.Sleep(time.Second)
			}
			ended(c)
			return at.Completed()
		})
		r := start(t, b, request("x"), agent.Options{})
		if err := r.Resume(); execution.CodeOf(err) != execution.CodeInvalidStateTransition {
			t.Errorf("resume a run that is not paused: %v", err)
		}
		time.Sleep(3500 * time.Millisecond)
		if err := r.Pause(); err != nil {
			t.Fatal(err)
		}
		if err := r.Pause(); execution.CodeOf(err) != execution.CodeInvalidStateTransition {
			t.Errorf("pause twice: %v", err)
		}
		if err := r.Interrupt(); execution.CodeOf(err) != execution.CodeInvalidStateTransition {
			t.Errorf("interrupt a paused run: %v", err)
		}
		time.Sleep(time.Hour)
		if s := r.State(); s != execution.StatePaused {
			t.Errorf("the run is %s", s)
		}
		if err := r.Resume(); err != nil {
			t.Fatal(err)
		}
		res, events := finish(t, r)
		if res.Text != "0123456789" || res.DurationMs < time.Hour.Milliseconds() {
			t.Errorf("got %q after %d ms", res.Text, res.DurationMs)
		}
		if len(bodies[execution.Paused](events)) != 1 || len(bodies[execution.Resumed](events)) != 1 {
			t.Errorf("got %v", types(events))
		}
		for _, err := range []error{r.Pause(), r.Resume()} {
			if execution.CodeOf(err) != execution.CodeRunNotActive {
				t.Errorf("after the end: %v", err)
			}
		}
		still := start(t, declaring(hang, func(c *execution.Capabilities) { c.Agent.Verbs = nil }), request("x"), agent.Options{})
		synctest.Wait()
		for _, err := range []error{still.Pause(), still.Resume()} {
			if execution.CodeOf(err) != execution.CodeCapability {
				t.Errorf("undeclared: %v", err)
			}
		}
		still.Abort(nil)
		finish(t, still)
	})
}

func TestPausedRunsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, backend(hang), request("x"), agent.Options{MaxElapsed: time.Minute})
		synctest.Wait()
		if err := r.Pause(); err != nil {
			t.Fatal(err)
		}
		res, _ := finish(t, r)
		want(t, res, execution.StatusFailed, execution.FailureTimeout)
		// The process of a paused agent may die all the same.
		killed := start(t, backend(func(c *at.Call) execution.Result {
			opened(c)
			time.Sleep(time.Minute)
			c.NoResult()
			return at.Completed()
		}), request("x"), agent.Options{})
		synctest.Wait()
		if err := killed.Pause(); err != nil {
			t.Fatal(err)
		}
		res, _ = finish(t, killed)
		want(t, res, execution.StatusFailed, execution.FailureInvalidBackendOutput)
		if s := killed.State(); s != execution.StateCrashed {
			t.Errorf("the run is %s", s)
		}
	})
}

func TestFirstOutputMakesItRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := backend(func(c *at.Call) execution.Result {
			_ = c.Sleep(time.Second)
			return hang(c)
		})
		b.Warning = "careful"
		r := start(t, b, request("x"), agent.Options{})
		synctest.Wait()
		if s := r.State(); s != execution.StateSpawned {
			t.Errorf("before its first output the run is %s", s)
		}
		if err := r.Pause(); execution.CodeOf(err) != execution.CodeInvalidStateTransition {
			t.Errorf("pause before the first output: %v", err)
		}
		time.Sleep(2 * time.Second)
		if s := r.State(); s != execution.StateRunning {
			t.Errorf("after its first output the run is %s", s)
		}
		r.Abort(nil)
		finish(t, r)
	})
}

func TestResultIsForEverybody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, backend(func(c *at.Call) execution.Result { _ = c.Sleep(time.Second); return answer(c) }), request("x"), agent.Options{})
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := r.Result(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an impatient waiter got %v", err)
		}
		got := make(chan execution.Status, 20)
		for range cap(got) {
			go func() { res, _ := r.Result(t.Context()); got <- res.Status }()
		}
		for range cap(got) {
			if s := <-got; s != execution.StatusCompleted {
				t.Errorf("a waiter got %s", s)
			}
		}
		<-r.Done()
		for range 100 { // the result is there, so a done context does not matter
			if _, err := r.Result(short); err != nil {
				t.Fatalf("after the end: %v", err)
			}
		}
	})
}
