package agent_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

func TestHandlers(t *testing.T) {
	t.Parallel()
	var all, texts []uint64
	opts := agent.Options{Handlers: []agent.Handler{
		agent.OnAny(func(e execution.Event) { all = append(all, e.Seq) }),
		agent.On(func(e execution.Event, b execution.TextDelta) { texts = append(texts, e.Seq) }),
	}}
	for range 2 { // Options may be used again
		all, texts = nil, nil
		_, events := run(t, backend(answer), request("x"), opts)
		if len(all) != len(events) || !slices.IsSorted(all) || len(texts) != 2 {
			t.Errorf("got %v %v", all, texts)
		}
	}
}

// TestHandlersComeFirst: when a reader sees an event, every handler has.
func TestHandlersComeFirst(t *testing.T) {
	t.Parallel()
	seen := make(chan uint64, 10000)
	r := start(t, backend(burst(3000)), request("x"), agent.Options{Handlers: []agent.Handler{agent.OnAny(func(e execution.Event) { seen <- e.Seq })}})
	for e := range r.Events(t.Context(), 0) {
		select {
		case n := <-seen:
			if n != e.Seq {
				t.Fatalf("handler saw %d, reader %d", n, e.Seq)
			}
		default:
			t.Fatalf("a reader saw event %d before a handler did", e.Seq)
		}
	}
	finish(t, r)
}

func TestHandlerPanics(t *testing.T) {
	t.Parallel()
	calls, others := 0, 0
	_, events := run(t, backend(answer), request("x"), agent.Options{Handlers: []agent.Handler{
		agent.On(func(execution.Event, execution.TextDelta) { calls++; panic("oops") }),
		agent.OnAny(func(execution.Event) { others++ }),
		{}, // of no function
	}})
	if calls != 1 || others != len(events) {
		t.Errorf("the panicking handler was called %d times, the other %d of %d", calls, others, len(events))
	}
	said := slices.ContainsFunc(bodies[execution.Debug](events), func(d execution.Debug) bool { return strings.Contains(d.Message, "oops") })
	if !said {
		t.Error("nothing tells of the panic")
	}
}

func TestOnAndOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, backend(chat), conversation(), agent.Options{})
		synctest.Wait()
		n := 0
		off := r.On(agent.On(func(execution.Event, execution.TurnEnd) { n++ }))
		_, _ = r.Send("a", "")
		synctest.Wait()
		off()
		off()
		_, _ = r.Send("b", "")
		synctest.Wait()
		r.CloseInput()
		finish(t, r)
		if n != 1 {
			t.Errorf("called %d times, want once: for the turn between on and off", n)
		}
	})
}

