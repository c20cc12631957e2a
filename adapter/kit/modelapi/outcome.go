package modelapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/service"
	"github.com/drawbar/drawbar/execution"
)

// The reasons why a turn ended, in the words of the BYOH specification's harness.
const (
	EndFinal         = "answer_finalized"
	EndClarification = "clarification_required"
	EndApproval      = "approval_required"
	EndModelCalls    = "max_iterations_reached"
	EndToolCalls     = "max_tool_calls_reached"
	EndElapsed       = "timeout_reached"
	EndTool          = "tool_unavailable"
	EndLoop          = "redundant_tool_loop"
	EndRefusal       = "model_refused"
	EndInvalid       = "model_invalid_response"
	EndError         = "runtime_error"
	EndCancelled     = "cancelled"
	EndOutput        = "max_output_tokens_reached" // an addition: the limit on the tokens of an answer
)

// errElapsed is the cause that ends a turn at Limits.Elapsed.
var errElapsed = fmt.Errorf("the time for the turn is over: %w", context.DeadlineExceeded)

// outcome is how a turn ended.
type outcome struct {
	reason     execution.TurnEndReason
	word       string // EndFinal and so on
	text       string
	structured json.RawMessage
	failure    *failure
	stop       string // the service's word
}

func failed(word string, code execution.ErrorCode, format string, args ...any) *outcome {
	return &outcome{reason: execution.TurnFailed, word: word, failure: &failure{Failure: cliagent.Failure{Code: code, Message: fmt.Sprintf(format, args...)}}}
}

// stopped is the failure of a run whose context ended.
func (r *run) stopped(ctx context.Context) *outcome {
	if errors.Is(context.Cause(ctx), errElapsed) {
		return failed(EndElapsed, execution.CodeTimeout, "the time for the turn was over")
	}
	reason, f := service.Ended(ctx, r.spec.Title)
	o := &outcome{reason: reason, word: EndCancelled}
	if f != nil {
		if o.failure = (&failure{Failure: *f}); f.Code != execution.CodeAborted {
			o.word = EndElapsed
		}
	}
	return o
}

// judge derives the outcome from an answer without tool calls. A word of EndInvalid means that the model may try again.
func (r *run) judge(reply *Reply) *outcome {
	o := &outcome{reason: execution.TurnCompleted, word: EndFinal, text: reply.text(), stop: reply.Reason}
	fail := func(word string, code execution.ErrorCode, format string, args ...any) *outcome {
		f := failed(word, code, format, args...)
		f.text, f.stop = o.text, o.stop
		return f
	}
	switch reply.Stop {
	case StopLength:
		o.reason, o.word = execution.TurnLimitReached, EndOutput
		return o
	case StopContext:
		return fail(EndError, execution.CodeContextExceeded, "the context window of %s is full (%s)", r.call.Model, reply.Reason)
	case StopRefused:
		return fail(EndRefusal, execution.CodeInvalidRequest, "%s refused to answer (%s)", r.call.Model, reply.Reason)
	case StopTools:
		if r.agent.Limits.Invalid > 0 {
			return fail(EndInvalid, execution.CodeInvalidOutput, "%s asked for tools and called none", r.call.Model)
		}
	}
	if len(r.req.Run.OutputSchema) > 0 && r.parent == "" {
		text := strings.TrimSpace(o.text)
		if !json.Valid([]byte(text)) {
			return fail(EndInvalid, execution.CodeInvalidOutput, "%s answered without the JSON that the schema asks for", r.call.Model)
		}
		o.structured = json.RawMessage(text)
	}
	return o
}

// result is the run's result.
func (r *run) result() execution.Result {
	res := execution.Result{SchemaVersion: execution.SchemaVersion, BackendID: r.name, Model: r.agent.Prefix + cmp.Or(r.model, r.call.Model), SessionID: r.session,
		TurnCount: r.turns, Retries: r.retries, Metadata: map[string]any{}, ExitReason: execution.ExitCompleted}
	if !r.total.IsZero() {
		u := *r.total
		res.Usage = &u
	}
	if len(r.requests) > 0 {
		res.Metadata["requestIds"] = r.requests
	}
	o := r.last
	if r.waits != nil && o.word == EndCancelled && o.reason == execution.TurnFailed {
		if o.word = EndApproval; r.waits.kind == execution.ContinuationClarification {
			o.word = EndClarification
		}
	}
	switch {
	case r.agent.Name != "":
		res.Metadata["stopReason"] = o.word
		if o.stop != "" {
			res.Metadata["modelStopReason"] = o.stop
		}
	case o.stop != "":
		res.Metadata["stopReason"] = o.stop
	}
	if o.text != "" || o.structured != nil {
		res.Output = &execution.Output{Text: o.text, Structured: o.structured}
	}
	switch o.reason {
	case execution.TurnCompleted:
		res.Status = execution.StatusCompleted
	case execution.TurnLimitReached:
		res.Status = execution.StatusDeferred
		if o.word != EndOutput {
			res.ExitReason = execution.ExitTurnLimit
		}
	case execution.TurnInterrupted:
		res.Status, res.ExitReason = execution.StatusFailed, execution.ExitInterrupted
		res.Error = execution.NewResultError(execution.CodeInterrupted, "the turn was interrupted")
	default:
		res.Status, res.Error = execution.StatusFailed, o.failure.Result()
		res.ExitReason = service.Exit(&o.failure.Failure)
	}
	res.Continuation = r.continuation(o)
	return res
}

// refused is the result of a run that called no model.
func (r *run) refused(err *execution.Error) execution.Result {
	f := cliagent.Failure{Code: err.Code, Message: err.Message, Hint: err.Hint}
	r.emit(f.Event())
	res := execution.Result{SchemaVersion: execution.SchemaVersion, BackendID: r.name, Status: execution.StatusFailed, Error: f.Result(),
		ExitReason: execution.ExitCompleted}
	if len(err.Fields) > 0 {
		res.Error.Metadata["fields"] = err.Fields
	}
	return res
}
