package governance

import "slices"

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
