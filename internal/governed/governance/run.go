package governance

import (
	"github.com/drawbar/drawbar/govern/protocol"
)

// Run is the input of the rules.
type Run struct {
	Config *protocol.Config // normalized; never changed
	State  protocol.State
	// History are the entries of this run, oldest first.
	History []protocol.HistoryEntry
	// DecisionIDs and ObjectionIDs are the ids in the record, of all runs.
	DecisionIDs, ObjectionIDs map[string]bool
}

// Transition applies an input to a run. The effects must be carried out in order, in one transaction with the new
// state. If the input is refused, the run is returned unchanged and the only effect is a Refused.
func Transition(run Run, now protocol.Time, in Input) (Run, []Effect) {
	s := newStep(run, now)
	r := s.over(in)
	if r == nil {
		r = in.apply(s)
	}
	if r == nil {
		r = s.illegal
	}
	if r != nil {
		return run, []Effect{*r}
	}
	return s.run, s.effects
}

// step is one transition in progress: a copy of the run, and the effects so far.
type step struct {
	run     Run
	st      *protocol.State
	now     protocol.Time
	effects []Effect
	illegal *Refused // an illegal change of status
}

func newStep(run Run, now protocol.Time) *step {
	s := &step{run: run, now: now}
	s.run.State = run.State.Clone()
	s.st = &s.run.State
	if s.run.Config == nil {
		s.run.Config = &protocol.Config{}
	}
	catchUp(s.st, s.run.History)
	return s
}

// over refuses an input without a time, and an input after the end of the run.
func (s *step) over(in Input) *Refused {
	if s.now.IsZero() {
		return refuse(CodeInvalidInput, NextCommand(s.run), "an input needs a time")
	}
	if s.st.Status != protocol.RunCompleted {
		return nil
	}
	switch in := in.(type) {
	case StartRun, Checkpointed, DecideProposal:
		return nil
	case AcceptTurn:
		if r := s.acceptable(in.TurnID); r != nil && r.Code == CodeAlreadyAccepted {
			return r
		}
	}
	return refuse(CodeInvalidTransition, NextRestart, "the run is completed and cannot change")
}
