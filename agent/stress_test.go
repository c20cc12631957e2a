package agent_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// busy asks, works, takes messages and interrupts in any order.
func busy(c *at.Call) execution.Result {
	opened(c)
	open, asked := true, 0
	for i := 0; ; i++ {
		if open && i%7 == 0 {
			asked++
			c.Emit(approvalOf(fmt.Sprint("q", asked)))
		}
		if open && i%5 == 0 {
			c.Say("some ", "text ", fmt.Sprint(i))
		}
		cmd, ok := c.Poll()
		if !ok {
			if open && i > 300 {
				ended(c)
				open = false
			}
			if !open {
				next, err := c.Next()
				if err != nil {
					return at.Failed(execution.CodeAborted, "stopped")
				}
				cmd = next
			}
		}
		switch cmd := cmd.(type) {
		case execution.Say:
			c.Emit(execution.InputTaken{ID: cmd.ID, Steered: open})
			if !open {
				c.Emit(execution.TurnStart{})
				open, i = true, 250
			}
		case execution.Interrupt:
			if open {
				c.Emit(execution.TurnEnd{Reason: execution.TurnInterrupted})
				open = false
			}
		case execution.EndInput:
			if open {
				ended(c)
			}
			return at.Completed()
		}
	}
}

// TestStress runs many conversations at once, each with readers and callers that do anything at any time.
func TestStress(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for n := range 30 {
		all.Go(func() {
			handler := agent.OnAny(func(execution.Event) {})
			opts := agent.Options{Handlers: []agent.Handler{handler}, EventBuffer: 100_000}
			if n%3 == 0 {
				opts.MaxElapsed = time.Duration(1+n) * time.Millisecond
			}
			r, err := agent.New(backend(busy)).Start(t.Context(), conversation(), opts)
			if err != nil {
				t.Error(err)
				return
			}
			var callers, readers sync.WaitGroup
			for range 3 {
				callers.Go(func() {
					for range 60 {
						switch rand.IntN(10) {
						case 0:
							_ = r.Interrupt()
						case 1:
							_ = r.Pause()
							_ = r.Resume()
						case 2:
							_ = r.Approve("yes")
						case 3:
							_ = r.Deny("no")
						case 4:
							off := r.On(agent.OnAny(func(execution.Event) {}))
							off()
						case 5:
							_, _ = r.Steer("s", "")
						case 6:
							_ = r.Pending()
						default:
							_, _ = r.Send("m", "")
						}
						if rand.IntN(4) == 0 {
							time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
						}
					}
				})
			}
			for i := range 4 {
				readers.Go(func() {
					var list []execution.Event
					events := r.Events(t.Context(), 0)
					if i == 0 {
						events = r.EventsHeld(t.Context(), 0)
					}
					for e, err := range events {
						if err != nil {
							t.Error(err)
							return
						}
						list = append(list, e)
					}
					res, _ := r.Result(t.Context())
					if err := at.CheckOrder(list, res); err != nil {
						t.Errorf("run %d: %v", n, err)
					}
				})
			}
			callers.Wait()
			_ = r.Resume()
			if n%5 == 0 {
				r.Abort(nil)
			}
			r.CloseInput()
			readers.Wait()
			if s := r.State(); !s.Terminal() {
				t.Errorf("run %d is %s", n, s)
			}
		})
	}
	all.Wait()
}

// TestFaultsUnderRetry runs with faults of every kind in every third execution.
func TestFaultsUnderRetry(t *testing.T) {
	t.Parallel()
	f := newFaulty(&at.Fake{Script: answer})
	faults := []fault{{At: 1, Panic: "x"}, {At: 2, Error: execution.Errorf(execution.CodeAgentCrash, "x")}, {At: 3, Truncate: true}, {At: 4, Delay: time.Millisecond},
		{At: 0, Error: execution.Errorf(execution.CodeRateLimited, "x")}}
	for i := range 60 {
		f.add(faults[i%len(faults)])
	}
	req := request("x")
	req.Run.RetryPolicy = &execution.RetryPolicy{MaxAttempts: 3, RetryOn: []execution.ErrorCode{execution.CodeAgentCrash, execution.CodeRateLimited}}
	var all sync.WaitGroup
	for range 60 {
		all.Go(func() {
			r, err := agent.New(agent.Backend{Name: "f", Adapter: f}).Start(t.Context(), req, agent.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			finish(t, r)
		})
	}
	all.Wait()
}
