package gate

import (
	"fmt"
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
)

// autoApprove is the action of approval_policy that passes a gate; every other one requires a person.
const autoApprove = "auto_approve"

// approve applies the approval policy to a gate whose other conditions are met, and notes in d which part of the policy
// decided. The first matching rule decides. If its conditions are not met, or no rule matches, a person is required.
func approve(in Input, g protocol.Gate, d *Decision) bool {
	if g.Credentialed {
		d.PolicyReason = fmt.Sprintf("gate %q is credentialed: only a person may open it", d.GateID)
		return false
	}
	if g.OnlyPerson() {
		d.PolicyReason = fmt.Sprintf("gate %q names its approvers: only people may open it", d.GateID)
		return false
	}
	p := in.Config.ApprovalPolicy
	if p == nil {
		return false
	}
	action, when := "", (*protocol.ApprovalWhen)(nil)
	switch {
	case d.To == "" && p.RunCompletion != nil:
		d.PolicyRule, action, when = "run_completion", p.RunCompletion.Action, p.RunCompletion.When
	case d.To != "" && p.PhaseTransitions != nil:
		d.PolicyRule, action = "phase_transitions.default", p.PhaseTransitions.Default
		i := slices.IndexFunc(p.PhaseTransitions.Rules, func(r protocol.TransitionRule) bool {
			return (r.FromPhase == "" || r.FromPhase == d.From) && (r.ToPhase == "" || r.ToPhase == d.To)
		})
		if i >= 0 {
			r := p.PhaseTransitions.Rules[i]
			d.PolicyRule, action, when = fmt.Sprintf("phase_transitions.rules[%d]", i), r.Action, r.When
		}
	}
	if action != autoApprove {
		d.PolicyReason = "approval_policy asks for a person"
		if d.PolicyRule == "" {
			d.PolicyReason = "approval_policy has no rule for this"
		}
		return false
	}
	if d.PolicyReason = unmet(in, when); d.PolicyReason != "" {
		return false
	}
	d.PolicyReason = "its conditions are met"
	return true
}

// unmet is the first condition that does not hold. gate_passed always holds here, and so does credentialed_gate: false,
// because credentialed gates are excluded before; a false condition demands nothing.
func unmet(in Input, when *protocol.ApprovalWhen) string {
	if when == nil {
		return ""
	}
	if when.CredentialedGate != nil && *when.CredentialedGate {
		return "when.credentialed_gate is true, and credentialed gates are for people"
	}
	for _, role := range when.RolesParticipated {
		if !participated(in, role) {
			return fmt.Sprintf("role %q has no accepted turn in phase %q", role, in.Phase)
		}
	}
	if when.AllPhasesVisited != nil && *when.AllPhasesVisited {
		for _, phase := range in.Config.Phases() {
			if phase != in.Phase && !slices.ContainsFunc(in.History, func(h protocol.HistoryEntry) bool { return h.Phase == phase && accepted(h) }) {
				return fmt.Sprintf("phase %q was never visited", phase)
			}
		}
	}
	return ""
}

// participated reports whether a role has an accepted turn in the current phase, including the asking turn.
func participated(in Input, role string) bool {
	if role == in.Role {
		return true
	}
	return slices.ContainsFunc(in.History, func(h protocol.HistoryEntry) bool {
		return h.Phase == in.Phase && h.Role == role && accepted(h)
	})
}

// accepted reports whether a line of the history is an accepted turn: reissued ones also have lines.
func accepted(h protocol.HistoryEntry) bool { return h.Status != "reissued" }
