package cliagent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// Failure is why a turn failed, as the agent stated it.
type Failure struct {
	Code    execution.ErrorCode
	Message string
	Hint    string // what to type next, empty if unknown
	Final   bool   // do not retry, whatever the code's row says
	// Context is by how much the context was exceeded, if stated.
	Context execution.ContextExceeded
}

// Event returns the event of the failure, which precedes the end of its turn.
func (f *Failure) Event() execution.Body {
	switch f.Code {
	case execution.CodeAuth:
		return execution.AuthError{Message: f.Message, Guidance: f.Hint}
	case execution.CodeRateLimited:
		return execution.RateLimitError{Message: f.Message}
	case execution.CodeContextExceeded:
		return f.Context
	}
	return execution.ErrorEvent{Code: f.Code, Message: f.Message, Recoverable: f.Code.Row().Retryable && !f.Final}
}

// Result returns the failure as part of a result or the end of a turn.
func (f *Failure) Result() *execution.ResultError {
	e := execution.NewResultError(f.Code, f.Message)
	if f.Code == execution.CodeInternal {
		e.Code = execution.FailureBackendExecution // the agent's failure, not ours
	}
	if f.Hint != "" {
		e.Metadata["hint"] = f.Hint
	}
	if f.Final {
		e.Retryable, e.Recoverable = false, false
	}
	return e
}

// exit is how a run with this failure ended: in order, whatever the exit code, unless it was stopped.
func (f *Failure) exit() execution.ExitReason {
	switch f.Code {
	case execution.CodeTimeout:
		return execution.ExitByTimeout
	case execution.CodeInactivityTimeout:
		return execution.ExitInactivity
	case execution.CodeAborted:
		return execution.ExitReasonAbort
	}
	return execution.ExitCompleted
}

// Failures maps what an agent and its model API report to error codes.
type Failures struct {
	Phrases  Phrases
	Words    []Words
	Statuses map[int64]execution.ErrorCode // HTTP statuses whose meaning differs from CodeOfStatus
}

// Words are an agent's own names of errors with one code.
type Words struct {
	Code  execution.ErrorCode
	Names []string
}

// Word returns the code of one of the agent's own names, empty for an unknown one.
func (f *Failures) Word(name string) execution.ErrorCode {
	for _, w := range f.Words {
		if slices.Contains(w.Names, name) {
			return w.Code
		}
	}
	return ""
}

// Status returns the code for a status of the model API, empty for none.
func (f *Failures) Status(status int64) execution.ErrorCode {
	return cmp.Or(f.Statuses[status], CodeOfStatus(status))
}

// Text returns the code for a text in lower case, empty for none.
func (f *Failures) Text(text string) execution.ErrorCode { return f.Phrases.Code(text) }

// Sharper replaces a generic code by the one of the text that came with it.
func (f *Failures) Sharper(code execution.ErrorCode, text string) execution.ErrorCode {
	if code == "" || code == execution.CodeProvider || code == execution.CodeInvalidRequest {
		return cmp.Or(f.Text(text), code)
	}
	return code
}

// Phrase is an error code and the lower-case phrases that stand for it. And must be in the text as well.
type Phrase struct {
	Code  execution.ErrorCode
	Parts []string
	And   string
}

// Phrases are for errors that an agent reports as text only. The first phrase that matches decides.
type Phrases []Phrase

// Code returns the code of the first phrase that a text in lower case contains, empty for none.
func (p Phrases) Code(text string) execution.ErrorCode {
	for _, t := range p {
		if strings.Contains(text, t.And) && slices.ContainsFunc(t.Parts, func(part string) bool { return strings.Contains(text, part) }) {
			return t.Code
		}
	}
	return ""
}

// Complaint derives a failure from standard error. The code is empty if nothing is recognised, and for a program that
// was stopped or that did not fail.
func (p Phrases) Complaint(exit process.Exit) (code execution.ErrorCode, message string) {
	if exit.Stopped || exit.Signal != "" || exit.Code <= 0 {
		return "", ""
	}
	message = strings.TrimPrefix(strings.TrimSpace(exit.StderrTail), "Error: ")
	return p.Code(strings.ToLower(exit.StderrTail)), strings.ToValidUTF8(message, "\uFFFD")
}

// ContextNumbers parses the used and the maximum tokens from a text: they follow the text before, in a form of
// package fmt.
func ContextNumbers(text, before, form string) execution.ContextExceeded {
	var e execution.ContextExceeded
	if _, rest, ok := strings.Cut(text, before); ok {
		if n, err := fmt.Sscanf(rest, form, &e.UsedTokens, &e.MaxTokens); err != nil || n != 2 {
			return execution.ContextExceeded{}
		}
	}
	return e
}
