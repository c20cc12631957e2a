package protocol

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestDelegationsHaveTheNamesOfTheOriginal: what either program queued, the other goes on with.
func TestDelegationsHaveTheNamesOfTheOriginal(t *testing.T) {
	t.Parallel()
	const queue = `[{"delegation_id":"del-1","to_role":"dev","charter":"c","acceptance_contract":["a"],"required_decision_ids":["DEC-1"],` +
		`"parent_turn_id":"turn_a","parent_role":"pm","status":"active","child_turn_id":"turn_b","created_at":"2026-06-01T10:00:00.000Z","odd":1}]`
	const review = `{"parent_turn_id":"turn_a","parent_role":"pm","delegation_results":[{"delegation_id":"del-1","child_turn_id":"turn_b","to_role":"dev",` +
		`"charter":"c","status":"completed","summary":"s","files_changed":[],"satisfied_decision_ids":[],"missing_decision_ids":[],"verification":{"status":"pass"}}]}`
	former := strings.NewReplacer(`"delegation_id":"del-1","to_role":"dev","charter":"c","acceptance`, `"id":"del-1","to_role":"dev","charter":"c","acceptance`, `"delegation_results"`, `"results"`)
	state := `{"schema_version":"1.1","delegation_queue":` + queue + `,"pending_delegation_review":` + review + `}`
	for name, in := range map[string]string{"of the original": state, "of an older version": former.Replace(state)} {
		var s State
		if err := json.Unmarshal([]byte(in), &s); err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"delegation_queue":[{"delegation_id":"del-1"`, `"required_decision_ids":["DEC-1"]`, `"child_turn_id":"turn_b"`, `"odd":1`,
			`"pending_delegation_review":{"parent_turn_id":"turn_a","parent_role":"pm","delegation_results":[{"delegation_id":"del-1"`, `"verification":{"status":"pass"}`} {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: no %s in %s", name, want, out)
			}
		}
		if strings.Contains(string(out), `"id":`) || strings.Contains(string(out), `"results":`) {
			t.Errorf("%s: a name of our own in %s", name, out)
		}
	}
}
