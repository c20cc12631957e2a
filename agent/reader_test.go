package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// burst says n words at once, then waits for the end of its input.
func burst(n int) script {
	return func(c *at.Call) execution.Result {
		opened(c)
		time.Sleep(time.Millisecond) // until the readers are there
		for i := range n {
			w := fmt.Sprint(i, " ")
			c.Emit(execution.TextDelta{Delta: w, Accumulated: w})
		}
		ended(c)
		for c.Request.Run.Interactive {
			cmd, err := c.Next()
			if say, ok := cmd.(execution.Say); ok {
				c.Emit(execution.InputTaken{ID: say.ID}, execution.TurnStart{})
				ended(c)
			} else if err != nil || cmd == (execution.EndInput{}) {
				break
			}
		}
		return at.Completed()
	}
}

func TestReaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 5000
		r := start(t, backend(burst(n)), conversation(), agent.Options{})
		var all sync.WaitGroup
		lists := make([][]execution.Event, 8)
		for i := range lists {
			all.Go(func() { // each at its own time and pace
				time.Sleep(time.Duration(i) * time.Second)
				for e, err := range r.Events(t.Context(), 0) {
					if err != nil {
						t.Error(err)
					}
					lists[i] = append(lists[i], e)
					if i%2 == 1 && len(lists[i])%100 == 0 {
						time.Sleep(10 * time.Millisecond)
					}
				}
			})
		}
		time.Sleep(4500 * time.Millisecond)
		r.CloseInput()
		all.Wait()
		res, events := finish(t, r)
		for i, list := range lists {
			if err := at.CheckOrder(list, res); err != nil || len(list) != len(events) {
				t.Errorf("reader %d saw %d of %d events: %v", i, len(list), len(events), err)
			}
		}
		middle := 0
		for e := range r.Events(t.Context(), 2500) {
			if middle++; middle == 1 && e.Seq != 2501 {
				t.Errorf("after 2500 comes %d", e.Seq)
			}
		}
		if middle != len(events)-2500 {
			t.Errorf("%d events after 2500, want %d", middle, len(events)-2500)
		}
		for _, after := range []uint64{uint64(len(events)), 1 << 40, math.MaxUint64} {
			for e := range r.Events(t.Context(), after) {
				t.Errorf("after %d comes %d", after, e.Seq)
			}
		}
	})
}

func TestSlowReader(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ events, buffer int }{{900, 1000}, {5000, 1000}, {5000, 1}} {
		synctest.Test(t, func(t *testing.T) {
			r := start(t, backend(burst(tt.events)), conversation(), agent.Options{EventBuffer: tt.buffer})
			var list []execution.Event
			read := make(chan struct{})
			go func() {
				defer close(read)
				for e := range r.Events(t.Context(), 0) {
					if list = append(list, e); len(list) == 1 {
						time.Sleep(time.Minute) // everything else happens meanwhile
					}
				}
			}()
			time.Sleep(time.Second)
			r.CloseInput()
			<-read
			res, _ := r.Result(t.Context())
			if err := at.CheckOrder(list, res); err != nil {
				t.Error(err)
			}
			lost := uint64(0)
			for _, g := range bodies[execution.Gap](list) {
				lost += g.Count
			}
			total := list[len(list)-1].Seq
			if seen := uint64(len(list) - len(bodies[execution.Gap](list))); seen+lost != total {
				t.Errorf("saw %d and lost %d of %d", seen, lost, total)
			}
			if fits := int(total) <= tt.buffer; fits != (lost == 0) {
				t.Errorf("buffer %d, %d events: lost %d", tt.buffer, total, lost)
			}
		})
	}
}

// TestHeldReader slows the source down and misses nothing, whatever the host adds.
func TestHeldReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, backend(burst(5000)), conversation(), agent.Options{EventBuffer: 1000})
		var list []execution.Event
		read := make(chan struct{})
		go func() {
			defer close(read)
			for e, err := range r.EventsHeld(t.Context(), 0) {
				if err != nil {
					t.Error(err)
				}
				if list = append(list, e); len(list)%1000 == 1 {
					time.Sleep(time.Minute)
				}
			}
		}()
		for range 100 {
			time.Sleep(time.Second)
			if _, err := r.Queue("host events never wait", ""); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(10 * time.Minute)
		r.CloseInput()
		<-read
		res, _ := r.Result(t.Context())
		if err := at.CheckOrder(list, res); err != nil {
			t.Error(err)
		}
		if n := len(bodies[execution.Gap](list)); n != 0 {
			t.Errorf("%d gaps: %+v", n, bodies[execution.Gap](list))
		}
	})
}

