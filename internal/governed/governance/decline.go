package governance

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// declined is the request that a decline concerns.
type declined struct {
	gate, kind, from, to, turn string
	undoes                     string // the decision that it revokes
}

func (in Decline) apply(s *step) *Refused {
	const example = `drawbar govern decline --reason "..."`
	if strings.TrimSpace(in.Reason) == "" {
		return refuse(CodeInvalidInput, example, "declining a gate needs a reason: the next turn reads it")
	}
	d, r := s.declinable(in.Gate)
	if r != nil {
		return r
	}
	g, _ := s.run.Config.Gate(d.gate)
	if r := notApprover(d.gate, g, in.By); r != nil {
		return r
	}
	phases := s.run.Config.Phases()
	phase := or(in.Phase, d.from)
	switch i := slices.Index(phases, phase); {
	case i < 0:
		return refuse(CodeInvalidInput, NextGates, "the phase %q is not in routing; its phases are %s", phase, strings.Join(phases, ", "))
	case i > slices.Index(phases, d.from):
		return refuse(CodeInvalidInput, example, "gate %s ends phase %s: work continues there or in an earlier phase, not in %s", d.gate, d.from, phase)
	}
	role := in.Role
	if role == "" {
		if e := s.eventTurn(d.turn); e != nil {
			role = e.RoleID
		}
	} else if !legalIn(s.run, phase, role) {
		p, _ := s.run.Config.Phase(phase)
		return refuse(CodeInvalidInput, example+" --to "+p.EntryRole, "role %q may not take a turn in phase %s; allowed: %s", role, phase,
			strings.Join(append([]string{p.EntryRole}, p.AllowedNextRoles...), ", "))
	}
	if !legalIn(s.run, phase, role) {
		p, _ := s.run.Config.Phase(phase)
		role = p.EntryRole
	}
	s.goBack(in, d, phase, role)
	return nil
}

// declinable is the pending request, or the passed gate that is named.
func (s *step) declinable(id string) (declined, *Refused) {
	st := s.st
	var d declined
	switch {
	case st.PendingCompletion != nil:
		d = declined{gate: st.PendingCompletion.Gate, kind: "run_completion", from: st.Phase, turn: st.PendingCompletion.RequestedByTurn}
	case st.PendingTransition != nil:
		p := st.PendingTransition
		d = declined{gate: p.Gate, kind: "phase_transition", from: or(p.From, st.Phase), to: p.To, turn: p.RequestedByTurn}
	}
	if d.kind != "" && (id == "" || id == d.gate) {
		return d, nil
	}
	if id == "" {
		return d, refuse(CodeInvalidTransition, NextCommand(s.run), "no gate is waiting for a person; name a passed gate to reopen it")
	}
	if d.kind != "" {
		return d, refuse(CodeInvalidInput, `drawbar govern decline `+d.gate+` --reason "..."`, "gate %s is pending, not %s", d.gate, id)
	}
	phases := s.run.Config.Phases()
	for i, name := range phases[:max(0, slices.Index(phases, st.Phase))] {
		if p, _ := s.run.Config.Phase(name); p.ExitGate != id || st.PhaseGateStatus.At(id) != protocol.GatePassed {
			continue
		}
		if st.Status != protocol.RunActive || st.ActiveTurns.Len() > 0 {
			return d, refuse(CodeInvalidTransition, NextCommand(s.run), "gate %s has passed and a turn is active: decline it between two turns", id)
		}
		return declined{gate: id, kind: "phase_transition", from: name, to: phases[i+1], turn: value(st.LastCompletedTurnID, ""), undoes: "gate_approved"}, nil
	}
	return d, refuse(CodeInvalidInput, NextGates, "gate %s is not pending and has not passed", id)
}

// goBack continues the run in the phase and with the role that the person chose.
func (s *step) goBack(in Decline, d declined, phase, role string) {
	st := s.st
	st.LastDecline = &protocol.Decline{GateID: d.gate, GateType: d.kind, From: d.from, To: d.to, RequestedByTurn: d.turn, Reason: in.Reason, By: in.By, At: s.now,
		Role: role, Phase: phase}
	st.PendingTransition, st.PendingCompletion, st.QueuedTransition, st.QueuedCompletion = nil, nil, nil, nil
	st.NonProgressSignature, st.NonProgressCount = nil, 0
	from := st.Phase
	phases := s.run.Config.Phases()
	for _, name := range phases[slices.Index(phases, phase) : slices.Index(phases, from)+1] {
		if p, _ := s.run.Config.Phase(name); p.ExitGate != "" && name != d.from {
			s.gateStatus(p.ExitGate, protocol.GatePending)
		}
	}
	s.gateStatus(d.gate, protocol.GateFailed)
	reason := "declined by " + in.By.String() + ": " + in.Reason
	st.LastGateFailure = &protocol.GateFailure{GateType: d.kind, GateID: d.gate, Phase: d.from, FromPhase: d.from, ToPhase: d.to, RequestedByTurn: d.turn,
		FailedAt: s.now, Reasons: []string{reason}, MissingFiles: []string{}}
	more := map[string]any{"gate_id": d.gate, "gate_type": d.kind, "reason": in.Reason, "from_phase": from, "to_phase": phase, "to_role": role,
		"requested_by_turn": d.turn}
	if d.undoes != "" {
		more["undoes"] = d.undoes
	}
	s.signed(more, in.By)
	s.noteDecision("gate_declined", d.turn, more)
	s.emit("gate_declined", s.eventTurn(d.turn), more)
	s.resolveHuman("gate_declined", func(o protocol.OpenEscalation) bool { return o.TurnID == "" || o.TurnID == d.turn })
	if st.Status != protocol.RunActive {
		s.clearBlock()
	}
	st.NextRecommendedRole = &role
	if phase != from {
		st.Phase, st.PhaseEnteredAt = phase, s.now
		s.emit("phase_entered", s.eventTurn(d.turn), map[string]any{"from": from, "to": phase, "gate_id": or(d.gate, "no_gate"), "trigger": "declined"})
	}
}

// Reclaimable is the request that an approval restores: the last decline, unless a turn has followed it.
func Reclaimable(st *protocol.State) *protocol.Decline {
	d := st.LastDecline
	if d == nil || st.Status != protocol.RunActive || st.ActiveTurns.Len() > 0 || st.Phase != d.From || d.RequestedByTurn != value(st.LastCompletedTurnID, "") {
		return nil
	}
	return d
}

// reclaim makes the declined request pending again, for an approval that revokes the decline.
func (s *step) reclaim(in Approve) (undoes string) {
	d := Reclaimable(s.st)
	if d == nil || in.Completion != (d.GateType == "run_completion") {
		return ""
	}
	s.st.LastGateFailure = nil
	if in.Completion {
		s.st.PendingCompletion = &protocol.PendingEnd{Gate: d.GateID, RequestedByTurn: d.RequestedByTurn, RequestedAt: s.now}
	} else {
		s.st.PendingTransition = &protocol.PendingPhase{From: d.From, To: d.To, Gate: d.GateID, RequestedByTurn: d.RequestedByTurn, RequestedAt: s.now}
	}
	s.pause(d.GateID)
	return "gate_declined"
}
