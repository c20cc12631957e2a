package governance

import (
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance/gate"
)

// proceed decides what follows an accepted turn: a person, the end of the run, the next phase, or the next turn.
func (s *step) proceed(a *acceptance) {
	r := a.result
	if r.Status == protocol.ResultNeedsHuman || r.Status == protocol.ResultBlocked {
		reason := or(value(r.NeedsHumanReason, ""), r.Summary)
		if r.Status == protocol.ResultNeedsHuman {
			reason = value(r.NeedsHumanReason, "unspecified")
		}
		s.block(blockage{on: "human:" + reason, category: "needs_human", detail: reason, turn: a.TurnID})
		return
	}
	s.queue(r)
	s.drain(a.GateFiles)
	if s.st.Status == protocol.RunActive && s.drained() {
		s.progress(a)
	}
	if s.st.Status == protocol.RunActive && s.exhausted(a.TurnID) {
		s.blockBudget(a.TurnID)
	}
	s.overdue(a)
}

func (s *step) blockBudget(turn string) {
	b := s.st.BudgetStatus
	s.block(blockage{on: "budget:exhausted", category: "budget_exhausted", turn: turn, recovery: budgetCommand(s.run),
		detail: "the budget of the run is used up: " + usd(b.SpentUSD) + " are spent"})
}

// queue keeps what a turn requests until no turn is active; the first request of a kind wins.
func (s *step) queue(r *protocol.TurnResult) {
	if r.Completion() && s.st.QueuedCompletion == nil {
		s.st.QueuedCompletion = &protocol.PendingEnd{RequestedByTurn: r.TurnID, RequestedAt: s.now}
	}
	if to := r.Transition(); to != "" && s.st.QueuedTransition == nil {
		s.st.QueuedTransition = &protocol.PendingPhase{From: s.st.Phase, To: to, RequestedByTurn: r.TurnID, RequestedAt: s.now}
	}
}

// drained reports whether nothing is in progress: no turn, no delegation, no review.
func (s *step) drained() bool {
	return s.st.ActiveTurns.Len() == 0 && s.st.PendingDelegation == nil && !openDelegations(s.st)
}

// drain evaluates the queued requests once nothing is in progress: the end of the run before the next phase.
func (s *step) drain(files map[string]string) {
	if s.st.Status != protocol.RunActive || !s.drained() {
		return
	}
	if q := s.st.QueuedCompletion; q != nil {
		s.st.QueuedCompletion = nil
		s.tryCompletion(*q, files)
	}
	if q := s.st.QueuedTransition; q != nil && s.st.Status == protocol.RunActive {
		s.st.QueuedTransition = nil
		s.tryTransition(*q, files)
	}
}

// gateInput is what a gate is decided from, for the requesting turn.
func (s *step) gateInput(turn, request string, files map[string]string) gate.Input {
	in := gate.Input{Config: s.run.Config, Phase: s.st.Phase, Request: request, Files: files, History: accepted(s.run.History),
		Objections: s.st.Blocking(), Prior: s.st.PriorSignOffs}
	for _, h := range in.History {
		if h.TurnID == turn {
			in.Verification, in.Role = h.Verification.Status, h.Role
		}
	}
	return in
}

func (s *step) tryCompletion(q protocol.PendingEnd, files map[string]string) {
	d := gate.Completion(s.gateInput(q.RequestedByTurn, "", files))
	switch d.Action {
	case gate.Complete:
		s.autoApproved(d, "run_completion", q.RequestedByTurn)
		s.complete(d.GateID, q.RequestedByTurn, true)
	case gate.AwaitingHumanApproval:
		s.st.LastGateFailure, s.st.QueuedTransition = nil, nil
		s.st.PendingCompletion = &protocol.PendingEnd{Gate: d.GateID, RequestedByTurn: q.RequestedByTurn, RequestedAt: s.now}
		s.pause(d.GateID)
		s.emit("gate_pending", s.eventTurn(q.RequestedByTurn), map[string]any{"gate_id": d.GateID, "gate_type": "run_completion"})
	case gate.GateFailed:
		s.gateFailed(d, "run_completion", q.RequestedByTurn, q.RequestedAt)
	default:
		s.warn("run_completion_"+d.Action, "the request to end the run is ignored in phase "+s.st.Phase)
	}
}

func (s *step) tryTransition(q protocol.PendingPhase, files map[string]string) {
	if q.From != s.st.Phase {
		return
	}
	d := gate.PhaseExit(s.gateInput(q.RequestedByTurn, q.To, files))
	switch d.Action {
	case gate.Advance:
		trigger := "auto"
		if s.autoApproved(d, "phase_transition", q.RequestedByTurn) {
			trigger = "auto_approved"
		}
		s.advance(or(d.To, q.To), d.GateID, trigger, q.RequestedByTurn)
	case gate.AwaitingHumanApproval:
		s.awaitTransition(protocol.PendingPhase{From: s.st.Phase, To: or(d.To, q.To), Gate: d.GateID, RequestedByTurn: q.RequestedByTurn,
			RequestedAt: s.now})
	case gate.GateFailed:
		s.gateFailed(d, "phase_transition", q.RequestedByTurn, q.RequestedAt)
	default:
		s.warn("phase_transition_"+d.Action, "the request to enter the phase "+q.To+" is ignored")
	}
}