// TestReentrantHandlers call the run from within.
func TestReentrantHandlers(t *testing.T) {
	t.Parallel()
	b := backend(func(c *at.Call) execution.Result {
		opened(c)
		d, err := c.Ask(approvalOf("q"))
		if err != nil || !d.Approve {
			return at.Failed(execution.CodeAborted, "no")
		}
		c.Say("one")
		ended(c)
		for {
			cmd, err := c.Next()
			if err != nil {
				return at.Failed(execution.CodeAborted, err.Error())
			}
			switch cmd := cmd.(type) {
			case execution.Say:
				c.Emit(execution.InputTaken{ID: cmd.ID}, execution.TurnStart{})
				c.Say(cmd.Text)
				ended(c)
			case execution.EndInput:
				return at.Completed()
			}
		}
	})
	fail := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	t.Run("answer, send, on, close", func(t *testing.T) {
		t.Parallel()
		turns, extra := 0, 0
		r := begin(t, b, conversation(), agent.Options{}, func(r **agent.Run, ready chan struct{}) []agent.Handler {
			return []agent.Handler{
				on(r, ready, func(r *agent.Run, q execution.ApprovalRequired) {
					if n := len(r.Pending()); n != 1 {
						t.Errorf("%d pending within the handler of the question", n)
					}
					fail(r.Answer(q.ID, execution.Decision{Approve: true}))
					r.On(agent.OnAny(func(execution.Event) { extra++ }))
				}),
				agent.On(func(_ execution.Event, _ execution.TurnEnd) {
					<-ready
					if turns++; turns < 3 {
						_, err := (*r).Send("again", "")
						fail(err)
					} else {
						(*r).CloseInput()
					}
					_ = (*r).State()
				}),
			}
		})
		res, _ := finish(t, r)
		want(t, res, execution.StatusCompleted, "")
		if res.Text != "oneagainagain" || extra == 0 {
			t.Errorf("got %q, the late handler saw %d", res.Text, extra)
		}
	})
	t.Run("interrupt and pause", func(t *testing.T) {
		t.Parallel()
		r := begin(t, backend(interruptible), conversation(), agent.Options{}, func(r **agent.Run, ready chan struct{}) []agent.Handler {
			return []agent.Handler{
				on(r, ready, func(r *agent.Run, _ execution.MessageStop) { fail(r.Pause()) }),
				on(r, ready, func(r *agent.Run, _ execution.Paused) { fail(r.Resume()) }),
				on(r, ready, func(r *agent.Run, _ execution.Resumed) { fail(r.Interrupt()) }),
				on(r, ready, func(r *agent.Run, _ execution.TurnEnd) { r.CloseInput() }),
			}
		})
		res, _ := finish(t, r)
		want(t, res, execution.StatusFailed, execution.FailureCancelled)
	})
	t.Run("abort", func(t *testing.T) {
		t.Parallel()
		r := begin(t, backend(hang), request("x"), agent.Options{}, func(r **agent.Run, ready chan struct{}) []agent.Handler {
			return []agent.Handler{on(r, ready, func(r *agent.Run, _ execution.TextDelta) { r.Abort(nil); r.Abort(nil) })}
		})
		res, _ := finish(t, r)
		want(t, res, execution.StatusFailed, execution.FailureCancelled)
	})
	t.Run("in finished", func(t *testing.T) {
		t.Parallel()
		var state execution.RunState
		var err error
		r := begin(t, backend(answer), request("x"), agent.Options{}, func(r **agent.Run, ready chan struct{}) []agent.Handler {
			return []agent.Handler{on(r, ready, func(r *agent.Run, _ execution.Finished) {
				state = r.State()
				r.Abort(nil)
				err = r.Approve("")
			})}
		})
		res, _ := finish(t, r)
		want(t, res, execution.StatusCompleted, "")
		if state != execution.StateCompleted || execution.CodeOf(err) != execution.CodeRunNotActive {
			t.Errorf("got %s %v", state, err)
		}
	})
}

// TestCallersAreNotKept: a verb returns although the agent never stops talking.
func TestCallersAreNotKept(t *testing.T) {
	t.Parallel()
	b := backend(func(c *at.Call) execution.Result {
		opened(c)
		_, _ = c.Next()
		for i := 0; i < 300_000 && c.Ctx.Err() == nil; i++ {
			c.Emit(execution.TextDelta{Delta: "x", Accumulated: "x"})
		}
		return at.Completed()
	})
	r := start(t, b, conversation(), agent.Options{EventBuffer: 1000, Handlers: []agent.Handler{
		// The caller's own goroutine processes its event while the flood begins, and the flood is faster than its handlers.
		agent.On(func(execution.Event, execution.InputQueued) { time.Sleep(20 * time.Millisecond) }),
		agent.On(func(execution.Event, execution.TextDelta) { time.Sleep(50 * time.Microsecond) }),
	}})
	for e := range r.Events(t.Context(), 0) {
		if _, ok := e.Body.(execution.TurnStart); ok {
			break
		}
	}
	returned := make(chan struct{})
	go func() { defer close(returned); _, _ = r.Queue("x", execution.WhenNow) }()
	select {
	case <-returned:
	case <-time.After(3 * time.Second):
		t.Error("a caller is kept by the agent's output")
	}
	r.Abort(nil)
	if _, err := r.Result(t.Context()); err != nil {
		t.Error(err)
	}
}
