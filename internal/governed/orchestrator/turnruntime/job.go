package turnruntime

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// job is one turn while it runs: its progress and its listeners.
type job struct {
	d     Dispatch
	now   func() time.Time
	begun time.Time
	limit time.Time // when its time limit expires

	mu     sync.Mutex
	watch  Watch
	p      govern.Progress
	untold bool  // p has changed since it was reported
	cause  error // why we stopped the work
}

func (deps Deps) job(d Dispatch, w Watch, worker string, stage govern.Stage) *job {
	now := deps.Now()
	j := &job{d: d, now: deps.Now, begun: now, limit: d.limit(now), watch: w}
	j.p = govern.Progress{Turn: d.Turn.TurnID, Role: d.RoleID, Runtime: d.RuntimeID, Worker: worker, Stage: stage, Since: now, At: now, Deadline: j.limit}
	return j
}

// limit is when the turn's time limit expires. A deadline that has passed is ignored: a turn that is dispatched after
// it gets the time of a new one.
func (d Dispatch) limit(now time.Time) time.Time {
	if d.Timeout > 0 {
		return now.Add(d.Timeout)
	}
	limit := time.Time{}
	if d.Deadline.After(now) {
		limit = d.Deadline
	}
	if ms := d.Runtime.TimeoutMS; ms != nil && *ms > 0 {
		if own := now.Add(milliseconds(*ms)); limit.IsZero() || own.Before(limit) {
			limit = own
		}
	}
	if limit.IsZero() {
		limit = now.Add(DefaultTimeout)
	}
	return limit
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// setting is the first positive value in milliseconds, or the default.
func setting(def time.Duration, stated ...*int) time.Duration {
	for _, ms := range stated {
		if ms != nil && *ms > 0 {
			return milliseconds(*ms)
		}
	}
	return def
}

func (d Dispatch) workDir() string { return cmp.Or(d.WorkDir, d.Root) }

// say prints a line for the person.
func (d Dispatch) say(format string, args ...any) {
	if d.Out != nil {
		d.Out(fmt.Sprintf(format, args...))
	}
}

// text is the prompt with its context, as one text.
func (d Dispatch) text() string {
	if strings.TrimSpace(d.Context) == "" {
		return d.Prompt
	}
	return d.Prompt + "\n---\n\n" + d.Context
}

func (j *job) attached(pid int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.p.PID = pid
	if j.watch != nil {
		j.watch.Attached(pid)
	}
	j.reportLocked()
}

// sign notes a sign of life.
func (j *job) sign(stream string, at time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	first := j.p.LastSign.IsZero()
	if at.After(j.p.LastSign) {
		j.p.LastSign = at
	}
	if first {
		if j.p.Stage == govern.StageStarting {
			j.p.Stage = govern.StageRunning
		}
		if j.watch != nil {
			j.watch.FirstOutput(stream)
		}
		j.reportLocked()
	}
}

func (j *job) lastSign() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.p.LastSign
}

// abort notes why the work is stopped.
func (j *job) abort(cause error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.cause = cause
}

func (j *job) aborted() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.cause
}

// beat reports progress at intervals, and calls silent if the worker gives no sign of life within startup; nil waits
// forever. stop ends it.
func (j *job) beat(startup time.Duration, log *transcript, silent func()) (stop func()) {
	first := setting(defaultStartupBeat, j.d.Runtime.StartupHeartbeatMS, j.d.Loop.StartupHeartbeatMS)
	later := setting(defaultLivenessBeat, j.d.Runtime.LivenessHeartbeatMS, j.d.Loop.LivenessHeartbeatMS)
	done := make(chan struct{})
	var w sync.WaitGroup
	w.Go(func() {
		begun := j.now()
		watchdog := time.NewTimer(startup)
		defer watchdog.Stop()
		beat := time.NewTimer(first)
		defer beat.Stop()
		for {
			select {
			case <-done:
				return
			case <-watchdog.C:
				if silent != nil && j.lastSign().IsZero() {
					log.note("stopping: no sign of life within %s", govern.Took(j.now().Sub(begun)))
					j.abort(errSilent)
					j.stage(govern.StageStopping)
					silent()
				}
			case <-beat.C:
				j.report()
				if log != nil {
					log.flush()
				}
				if j.lastSign().IsZero() {
					beat.Reset(first)
				} else {
					beat.Reset(later)
				}
			}
		}
	})
	return func() {
		close(done)
		w.Wait()
	}
}

// change updates the progress. tellChange reports it, because changes may come a thousand times a second.
func (j *job) change(f func(*govern.Progress)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f(&j.p)
	j.untold = true
}

// tellChange reports the progress if it has changed.
func (j *job) tellChange() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.untold {
		j.reportLocked()
	}
}

// stage reports that the work has reached another stage.
func (j *job) stage(s govern.Stage) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.p.Stage = s
	j.reportLocked()
}

func (j *job) report() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reportLocked()
}

func (j *job) reportLocked() {
	j.p.At, j.untold = j.now(), false
	if j.watch != nil {
		j.watch.Progress(j.p)
	}
}

func (j *job) event(e execution.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.watch != nil {
		j.watch.Event(e)
	}
}

// latency records the duration of the work in the metadata.
func (j *job) latency(m *protocol.AdapterMeta) *protocol.AdapterMeta {
	if m == nil {
		m = &protocol.AdapterMeta{}
	}
	ms := j.now().Sub(j.begun).Milliseconds()
	m.LatencyMS = &ms
	return m
}
