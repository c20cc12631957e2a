package governance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

func decision(id string, edits ...func(*protocol.Decision)) protocol.Decision {
	d := protocol.Decision{ID: id, Category: "scope", Statement: "do " + id, Rationale: "because"}
	for _, e := range edits {
		e(&d)
	}
	return d
}

func durable(d *protocol.Decision) { d.Durability = durabilityRepo }

func overrides(id string) func(*protocol.Decision) {
	return func(d *protocol.Decision) { d.Overrides = id }
}

func decides(list ...protocol.Decision) func(*protocol.TurnResult) {
	return func(r *protocol.TurnResult) { r.Decisions = list }
}

func TestACollidingIDIsRenumbered(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name       string
		known      []string
		result     []protocol.Decision
		required   []string
		ids        []string
		wantNeeded []string
	}{
		{"nothing collides", nil, []protocol.Decision{decision("DEC-001")}, nil, []string{"DEC-001"}, nil},
		{"one collides", []string{"DEC-001", "DEC-007"}, []protocol.Decision{decision("DEC-001"), decision("DEC-002")}, nil, []string{"DEC-008", "DEC-002"}, nil},
		{"all collide", []string{"DEC-001", "DEC-002"}, []protocol.Decision{decision("DEC-001"), decision("DEC-002")}, nil, []string{"DEC-003", "DEC-004"}, nil},
		{"the new number is not one of the result's own", []string{"DEC-001"}, []protocol.Decision{decision("DEC-001"), decision("DEC-002")}, nil,
			[]string{"DEC-003", "DEC-002"}, nil},
		{"twins in one result", nil, []protocol.Decision{decision("DEC-001"), decision("DEC-001")}, nil, []string{"DEC-001", "DEC-002"}, nil},
		{"what refers to it follows", []string{"DEC-001"}, []protocol.Decision{decision("DEC-001")}, []string{"DEC-001", "DEC-050"}, []string{"DEC-002"},
			[]string{"DEC-002", "DEC-050"}},
		{"an absurd number", []string{"DEC-001", "DEC-99999999999999999999999", "DEC-999999999999"}, []protocol.Decision{decision("DEC-001")}, nil,
			[]string{"DEC-002"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, config(t))
			w.run.DecisionIDs = map[string]bool{}
			for _, id := range tc.known {
				w.run.DecisionIDs[id] = true
			}
			pm := w.turn("pm")
			w.accept(pm, decides(tc.result...), func(r *protocol.TurnResult) {
				r.Delegations = []protocol.Delegation{{ID: "del-001", ToRole: "dev", RequiredDecisionIDs: tc.required}}
			})
			h := w.run.History[0]
			var got []string
			for _, d := range h.Decisions {
				got = append(got, d.ID)
				if !w.run.DecisionIDs[d.ID] {
					t.Errorf("%s is not known afterwards", d.ID)
				}
			}
			if diff := cmp.Diff(tc.ids, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.wantNeeded, h.DelegationsIssued[0].RequiredDecisionIDs); diff != "" {
				t.Error(diff)
			}
			for i, d := range tc.result {
				if d.ID != tc.ids[i] && !strings.Contains(string(raw(h.Normalized)), fmt.Sprintf(`"decisions[%d].id"`, i)) {
					t.Errorf("the change of %s is not listed: %s", d.ID, raw(h.Normalized))
				}
			}
		})
	}
}

func TestACollidingObjectionIsRenumbered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	objects := func(r *protocol.TurnResult) {
		r.Objections = []protocol.Objection{{ID: "OBJ-001", Severity: "low", Statement: "a"}, {ID: "OBJ-001", Severity: "low", Statement: "b"}}
	}
	w.accept(w.turn("pm"), objects)
	w.accept(w.turn("pm"), func(r *protocol.TurnResult) {
		r.Objections = []protocol.Objection{{ID: "OBJ-001", Severity: "low", Statement: "c"}, {ID: "OBJ-001", Severity: "low", Statement: "d"}}
	})
	var got []string
	for _, h := range w.run.History {
		for _, o := range h.Objections {
			got = append(got, o.ID)
		}
	}
	if diff := cmp.Diff([]string{"OBJ-001", "OBJ-002", "OBJ-003", "OBJ-004"}, got); diff != "" {
		t.Error(diff)
	}
	if len(w.run.ObjectionIDs) != 4 || len(OpenObjections(w.run)) != 4 {
		t.Errorf("known are %v, open are %v", w.run.ObjectionIDs, OpenObjections(w.run))
	}
}

func TestTheReferencesThreeDecisionsOfOneID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	seen := map[string]bool{}
	for range 3 {
		w.accept(w.turn("pm"), decides(decision("DEC-001")))
		d, ok := find[AppendDecision](w.effects)
		if !ok || seen[d.Decision.ID] {
			t.Fatalf("the ledger gets %+v twice", d)
		}
		seen[d.Decision.ID] = true
	}
}

