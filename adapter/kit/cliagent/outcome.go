package cliagent

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// stopReason says why the kit stopped a process. The first reason stays.
type stopReason int

const (
	stopNone       stopReason = iota
	stopContext               // the run was aborted
	stopDeadline              // the run's time was over
	stopInactivity            // the agent was silent for too long
	stopLinger                // the agent had nothing more to do and did not end
	stopFailure               // Sink.Fail, or a panic that leaves no conversation
	stopInterrupt             // interrupted by a signal, since the agent takes no input
)

// stated reports whether the agent said how the run ended.
func stated(res execution.Result) bool { return res.Status != "" || res.Error != nil }

// outcome joins what the agent stated with what is known of its process. A failed conversation and silence outweigh
// what the agent said; without a statement the exit speaks, and an exit code of 0 proves nothing.
func (d *drive) outcome(res execution.Result, exit process.Exit, why stopReason) execution.Result {
	switch {
	case d.sink.failure != nil:
		fail(&res, d.sink.failure, d.sink.broken)
		if why == stopFailure || why == stopNone {
			reason := execution.ExitCompleted // a refused handshake or session is stated, like any other failure
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

// complete fills what the parser cannot know.
func (d *drive) complete(res execution.Result, exit process.Exit) execution.Result {
	res.SchemaVersion = execution.SchemaVersion
	res.BackendID = d.name
	res.SessionID = cmp.Or(res.SessionID, d.sink.session)
	res.TurnCount = cmp.Or(res.TurnCount, d.sink.turns)
	// Standard error is no format: a failure shows what it says, and lines of a run that went well alarm nobody.
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
			e.Metadata = with(e.Metadata, "hint", "it said nothing; drawbar doctor looks at its home directory and its login")
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

// unstated is the outcome of a run whose agent said nothing about it.
func unstated(name string, exit process.Exit, why stopReason) (*execution.Error, execution.ExitReason) {
	switch {
	case why == stopDeadline:
		return execution.Errorf(execution.CodeTimeout, "%s was stopped when the time of the run was over", name), execution.ExitByTimeout
	case why == stopContext || why == stopNone && exit.Stopped:
		return execution.Errorf(execution.CodeAborted, "%s was stopped before it stated a result", name), execution.ExitReasonAbort
	case why == stopLinger && (exit.Code <= 0 || exit.Code >= 128):
		return execution.Errorf(execution.CodeInvalidOutput, "%s ended without a result", name), execution.ExitCompleted
	// One that was dying when it was told to stop has its own exit code.
	case exit.Signal != "":
		return execution.Errorf(execution.CodeAgentCrash, "%s was killed by %s", name, exit.Signal), execution.ExitKilled
	case exit.Code < 0 && exit.Err != nil:
		return execution.Errorf(execution.CodeAgentCrash, "%s ended in an unknown way: %v", name, exit.Err), execution.ExitCrash
	case exit.Code != 0:
		return execution.Errorf(execution.CodeAgentCrash, "%s exited with code %d and without a result", name, exit.Code), execution.ExitCrash
	}
	return execution.Errorf(execution.CodeInvalidOutput, "%s ended without a result", name), execution.ExitCompleted
}

// exitReason is how the process of a stated result ended. What the agent states is no crash, whatever its exit code.
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

// fail makes res a failed result of err. broken says that the fault is Drawbar's own: the result then says
// backend_execution_error, because nothing is known of the agent.
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

// resultError is err as a result carries it: the hint and the fields are in its metadata.
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

// with is m with one more entry; m itself, which may be a parser's, is left alone.
func with(m map[string]any, key string, value any) map[string]any {
	c := maps.Clone(m)
	if c == nil {
		c = map[string]any{}
	}
	c[key] = value
	return c
}

// crashEvent is the default event for an exit, nil for none.
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
