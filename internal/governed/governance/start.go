package governance

import (
	"maps"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance/gate"
)

func (in StartRun) apply(s *step) *Refused {
	old := s.st.Clone()
	if r := startable(s.run, in); r != nil {
		return r
	}
	if r := checkConfig(s.run.Config); r != nil {
		return r
	}
	if in.RunID == "" {
		return refuse(CodeInvalidInput, NextStep, "a run needs an id")
	}
	if in.Restart && (old.Status == protocol.RunBlocked || old.Status == protocol.RunPaused) && old.ID() != "" {
		s.leave("restarted")
	}
	st := protocol.State{SchemaVersion: protocol.StateVersion, RunID: &in.RunID, ProjectID: s.run.Config.Project.ID, Status: protocol.RunIdle,
		AcceptedIntegration: old.AcceptedIntegration, CreatedAt: s.now, PhaseEnteredAt: s.now, Provenance: in.Provenance,
		InheritedContext: in.InheritedContext, Extra: old.Extra}
	if phases := s.run.Config.Phases(); len(phases) > 0 {
		st.Phase = phases[0]
	}
	if s.run.Config.Gates != nil {
		for id := range s.run.Config.Gates.All() {
			st.PhaseGateStatus.Set(id, protocol.GatePending)
		}
	}
	for _, d := range in.RepoDecisions {
		if d.Status == "" || d.Status == "active" {
			st.RepoDecisions = append(st.RepoDecisions, d)
		}
	}
	if old.ID() != "" {
		for _, path := range slices.Sorted(maps.Keys(in.SignOffs)) {
			st.PriorSignOffs.Set(path, gate.Digest(in.SignOffs[path]))
		}
	}
	st.BudgetStatus = budgetStatus(s.run.Config, protocol.BudgetStatus{})
	*s.st, s.run.History = st, nil
	s.move(protocol.RunActive)
	s.emit("run_started", nil, map[string]any{"provenance": in.Provenance, "restarted_from": old.ID(), "project_id": st.ProjectID})
	return nil
}

// startable returns whether a run may start: from idle, from a block before any run, and with restart from a completed
// or blocked run.
func startable(run Run, in StartRun) *Refused {
	st := &run.State
	switch st.Status {
	case protocol.RunIdle:
		return nil
	case protocol.RunCompleted:
		if in.Restart {
			return nil
		}
		return refuse(CodeInvalidTransition, NextRestart, "run %s is completed; start a new run", st.ID())
	case protocol.RunBlocked:
		if in.Restart || st.RunID == nil && st.ActiveTurns.Len() == 0 {
			return nil
		}
		return refuse(CodeInvalidTransition, NextCommand(run), "the run %s is blocked on %s", st.ID(), value(st.BlockedOn, "an unknown cause"))
	case protocol.RunPaused:
		if in.Restart && WaitsForNothing(st) {
			return nil
		}
	}
	return refuse(CodeInvalidTransition, NextCommand(run), "run %s is already %s", st.ID(), st.Status)
}

// WaitsForNothing reports a run that is paused without a pending gate: an older program stopped it, or the state was
// edited. It is resumed like a blocked one.
func WaitsForNothing(st *protocol.State) bool {
	return st.Status == protocol.RunPaused && st.PendingTransition == nil && st.PendingCompletion == nil
}

// checkConfig checks the minimum that a run needs; charter has the complete check of a configuration.
func checkConfig(c *protocol.Config) *Refused {
	for id, r := range c.Roles.All() {
		if !c.Runtimes.Has(r.RuntimeID()) {
			return refuse(CodeInvalidConfig, NextValidate, "the runtime %q of the role %s is not declared", r.RuntimeID(), id).
				with("field", "roles."+id+".runtime")
		}
	}
	if len(c.Phases()) == 0 {
		return refuse(CodeInvalidConfig, NextValidate, "routing has no phases").with("field", "routing")
	}
	return nil
}

// leave ends a blocked run that is being replaced: its turns are archived, and its entries in the human queue are
// closed.
func (s *step) leave(via string) {
	s.resolveHuman(via, func(protocol.OpenEscalation) bool { return true })
	for _, id := range s.st.ActiveTurns.Keys() {
		s.add(Archive{id})
	}
	s.add(Summarize{s.summary()})
}

// summary is the run's line for run-history.jsonl.
func (s *step) summary() protocol.RunSummary {
	st := s.st
	sum := protocol.RunSummary{SchemaVersion: "0.1", RunID: st.ID(), ProjectID: st.ProjectID, ProjectName: s.run.Config.Project.Name,
		Template: s.run.Config.Template, Status: st.Status, StartedAt: st.CreatedAt, CompletedAt: s.now, TotalCostUSD: st.BudgetStatus.SpentUSD,
		DurationMS: max(0, s.now.Sub(st.CreatedAt.Time).Milliseconds()), BlockedReason: st.BlockedOn, GateResults: st.PhaseGateStatus,
		Provenance: st.Provenance, RecordedAt: s.now, PhasesCompleted: []string{}, RolesUsed: []string{}}
	if sum.Template == "" {
		sum.Template = "generic"
	}
	if st.Status == protocol.RunCompleted {
		sum.BlockedReason = nil
	}
	for _, p := range s.run.Config.Phases() {
		if p == st.Phase && st.Status != protocol.RunCompleted {
			break
		}
		sum.PhasesCompleted = append(sum.PhasesCompleted, p)
		if p == st.Phase {
			break
		}
	}
	seen := map[string]bool{}
	for _, h := range accepted(s.run.History) {
		sum.TotalTurns++
		sum.DecisionsCount += len(h.Decisions)
		if !seen[h.Role] {
			seen[h.Role] = true
			sum.RolesUsed = append(sum.RolesUsed, h.Role)
		}
		if rt, ok := s.run.runtime(h.RuntimeID); ok {
			sum.ConnectorUsed = new(rt.Type)
		}
		if h.AdapterMeta != nil && h.AdapterMeta.Model != "" {
			sum.ModelUsed = new(h.AdapterMeta.Model)
		}
	}
	if b := s.run.Config.Budget; b != nil {
		sum.BudgetLimitUSD = b.PerRunMaxUSD
	}
	return sum
}

// accepted returns the entries of accepted turns. Usually these are all, and callers share them.
func accepted(history []protocol.HistoryEntry) []protocol.HistoryEntry {
	reissued := func(h protocol.HistoryEntry) bool { return strings.EqualFold(h.Status, protocol.StatusReissued) }
	if !slices.ContainsFunc(history, reissued) {
		return slices.Clip(history)
	}
	return slices.DeleteFunc(slices.Clone(history), reissued)
}
