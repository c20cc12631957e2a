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
	cliagent.Outcome
	word string // EndFinal and so on
	stop string // the service's word
}

func failed(word string, code execution.ErrorCode, format string, args ...any) *outcome {
	f := &cliagent.Failure{Code: code, Message: fmt.Sprintf(format, args...)}
	return &outcome{Outcome: cliagent.Outcome{Reason: execution.TurnFailed, Failure: f}, word: word}
}

// stopped is the failure of a run whose context ended.
func (r *run) stopped(ctx context.Context) *outcome {
	if errors.Is(context.Cause(ctx), errElapsed) {
		return failed(EndElapsed, execution.CodeTimeout, "the time for the turn was over")
	}
	reason, f := service.Ended(ctx, r.spec.Title)
	o := &outcome{Outcome: cliagent.Outcome{Reason: reason, Failure: f}, word: EndCancelled}
	if f != nil && f.Code != execution.CodeAborted {
		o.word = EndElapsed
	}
	return o
}

// judge derives the outcome from an answer without tool calls. A word of EndInvalid means that the model may try again.
func (r *run) judge(reply *Reply) *outcome {
	o := &outcome{Outcome: cliagent.Outcome{Reason: execution.TurnCompleted, Text: reply.text()}, word: EndFinal, stop: reply.Reason}
	fail := func(word string, code execution.ErrorCode, format string, args ...any) *outcome {
		f := failed(word, code, format, args...)
		f.Text, f.stop = o.Text, o.stop
		return f
	}
	switch reply.Stop {
	case StopLength:
		o.Reason, o.Cut, o.word = execution.TurnLimitReached, true, EndOutput
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
		text := strings.TrimSpace(o.Text)
		if !json.Valid([]byte(text)) {
			return fail(EndInvalid, execution.CodeInvalidOutput, "%s answered without the JSON that the schema asks for", r.call.Model)
		}
		o.Structured = json.RawMessage(text)
	}
	return o
}

// result is the run's result.
func (r *run) result() execution.Result {
	res := execution.Result{SchemaVersion: execution.SchemaVersion, BackendID: r.name, Model: r.agent.Prefix + cmp.Or(r.model, r.call.Model), SessionID: r.session,
		TurnCount: r.turns, Retries: r.retries, Metadata: map[string]any{}}
	if !r.total.IsZero() {
		u := *r.total
		res.Usage = &u
	}
	if len(r.requests) > 0 {
		res.Metadata["requestIds"] = r.requests
	}
	o := r.last
	if r.waits != nil && o.word == EndCancelled && o.Reason == execution.TurnFailed {
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
	o.Fill(&res)
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
