package cliagent

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// defaultLinger is how long an agent may take to exit after it is done.
const defaultLinger = 5 * time.Second

// touch records that the agent got something to do.
func (r *run) touch() {
	r.mu.Lock()
	r.since = time.Now()
	r.mu.Unlock()
}

// watch stops the process when the run is over, or when the agent is silent or does not exit.
func (r *run) watch(ctx context.Context, over <-chan struct{}) {
	cancelled := ctx.Done()
	var silent, lingered, due <-chan time.Time
	var silence *time.Timer
	if r.drive.silence > 0 {
		silence = time.NewTimer(r.drive.silence)
		defer silence.Stop()
		silent = silence.C
	}
	for {
		select {
		case <-over:
			return
		case <-cancelled:
			cancelled = nil
			r.mu.Lock()
			r.stop(contextReason(ctx))
			r.mu.Unlock()
		case <-r.linger:
			t := time.NewTimer(cmp.Or(r.spec.Linger, defaultLinger))
			defer t.Stop()
			lingered = t.C
		case <-lingered:
			lingered = nil
			r.mu.Lock()
			r.stop(stopLinger)
			r.mu.Unlock()
		case <-r.alarms:
			due = r.nextAlarm()
		case <-due:
			r.ringAlarm()
			due = r.nextAlarm()
		case now := <-silent:
			silence.Reset(r.checkSilence(now))
		}
	}
}

// pausedAlarm is how long a due alarm waits in a paused run before it is checked again.
const pausedAlarm = time.Second

// nextAlarm returns the timer of the parser's alarm, nil for never.
func (r *run) nextAlarm() <-chan time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.drive.sink.alarm
	if at.IsZero() {
		return nil
	}
	wait := time.Until(at)
	if r.paused {
		wait = max(wait, pausedAlarm)
	}
	return time.After(wait)
}

// ringAlarm calls the parser unless its alarm was rescheduled or the run is paused or stopping.
func (r *run) ringAlarm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.drive.sink.alarm
	if at.IsZero() || time.Now().Before(at) || r.paused || r.why != stopNone {
		if r.why != stopNone {
			r.drive.sink.alarm = time.Time{}
		}
		return
	}
	r.drive.ring()
	r.applyRequests()
	r.wake()
}

func contextReason(ctx context.Context) stopReason {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return stopDeadline
	}
	return stopContext
}

// outputClock is a handle that sees output before its line is complete.
type outputClock interface{ LastOutput() time.Time }

// checkSilence returns when to check again.
func (r *run) checkSilence(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.agentWaits() {
		return r.drive.silence
	}
	since := r.since
	if c, ok := r.handle.(outputClock); ok {
		if last := c.LastOutput(); last.After(since) {
			since = last
		}
	}
	if rest := since.Add(r.drive.silence).Sub(now); rest > 0 {
		return rest
	}
	r.drive.sink.Emit(r.spec.Hooks.timeout())
	r.drive.sink.Emit(execution.Timeout{Kind: execution.TimeoutInactivity})
	r.stop(stopInactivity)
	r.wake()
	return r.drive.silence
}

// agentWaits reports whether silence has a reason other than a hanging agent: it is being stopped, paused or not
// read; a tool runs; a question is open; or it has done everything and more input may follow. The end of such a state
// also sets since.
func (r *run) agentWaits() bool {
	s := r.drive.sink
	return r.why != stopNone || r.lingering || r.paused || !r.reading ||
		s.openTools.Len() > 0 || len(s.questions) > 0 || r.tools != nil && r.tools.Active() > 0 ||
		s.idle && !r.inputEnded
}
