package cliagent

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// stopReason is why the kit stopped a process. The first reason is kept.
type stopReason int

const (
	stopNone       stopReason = iota
	stopContext               // the run was aborted
	stopDeadline              // the run's deadline passed
	stopInactivity            // the agent was silent for too long
	stopLinger                // the agent was done and did not exit
	stopFailure               // Sink.Fail, or a panic that ended the conversation
	stopInterrupt             // interrupted by a signal, because the agent accepts no input
)

// stated reports whether the agent stated how the run ended.
func stated(res execution.Result) bool { return res.Status != "" || res.Error != nil }

// outcome combines the agent's statement with the state of its process. A failed conversation and inactivity outweigh
// the statement; without a statement the exit decides, and exit code 0 proves nothing.
func (d *drive) outcome(res execution.Result, exit process.Exit, why stopReason) execution.Result {
	switch {
	case d.sink.failure != nil:
		fail(&res, d.sink.failure, d.sink.broken)
		if why == stopFailure || why == stopNone {
			reason := execution.ExitCompleted // a refused handshake or session counts as stated, like any other failure
			if d.sink.broken || d.sink.failure.Code.Crash() {
				reason = execution.ExitCrash
			}
			res.ExitReason = cmp.Or(res.ExitReason, reason)
		}
	case why == stopInterrupt && res.Status != execution.StatusCompleted:
		fail(&res, execution.Errorf(execution.CodeInterrupted, "%s was interrupted", d.name), false)
		res.ExitReason = execution.ExitInterrupted
	case why == stopInactivity:
		fail(&res, execution.Errorf(execution.CodeInactivityTimeout, "%s was silent for %s and was stopped", d.name, d.silence), false)
		res.ExitReason = execution.ExitInactivity
	case !stated(res):
		d.silent = true
		err, reason := unstated(d.name, exit, why)
		fail(&res, err, false)
		res.ExitReason = cmp.Or(res.ExitReason, reason)
	case res.Status == "":
		res.Status = execution.StatusFailed
	case res.Error == nil && (res.Status == execution.StatusFailed || res.Status == execution.StatusUnsupported):
		res.Error = execution.NewResultError(execution.CodeInternal, d.name+" failed without saying why")
		res.Error.Code = execution.FailureBackendExecution
	}
	if res.ExitReason == "" {
		res.ExitReason = exitReason(exit, why)
	}
	return d.complete(res, exit)
}

// complete fills in what the parser cannot know.
func (d *drive) complete(res execution.Result, exit process.Exit) execution.Result {
	res.SchemaVersion = execution.SchemaVersion
	res.BackendID = d.name
	res.SessionID = cmp.Or(res.SessionID, d.sink.session)
	res.TurnCount = cmp.Or(res.TurnCount, d.sink.turns)
	// Standard error has no format: a failed run shows it, a successful run does not.
	res.UnknownLines = d.sink.unknown - d.sink.complaints
	if res.Error == nil && d.sink.complaints > 0 {
		res.Metadata = with(res.Metadata, "unknownStderrLines", d.sink.complaints)
	}
	res.DurationMs = cmp.Or(res.DurationMs, exit.Duration.Milliseconds())
	if exit.Code >= 0 && exit.Signal == "" {
		code := exit.Code
		res.ExitCode = &code
	}
	res.Signal = exit.Signal
	if res.Error != nil {
		e := *res.Error
		e.Stderr = cmp.Or(e.Stderr, beyond(exit.StderrTail, e.Message))
		if e.ErrorCode() == execution.CodeAgentCrash && d.sink.session == "" && e.Stderr == "" && exit.Code > 0 && e.Metadata["hint"] == nil {
			e.Metadata = with(e.Metadata, "hint", "it printed no reason; drawbar doctor checks its home directory and its login")
		}
		res.Error = &e
	}
	if exit.Err != nil {
		res.Metadata = with(res.Metadata, "processError", exit.Err.Error())
	}
	if exit.Cut {
		res.Metadata = with(res.Metadata, "outputCut", true)
	}
	return res
}

// unstated is the outcome of a run whose agent stated none.
func unstated(name string, exit process.Exit, why stopReason) (*execution.Error, execution.ExitReason) {
	switch {
	case why == stopDeadline:
		return execution.Errorf(execution.CodeTimeout, "%s was stopped when the run's time was over", name), execution.ExitByTimeout
	case why == stopContext || why == stopNone && exit.Stopped:
		return execution.Errorf(execution.CodeAborted, "%s was stopped before it stated a result", name), execution.ExitReasonAbort
	case why == stopLinger && (exit.Code <= 0 || exit.Code >= 128):
		return execution.Errorf(execution.CodeInvalidOutput, "%s ended without a result", name), execution.ExitCompleted
	// A process that was exiting when it was stopped has its own exit code.
	case exit.Signal != "":
		return execution.Errorf(execution.CodeAgentCrash, "%s was killed by %s", name, exit.Signal), execution.ExitKilled
	case exit.Code < 0 && exit.Err != nil:
		return execution.Errorf(execution.CodeAgentCrash, "%s ended in an unknown way: %v", name, exit.Err), execution.ExitCrash
	case exit.Code != 0:
		return execution.Errorf(execution.CodeAgentCrash, "%s exited with code %d and without a result", name, exit.Code), execution.ExitCrash
	}
	return execution.Errorf(execution.CodeInvalidOutput, "%s ended without a result", name), execution.ExitCompleted
}

// exitReason is how the process of a stated result ended. A stated result is not a crash, whatever the exit code.
func exitReason(exit process.Exit, why stopReason) execution.ExitReason {
	switch {
	case why == stopDeadline:
		return execution.ExitByTimeout
	case why == stopContext:
		return execution.ExitReasonAbort
	case why == stopLinger || exit.Stopped:
		return execution.ExitCompleted
	case exit.Signal != "":
		return execution.ExitKilled
	}
	return execution.ExitCompleted
}

// fail makes res a failed result of err. If broken is set, the fault is Drawbar's own and the code is
// backend_execution_error.
func fail(res *execution.Result, err *execution.Error, broken bool) {
	res.Status = execution.StatusFailed
	if err.Code == execution.CodeCapability {
		res.Status = execution.StatusUnsupported
	}
	res.Error = resultError(err)
	if broken {
		res.Error.Code = execution.FailureBackendExecution
	}
}

// resultError converts err for a result: hint and fields become metadata.
func resultError(err *execution.Error) *execution.ResultError {
	e := execution.NewResultError(err.Code, err.Message)
	if err.Hint != "" {
		e.Metadata["hint"] = err.Hint
	}
	if len(err.Fields) > 0 {
		e.Metadata["fields"] = err.Fields
	}
	if err.Capability != "" {
		e.Metadata["capability"] = err.Capability
	}
	return e
}

// with returns m with another entry and leaves m, which may be a parser's, unchanged.
func with(m map[string]any, key string, value any) map[string]any {
	c := maps.Clone(m)
	if c == nil {
		c = map[string]any{}
	}
	c[key] = value
	return c
}

// crashEvent returns the default event for an exit, nil for none.
func crashEvent(exit process.Exit, crashed bool) execution.Body {
	switch {
	case exit.Stopped:
		return nil
	case exit.Signal != "":
		return execution.ErrorEvent{Code: execution.CodeAgentCrash, Message: fmt.Sprintf("the agent was killed by %s", exit.Signal)}
	case exit.Code != 0 && !crashed:
		return execution.Crash{ExitCode: exit.Code, Stderr: validUTF8(exit.StderrTail)}
	}
	return nil
}
