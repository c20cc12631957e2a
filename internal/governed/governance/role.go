package governance

import (
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
)

// NextRole is the role of the next turn, and why: a review of delegations, a delegation, what the last turn proposed,
// or the entry role of the phase. It is empty if no role is declared.
func NextRole(run Run) (role, why string) {
	st := &run.State
	if rev := st.PendingDelegation; rev != nil {
		return rev.ParentRole, "reviews its delegations"
	}
	if d := nextDelegation(st); d != nil {
		return d.ToRole, "has the delegation " + d.ID + " of " + d.ParentRole
	}
	if st.NextRecommendedRole != nil && legalIn(run, st.Phase, *st.NextRecommendedRole) {
		if d := st.LastDecline; d != nil && d.RequestedByTurn == value(st.LastCompletedTurnID, "") {
			return *st.NextRecommendedRole, "continues after the gate " + d.GateID + " was declined"
		}
		return *st.NextRecommendedRole, "was proposed by the last turn"
	}
	return fallbackRole(run), "enters the phase " + st.Phase
}

// Slot returns a role that can take another turn while others are active. It is empty if no turn is active, the phase's limit is reached, a
// request waits for the active turns to end, or only people perform the remaining roles.
func Slot(run Run) string {
	st := &run.State
	if st.ActiveTurns.Len() == 0 || st.QueuedTransition != nil || st.QueuedCompletion != nil {
		return ""
	}
	p, _ := run.Config.Phase(st.Phase)
	roles := append([]string{value(st.NextRecommendedRole, ""), p.EntryRole}, p.AllowedNextRoles...)
	if d := nextDelegation(st); d != nil {
		roles = append([]string{d.ToRole}, roles...)
	}
	for _, role := range roles {
		if !legalIn(run, st.Phase, role) || len(Guards(run, role)) > 0 {
			continue
		}
		if _, rt, _ := run.Config.RuntimeOf(role); rt.Type != protocol.RuntimeManual {
			return role
		}
	}
	return ""
}

// ActiveRoles are the roles of the active turns, in their order.
func ActiveRoles(run Run) (all []string) {
	for _, t := range run.State.ActiveTurns.All() {
		all = append(all, t.AssignedRole)
	}
	return all
}

// fallbackRole is the entry role of the phase, or the first role.
func fallbackRole(run Run) string {
	if p, ok := run.Config.Phase(run.State.Phase); ok && run.Config.Roles.Has(p.EntryRole) {
		return p.EntryRole
	}
	if keys := run.Config.Roles.Keys(); len(keys) > 0 {
		return keys[0]
	}
	return ""
}

// legalIn reports whether a declared role may have a turn in the phase: as its entry role or one of its next roles. A
// phase without a list allows every role.
func legalIn(run Run, phase, role string) bool {
	if !run.Config.Roles.Has(role) {
		return false
	}
	p, ok := run.Config.Phase(phase)
	return !ok || len(p.AllowedNextRoles) == 0 || role == p.EntryRole || slices.Contains(p.AllowedNextRoles, role)
}
