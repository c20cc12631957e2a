package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// ending is why a run is ending or has ended.
type ending struct {
	kind  endKind
	cause error          // of the context
	by    execution.Body // the unanswered question
}

type endKind int

const (
	endNone      endKind = iota // the run continues
	endOver                     // the backend ended on its own
	endTimeout                  // a deadline has passed
	endCancel                   // the caller's context was cancelled
	endAbort                    // Abort
	endInterrupt                // Interrupt, on a backend without an interrupt message
	endTurnLimit
	endBudget
	endApproval // no approver
	endInput    // nobody to answer
)

// The causes of cancellation that an adapter can see.
var (
	errAborted       = errors.New("aborted")
	errInterrupted   = errors.New("interrupted")
	errDeadline      = fmt.Errorf("deadline of the run: %w", context.DeadlineExceeded)
	errTurnLimit     = errors.New("turn limit reached")
	errAuth          = errors.New("the credentials were refused")
	errBudget        = errors.New("budget exceeded")
	errAwaitApproval = errors.New("nobody can approve")
	errAwaitInput    = errors.New("nobody can answer")
	errOver          = errors.New("the run is over")
)

// Interrupt ends the current turn. A conversation continues with the next message; a run without further
// messages ends. A backend without an interrupt message is stopped, and so is one that does not end the turn
// within the grace period and half a minute. A second call for the same turn does nothing.
func (r *Run) Interrupt() error {
	r.mu.Lock()
	switch {
	case r.overLocked():
		defer r.mu.Unlock()
		return r.errorf(execution.CodeRunNotActive, "cannot interrupt: the run is %s", r.conditionLocked())
	case r.state == execution.StatePaused:
		r.mu.Unlock()
		return r.errorf(execution.CodeInvalidStateTransition, "cannot interrupt a paused run: resume or abort it")
	case r.interrupting:
		r.mu.Unlock()
		return nil
	case r.inbox != nil && !r.turnOpen:
		r.mu.Unlock()
		return r.errorf(execution.CodeInvalidStateTransition, "cannot interrupt: no turn is running")
	case r.inbox != nil && r.caps.Agent.Has(execution.VerbInterrupt):
		r.interrupting = true
		r.setLocked(execution.StateInterrupted)
		r.push(execution.Interrupted{})
		r.inbox.put(execution.Interrupt{})
		stopTimer(r.insist)
		ended := r.ended
		r.insist = time.AfterFunc(r.patience(), func() { r.insistOn(ended) })
		r.mu.Unlock()
		r.pump(false)
		r.log.lift()
		return nil
	}
	r.mu.Unlock()
	r.stop(ending{kind: endInterrupt, cause: errInterrupted}, execution.Interrupted{})
	return nil
}

// insistOn stops a backend that was interrupted and did not end its turn. ended is the number of turns that had ended then.
func (r *Run) insistOn(ended int) {
	r.mu.Lock()
	ignored := r.ended == ended && !r.overLocked()
	r.mu.Unlock()
	if ignored {
		r.warn("%s did not end its turn within %v of the interrupt and is stopped", r.Agent(), r.patience())
		r.stop(ending{kind: endInterrupt, cause: errInterrupted}, nil)
	}
}

func stopTimer(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}

// Abort stops the run and everything it started and records the cause, which may be nil. It does nothing after
// the end.
func (r *Run) Abort(cause error) {
	if cause == nil {
		cause = errAborted
	} else {
		cause = fmt.Errorf("%w: %w", errAborted, cause)
	}
	r.stop(ending{kind: endAbort, cause: cause}, execution.Aborted{})
}

// stop ends the run for a reason of this package; the first reason wins. It emits body unless nil.
func (r *Run) stop(e ending, body execution.Body) {
	r.mu.Lock()
	if r.overLocked() {
		r.mu.Unlock()
		return
	}
	r.end = e
	if body != nil {
		r.push(body)
	}
	r.mu.Unlock()
	r.cancel(e.cause)
	r.pump(false)
	r.log.lift()
}

// onCancelled handles a deadline or cancellation that did not come through stop, and abandons an adapter that
// does not return in time.
func (r *Run) onCancelled() {
	r.mu.Lock()
	defer r.pump(false)
	defer r.mu.Unlock()
	if r.finishing {
		return
	}
	r.cancelledLocked()
	r.giveUp = time.AfterFunc(r.patience(), r.abandon)
}

// cancelledLocked records the end of the context as the run's ending, unless it has another.
func (r *Run) cancelledLocked() {
	if r.overLocked() {
		return
	}
	r.end = ending{kind: endCancel, cause: context.Cause(r.ctx)}
	if errors.Is(r.ctx.Err(), context.DeadlineExceeded) {
		r.end.kind = endTimeout
		r.push(execution.Timeout{Kind: execution.TimeoutRun})
	} else {
		r.push(execution.Aborted{})
	}
}

// patience returns how long an adapter may take to return after its context is done: its grace period plus time
// to clean up.
func (r *Run) patience() time.Duration {
	grace := 5 * time.Second
	if ms := r.req.Run.GracePeriodMs; ms != nil {
		grace = time.Duration(*ms) * time.Millisecond
	}
	return grace + 30*time.Second
}

// abandon ends a run whose adapter does not return. Whatever the adapter still yields is dropped.
func (r *Run) abandon() {
	r.warn("the adapter %s did not return within %v of being stopped and was abandoned", r.Agent(), r.patience())
	r.finish(failed(execution.Errorf(execution.CodeAborted, "stopped: %v", context.Cause(r.ctx))))
	r.leave()
}

// Pause suspends the agent's process; Resume continues it.
func (r *Run) Pause() error {
	return r.freeze(execution.VerbPause, execution.StateRunning, execution.StatePaused, execution.Pause{}, execution.Paused{})
}

// Resume continues after Pause.
func (r *Run) Resume() error {
	return r.freeze(execution.VerbResume, execution.StatePaused, execution.StateRunning, execution.Continue{}, execution.Resumed{})
}

func (r *Run) freeze(v execution.Verb, from, to execution.RunState, cmd execution.Command, body execution.Body) error {
	r.mu.Lock()
	if err := r.activeLocked(v); err != nil {
		r.mu.Unlock()
		return err
	}
	if r.state != from {
		defer r.mu.Unlock()
		return r.errorf(execution.CodeInvalidStateTransition, "cannot %s: the run is %s", v, r.state)
	}
	if r.inbox == nil {
		r.mu.Unlock()
		return r.errorf(execution.CodeInvalidStateTransition, "cannot %s: no agent is running", v)
	}
	r.setLocked(to)
	r.push(body)
	r.inbox.put(cmd)
	r.mu.Unlock()
	r.pump(false)
	return nil
}
