package audit

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/ledger"
)

// TestCompare names every step back, and no step forward.
func TestCompare(t *testing.T) {
	t.Parallel()
	export := func(change func(*Export)) *Export {
		run, turn := "run_1", "turn_1"
		e := &Export{Chain: &ledger.Report{OK: true}, RepoDecisions: []json.RawMessage{[]byte(`{"id":"DEC-001","status":"active"}`)}}
		if err := json.Unmarshal([]byte(`{"project":{"id":"p"},"routing":{"build":{},"ship":{}}}`), &e.config); err != nil {
			t.Fatal(err)
		}
		e.state = protocol.State{RunID: &run, Status: protocol.RunActive, Phase: "ship", LastCompletedTurnID: &turn}
		e.state.PhaseGateStatus.Set("built", protocol.GatePassed)
		if change != nil {
			change(e)
		}
		return e
	}
	for name, change := range map[string]func(*Export){
		"status":             func(e *Export) { e.state.Status = protocol.RunBlocked },
		"phase":              func(e *Export) { e.state.Phase = "build" },
		"phase ":             func(e *Export) { e.state.Phase = "" },
		"phase, the routing": func(e *Export) { e.config.Routing = nil },
		"budget":             func(e *Export) { e.state.BudgetStatus.Exhausted = true },
		"budget, warned of":  func(e *Export) { e.state.BudgetStatus.WarnMode = true },
		"delegation": func(e *Export) {
			e.state.PendingDelegation = &protocol.PendingReview{Results: []protocol.DelegationResult{{DelegationID: "del-001", MissingDecisionIDs: []string{"DEC-009"}}}}
		},
		"delegation, reviewed": func(e *Export) {
			e.History = []json.RawMessage{[]byte(`{"turn_id":"turn_2","delegation_review":{"results":[{"delegation_id":"del-001","missing_decision_ids":["DEC-009"]}]}}`)}
		},
		" a delegation that brought all": func(e *Export) {
			e.state.PendingDelegation = &protocol.PendingReview{Results: []protocol.DelegationResult{{DelegationID: "del-001"}}}
		},
		"gate": func(e *Export) { e.state.PhaseGateStatus.Set("built", protocol.GateFailed) },
		"decisions": func(e *Export) {
			e.RepoDecisions = append(e.RepoDecisions, []byte(`{"id":"DEC-001","status":"overridden"}`))
		},
		"chain":                       func(e *Export) { e.Chain = &ledger.Report{} },
		"":                            nil,
		" a turn more":                func(e *Export) { e.state.TurnSequence = 2 },
		" completed":                  func(e *Export) { e.state.Status = protocol.RunCompleted },
		" a gate that is not decided": func(e *Export) { e.state.PhaseGateStatus.Set("shipped", protocol.GateFailed) },
	} {
		category := name
		if i := slices.Index([]byte(name), ' '); i >= 0 {
			category = name[:i]
		}
		category = strings.TrimSuffix(category, ",")
		c := Compare(export(nil), export(change))
		var got []string
		for _, r := range c.Regressions {
			got = append(got, r.Category)
		}
		if want := slices.DeleteFunc([]string{category}, func(s string) bool { return s == "" }); !slices.Equal(got, want) {
			t.Errorf("%q: %v", name, c.Regressions)
		}
		if back := Compare(export(change), export(nil)); len(back.Regressions) > 0 && category != "phase" {
			t.Errorf("%q, the other way: %v", name, back.Regressions)
		}
	}
}

// FuzzCheck reads exports that nobody wrote.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"export_kind":"agentxchain_run_export","schema_version":"1.0","exported_at":"2026-01-01T00:00:00Z","config":{"project":{"id":"p"}},"project":{"id":"p"},"state":{},"files":{".agentxchain/chain.jsonl":{"format":"jsonl","bytes":2,"sha256":"x","content_base64":"e30="}}}`))
	f.Add([]byte(`{"export_kind":"agentxchain_run_export","files":{"a":{"content_base64":null,"truncated":true},"b":{"data":[1],"format":"jsonl","content_base64":""}},"summary":{"run_id":1}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, rep, err := Check(t.Context(), data)
		if err != nil {
			t.Skip(err)
		}
		if rep.OK() != (rep.Overall == "pass") || e == nil && rep.OK() {
			t.Errorf("%+v", rep)
		}
		if e != nil {
			Compare(e, e)
		}
	})
}