// askAgain evaluates the last request that a gate refused again, if the reasons for the refusal are gone.
func (s *step) askAgain(files map[string]string) {
	f := s.st.LastGateFailure
	if f == nil || Reclaimable(s.st) != nil || s.st.Status != protocol.RunActive || !s.drained() || f.Phase != s.st.Phase || f.RequestedByTurn != value(s.st.LastCompletedTurnID, "") {
		return
	}
	if f.GateType == "run_completion" {
		if gate.Completion(s.gateInput(f.RequestedByTurn, "", files)).Passed() {
			s.tryCompletion(protocol.PendingEnd{RequestedByTurn: f.RequestedByTurn, RequestedAt: s.now}, files)
		}
		return
	}
	if gate.PhaseExit(s.gateInput(f.RequestedByTurn, f.ToPhase, files)).Passed() {
		s.tryTransition(protocol.PendingPhase{From: f.Phase, To: f.ToPhase, RequestedByTurn: f.RequestedByTurn, RequestedAt: s.now}, files)
	}
}

// awaitTransition makes the run wait for a person's approval of the next phase.
func (s *step) awaitTransition(p protocol.PendingPhase) {
	s.st.LastGateFailure = nil
	s.st.PendingTransition = &p
	s.pause(p.Gate)
	s.emit("gate_pending", s.eventTurn(p.RequestedByTurn), map[string]any{"gate_id": p.Gate, "gate_type": "phase_transition", "from": p.From, "to": p.To})
}

// autoApproved records that the approval policy replaced a person's approval.
func (s *step) autoApproved(d gate.Decision, kind, turn string) bool {
	if !d.AutoApproved {
		return false
	}
	more := map[string]any{"gate_type": kind, "action": "auto_approve", "matched_rule": d.PolicyRule, "gate_id": d.GateID}
	if kind == "phase_transition" {
		more["from_phase"], more["to_phase"] = s.st.Phase, d.To
	}
	s.noteType("approval_policy", turn, more)
	s.emit("gate_approved", s.eventTurn(turn), map[string]any{"gate_id": d.GateID, "gate_type": kind, "by": "approval_policy", "rule": d.PolicyRule})
	return true
}

// gateFailed records that a gate did not pass. The turn stays accepted, and the phase does not change.
func (s *step) gateFailed(d gate.Decision, kind, turn string, asked protocol.Time) {
	f := protocol.GateFailure{GateType: kind, GateID: d.GateID, Phase: s.st.Phase, FromPhase: s.st.Phase, RequestedByTurn: turn, FailedAt: s.now,
		QueuedRequest: !asked.Equal(s.now.Time), Reasons: notNil(d.Reasons), MissingFiles: notNil(d.MissingFiles),
		MissingVerification: d.MissingVerification}
	if kind == "phase_transition" {
		f.ToPhase = d.To
	}
	s.st.LastGateFailure = &f
	s.gateStatus(d.GateID, protocol.GateFailed)
	s.noteType("gate_failure", turn, map[string]any{"gate_type": kind, "gate_id": d.GateID, "from_phase": f.FromPhase, "to_phase": f.ToPhase,
		"requested_by_turn": turn, "queued_request": f.QueuedRequest, "reasons": f.Reasons, "missing_files": f.MissingFiles,
		"missing_verification": f.MissingVerification})
	s.emit("gate_failed", s.eventTurn(turn), map[string]any{"gate_id": d.GateID, "gate_type": kind, "from_phase": f.FromPhase, "to_phase": f.ToPhase,
		"reasons": f.Reasons, "missing_files": f.MissingFiles, "missing_verification": f.MissingVerification})
}

func (s *step) gateStatus(id, status string) {
	if id != "" {
		s.st.PhaseGateStatus.Set(id, status)
	}
}

// advance enters the next phase.
func (s *step) advance(to, gateID, trigger, turn string) {
	from := s.st.Phase
	s.gateStatus(gateID, protocol.GatePassed)
	s.st.Phase, s.st.PhaseEnteredAt = to, s.now
	if d := s.st.LastDecline; d != nil && d.GateID == gateID {
		s.st.LastDecline = nil
	}
	s.st.LastGateFailure, s.st.PendingTransition, s.st.QueuedTransition = nil, nil, nil
	s.st.NonProgressSignature, s.st.NonProgressCount = nil, 0
	s.move(protocol.RunActive)
	s.emit("phase_entered", s.eventTurn(turn), map[string]any{"from": from, "to": to, "gate_id": or(gateID, "no_gate"), "trigger": trigger})
}

// complete ends the run. In an acceptance, its event follows that of the checkpoint.
func (s *step) complete(gateID, turn string, inAcceptance bool) {
	s.gateStatus(gateID, protocol.GatePassed)
	s.st.LastDecline = nil
	s.st.LastGateFailure, s.st.PendingTransition, s.st.QueuedTransition = nil, nil, nil
	s.st.PendingCompletion, s.st.QueuedCompletion = nil, nil
	s.st.BlockedOn, s.st.BlockedReason, s.st.Escalation, s.st.NextRecommendedRole = nil, nil, nil, nil
	s.resolveHuman("run_completed", func(protocol.OpenEscalation) bool { return true })
	s.move(protocol.RunCompleted)
	s.st.CompletedAt = s.now
	s.add(Summarize{s.summary()})
	payload := map[string]any{"gate_id": gateID, "turns": len(accepted(s.run.History)), "cost_usd": s.st.BudgetStatus.SpentUSD}
	if inAcceptance {
		s.emitLast("run_completed", s.eventTurn(turn), payload)
		return
	}
	s.emit("run_completed", s.eventTurn(turn), payload)
}