// TestHeldReaderIsLifted: a reader that does not move cannot keep a run from being interrupted, answered or aborted.
func TestHeldReaderIsLifted(t *testing.T) {
	t.Parallel()
	flood := func(c *at.Call) execution.Result {
		opened(c)
		time.Sleep(time.Second) // until the reader is there
		c.Emit(approvalOf("q"))
		for i := range 3000 {
			c.Emit(execution.TextDelta{Delta: "x", Accumulated: "x"})
			if cmd, ok := c.Poll(); ok && cmd == (execution.Interrupt{}) {
				c.Say(fmt.Sprint("interrupted at ", i))
				c.Emit(execution.TurnEnd{Reason: execution.TurnInterrupted})
				break
			}
		}
		return at.Completed()
	}
	for name, lift := range map[string]func(*agent.Run) error{
		"interrupt": (*agent.Run).Interrupt,
		"answer":    func(r *agent.Run) error { return r.Answer("q", execution.Decision{}) },
		"abort":     func(r *agent.Run) error { r.Abort(nil); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := start(t, backend(flood), conversation(), agent.Options{EventBuffer: 1000})
				r.CloseInput()
				stuck, release := context.WithCancel(t.Context())
				read := make(chan struct{})
				go func() {
					defer close(read)
					for range r.EventsHeld(t.Context(), 0) {
						<-stuck.Done()
					}
				}()
				time.Sleep(time.Hour)
				select {
				case <-r.Done():
					t.Fatal("the source was not slowed down")
				default:
				}
				if err := lift(r); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				select {
				case <-r.Done():
				default:
					t.Error("the run does not end although the wait was lifted")
				}
				release()
				<-read
				if _, err := r.Result(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
	t.Run("reader leaves", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := start(t, backend(burst(3000)), request("x"), agent.Options{EventBuffer: 1000})
			for range r.EventsHeld(t.Context(), 0) {
				time.Sleep(time.Hour)
				break
			}
			if _, err := r.Result(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
}

func TestReaderContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, backend(hang), request("x"), agent.Options{})
		mine := errors.New("mine")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(mine) })
		var last error
		for _, err := range r.Events(ctx, 0) {
			last = err
		}
		if !errors.Is(last, context.Canceled) || !errors.Is(last, mine) {
			t.Errorf("got %v", last)
		}
		r.Abort(nil)
		finish(t, r)
		n := 0
		for _, err := range r.Events(ctx, 0) {
			n++
			last = err
		}
		if n != 1 || !errors.Is(last, mine) {
			t.Errorf("%d events for a reader that is gone, %v", n, last)
		}
	})
}

// TestConsumersPanic passes through and leaves the run alone.
func TestConsumersPanic(t *testing.T) {
	t.Parallel()
	for _, held := range []bool{false, true} {
		r := start(t, backend(burst(3000)), request("x"), agent.Options{EventBuffer: 1000})
		func() {
			defer func() {
				if p := recover(); p != "mine" {
					t.Errorf("recovered %v", p)
				}
			}()
			events := r.Events(t.Context(), 0)
			if held {
				events = r.EventsHeld(t.Context(), 0)
			}
			for range events {
				panic("mine")
			}
		}()
		res, err := r.Result(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want(t, res, execution.StatusCompleted, "")
	}
}

func TestCollectEvents(t *testing.T) {
	t.Parallel()
	req := request("x")
	req.Run.CollectEvents = true
	res, events := run(t, backend(answer), req, agent.Options{})
	if len(res.Events) != len(events)-1 || res.Events[0].Seq != 1 {
		t.Errorf("%d of %d events", len(res.Events), len(events))
	}
}
