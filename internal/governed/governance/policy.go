package governance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// Actions of a policy.
const (
	PolicyBlock    = "block"
	PolicyWarn     = "warn"
	PolicyEscalate = "escalate"
)

// RuleReproducible is the policy rule that requires a turn's evidence to be run again.
const RuleReproducible = "require_reproducible_verification"

// matches reports whether every command ended as declared.
func matches(r *govern.Replay) bool {
	return r != nil && r.Overall == "match" && !slices.ContainsFunc(r.Commands, func(c govern.ReplayedCommand) bool { return !c.Matched })
}

// NeedsReplay reports whether a policy requires the evidence of the role's turn to be run again before acceptance.
func NeedsReplay(run Run, role string) bool {
	return slices.ContainsFunc(run.Config.Policies, func(p protocol.Policy) bool {
		return p.Rule == RuleReproducible && applies(p, run.State.Phase, role)
	})
}

// PolicyViolation is a policy that a turn violates.
type PolicyViolation struct {
	Policy  protocol.Policy
	Message string
}

// PolicyInput is a turn that is about to be accepted.
type PolicyInput struct {
	Role   string
	Result *protocol.TurnResult
	Cost   *protocol.Cost
	Replay *govern.Replay
}

// violations are the policies that the turn violates, in their order. A policy with unreadable parameters is violated.
func violations(run Run, in PolicyInput) []PolicyViolation {
	var all []PolicyViolation
	for _, p := range run.Config.Policies {
		if !applies(p, run.State.Phase, in.Role) {
			continue
		}
		if why := violated(run, p, in); why != "" {
			if p.Message != "" {
				why = p.Message + " (" + why + ")"
			}
			all = append(all, PolicyViolation{p, why})
		}
	}
	return all
}

// outlook are the policies about numbers of turns that any new turn of the role would violate.
func outlook(run Run, role string) []PolicyViolation {
	var all []PolicyViolation
	for _, p := range run.Config.Policies {
		counts := slices.Contains([]string{"max_turns_per_phase", "max_total_turns", "max_consecutive_same_role"}, p.Rule)
		if !counts || p.Action == PolicyWarn || !applies(p, run.State.Phase, role) {
			continue
		}
		if why := violated(run, p, PolicyInput{Role: role}); why != "" {
			all = append(all, PolicyViolation{p, why})
		}
	}
	return all
}

func applies(p protocol.Policy, phase, role string) bool {
	if p.Scope == nil {
		return true
	}
	in := func(list []string, v string) bool { return len(list) == 0 || slices.Contains(list, v) }
	return in(p.Scope.Phases, phase) && in(p.Scope.Roles, role)
}

// violated says why a policy is violated; empty if it is not.
func violated(run Run, p protocol.Policy, in PolicyInput) string {
	var params struct {
		Limit    int      `json:"limit"`
		LimitUSD float64  `json:"limit_usd"`
		Allowed  []string `json:"allowed"`
	}
	if len(p.Params) > 0 {
		if err := json.Unmarshal(p.Params, &params); err != nil {
			return "cannot read its params: " + err.Error()
		}
	}
	history := accepted(run.History)
	switch p.Rule {
	case "max_turns_per_phase":
		n := 0
		for _, h := range history {
			if h.Phase == run.State.Phase {
				n++
			}
		}
		if n >= params.Limit {
			return fmt.Sprintf("the phase %s has %d accepted turns of at most %d", run.State.Phase, n, params.Limit)
		}
	case "max_total_turns":
		if len(history) >= params.Limit {
			return fmt.Sprintf("the run has %d accepted turns of at most %d", len(history), params.Limit)
		}
	case "max_consecutive_same_role":
		n := 1
		for _, h := range slices.Backward(history) {
			if h.Role != in.Role {
				break
			}
			n++
		}
		if n > params.Limit {
			return fmt.Sprintf("this is turn %d of %s in a row; the limit is %d", n, in.Role, params.Limit)
		}
	case "max_cost_per_turn":
		if in.Cost != nil && in.Cost.USD > params.LimitUSD {
			return fmt.Sprintf("the turn cost %.4f USD, at most %.4f are allowed", in.Cost.USD, params.LimitUSD)
		}
	case "require_status":
		if !slices.Contains(params.Allowed, string(in.Result.Status)) {
			return fmt.Sprintf("the turn's status is %s, allowed are %s", in.Result.Status, strings.Join(params.Allowed, ", "))
		}
	case RuleReproducible:
		if matches(in.Replay) {
			return ""
		}
		if in.Replay == nil {
			return "the turn's evidence was not rerun"
		}
		return "the turn's evidence gave different results when rerun: " + or(in.Replay.Reason, in.Replay.Overall)
	default:
		return "its rule " + p.Rule + " is not known"
	}
	return ""
}

// policies applies the policies to the turn; true if one prevents its acceptance.
func (s *step) policies(a *acceptance) bool {
	var blocks, escalates []PolicyViolation
	for _, v := range violations(s.run, PolicyInput{Role: a.turn.AssignedRole, Result: a.result, Cost: a.cost, Replay: a.Replay}) {
		switch {
		case slices.Contains(a.turn.WaivedPolicies, v.Policy.ID):
			a.Warnings = append(a.Warnings, "policy "+v.Policy.ID+", waived by a person: "+v.Message)
		case v.Policy.Action == PolicyWarn:
			s.warn("policy:"+v.Policy.ID, v.Message)
			a.Warnings = append(a.Warnings, "policy "+v.Policy.ID+": "+v.Message)
		case v.Policy.Action == PolicyEscalate:
			escalates = append(escalates, v)
		default:
			blocks = append(blocks, v)
		}
	}
	messages := func(list []PolicyViolation) []string {
		var m []string
		for _, v := range list {
			m = append(m, "policy "+v.Policy.ID+": "+v.Message)
		}
		return m
	}
	switch {
	case len(blocks) > 0:
		s.notAccepted(a.turn, CodePolicyViolation, "", messages(blocks))
		return true
	case len(escalates) > 0:
		s.notAccepted(a.turn, CodePolicyEscalation, "", messages(escalates))
		v := escalates[0]
		s.escalatePolicy(v.Policy.ID, v.Policy.Rule, a.turn.TurnID, v.Message)
		return true
	}
	return false
}

// escalatePolicy asks a person about a policy. Unblocking the run waives it for the turn.
func (s *step) escalatePolicy(id, rule, turn, detail string) {
	s.noteDecision("policy_escalation", turn, map[string]any{"policy_id": id, "rule": rule, "message": detail})
	s.block(blockage{on: policyPrefix + id, category: "policy_escalation", detail: detail, turn: turn})
}

const policyPrefix = "policy:"
