package cliagent

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// spawnError returns the event for a process that could not start.
func (h Hooks) spawnError(err error) (b execution.Body) {
	if h.OnSpawnError != nil {
		_ = guard("OnSpawnError", func() { b = h.OnSpawnError(err) })
	}
	if b == nil {
		b = execution.Crash{ExitCode: -1, Stderr: err.Error()}
	}
	return b
}

// timeout returns the event for inactivity.
func (h Hooks) timeout() (b execution.Body) {
	if h.OnTimeout != nil {
		_ = guard("OnTimeout", func() { b = h.OnTimeout() })
	}
	if b == nil {
		b = execution.ErrorEvent{Code: execution.CodeInactivityTimeout, Message: "the agent was silent for too long"}
	}
	return b
}

// processExit returns the events of the hook; ok is false if the default applies.
func (h Hooks) processExit(exit process.Exit) (events []execution.Body, ok bool) {
	if h.OnProcessExit == nil {
		return nil, false
	}
	if guard("OnProcessExit", func() { events = h.OnProcessExit(exit) }) != nil {
		return nil, false
	}
	return slices.DeleteFunc(slices.Clone(events), func(b execution.Body) bool { return b == nil }), true
}

// shouldRetry decides about another attempt; a panic means no.
func (h Hooks) shouldRetry(failure execution.Body, attempt int, policy execution.RetryPolicy) (again bool) {
	if h.ShouldRetry == nil {
		return retryable(failure, attempt, policy)
	}
	if guard("ShouldRetry", func() { again = h.ShouldRetry(failure, attempt, policy) }) != nil {
		return false
	}
	return again
}

func retryable(failure execution.Body, attempt int, policy execution.RetryPolicy) bool {
	if attempt < 0 || attempt+1 >= policy.MaxAttempts {
		return false
	}
	codes, recoverable := failureCodes(failure)
	return recoverable && slices.ContainsFunc(codes, func(c execution.ErrorCode) bool { return slices.Contains(policy.RetryOn, c) })
}

// failureCodes returns the codes of a failure, and whether it may be temporary.
func failureCodes(failure execution.Body) (codes []execution.ErrorCode, recoverable bool) {
	switch b := failure.(type) {
	case execution.ErrorEvent:
		return []execution.ErrorCode{b.Code}, b.Recoverable
	case execution.Crash:
		return []execution.ErrorCode{execution.CodeAgentCrash}, true
	case execution.RateLimitError:
		return []execution.ErrorCode{execution.CodeRateLimited}, true
	case execution.AuthError:
		return []execution.ErrorCode{execution.CodeAuth}, false
	case execution.ContextExceeded:
		return []execution.ErrorCode{execution.CodeContextExceeded}, false
	case execution.Timeout:
		codes = []execution.ErrorCode{execution.CodeTimeout}
		if b.Kind == execution.TimeoutInactivity {
			codes = append(codes, execution.CodeInactivityTimeout)
		}
		return codes, true
	case execution.Finished:
		if e := b.Result.Error; e != nil {
			return []execution.ErrorCode{e.ErrorCode()}, e.Recoverable || e.Retryable
		}
	}
	return nil, false
}

func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
