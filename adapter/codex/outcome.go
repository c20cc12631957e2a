package codex

import (
	"encoding/json"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// turnOutcome is how a turn ended.
type turnOutcome struct {
	text        string
	structured  json.RawMessage
	failure     *cliagent.Failure
	interrupted bool
}

// newOutcome returns the outcome of a turn whose last message is text. If the request requires structured output, a
// text that is not a JSON object is a failure.
func newOutcome(req execution.Request, text string, f *cliagent.Failure) *turnOutcome {
	o := &turnOutcome{text: text, failure: f}
	if f != nil || len(req.Run.OutputSchema) == 0 {
		return o
	}
	if v, err := jsonscan.Parse([]byte(text)); err == nil && v.Kind() == jsonscan.Object {
		o.structured = raw(v)
		return o
	}
	o.failure = &cliagent.Failure{Code: execution.CodeInvalidOutput, Message: "the final message of codex is not a JSON object, which the output schema asks for"}
	return o
}

// end emits the failure and the end of the turn.
func (o *turnOutcome) end(index int, s *cliagent.Sink) {
	e := execution.TurnEnd{TurnIndex: index, Reason: execution.TurnCompleted, Text: o.text, Structured: o.structured}
	switch {
	case o.interrupted:
		e.Reason = execution.TurnInterrupted
	case o.failure != nil:
		e.Reason, e.Error = execution.TurnFailed, o.failure.Result()
		s.Emit(o.failure.Event())
	}
	s.Emit(e)
}

// fill sets the outcome in the run's result; without a turn nothing is set.
func (o *turnOutcome) fill(res *execution.Result) {
	switch {
	case o == nil:
		return
	case o.interrupted:
		res.Status, res.ExitReason = execution.StatusFailed, execution.ExitInterrupted
		res.Error = execution.NewResultError(execution.CodeInterrupted, "the turn was interrupted")
	case o.failure != nil:
		res.Status, res.Error = execution.StatusFailed, o.failure.Result()
	default:
		res.Status, res.ExitReason = execution.StatusCompleted, execution.ExitCompleted
	}
	if o.text != "" || o.structured != nil {
		res.Output = &execution.Output{Text: o.text, Structured: o.structured}
	}
}
