package cliagent

import (
	"encoding/json"

	"github.com/drawbar/drawbar/execution"
)

// Outcome is how a turn ended, as the agent stated it. The outcome of the last turn is that of the run.
type Outcome struct {
	Reason     execution.TurnEndReason
	Text       string
	Structured json.RawMessage
	Failure    *Failure // why the turn failed or reached its budget, else nil
	Cut        bool     // the limit that was reached is that of an answer's tokens, not of turns
}

// Report emits the failure, which precedes the end of the turn.
func (o *Outcome) Report(s *Sink) {
	if o.Failure != nil {
		s.Emit(o.Failure.Event())
	}
}

// End returns the end of the turn.
func (o *Outcome) End(index int) execution.TurnEnd {
	e := execution.TurnEnd{TurnIndex: index, Reason: o.Reason, Text: o.Text, Structured: o.Structured}
	if o.Failure != nil {
		e.Error = o.Failure.Result()
	}
	return e
}

// Fill sets the outcome in the run's result. A nil outcome sets nothing: the kit then judges by the exit.
func (o *Outcome) Fill(res *execution.Result) {
	if o == nil {
		return
	}
	if o.Text != "" || o.Structured != nil {
		res.Output = &execution.Output{Text: o.Text, Structured: o.Structured}
	}
	res.ExitReason = execution.ExitCompleted // the process ended in order, whatever its exit code
	switch o.Reason {
	case execution.TurnCompleted:
		res.Status = execution.StatusCompleted
	case execution.TurnLimitReached:
		res.Status = execution.StatusDeferred
		if !o.Cut {
			res.ExitReason = execution.ExitTurnLimit
		}
	case execution.TurnInterrupted:
		res.Status, res.ExitReason = execution.StatusFailed, execution.ExitInterrupted
		res.Error = execution.NewResultError(execution.CodeInterrupted, "the turn was interrupted")
	default:
		res.Status, res.Error = execution.StatusFailed, o.Failure.Result()
		res.ExitReason = o.Failure.exit()
	}
}
