package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/pause"
)

// drive runs attempts on the first backend, then on the fallbacks, until the run ends.
func (r *Run) drive() {
	defer r.leave()
	defer r.hooks.wait()
	defer r.awaitCallbacks()
	defer r.cancel(errOver)
	noticed := make(chan struct{})
	stop := context.AfterFunc(r.ctx, func() { defer close(noticed); r.onCancelled() })
	defer func() {
		if !stop() {
			<-noticed
		}
	}()
	last := failed(execution.Errorf(execution.CodeInternal, "the adapter %s ended its goroutine", r.backend.Name))
	defer func() { r.finish(last) }() // deferred for an adapter that calls runtime.Goexit

	text, denied := r.hooks.prompt(r.ctx, string(r.req.Message.Text))
	if denied != nil {
		last = failed(denied)
		return
	}
	first := r.req
	first.Message.Text = execution.Prompt(text)
	if r.calls.answer != nil {
		first.Message.Text = told(first)
	}

	backends := append([]Backend{r.backend}, r.opts.Fallback...)
	res := execution.Result{}
	for i, b := range backends {
		req := first
		if i > 0 {
			req = fallbackRequest(first, b)
		}
		n := negotiateBackend(b, req, r.opts)
		r.use(b, capabilitiesOf(b), capabilitiesFor(b, req, r.opts), n)
		if i > 0 {
			r.emit(execution.Retry{Attempt: i + 1, MaxAttempts: len(backends), Code: res.Error.ErrorCode(),
				Reason: fmt.Sprintf("falling back to %s: %s", b.Name, res.Error.Message)})
		}
		for _, warning := range []string{b.Warning, b.Untested} {
			if warning != "" {
				r.warn("%s", warning)
			}
		}
		if n.Supported {
			for _, reason := range n.Reasons {
				r.warn("%s: %s", reason.Code, reason.Message)
			}
			res = r.attempts(b, req)
		} else {
			res = unsupported(b.Name, n)
		}
		if i+1 == len(backends) || r.ctx.Err() != nil || !r.mayFallBack(res) {
			break
		}
	}
	last = res
}

// callbackGrace is how long the end of a run waits for callbacks after their ctx ended.
const callbackGrace = time.Second

// awaitCallbacks waits for the callbacks of questions, all of which are cancelled. It does not wait for one
// that ignores this: it must not delay a run that has ended.
func (r *Run) awaitCallbacks() {
	r.mu.Lock()
	started := r.callbacks
	r.mu.Unlock()
	if !started {
		return
	}
	back := make(chan struct{})
	go func() { r.asked.Wait(); close(back) }()
	timer := time.NewTimer(callbackGrace)
	defer timer.Stop()
	select {
	case <-back:
	case <-timer.C:
	}
}

// capabilitiesOf returns the capabilities of a backend, none if it panics.
func capabilitiesOf(b Backend) (caps execution.Capabilities) {
	defer func() {
		if recover() != nil {
			caps = execution.Capabilities{}
		}
	}()
	return adapter.CapabilitiesOf(b.Adapter)
}

// capabilitiesFor returns the capabilities of a request's run, which may be fewer than the backend's.
func capabilitiesFor(b Backend, req execution.Request, opts Options) (caps execution.Capabilities) {
	caps = capabilitiesOf(b)
	defer func() { _ = recover() }() // an adapter that panics here has its declared capabilities
	if varying, ok := adapter.As[adapter.RunCapabilities](b.Adapter); ok {
		caps = varying.CapabilitiesFor(wired(req, caps, opts)).Stated()
	}
	return caps
}

// attempts repeats the execution on one backend according to the retry policy.
func (r *Run) attempts(b Backend, req execution.Request) execution.Result {
	policy := execution.RetryPolicy{MaxAttempts: 1}
	if req.Run.RetryPolicy != nil {
		policy = *req.Run.RetryPolicy
	}
	for attempt := 1; ; attempt++ {
		r.exclusive(r.col.beginAttempt)
		res := r.execute(b, req)
		if res.Usage == nil {
			r.addUnstated(b)
		}
		res.Attempts = attempt
		if r.ctx.Err() != nil || !r.shouldRetry(b, res, attempt, policy) {
			return res
		}
		delay := policy.Delay(attempt, rand.Float64())
		code := res.Error.ErrorCode()
		r.exclusive(func() {
			r.seq.closeTurn(execution.TurnFailed, r.publish)
			if r.col.after > 0 && (code == execution.CodeRateLimited || code == execution.CodeProvider) {
				delay = r.col.after // the provider's delay overrides the policy's
			}
		})
		r.emit(execution.Retry{Attempt: attempt + 1, MaxAttempts: policy.MaxAttempts, Reason: res.Error.Message,
			DelayMs: delay.Milliseconds(), Code: code})
		if pause.For(r.ctx, delay) != nil {
			return res
		}
	}
}

