package agent

import (
	"slices"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// fallbackCodes are the failures that another backend may not have.
var fallbackCodes = []execution.ErrorCode{
	execution.CodeAgentNotInstalled, execution.CodeSpawn, execution.CodeAuth, execution.CodeRateLimited,
	execution.CodeProvider, execution.CodeAgentCrash, execution.CodeModelNotFound, execution.CodeCapability,
	execution.CodeInvalidOutput, execution.CodeContextExceeded,
}

// mayFallBack reports whether another backend may take over. A conversation that resumes an agent's session, or
// that already had an answer, cannot continue on another agent.
func (r *Run) mayFallBack(res execution.Result) bool {
	if r.req.Run.SessionID != "" || r.req.Run.ForkSessionID != "" || res.Error == nil || r.answeredOnce() {
		return false
	}
	return res.Status == execution.StatusUnsupported || res.Status == execution.StatusFailed && slices.Contains(fallbackCodes, res.Error.ErrorCode())
}

// answeredOnce reports whether the last attempt completed a turn: repeating the request would repeat its
// effects.
func (r *Run) answeredOnce() (done bool) {
	r.exclusive(func() { done = r.col.turnsDone > 0 })
	return done
}

// fallbackRequest returns the request for another backend, without what only the first one understands.
func fallbackRequest(req execution.Request, b Backend) execution.Request {
	c := req.Clone()
	c.Run.Agent = b.Name
	if execution.FindModel(b.Models, c.Run.Model) == nil {
		c.Run.Model = ""
	}
	return c
}

// shouldRetry asks the adapter or applies the policy's rule. A panic means no.
func (r *Run) shouldRetry(b Backend, res execution.Result, attempt int, policy execution.RetryPolicy) (retry bool) {
	if res.Error == nil || res.Status != execution.StatusFailed || attempt >= policy.MaxAttempts || r.answeredOnce() {
		return false
	}
	failure := failureBody(res, 0)
	if custom, ok := adapter.As[adapter.Retrier](b.Adapter); ok {
		defer func() {
			if recover() != nil {
				retry = false
			}
		}()
		return custom.ShouldRetry(failure, attempt-1, policy)
	}
	return (res.Error.Retryable || res.Error.Recoverable) && ShouldRetry(failure, attempt-1, policy)
}

// ShouldRetry is the rule of the agent-mux specification: attempts remain, the policy includes the failure's
// code, and the failure is recoverable. attempt counts from 0. A policy that retries timeouts also retries
// those of inactivity.
func ShouldRetry(failure execution.Body, attempt int, policy execution.RetryPolicy) bool {
	if attempt < 0 || attempt+1 >= policy.MaxAttempts {
		return false
	}
	code, recoverable := execution.CodeInternal, false
	switch f := failure.(type) {
	case execution.ErrorEvent:
		code, recoverable = f.Code, f.Recoverable
	case execution.Crash:
		code, recoverable = execution.CodeAgentCrash, true
	case execution.RateLimitError:
		code, recoverable = execution.CodeRateLimited, true
	case execution.Timeout:
		code, recoverable = execution.CodeTimeout, true
		if f.Kind == execution.TimeoutInactivity {
			code = execution.CodeInactivityTimeout
		}
	case execution.AuthError:
		code = execution.CodeAuth
	case execution.ContextExceeded:
		code = execution.CodeContextExceeded
	}
	listed := slices.Contains(policy.RetryOn, code) ||
		code == execution.CodeInactivityTimeout && slices.Contains(policy.RetryOn, execution.CodeTimeout)
	return recoverable && listed
}

// failureBody returns the error event of a failed result. after is the delay that the provider asked for, 0 if
// unknown.
func failureBody(res execution.Result, after time.Duration) execution.Body {
	e := res.Error
	switch code := e.ErrorCode(); code {
	case execution.CodeAuth:
		return execution.AuthError{Message: e.Message, Guidance: "log in to the agent, or set its key"}
	case execution.CodeRateLimited:
		return execution.RateLimitError{Message: e.Message, RetryAfterMs: after.Milliseconds()}
	case execution.CodeContextExceeded:
		return execution.ContextExceeded{}
	case execution.CodeAgentCrash:
		exit := -1
		if res.ExitCode != nil {
			exit = *res.ExitCode
		}
		return execution.Crash{ExitCode: exit, Stderr: e.Stderr, Signal: res.Signal}
	default:
		return execution.ErrorEvent{Code: code, Message: e.Message, Recoverable: e.Retryable}
	}
}
