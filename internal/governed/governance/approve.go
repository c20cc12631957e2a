package governance

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance/gate"
)

func (in Approve) apply(s *step) *Refused {
	st := s.st
	undoes := s.reclaim(in)
	if st.Status != protocol.RunPaused && st.Status != protocol.RunBlocked {
		return refuse(CodeInvalidTransition, NextCommand(s.run), "nothing waits for an approval: the run is %s", st.Status)
	}
	if in.Completion {
		p := st.PendingCompletion
		if p == nil {
			return s.nothingPending("the end of the run")
		}
		if r := s.stillPasses(p.Gate, gate.Completion(s.gateInput(p.RequestedByTurn, "", in.GateFiles))); r != nil {
			return r
		}
		if missing, r := s.agreed(p.Gate, &p.Approvals, in, p.RequestedByTurn); r != nil || missing {
			return r
		}
		s.settleApproval()
		s.approved(p.Gate, "run_completion", p.RequestedByTurn, undoes, in)
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
	if r := s.stillPasses(p.Gate, gate.PhaseExit(s.gateInput(p.RequestedByTurn, p.To, in.GateFiles))); r != nil {
		return r
	}
	if missing, r := s.agreed(p.Gate, &p.Approvals, in, p.RequestedByTurn); r != nil || missing {
		return r
	}
	s.settleApproval()
	s.approved(p.Gate, "phase_transition", p.RequestedByTurn, undoes, in)
	st.BlockedOn, st.BlockedReason = nil, nil
	s.advance(p.To, p.Gate, "approved", p.RequestedByTurn)
	return nil
}

// agreed counts the approval. It reports whether another person's is missing.
func (s *step) agreed(id string, list *[]protocol.Approval, in Approve, turn string) (missing bool, r *Refused) {
	g, _ := s.run.Config.Gate(id)
	if r := notApprover(id, g, in.By); r != nil {
		return false, r
	}
	need := g.Approvals()
	if need == 1 {
		return false, nil
	}
	if slices.ContainsFunc(*list, func(a protocol.Approval) bool { return a.By.Same(in.By) }) {
		return false, refuse(CodeInvalidTransition, NextStatus, "%s has already approved gate %s: it needs %d people, and at least one more is missing", in.By, id, need)
	}
	*list = append(slices.Clip(*list), protocol.Approval{By: in.By, Comment: in.Comment, At: s.now})
	if len(*list) >= need {
		return false, nil
	}
	more := map[string]any{"gate_id": id, "approvals": len(*list), "required": need}
	if in.Comment != "" {
		more["comment"] = in.Comment
	}
	s.signed(more, in.By)
	s.emit("gate_approval", s.eventTurn(turn), more)
	return true, nil
}

// notApprover refuses a person who is not an approver of the gate.
func notApprover(id string, g protocol.Gate, by protocol.Person) *Refused {
	if g.Approver(by) {
		return nil
	}
	return refuse(CodeNotApprover, NextStatus, "%s cannot decide on gate %s: its approvers are %s", by, id, strings.Join(g.Approvers, ", ")).
		with("approvers", g.Approvers)
}

// stillPasses refuses an approval of a gate whose other conditions no longer hold.
func (s *step) stillPasses(pending string, d gate.Decision) *Refused {
	next := NextGates
	if pending != "" {
		next += " " + pending
	}
	if d.GateID != "" && pending != "" && d.GateID != pending {
		return refuse(CodeGateFailed, NextGates+" "+d.GateID, "gate %s is pending, but phase %s now ends with gate %s", pending, s.st.Phase, d.GateID)
	}
	if d.Passed() {
		return nil
	}
	return refuse(CodeGateFailed, next, "gate %s does not pass: %s", or(pending, "of the phase "+s.st.Phase), strings.Join(d.Reasons, "; ")).
		with("reasons", d.Reasons)
}

func (s *step) nothingPending(what string) *Refused {
	return refuse(CodeInvalidTransition, NextCommand(s.run), "%s is not waiting for an approval", what)
}

// settleApproval clears a block that precedes the approval: the person who approves has dealt with it.
func (s *step) settleApproval() {
	s.resolveHuman("gate_approved", func(protocol.OpenEscalation) bool { return true })
	if s.st.Status == protocol.RunBlocked {
		s.clearBlock()
	}
}

func (s *step) approved(gate, kind, turn, undoes string, in Approve) {
	more := map[string]any{"gate_id": gate, "gate_type": kind}
	if in.Comment != "" {
		more["comment"] = in.Comment
	}
	if undoes != "" {
		more["undoes"] = undoes
	}
	s.signed(more, in.By)
	s.emit("gate_approved", s.eventTurn(turn), more)
}

func (in GateActionFailed) apply(s *step) *Refused {
	st := s.st
	if st.PendingTransition == nil && st.PendingCompletion == nil {
		return refuse(CodeInvalidTransition, NextCommand(s.run), "no gate is waiting for an approval")
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
