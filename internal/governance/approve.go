package governance

import (
	"slices"

	"github.com/drawbar/drawbar/internal/governance/protocol"
)

func (s *step) approve(in Approve) *Refused {
	st := s.st
	if st.Status != protocol.RunPaused && st.Status != protocol.RunBlocked {
		return refuse(CodeInvalidTransition, NextCommand(s.run), "the run is %s, nothing waits for an approval", st.Status)
	}
	by := or(in.By, protocol.Human)
	if in.Completion {
		p := st.PendingCompletion
		if p == nil {
			return s.nothingPending("the end of the run")
		}
		s.settleApproval(st.PendingCompletion.Gate)
		s.approved(p.Gate, "run_completion", p.RequestedByTurn, by)
		s.complete(p.Gate, p.RequestedByTurn, false)
		return nil
	}
	p := st.PendingTransition
	if p == nil {
		return s.nothingPending("a phase transition")
	}
	if !slices.Contains(s.run.Config.Phases(), p.To) {
		return refuse(CodeInvalidConfig, NextValidate, "the pending transition is to the phase %q, which routing does not name", p.To)
	}
	s.settleApproval(p.Gate)
	s.approved(p.Gate, "phase_transition", p.RequestedByTurn, by)
	st.BlockedOn, st.BlockedReason = nil, nil
	s.advance(p.To, p.Gate, "approved", p.RequestedByTurn)
	return nil
}

func (s *step) nothingPending(what string) *Refused {
	return refuse(CodeInvalidTransition, NextCommand(s.run), "%s does not wait for an approval", what)
}

// settleApproval clears a block that stands before the approval: the person who approves has dealt with it.
func (s *step) settleApproval(gate string) {
	s.resolveHuman("gate_approved", func(protocol.OpenEscalation) bool { return true })
	if s.st.Status == protocol.RunBlocked {
		s.clearBlock()
	}
	s.st.BlockedReason = nil
	s.gateStatus(gate, protocol.GatePassed)
}

func (s *step) approved(gate, kind, turn, by string) {
	s.emit("gate_approved", s.eventTurn(turn), map[string]any{"gate_id": gate, "gate_type": kind, "by": by})
}

func (s *step) gateActionFailed(in GateActionFailed) *Refused {
	st := s.st
	if st.PendingTransition == nil && st.PendingCompletion == nil {
		return refuse(CodeInvalidTransition, NextCommand(s.run), "no gate waits for an approval")
	}
	gate := in.Gate
	if gate == "" && st.PendingTransition != nil {
		gate = st.PendingTransition.Gate
	} else if gate == "" {
		gate = st.PendingCompletion.Gate
	}
	detail := "the gate action " + or(in.Label, "of "+gate) + " failed"
	if in.Detail != "" {
		detail += ": " + in.Detail
	}
	s.noteType("gate_action", "", map[string]any{"gate_id": gate, "label": in.Label, "status": "failed", "detail": in.Detail})
	s.block(blockage{on: "gate_action:" + gate, category: "gate_action_failed", detail: detail, recovery: NextApprove})
	return nil
}
