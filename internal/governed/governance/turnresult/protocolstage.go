package turnresult

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/shape"
)

// maxDelegations is how many delegations one turn may make.
const maxDelegations = 5

// protocolStage checks what the turn requests of the run.
func protocolStage(s *subject, f *faults) {
	if s.completion() && s.request() != "" {
		f.add("mutually_exclusive_requests", "run_completion_request", "phase_transition_request and run_completion_request cannot both be present",
			"only one of them")
	}
	s.challenge(f)
	s.nextRole(f)
	s.transition(f)
	s.delegations(f)
	s.review(f)
	if filled(s.get("status")) == string(protocol.ResultNeedsHuman) && filled(s.get("needs_human_reason")) == "" {
		f.warnf("the status is needs_human, but needs_human_reason does not say why a person is needed")
	}
}

// challenge requires an objection: from a reviewer unless the rules disable it, from a role of the first edition
// always.
func (s *subject) challenge(f *faults) {
	if list, _ := items(s.get("objections")); len(list) > 0 {
		return
	}
	const want = "at least one objection: the weakest point of the work, with a severity"
	switch {
	case s.authority == protocol.ReviewOnly && (s.Config.Rules.Challenge() || s.role.FirstEdition()):
		f.add("challenge_requirement_violated", "objections", "review_only role must raise at least one objection", want)
	case s.role.FirstEdition():
		f.add("challenge_requirement_violated", "objections", "a role of the first edition must raise at least one objection", want)
	}
}

// allowed are the roles that may follow in the current phase; false if routing does not restrict them.
func (s *subject) allowed() ([]string, bool) {
	r, ok := s.Config.Phase(s.phase)
	return r.AllowedNextRoles, ok && len(r.AllowedNextRoles) > 0
}

func (s *subject) nextRole(f *faults) {
	role := filled(s.get("proposed_next_role"))
	if role == protocol.Human {
		return
	}
	if asked := s.request(); asked != "" && followsIn(s.Config.Phase, asked, role) {
		return
	}
	if allowed, ok := s.allowed(); ok {
		if !slices.Contains(allowed, role) {
			f.add("next_role_not_allowed", "proposed_next_role", quoted(role)+" may not follow in the phase "+s.phase, list(withHuman(allowed)))
		}
	} else if !s.Config.Roles.Has(role) {
		f.add("undeclared_role_reference", "proposed_next_role", quoted(role)+" is not declared in agentxchain.json", list(withHuman(s.Config.Roles.Keys())))
	}
}

func withHuman(roles []string) []string {
	if slices.Contains(roles, protocol.Human) {
		return roles
	}
	return append(slices.Clone(roles), protocol.Human)
}

// transition: phases follow one another in the order of routing.
func (s *subject) transition(f *faults) {
	asked := s.request()
	if asked == "" {
		return
	}
	phases := s.Config.Phases()
	here := slices.Index(phases, s.phase)
	switch i := slices.Index(phases, asked); {
	case i < 0:
		f.add("unknown_phase", "phase_transition_request", quoted(asked)+" is not a phase in routing", nextPhase(phases, here))
	case here >= 0 && i != here+1:
		f.add("phase_order_violation", "phase_transition_request", quoted(asked)+" does not follow "+quoted(s.phase), nextPhase(phases, here))
	}
}

func nextPhase(phases []string, here int) string {
	switch {
	case here < 0:
		return list(phases)
	case here+1 < len(phases):
		return quoted(phases[here+1]) + ", or null"
	}
	return `null: ` + quoted(phases[here]) + ` is the last phase; "run_completion_request": true ends the run`
}

func (s *subject) delegations(f *faults) {
	delegated, _ := items(s.get("delegations"))
	if len(delegated) == 0 {
		return
	}
	if len(delegated) > maxDelegations {
		f.add("too_many_delegations", "delegations", fmt.Sprintf("there are %d delegations", len(delegated)), fmt.Sprintf("at most %d", maxDelegations))
	}
	if s.completion() {
		f.add("delegation_with_completion", "run_completion_request", "a turn that delegates cannot end the run", "null, or no delegations")
	}
	if s.Turn != nil && protocol.Is(s.Turn.DelegationContext) {
		f.add("nested_delegation", "delegations", "this turn is delegated itself", "no delegations")
	}
	allowed, limited := s.allowed()
	seen := map[string]bool{}
	for i, raw := range delegated {
		d, _ := members(raw)
		field := shape.Item("delegations", i)
		id, role := filled(d.At("id")), filled(d.At("to_role"))
		if seen[id] {
			f.add("duplicate_delegation_id", field+".id", quoted(id)+" appears twice", "unique ids")
		}
		seen[id] = true
		switch {
		case role == s.roleID:
			f.add("self_delegation", field+".to_role", "the role "+role+" delegates to itself", "another role")
		case !s.Config.Roles.Has(role):
			f.add("undeclared_role_reference", field+".to_role", quoted(role)+" is not declared in agentxchain.json", list(s.Config.Roles.Keys()))
		case limited && !slices.Contains(allowed, role):
			f.add("next_role_not_allowed", field+".to_role", quoted(role)+" may not follow in the phase "+s.phase, list(allowed))
		}
	}
}

// review: a turn that reviews delegated work must not advance the run while required decisions are missing.
func (s *subject) review(f *faults) {
	if s.Turn == nil {
		return
	}
	missing := unmet(s.Turn)
	if len(missing) == 0 {
		return
	}
	what := "decisions of delegated work are missing: " + strings.Join(missing, "; ")
	if s.request() != "" {
		f.add("delegation_review_unmet", "phase_transition_request", what, "null until they are made")
	}
	if s.completion() {
		f.add("delegation_review_unmet", "run_completion_request", what, "null until they are made")
	}
}

// unmet are the delegations under the turn's review that lack required decisions, each with those.
func unmet(t *protocol.Turn) []string {
	var review struct {
		Results []protocol.DelegationResult `json:"results"`
	}
	if !protocol.Is(t.DelegationReview) || json.Unmarshal(t.DelegationReview, &review) != nil {
		return nil
	}
	var out []string
	for _, r := range review.Results {
		if len(r.MissingDecisionIDs) > 0 {
			out = append(out, r.DelegationID+" "+strings.Join(r.MissingDecisionIDs, ", "))
		}
	}
	return out
}
