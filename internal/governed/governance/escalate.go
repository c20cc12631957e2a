package governance

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

func (in Escalate) apply(s *step) *Refused {
	if strings.TrimSpace(in.Reason) == "" {
		return refuse(CodeInvalidInput, `drawbar govern escalate --reason "..."`, "an escalation needs a reason")
	}
	if s.st.Status == protocol.RunIdle {
		return refuse(CodeInvalidTransition, NextStep, "no run has been started")
	}
	e := &protocol.Escalation{Reason: in.Reason, EscalatedAt: s.now}
	e.Extra.Set("source", raw("operator"))
	if in.Detail != "" {
		e.Extra.Set("detail", raw(in.Detail))
	}
	if in.TurnID != "" {
		t, r := s.active(in.TurnID)
		if r != nil {
			return r
		}
		e.FromTurnID, e.FromRole = t.TurnID, t.AssignedRole
		if in.RulesTold != "" {
			t.RulesTold = in.RulesTold
		}
	} else if active := s.st.ActiveTurns.Keys(); len(active) == 1 { // the turn stays and did not cause the block, so its acceptance does not clear it
		t := s.st.ActiveTurns.At(active[0])
		e.FromTurnID, e.FromRole = t.TurnID, t.AssignedRole
	}
	b := blockage{on: "escalation:operator:" + slug(in.Reason), category: "operator_escalation", detail: or(in.Detail, in.Reason), turn: in.TurnID, action: in.Action}
	s.noteDecision("operator_escalated", in.TurnID, map[string]any{"reason": in.Reason, "detail": in.Detail, "action": in.Action, "blocked_on": b.on,
		"escalation": e})
	s.emit("escalation_raised", s.eventTurn(in.TurnID), map[string]any{"reason": in.Reason, "detail": in.Detail, "source": "operator"})
	s.st.Escalation = e
	s.block(b)
	s.st.BlockedReason.Recovery.TurnRetained = e.FromTurnID != ""
	return nil
}

func (in Unblock) apply(s *step) *Refused {
	st := s.st
	switch st.Status {
	case protocol.RunBlocked:
	case protocol.RunPaused:
		if WaitsForNothing(st) {
			break
		}
		return refuse(CodeApprovalPending, NextApprove, "the run waits for %s: approve it instead", value(st.BlockedOn, "an approval"))
	default:
		if in.EscalationID != "" && slices.ContainsFunc(st.OpenHuman, func(o protocol.OpenEscalation) bool { return o.EscalationID == in.EscalationID }) {
			// The task outlived its block: another program continued the run without closing it.
			s.resolveHuman("unblocked", func(o protocol.OpenEscalation) bool { return o.EscalationID == in.EscalationID })
			return nil
		}
		return refuse(CodeInvalidTransition, NextCommand(s.run), "the run is %s, nothing blocks it", st.Status)
	}
	if in.EscalationID != "" && !slices.ContainsFunc(st.OpenHuman, func(o protocol.OpenEscalation) bool { return o.EscalationID == in.EscalationID }) {
		return refuse(CodeUnknownEscalation, NextCommand(s.run), "the human queue has no open entry %s", in.EscalationID).with("escalation_id", in.EscalationID)
	}
	on, turn := value(st.BlockedOn, ""), blockedTurn(st)
	st.BudgetStatus = budgetStatus(s.run.Config, st.BudgetStatus)
	if b := st.BudgetStatus; on == "budget:exhausted" && b.RemainingUSD != nil && *b.RemainingUSD <= 0 && !warnOnly(s.run.Config) {
		return refuse(CodeBudgetExhausted, budgetCommand(s.run), "the budget is still used up: %s spent", usd(b.SpentUSD))
	}
	s.noteDecision("escalation_resolved", turn, map[string]any{"blocked_on": on, "resolved_by": or(in.By, protocol.Human), "resolved_via": "unblocked"})
	s.emit("escalation_resolved", s.eventTurn(turn), map[string]any{"blocked_on": on, "resolved_by": or(in.By, protocol.Human)})
	s.resolveHuman("unblocked", func(protocol.OpenEscalation) bool { return true })
	if on == "non_progress" {
		st.NonProgressSignature, st.NonProgressCount = nil, 0
	}
	if t := st.ActiveTurns.At(turn); t != nil && strings.HasPrefix(on, policyPrefix) {
		t.WaivedPolicies = append(t.WaivedPolicies, strings.TrimPrefix(on, policyPrefix))
	}
	if t := st.ActiveTurns.At(turn); t != nil && in.Baseline != nil && NeverStarted(st) {
		t.Baseline = new(*in.Baseline)
	}
	for _, t := range st.ActiveTurns.All() {
		switch t.Status {
		case protocol.TurnFailed, protocol.TurnFailedStart, protocol.TurnStalled:
			s.revive(t)
		}
	}
	s.clearBlock()
	s.drain(in.GateFiles)
	return nil
}

// NeverStarted reports whether the run is blocked by a turn whose worker has never started: the configuration has to be
// fixed, and the turn has changed nothing.
func NeverStarted(st *protocol.State) bool {
	on := value(st.BlockedOn, "")
	t := st.ActiveTurns.At(blockedTurn(st))
	return (on == "dispatch:unsupported" || on == "dispatch:spawn_failed") && t != nil && t.Attempt <= 1 && t.WorkerAttachedAt.IsZero() && t.Worktree == ""
}

func (in HookBlocked) apply(s *step) *Refused {
	if in.Phase == "" || in.Hook == "" {
		return refuse(CodeInvalidInput, NextCommand(s.run), "a blocking hook needs its phase and name")
	}
	if s.st.Status == protocol.RunIdle {
		return refuse(CodeInvalidTransition, NextStep, "no run has been started")
	}
	category, code := "hook_block", "hook_blocked"
	if in.Tamper {
		category, code = "hook_tamper", "hook_tamper"
	}
	detail := or(in.Detail, "the hook "+in.Hook+" of "+in.Phase+" stopped the run")
	if t := s.st.ActiveTurns.At(in.TurnID); t != nil &&
		slices.Contains([]string{protocol.HookBeforeValidation, protocol.HookAfterValidation, protocol.HookBeforeAcceptance}, in.Phase) {
		s.notAccepted(t, code, "", []string{detail})
	}
	b := blockage{on: "hook:" + in.Phase + ":" + in.Hook, category: category, detail: detail, turn: in.TurnID}
	if s.st.PendingTransition != nil || s.st.PendingCompletion != nil {
		b.recovery = NextApprove
	}
	s.block(b)
	return nil
}
