package governance

import (
	"github.com/drawbar/drawbar/internal/governed/governance/protocol"
)

// Run is all that the rules look at.
type Run struct {
	Config *protocol.Config // normalized; never changed
	State  protocol.State
	// History are the entries of this run, oldest first.
	History []protocol.HistoryEntry
	// DecisionIDs and ObjectionIDs are the ids that the record holds already, of all runs.
	DecisionIDs, ObjectionIDs map[string]bool
}

// Transition applies an input to a run. The effects are to be carried out in their order, in one transaction with the new
// state. When the input is refused the run comes back unchanged and the only effect is a Refused.
func Transition(run Run, in Input) (Run, []Effect) {
	s := newStep(run, in)
	var r *Refused
	if s.now.IsZero() {
		r = refuse(CodeInvalidInput, NextCommand(s.run), "an input needs its moment")
	} else {
		r = s.apply(in)
	}
	if r == nil {
		r = s.illegal
	}
	if r != nil {
		return run, []Effect{*r}
	}
	return s.run, s.effects
}

// step is one transition in the making: a copy of the run, and the effects so far.
type step struct {
	run     Run
	st      *protocol.State
	now     protocol.Time
	effects []Effect
	illegal *Refused // a change of status that no rule allows
}

func newStep(run Run, in Input) *step {
	s := &step{run: run, now: in.moment()}
	s.run.State = run.State.Clone()
	s.st = &s.run.State
	if s.run.Config == nil {
		s.run.Config = &protocol.Config{}
	}
	catchUp(s.st, s.run.History)
	return s
}

// apply carries out one input. A result other than nil means that nothing of the step may be used.
func (s *step) apply(in Input) *Refused {
	switch in := in.(type) {
	case StartRun:
		return s.start(in)
	case Checkpointed:
		return s.checkpointed(in)
	}
	if s.st.Status == protocol.RunCompleted {
		if in, ok := in.(AcceptTurn); ok {
			if r := s.acceptable(in.TurnID); r != nil && r.Code == CodeAlreadyAccepted {
				return r
			}
		}
		return refuse(CodeInvalidTransition, NextRestart, "the run is completed, nothing changes it any more")
	}
	switch in := in.(type) {
	case AssignTurn:
		return s.assign(in)
	case TakeUp:
		return s.takeUp(in)
	case Dispatched:
		return s.dispatched(in)
	case WorkerAttached:
		return s.workerAttached(in)
	case Attempted:
		return s.attempted(in)
	case FirstOutput:
		return s.firstOutput(in)
	case AcceptTurn:
		return s.accept(in)
	case FailAcceptance:
		return s.failAcceptance(in)
	case RejectTurn:
		return s.reject(in)
	case ReissueTurn:
		return s.reissue(in)
	case DispatchFailed:
		return s.dispatchFailed(in)
	case StartFailed:
		return s.startFailed(in)
	case Stalled:
		return s.stalled(in)
	case Approve:
		return s.approve(in)
	case GateActionFailed:
		return s.gateActionFailed(in)
	case HookBlocked:
		return s.hookBlocked(in)
	case PolicyEscalated:
		return s.policyEscalated(in)
	case Escalate:
		return s.escalate(in)
	case Unblock:
		return s.unblock(in)
	case TimedOut:
		return s.timedOut(in)
	case SkipPhase:
		return s.skipPhase(in)
	case OperatorCommits:
		return s.operatorCommits(in)
	case Decline:
		return s.decline(in)
	case RuleObjection:
		return s.ruleObjection(in)
	}
	return refuse(CodeInvalidTransition, NextStatus, "no rule is known for this input")
}
