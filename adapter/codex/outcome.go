package codex

import (
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// newOutcome returns the outcome of a turn whose last message is text. If the request requires structured output, a
// text that is not a JSON object is a failure.
func newOutcome(req execution.Request, text string, f *cliagent.Failure) *cliagent.Outcome {
	o := &cliagent.Outcome{Reason: execution.TurnCompleted, Text: text, Failure: f}
	if f == nil && len(req.Run.OutputSchema) > 0 {
		if v, err := jsonscan.Parse([]byte(text)); err == nil && v.Kind() == jsonscan.Object {
			o.Structured = raw(v)
		} else {
			o.Failure = &cliagent.Failure{Code: execution.CodeInvalidOutput, Message: "the final message of codex is not a JSON object, which the output schema asks for"}
		}
	}
	if o.Failure != nil {
		o.Reason = execution.TurnFailed
	}
	return o
}
