package turnresult

// assignmentStage checks that the result belongs to the active turn, and comes from its role and runtime.
func assignmentStage(s *subject, f *faults) {
	if s.Turn == nil {
		f.add("no_active_turn", "turn_id", "no turn is active", "an assigned turn before a staged result")
		return
	}
	for _, id := range []struct{ kind, field, want, what string }{
		{"run_id_mismatch", "run_id", s.State.ID(), "run"},
		{"turn_id_mismatch", "turn_id", s.Turn.TurnID, "active turn"},
		{"role_mismatch", "role", s.Turn.AssignedRole, "assigned role"},
		{"runtime_id_mismatch", "runtime_id", s.Turn.RuntimeID, "runtime of this turn"},
	} {
		if got, _ := text(s.get(id.field)); id.want != "" && got != id.want {
			f.add(id.kind, id.field, "is "+quoted(got), quoted(id.want)+", the "+id.what)
		}
	}
	if len(f.list) == 0 && !s.declared {
		f.add("undeclared_role_reference", "role", quoted(s.roleID)+" is not declared in agentxchain.json", list(s.Config.Roles.Keys()))
	}
}
