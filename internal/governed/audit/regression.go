package audit

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Regression is something that got worse from the first export to the second.
type Regression struct {
	Category string `json:"category"` // status, phase, budget, delegation, gate, decisions or chain
	Severity string `json:"severity"` // error or warning
	Field    string `json:"field"`
	Message  string `json:"message"`
	Left     any    `json:"left"`
	Right    any    `json:"right"`
}

// Difference is a value that differs between two exports.
type Difference struct {
	Field string `json:"field"`
	Left  any    `json:"left"`
	Right any    `json:"right"`
}

// Comparison is the difference between two exports.
type Comparison struct {
	Changes     []Difference `json:"changes"`
	Regressions []Regression `json:"regressions"`
}

// Compare returns how the second export differs from the first, and which differences are regressions.
func Compare(a, b *Export) Comparison {
	c := Comparison{Changes: []Difference{}, Regressions: []Regression{}}
	left, right := a.facts(), b.facts()
	for i := range left {
		if !reflect.DeepEqual(left[i].Left, right[i].Left) {
			c.Changes = append(c.Changes, Difference{left[i].Field, left[i].Left, right[i].Left})
		}
	}
	worse := func(category, severity, field string, l, r any, format string, args ...any) {
		c.Regressions = append(c.Regressions, Regression{category, severity, field, fmt.Sprintf(format, args...), l, r})
	}
	x, y := &a.state, &b.state
	if x.Status != protocol.RunBlocked && y.Status == protocol.RunBlocked {
		worse("status", "error", "status", x.Status, y.Status, "the run was %s and is now blocked", x.Status)
	}
	order, now := a.config.Phases(), b.config.Phases()
	switch from, to := slices.Index(order, x.Phase), slices.Index(order, y.Phase); {
	case !slices.Equal(order, now):
		worse("phase", "warning", "config.routing", order, now, "the phases differ, so the current ones are not compared")
	case x.Phase != "" && y.Phase == "":
		worse("phase", "warning", "phase", x.Phase, nil, "the run was in phase %s and is now in none", x.Phase)
	case from >= 0 && to >= 0 && to < from:
		worse("phase", "warning", "phase", x.Phase, y.Phase, "the run returned from phase %s to %s", x.Phase, y.Phase)
	}
	if !x.BudgetStatus.Exhausted && y.BudgetStatus.Exhausted {
		worse("budget", "error", "budget_status.exhausted", false, true, "the budget is exhausted")
	}
	if !x.BudgetStatus.WarnMode && y.BudgetStatus.WarnMode {
		worse("budget", "warning", "budget_status.warn_mode", false, true, "the budget is exceeded, and the run continues with a warning")
	}
	before, after := a.missing(), b.missing()
	for _, id := range slices.Sorted(maps.Keys(after)) {
		if more := slices.DeleteFunc(slices.Clone(after[id]), func(d string) bool { return slices.Contains(before[id], d) }); len(more) > 0 {
			worse("delegation", "error", "delegations."+id+".missing_decision_ids", before[id], after[id], "the delegation %s lacks required decisions: %s",
				id, strings.Join(more, ", "))
		}
	}
	for gate, was := range x.PhaseGateStatus.All() {
		if is := y.PhaseGateStatus.At(gate); was == protocol.GatePassed && is != "" && is != protocol.GatePassed {
			worse("gate", "error", "phase_gate_status."+gate, was, is, "the gate %s had passed and is now %s", gate, is)
		}
	}
	if l, r := a.overridden(), b.overridden(); r > l {
		worse("decisions", "warning", "repo_decisions", l, r, "%d decisions that outlive their run are overridden, before %d", r, l)
	}
	if a.Chain != nil && a.Chain.OK && b.Chain != nil && !b.Chain.OK {
		worse("chain", "error", "chain.ok", true, false, "the record matched its chain and is now broken")
	}
	return c
}

// facts are the values by which two exports are compared.
func (e *Export) facts() []Difference {
	st := &e.state
	count := func(list []json.RawMessage, file string) int { return len(e.lines(list, file)) }
	return []Difference{{Field: "run_id", Left: st.ID()}, {Field: "status", Left: st.Status}, {Field: "phase", Left: st.Phase}, {Field: "turn_sequence", Left: st.TurnSequence},
		{Field: "last_completed_turn_id", Left: protocol.Deref(st.LastCompletedTurnID)}, {Field: "blocked_on", Left: protocol.Deref(st.BlockedOn)}, {Field: "spent_usd", Left: st.BudgetStatus.SpentUSD},
		{Field: "active_turns", Left: st.ActiveTurns.Keys()}, {Field: "project.goal", Left: e.config.Project.Goal},
		{Field: "history_entries", Left: count(e.History, protocol.HistoryFile)}, {Field: "decision_entries", Left: count(e.Ledger, protocol.LedgerFile)},
		{Field: "events", Left: count(e.Events, protocol.EventsFile)}}
}

// lines returns those that the export lists, or those of its file.
func (e *Export) lines(list []json.RawMessage, file string) []json.RawMessage {
	if list == nil {
		for _, line := range linesOf(e.contents[file]) {
			list = append(list, line)
		}
	}
	return list
}

// overridden counts the overridden decisions that outlive their run.
func (e *Export) overridden() int {
	status := map[string]string{}
	for _, raw := range e.lines(e.RepoDecisions, protocol.RepoLedgerFile) {
		var d protocol.RepoDecision
		if json.Unmarshal(raw, &d) == nil {
			status[d.ID] = d.Status
		}
	}
	n := 0
	for _, s := range status {
		if s == "overridden" {
			n++
		}
	}
	return n
}

// missing returns the required decisions that delegations did not deliver, by delegation: of completed reviews
// and the pending one.
func (e *Export) missing() map[string][]string {
	all := map[string][]string{}
	add := func(results []protocol.DelegationResult) {
		for _, r := range results {
			all[r.DelegationID] = r.MissingDecisionIDs
		}
	}
	for _, raw := range e.lines(e.History, protocol.HistoryFile) {
		var h protocol.HistoryEntry
		var review protocol.DelegationReview
		if json.Unmarshal(raw, &h) == nil && len(h.DelegationReview) > 0 && json.Unmarshal(h.DelegationReview, &review) == nil {
			add(review.Results)
		}
	}
	if p := e.state.PendingDelegation; p != nil {
		add(p.Results)
	}
	return all
}
