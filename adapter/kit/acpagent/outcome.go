package acpagent

import (
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// turnOutcome is how a turn ended.
type turnOutcome struct {
	cliagent.Outcome
	stop string // stop reason of the agent
}

func (o *turnOutcome) fail(f *failure) {
	o.Reason, o.Text, o.Failure = execution.TurnFailed, "", &f.Failure
}

// limits are the stop reasons of turns that reached a limit.
var limits = map[string]string{
	stopRequests: "the agent reached its own limit of model calls in a turn",
	stopTokens:   "the model reached its limit of output tokens",
}

// end emits the failure and the end of the turn.
func (o *turnOutcome) end(spec Spec, agent abilities, index int, s *cliagent.Sink) {
	if o.Reason == execution.TurnLimitReached && limits[o.stop] != "" {
		s.Emit(execution.Debug{Level: execution.DebugWarn, Message: spec.Name + ": " + limits[o.stop]})
	}
	if o.Failure != nil && o.Failure.Code == execution.CodeAuth {
		o.Failure.Hint = loginHint(spec, agent)
	}
	o.Report(s)
	s.Emit(o.End(index))
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
	o.Fill(res)
}