func TestWhoMayOverride(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		owner    string
		role     string
		decision protocol.Decision
		want     string
	}{
		{"the same role", "dev", "dev", decision("DEC-002", overrides("DEC-001")), ""},
		{"more authority", "dev", "pm", decision("DEC-002", overrides("DEC-001")), ""},
		{"less authority", "pm", "dev", decision("DEC-002", overrides("DEC-001")), "decision authority 50"},
		{"a role without authority", "pm", "qa", decision("DEC-002", overrides("DEC-001")), ""},
		{"a person's", "human", "pm", decision("DEC-002", overrides("DEC-001")), "decision authority 100"},
		{"an unknown decision", "dev", "dev", decision("DEC-002", overrides("DEC-050")), "not an active decision"},
		{"itself", "dev", "dev", decision("DEC-001", overrides("DEC-001")), "itself"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, config(t, `"allowed_next_roles": ["pm", "dev", "human"]`, `"allowed_next_roles": []`))
			w.run.DecisionIDs = map[string]bool{"DEC-001": true}
			w.run.State.RepoDecisions = []protocol.RepoDecision{{ID: "DEC-001", Role: tc.owner, Status: statusActive, Durability: durabilityRepo}}
			turn := w.turn(tc.role)
			w.accept(turn, decides(tc.decision))
			n, failed := find[NotAccepted](w.effects)
			if tc.want == "" {
				if failed {
					t.Fatalf("not accepted: %v", n.Errors)
				}
				o, ok := find[OverrideRepoDecision](w.effects)
				if !ok || o != (OverrideRepoDecision{ID: "DEC-001", By: "DEC-002"}) || len(w.run.State.RepoDecisions) != 0 {
					t.Errorf("the target is not overridden: %v, %v", o, w.run.State.RepoDecisions)
				}
				return
			}
			if !failed || n.Code != CodeOverride || !strings.Contains(strings.Join(n.Errors, " "), tc.want) {
				t.Errorf("got %+v, want %s", n, tc.want)
			}
			if s := w.run.State.ActiveTurns.At(turn); s.Status != protocol.TurnFailedAcceptance || s.FailureReason != CodeOverride {
				t.Errorf("the turn is %+v", s)
			}
		})
	}
}

func TestAnOverrideMeansTheDecisionInForce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	w.accept(w.turn("pm"), decides(decision("DEC-001", durable)))
	// The agent numbers from 1 again and overrides the repository's DEC-001.
	w.accept(w.turn("pm"), decides(decision("DEC-001", durable), decision("DEC-002", durable, overrides("DEC-001"))))
	if n, failed := find[NotAccepted](w.effects); failed {
		t.Fatalf("not accepted: %v", n.Errors)
	}
	o, _ := find[OverrideRepoDecision](w.effects)
	if o != (OverrideRepoDecision{ID: "DEC-001", By: "DEC-002"}) {
		t.Errorf("overridden is %+v", o)
	}
	var left []string
	for _, d := range w.run.State.RepoDecisions {
		left = append(left, d.ID)
	}
	if diff := cmp.Diff([]string{"DEC-003", "DEC-002"}, left); diff != "" {
		t.Error(diff)
	}
}

func TestTwoDecisionsDoNotOverrideTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	w.accept(w.turn("pm"), decides(decision("DEC-001", durable)))
	w.accept(w.turn("pm"), decides(decision("DEC-002", overrides("DEC-001")), decision("DEC-003", overrides("DEC-001"))))
	if n, failed := find[NotAccepted](w.effects); !failed || n.Code != CodeOverride {
		t.Errorf("got %+v", n)
	}
}

func TestCheckDecision(t *testing.T) {
	t.Parallel()
	good := protocol.LedgerDecision{ID: "DEC-001", TurnID: "turn_1", Role: "dev", Category: "quality", Statement: "s"}
	for _, tc := range []struct {
		name, code, field string
		edit              func(*protocol.LedgerDecision)
	}{
		{"good", "", "", func(*protocol.LedgerDecision) {}},
		{"no id", CodeEmptyField, "id", func(d *protocol.LedgerDecision) { d.ID = "" }},
		{"blank statement", CodeEmptyField, "statement", func(d *protocol.LedgerDecision) { d.Statement = " \n" }},
		{"odd category", CodeInvalidEnum, "category", func(d *protocol.LedgerDecision) { d.Category = "vibes" }},
		{"duplicate", CodeDuplicateDecision, "id", func(d *protocol.LedgerDecision) { d.ID = "DEC-009" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := good
			tc.edit(&d)
			r := CheckDecision(map[string]bool{"DEC-009": true}, d)
			if tc.code == "" && r != nil || tc.code != "" && (r == nil || r.Code != tc.code || r.Detail["field"] != tc.field) {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestTheChallengeRule(t *testing.T) {
	t.Parallel()
	silent := func(r *protocol.TurnResult) { r.Objections = nil }
	first := config(t)
	dev := first.Roles.At("dev")
	dev.Adapter = "local_cli"
	first.Roles.Set("dev", dev)
	relaxed := config(t, `"budget": {`, `"rules": {"challenge_required": false}, "budget": {`)
	strict := config(t, `"budget": {`, `"rules": {"challenge_required": false}, "budget": {`)
	strict.Roles.Set("dev", dev)
	for _, tc := range []struct {
		name   string
		config *protocol.Config
		role   string
		must   bool
	}{
		{"a reviewer", config(t), "pm", true},
		{"a writer", config(t), "dev", false},
		{"a reviewer where the rules relax it", relaxed, "pm", false},
		{"a writer of the first edition", first, "dev", true},
		{"a writer of the first edition, relaxed or not", strict, "dev", true},
		{"a reviewer beside one of the first edition", strict, "pm", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tc.config)
			turn := w.turn(tc.role)
			w.accept(turn, silent)
			n, failed := find[NotAccepted](w.effects)
			if failed != tc.must || mustObject(tc.config, tc.role) != tc.must {
				t.Fatalf("not accepted: %v, %+v", failed, n)
			}
			if failed && n.Code != CodeProtocolError {
				t.Errorf("failed with %+v", n)
			}
		})
	}
}
