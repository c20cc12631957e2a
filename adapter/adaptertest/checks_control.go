package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// controlChecks are cancellation, survivors, and the order of events.
func controlChecks() []Check {
	return []Check{
		{Name: "cancel", Spec: "003-13: a cancelled caller is cancelled and not a timeout, within the grace", Needs: []Scenario{Hang}, Run: cancelled(Hang)},
		{Name: "cancel-stubborn", Spec: "003-13: a backend that ignores a stop request is cancelled all the same", Needs: []Scenario{Stubborn}, Run: cancelled(Stubborn)},
		{Name: "abort", Spec: "004: abort ends the run as aborted, and does nothing afterwards", Needs: []Scenario{Hang}, Run: aborted},
		{Name: "survivors", Spec: "seam: nothing that an execution started outlives it", Run: leavesNothing},
		{Name: "consumer-stops", Spec: "seam: an execution whose consumer stops cleans up and returns", Needs: []Scenario{Long}, Run: consumerStops},
		{Name: "event-order", Spec: "004: events keep the ordering contract", Run: eventOrder},
		{Name: "finished-once", Spec: "seam: exactly one finished, as the last event of the adapter", Run: finishedOnce},
		{Name: "adapter-events", Spec: "seam: an adapter sets body, parent, origin and raw only, and leaves the host's events to the host", Run: adapterEvents},
	}
}

// cancelAfter is when a hanging run is stopped: late enough for a process to have started.
const cancelAfter = 100 * time.Millisecond

func cancelled(sc Scenario) func(context.Context, Subject) error {
	return func(ctx context.Context, s Subject) error {
		t := s.trial(sc)
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		time.AfterFunc(cancelAfter, cancel)
		begun := time.Now()
		// The run's reader must outlive the run, so only the run gets the inner context.
		o, err := t.runUnder(ctx, inner, s)
		if err != nil {
			return err
		}
		if err := o.expect(execution.StatusFailed, execution.FailureCancelled); err != nil {
			return err
		}
		if most := cancelAfter + s.grace(t.req); time.Since(begun) > most {
			return fmt.Errorf("it took %v to cancel, want at most %v", time.Since(begun), most)
		}
		if has[execution.Timeout](o, nil) || !has[execution.Aborted](o, nil) {
			return errors.New("the events contain a timeout, or no aborted")
		}
		return nil
	}
}

func aborted(ctx context.Context, s Subject) error {
	t := s.trial(Hang)
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	begun := time.Now()
	started := make(chan func(error), 1)
	t.started = func(abort func(error)) { started <- abort }
	timer := time.AfterFunc(cancelAfter, func() {
		abort := <-started
		abort(errors.New("enough"))
		abort(nil)
	})
	defer timer.Stop()
	o, err := t.runUnder(ctx, inner, s)
	if err != nil {
		return err
	}
	if err := o.expect(execution.StatusFailed, execution.FailureCancelled); err != nil {
		return err
	}
	if most := cancelAfter + s.grace(t.req); time.Since(begun) > most {
		return fmt.Errorf("it took %v to abort, want at most %v", time.Since(begun), most)
	}
	if n := count[execution.Aborted](o, nil); n != 1 {
		return fmt.Errorf("there are %d aborted events, want 1", n)
	}
	o.run.Abort(nil)
	if state := o.run.State(); state != execution.StateAborted || o.result.ExitReason != execution.ExitReasonAbort {
		return fmt.Errorf("the run is %s %s, want aborted", state, o.result.ExitReason)
	}
	return nil
}

func leavesNothing(ctx context.Context, s Subject) error {
	if s.Survivors == nil {
		return Skip("the subject has no survivors probe")
	}
	for _, sc := range []Scenario{Simple, Fail, Hang, Stubborn} {
		if _, cannot := s.Cannot[sc]; cannot {
			continue
		}
		t := s.trial(sc)
		if sc == Hang || sc == Stubborn {
			t.opts.MaxElapsed = cancelAfter
		}
		if _, err := t.run(ctx, s); err != nil {
			return err
		}
		if err := survivors(s); err != nil {
			return fmt.Errorf("%s: %w", sc, err)
		}
	}
	return nil
}

func consumerStops(ctx context.Context, s Subject) error {
	seen, left := 0, time.Now() // ignore how long the agent took to start
	if _, err := s.raw(ctx, Long, func(execution.Event) bool { seen++; left = time.Now(); return seen == 2 }); err != nil {
		return err
	}
	if most := s.grace(s.request(Long)); time.Since(left) > most {
		return fmt.Errorf("it took %v to return, want at most %v", time.Since(left), most)
	}
	return survivors(s)
}

// quiet are the scenarios that end by themselves.
var quiet = []Scenario{Simple, Long, Approval, Clarify, Think, Steps, Fail, Crash, Malformed, Missing}

func eventOrder(ctx context.Context, s Subject) error {
	tried := 0
	for _, sc := range quiet {
		if _, cannot := s.Cannot[sc]; cannot {
			continue
		}
		tried++
		if _, err := s.play(ctx, sc); err != nil {
			return fmt.Errorf("%s: %w", sc, err)
		}
	}
	if tried == 0 {
		return Skip("the subject cannot provoke any of %v", quiet)
	}
	return nil
}

// rawEach iterates the adapter itself over all scenarios that end by themselves.
func rawEach(ctx context.Context, s Subject, check func([]execution.Event) error) error {
	tried := 0
	for _, sc := range quiet {
		if _, cannot := s.Cannot[sc]; cannot {
			continue
		}
		tried++
		events, err := s.raw(ctx, sc, nil)
		if err == nil {
			err = check(events)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", sc, err)
		}
	}
	if tried == 0 {
		return Skip("the subject cannot provoke any of %v", quiet)
	}
	return nil
}

func finishedOnce(ctx context.Context, s Subject) error {
	return rawEach(ctx, s, func(events []execution.Event) error {
		open := false
		for i, e := range events {
			switch e.Body.(type) {
			case execution.TurnStart:
				open = open || e.Parent == ""
			case execution.TurnEnd:
				open = open && e.Parent != ""
			}
			if e.Terminal() && i < len(events)-1 {
				return fmt.Errorf("%d events follow finished", len(events)-1-i)
			}
		}
		if len(events) == 0 || !events[len(events)-1].Terminal() {
			return fmt.Errorf("the sequence of %d events ends without finished", len(events))
		}
		f := events[len(events)-1].Body.(execution.Finished)
		if open && f.Result.Status == execution.StatusCompleted {
			return errors.New("the turn of a completed run has no end")
		}
		if f.Result.Status == execution.StatusFailed && f.Result.Error == nil {
			return errors.New("a failed result gives no reason")
		}
		return nil
	})
}

func adapterEvents(ctx context.Context, s Subject) error {
	return rawEach(ctx, s, func(events []execution.Event) error {
		for i, e := range events {
			if e.Body == nil {
				return fmt.Errorf("event %d has no body", i)
			}
			if e.Seq != 0 || !e.Time.IsZero() || e.RunID != "" || e.Agent != "" || e.Turn != 0 {
				return fmt.Errorf("event %d %s is stamped; only the host may do that", i, e.Body.Type())
			}
			switch e.Body.(type) {
			case execution.InputQueued, execution.Gap, execution.Paused, execution.Resumed, execution.Aborted:
				return fmt.Errorf("event %d %s is an event of the host", i, e.Body.Type())
			}
		}
		return nil
	})
}
