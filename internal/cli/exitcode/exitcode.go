// Package exitcode defines the exit codes of the command line, in one table. "drawbar help exit-codes" documents them. A code is
// never reused.
package exitcode

import (
	"errors"
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// Code is one exit code with its meaning.
type Code struct {
	Code    int    `json:"code"`
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
}

var table = []Code{
	{execution.ExitOK, "ok", "success; a run completed"},
	{execution.ExitGeneral, "general", "a failure without a code of its own; a governed run is blocked, or a turn was not accepted"},
	{execution.ExitUsage, "usage", "the command line or the request is invalid; nothing was started"},
	{execution.ExitAgentNotFound, "agent-not-found", "unknown agent"},
	{execution.ExitNotInstalled, "not-installed", "the agent is not installed on this machine"},
	{execution.ExitAuth, "auth", "the agent is not logged in, or its provider rejected the credentials"},
	{execution.ExitCapability, "capability", "the agent does not support what the request asks for; nothing was started"},
	{execution.ExitConfig, "config", "a configuration or state file cannot be read or written"},
	{execution.ExitSession, "session", "unknown session or run"},
	{execution.ExitProfile, "profile", "unknown profile"},
	{execution.ExitPlugin, "plugin", "a plugin of the agent failed"},
	{execution.ExitTimeout, "timeout", "a time limit expired: of the run, or of silence"},
	{execution.ExitCrashed, "crashed", "the agent's process ended without a result"},
	{execution.ExitAborted, "aborted", "the run was aborted: drawbar stop, SIGTERM, a second Ctrl-C"},
	{execution.ExitRateLimited, "rate-limited", "the provider's rate limit ended the run"},
	{execution.ExitContext, "context", "the model's context window is full"},
	{execution.ExitUntrusted, "untrusted", "the project would run commands that you have not trusted; none was run (drawbar trust)"},
	{execution.ExitWaiting, "waiting", "the run ended with a question or an approval that waits for a person; a governed run waits for one"},
	{execution.ExitBudget, "budget", "the budget is used up"},
	{execution.ExitLimit, "limit", "the turn limit, or another limit of the agent, ended the run before it was done"},
	{execution.ExitInvalidOutput, "invalid-output", "the answer does not satisfy the schema, or the agent's output is invalid"},
	{execution.ExitDenied, "denied", "the run completed, but tool calls were denied because nobody could be asked (--allow, --approve)"},
	{execution.ExitInterruptedKey, "interrupted", "the first Ctrl-C ended the run"},
}

// Table returns a copy of all exit codes, ascending.
func Table() []Code { return append([]Code(nil), table...) }

// Of returns the exit code of an error, 0 for nil.
func Of(err error) int {
	if err == nil {
		return execution.ExitOK
	}
	var coded *Error
	if errors.As(err, &coded) {
		return coded.Code
	}
	return execution.CodeOf(err).Row().Exit
}

// OfResult returns the exit code of a run.
func OfResult(r execution.Result) int {
	switch r.Status {
	case execution.StatusCompleted:
		if r.DeniedCalls > 0 {
			return execution.ExitDenied
		}
		return execution.ExitOK
	case execution.StatusFailed, execution.StatusUnsupported:
		return r.Error.ErrorCode().Row().Exit
	case execution.StatusAwaitingApproval, execution.StatusNeedsClarification:
		return execution.ExitWaiting
	case execution.StatusDeferred:
		return execution.ExitLimit
	}
	return execution.ExitGeneral
}

// Error ends the command with a specific code. Silent means that the reason was already printed.
type Error struct {
	Code   int
	Err    error
	Silent bool
}

// If returns err. Without one it returns a silent Error with the code if the condition holds, else nil.
func If(condition bool, code int, err error) error {
	if err == nil && condition {
		return &Error{Code: code, Silent: true}
	}
	return err
}

// Error returns the text of the wrapped error.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

// Help returns the text of "drawbar help exit-codes".
func Help() string {
	var b strings.Builder
	b.WriteString("Exit codes of drawbar:\n\n")
	for _, c := range table {
		fmt.Fprintf(&b, "  %3d  %-16s %s\n", c.Code, c.Name, c.Meaning)
	}
	b.WriteString("\nGoverned runs (drawbar govern): 0 a turn was accepted, or the run is completed; 1 blocked, not accepted, a step while a " +
		"gate waits, or not\npossible in this state; 2 the command line; 7 the configuration or the record; 20 govern run stopped because a " +
		"person is needed, for a gate\nor a turn; 22 govern run reached its turn limit; 23 the staged result is missing or invalid; 130 ended by Ctrl-C, " +
		"the turn stays.\n")
	b.WriteString("\nError codes of results and events, and the exit code of each:\n\n")
	for _, row := range execution.ErrorRows() {
		again := ""
		if row.Retryable {
			again = ", retryable"
		}
		fmt.Fprintf(&b, "  %3d  %-26s %s%s\n", row.Exit, row.Code, row.Failure, again)
	}
	return b.String()
}
