package acpagent

import (
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// turnOutcome is how a turn ended.
type turnOutcome struct {
	stop        string // stop reason of the agent
	text        string
	interrupted bool
	limit       string // the limit that ended it
	failure     *failure
}

// end emits the failure and the end of the turn.
func (o *turnOutcome) end(spec Spec, agent abilities, index int, s *cliagent.Sink) {
	e := execution.TurnEnd{TurnIndex: index, Reason: execution.TurnCompleted, Text: o.text}
	switch {
	case o.interrupted:
		e.Reason = execution.TurnInterrupted
	case o.failure != nil:
		if o.failure.Code == execution.CodeAuth {
			o.failure.Hint = loginHint(spec, agent)
		}
		e.Reason, e.Error = execution.TurnFailed, o.failure.Result()
		s.Emit(o.failure.Event())
	case o.limit != "":
		e.Reason = execution.TurnLimitReached
		s.Emit(execution.Debug{Level: execution.DebugWarn, Message: spec.Name + ": " + o.limit})
	}
	s.Emit(e)
}

// fill sets the outcome in the run's result; without a turn nothing is set.
func (o *turnOutcome) fill(res *execution.Result) {
	if o == nil {
		return
	}
	if o.stop != "" {
		if res.Metadata == nil {
			res.Metadata = map[string]any{}
		}
		res.Metadata["stopReason"] = o.stop
	}
	switch {
	case o.interrupted:
		res.Status, res.ExitReason = execution.StatusFailed, execution.ExitInterrupted
		res.Error = execution.NewResultError(execution.CodeInterrupted, "the turn was interrupted")
	case o.failure != nil:
		res.Status, res.Error = execution.StatusFailed, o.failure.Result()
		res.ExitReason = execution.ExitCompleted // the process ended in order, whatever its exit code
	case o.limit != "":
		res.Status, res.ExitReason = execution.StatusDeferred, execution.ExitCompleted
		if o.stop == stopRequests {
			res.ExitReason = execution.ExitTurnLimit
		}
	default:
		res.Status, res.ExitReason = execution.StatusCompleted, execution.ExitCompleted
	}
	if o.text != "" {
		res.Output = &execution.Output{Text: o.text}
	}
}