// execute makes one attempt: it iterates over the adapter and returns its result. A panic of the adapter
// becomes a failure.
func (r *Run) execute(b Backend, req execution.Request) (res execution.Result) {
	if err := r.ctx.Err(); err != nil {
		return failed(execution.Errorf(execution.CodeAborted, "not started: %v", context.Cause(r.ctx)))
	}
	in := r.newInbox()
	defer r.dropInbox()
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	r.mu.Lock()
	r.stopBackend = cancel
	r.mu.Unlock()
	got := false
	defer func() {
		p := recover()
		switch {
		case p != nil && got: // it already returned its result
			r.warn("the adapter %s panicked after its result: %v", b.Name, p)
		case p != nil:
			res = failed(execution.Errorf(execution.CodeInternal, "the adapter %s panicked: %v", b.Name, p))
			res.Error.Code = execution.FailureBackendExecution
		}
	}()
	var broken error
	bodiless := false
	for ev, err := range b.Adapter.Execute(ctx, wired(req, capabilitiesOf(b), r.opts), in.forAdapter()) {
		if got {
			r.warn("the adapter %s continued after its result: the rest is dropped", b.Name)
			break
		}
		if err != nil {
			broken = err
			break
		}
		switch f := ev.Body.(type) {
		case nil:
			if !bodiless {
				bodiless = true
				r.warn("the adapter %s yielded an event without a body: it was dropped", b.Name)
			}
		case execution.Finished:
			res, got = f.Result, true
		default:
			if r.hooks.PreToolUse == nil {
				r.emitWait(ev)
				continue
			}
			for _, e := range r.hooks.about(ev) {
				r.emitWait(e)
			}
		}
	}
	switch {
	case errors.Is(context.Cause(ctx), errAuth) && r.ctx.Err() == nil:
		return r.refusedLogin(b, res)
	case got:
		return res
	case r.ctx.Err() != nil:
		return failed(execution.Errorf(execution.CodeAborted, "stopped: %v", context.Cause(r.ctx)))
	case broken != nil:
		var e *execution.Error
		if errors.As(broken, &e) {
			return failed(e)
		}
		res = failed(execution.Errorf(execution.CodeInternal, "the adapter %s failed: %v", b.Name, broken))
		res.Error.Code = execution.FailureBackendExecution
		return res
	}
	res = failed(execution.Errorf(execution.CodeInvalidOutput, "the adapter %s ended without a result", b.Name))
	res.ExitReason = execution.ExitCrash
	return res
}

// addUnstated adds to the stream the tokens that the agent's session file has beyond the stated ones, if an
// execution was interrupted before it stated a turn's tokens.
func (r *Run) addUnstated(b Backend) {
	session := ""
	r.exclusive(func() {
		if r.col.lacksTokens() {
			session = r.col.sessionID
		}
	})
	if r.opts.SessionUsage == nil || session == "" {
		return
	}
	used := r.opts.SessionUsage(b.Name, session)
	r.exclusive(func() {
		rest := used.Sub(r.col.usage.Sub(r.col.outside))
		if min(rest.Input, rest.Output, rest.Cached, rest.CacheWrite) < 0 || rest.Total <= 0 {
			return // the file counts differently, or has no more
		}
		r.seq.order(execution.Event{Body: execution.TokenUsage{InputTokens: rest.Input, OutputTokens: rest.Output, ThinkingTokens: max(rest.Thinking, 0),
			CachedTokens: rest.Cached, CacheWriteTokens: rest.CacheWrite, FromSession: true}}, r.publish)
	})
}

// refusedLogin returns the result of an execution ended because the model API refuses its credentials.
func (r *Run) refusedLogin(b Backend, res execution.Result) execution.Result {
	why := ""
	r.exclusive(func() { why = r.col.retrying.Reason })
	stderr := ""
	if res.Error != nil {
		stderr = res.Error.Stderr
	}
	res.Status, res.ExitReason = execution.StatusFailed, execution.ExitCompleted
	res.Error = execution.NewResultError(execution.CodeAuth, cmp.Or(why, "the model API refused the credentials"))
	res.Error.Stderr = stderr
	res.Error.Metadata["hint"] = "drawbar auth guide " + b.Name + "; --keep-retrying lets the agent retry"
	return res
}

// wired returns the request for the adapter: interactive if a question may be asked and somebody, or the end of
// the turn, will answer it. The inbox announces that no more messages follow.
func wired(req execution.Request, caps execution.Capabilities, opts Options) execution.Request {
	c := asking(req.Clone())
	rules := len(req.Run.AllowTools) > 0 || req.Run.ApprovalMode == execution.ApprovalReads
	asks := c.Run.ApprovalMode == "" || c.Run.ApprovalMode == execution.ApprovalPrompt
	if !c.Run.NonInteractive && caps.Agent.InteractiveMode && (asks && (opts.OnApproval != nil || rules || wantsInterrupt(req)) || opts.OnInput != nil) {
		c.Run.Interactive = true
	}
	return c
}

// failed returns the result of an error.
func failed(err *execution.Error) execution.Result {
	res := execution.Result{Status: execution.StatusFailed, Error: execution.NewResultError(err.Code, err.Error())}
	if err.Code == execution.CodeCapability {
		res.Status = execution.StatusUnsupported
	}
	if err.Capability != "" {
		res.Error.Metadata["capability"] = err.Capability
	}
	return res
}
