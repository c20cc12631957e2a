package agent

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/secret"
)

// Run is the handle of one run. All methods are safe for concurrent use.
type Run struct {
	req     execution.Request
	caller  execution.Correlation
	opts    Options
	backend Backend // the first backend; use sets the running one
	ctx     context.Context
	cancel  context.CancelCauseFunc
	log     *eventLog
	done    chan struct{} // closed when result is set
	gone    chan struct{} // closed when drive has returned or was abandoned
	result  execution.Result
	finish1 sync.Once
	leave1  sync.Once
	asked   sync.WaitGroup // callbacks of questions
	hooks   *hooking
	rules   rules
	calls   askedCalls

	emitter

	mu        sync.Mutex // guards everything below
	state     execution.RunState
	caps      execution.Capabilities
	current   Backend
	end       ending
	finishing bool
	giveUp    *time.Timer
	conversation
}

func newRun(ctx context.Context, b Backend, req execution.Request, opts Options) *Run {
	r := &Run{req: req, opts: opts, backend: b, current: b, caps: capabilitiesOf(b), log: newEventLog(max(cmp.Or(opts.EventBuffer, DefaultEventBuffer), 100)),
		gone: make(chan struct{}), done: make(chan struct{}),
		state: execution.StateSpawned, conversation: conversation{inputOpen: req.Run.Interactive && !req.Run.NonInteractive}}
	for _, h := range opts.Handlers {
		r.handlers = append(r.handlers, &h)
	}
	r.rules, _ = rulesOf(req.Run) // Start has parsed them
	r.calls = newAskedCalls(req, r.caps)
	r.hooks = newHooking(r.obeying(opts.Hooks), r)
	r.idle = sync.NewCond(&r.emitMu)
	r.col, r.hold = newCollector(r), newHold(opts.Secrets)
	r.seq.run = r
	r.caller = secret.Deep(r.hold.secrets, req.Correlation())
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	if limit := r.limit(); limit > 0 {
		// cancel releases the timer.
		c, stop := context.WithTimeoutCause(r.ctx, limit, errDeadline)
		parent := r.cancel
		r.ctx, r.cancel = c, func(cause error) { parent(cause); stop() }
	}
	return r
}

// limit returns the shortest deadline besides that of ctx; 0 is none.
func (r *Run) limit() time.Duration {
	var d time.Duration
	candidates := []time.Duration{r.opts.MaxElapsed, milliseconds(r.req.Run.TimeoutMs)}
	if q := r.req.Requirements; q != nil {
		candidates = append(candidates, milliseconds(q.MaxElapsedMs))
	}
	for _, c := range candidates {
		if c > 0 && (d == 0 || c < d) {
			d = c
		}
	}
	return d
}

// milliseconds converts a number from the wire, which may exceed the range of a duration.
func milliseconds(ms int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(min(ms, most)) * time.Millisecond
}

// lastTurn reports whether no turn can follow the current one.
func (r *Run) lastTurn() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.inputOpen && len(r.queue) == 0
}

// ID returns the run's id.
func (r *Run) ID() execution.RunID { return r.req.Run.RunID }

// Request returns the request as started, with defaults filled in.
func (r *Run) Request() execution.Request { return r.req.Clone() }

// Agent returns the name of the backend that runs or ran last.
func (r *Run) Agent() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current.Name
}

// State returns the run's current state.
func (r *Run) State() execution.RunState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// Events yields the events after the given number, then live ones, and ends after the finished event. Any
// number of readers may read, each at its own pace; one that is too slow for the buffer gets a Gap with the
// number of missed events. The sequence's error is that of ctx. A consumer's panic passes through.
func (r *Run) Events(ctx context.Context, after uint64) iter.Seq2[execution.Event, error] {
	return r.log.read(ctx, after, false)
}

// EventsHeld is Events for a reader that must not miss anything: while it lags by the whole buffer, the agent's
// output waits. Events of the host never wait, and Interrupt, Answer and Abort lift the wait until the reader
// reads again. Only events beyond twice the buffer can then be missed; a Gap counts them.
func (r *Run) EventsHeld(ctx context.Context, after uint64) iter.Seq2[execution.Event, error] {
	return r.log.read(ctx, after, true)
}

// Result waits for the result. The error is that of ctx; a failed run is a result. All callers share its maps
// and slices and must not change them.
func (r *Run) Result(ctx context.Context) (execution.Result, error) {
	select {
	case <-r.gone:
		return r.result, nil
	default:
	}
	select {
	case <-r.gone:
		return r.result, nil
	case <-ctx.Done():
		return execution.Result{}, fmt.Errorf("wait for run %s: %w: %w", r.ID(), ctx.Err(), context.Cause(ctx))
	}
}

// Done returns a channel that is closed when the result is available.
func (r *Run) Done() <-chan struct{} { return r.done }

// use makes b the running backend. caps are the backend's capabilities, narrow those of this run.
func (r *Run) use(b Backend, caps, narrow execution.Capabilities, n execution.Negotiation) {
	r.mu.Lock()
	r.current, r.caps = b, caps
	r.mu.Unlock()
	r.exclusive(func() {
		r.seq.closeTurn(execution.TurnFailed, r.publish)
		r.seq.session, r.seq.fallback = false, nil
		r.col.use(b, narrow, n, cmp.Or(r.req.Run.Model, b.DefaultModel), priceFunc(b, r.opts))
	})
}

func (r *Run) errorf(code execution.ErrorCode, format string, args ...any) *execution.Error {
	return execution.Errorf(code, "run %s: "+format, append([]any{r.ID()}, args...)...)
}

// overLocked reports whether the run accepts no more commands.
func (r *Run) overLocked() bool { return r.end.kind != endNone || r.state.Terminal() }

// conditionLocked returns the state in words, for errors.
func (r *Run) conditionLocked() string {
	if r.state.Terminal() {
		return string(r.state)
	}
	return "ending"
}

// activeLocked refuses a verb on a run that is over or whose backend does not support it.
func (r *Run) activeLocked(v execution.Verb) error {
	if r.overLocked() {
		return r.errorf(execution.CodeRunNotActive, "cannot %s: the run is %s", v, r.conditionLocked())
	}
	if !r.caps.Agent.Has(v) {
		e := r.errorf(execution.CodeCapability, "%s does not support %s", r.current.Name, v)
		e.Agent, e.Capability = r.current.Name, string(v)
		return e
	}
	return nil
}

// setLocked makes a legal transition and ignores an illegal one.
func (r *Run) setLocked(to execution.RunState) bool {
	if !LegalTransition(r.state, to) {
		return false
	}
	r.state = to
	return true
}

// On adds a handler for future events; off removes it.
func (r *Run) On(h Handler) (off func()) {
	r.emitMu.Lock()
	defer r.emitMu.Unlock()
	var removed atomic.Bool
	inner := h.fn
	h.fn = func(e execution.Event) bool { return !removed.Load() && inner(e) }
	r.handlers = append(r.handlers[:len(r.handlers):len(r.handlers)], &h)
	return func() { removed.Store(true) }
}

// leave records that nothing drives the run any more.
func (r *Run) leave() { r.leave1.Do(func() { close(r.gone) }) }
