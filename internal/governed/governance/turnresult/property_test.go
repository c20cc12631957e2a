package turnresult

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

// pool are values that keys of a result get in the property test, nearly right ones above all. An empty one removes the key.
var pool = map[string][]string{
	"run_id": {"", `"run_1"`, `"run_2"`, `1`}, "turn_id": {`"turn_1"`, `"turn_1"`, `"turn_2"`, ``}, "runtime_id": {`"cli"`, `"manual"`, `"proxy"`, `""`, ``},
	"status": {"", `"completed"`, `"completed"`, `"done"`, `"Completed"`, `"needs_human"`, `"blocked"`, `"odd"`, `null`}, "summary": {`"s"`, `" "`, ``, `1`, `"<s>"`},
	"decisions":     {`[]`, ``, `null`, `[{"id":"D1"},{"id":"DEC-001","statement":"s"},{"id":"DEC-001","title":"t","overrides":"D1"}]`, `[{"ID":"DEC-1","id":"x","statement":"s","durability":"repo"}]`, `[1]`, `{}`},
	"objections":    {`[]`, ``, `[{"id":"OBJ-1","severity":"low","statement":"s"}]`, `[{"severity":"blocking","detail":"d"}]`, `[{"id":"OBJ-001","severity":"low","summary":"x"},{"id":"OBJ-001","severity":"low","statement":"x"}]`},
	"files_changed": {`[]`, ``, `["src/a.go"]`, `[{"path":"./a"},"b\\c"]`, `[".agentxchain/staging/turn_1/turn-result.json"]`, `[".planning/x"]`, `["../x"]`, `[""]`, `"a"`}, "files_modified": {``, ``, `["m.go"]`},
	"artifacts_created": {``, `["a"]`, `[{"path":"a"},{"name":"b"},{"z":1}]`, `[null]`},
	"verification": {`{}`, ``, `{"status":"passed"}`, `{"exit_code":0}`, `{"exit_code":1}`, `{"status":"pass","machine_evidence":[{"command":"a","exit_code":1.0}]}`, `{"status":"fail"}`, `{"status":"pass","machine_evidence":[{"type":"n","detail":"ok"},{"command":"a","exit_code":0.0}]}`,
		`{"status":"skipped","produced_files":[{"path":"./a"},{"path":"b","disposition":"ignore"}]}`, `{"status":"pass","commands":["a"],"evidence_summary":"a exits 1","machine_evidence":[{"command":"a","exit_code":1}]}`, `{"Status":"Pass"}`},
	"artifact":           {`{}`, ``, `{"type":"code"}`, `{"type":"workspace","ref":""}`, `{"type":"review"}`, `{"type":"patch"}`, `{"Type":"Review"}`, `"x"`},
	"proposed_next_role": {``, `""`, `"human"`, `"qa"`, `"dev"`, `"pm"`, `"<r>"`, `"X Y"`}, "phase_transition_request": {``, `null`, `""`, `"qa"`, `"planning"`, `"implementation"`, `"ship"`, `"built"`, `"signoff"`, `"nowhere"`, `1`},
	"run_completion_request": {``, `null`, `true`, `false`, `"yes"`}, "needs_human_reason": {``, ``, `"Ready to ship"`, `"Is it?"`, `null`, `1`}, "cost": {``, `null`, `{"input_tokens":1.0,"usd":0.1}`, `{"Usd":1}`},
	"proposed_changes": {``, ``, `null`, `[]`, `[{"path":"./a","action":"delete"}]`, `[{"Path":"a","action":"create","content":"x"}]`}, "delegations": {``, ``, `[]`, `[{"id":"del-001","to_role":"qa","charter":"c","acceptance_contract":["a"]}]`},
	"milestone": {``, ``, `"m"`}, "Summary": {``, ``, ``, `"other"`}, "intent_id": {``, `null`, `"i"`}, "extra": {``, `{"a":[1,{"B":2}]}`}, "adapter_meta": {``, `{"model":"m","retries":1}`},
}

// The steps reach a result that they leave alone; a result that was validated survives being written and read again; a turn
// that says pass has no failing command that it did not explain.
func TestProperties(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	valid := 0
	for range 1500 {
		role := []string{"pm", "dev", "api", "patcher", "qa", "old"}[r.IntN(6)]
		in := input(t, role, []string{"planning", "implementation", "qa", "elsewhere"}[r.IntN(4)])
		if r.IntN(8) == 0 {
			in.NormalizeArtifact = true
		}
		if r.IntN(8) == 0 {
			in.Config.Routing = nil
		}
		for range r.IntN(6) {
			keys := poolKeys[r.IntN(len(poolKeys))]
			value := pool[keys][r.IntN(len(pool[keys]))]
			if value == "" {
				in.Raw.Delete(keys)
			} else {
				in.Raw.Set(keys, json.RawMessage(value))
			}
		}
		if checkResult(t, in) {
			valid++
		}
		if t.Failed() {
			return
		}
	}
	if valid < 150 {
		t.Errorf("only %d of the results were valid", valid)
	}
}

var poolKeys = func() []string {
	var keys []string
	for _, k := range append(table().KeyNames(), "files_modified", "milestone", "Summary", "extra") {
		if len(pool[k]) > 0 {
			keys = append(keys, k)
		}
	}
	return keys
}()

// checkResult normalizes, validates, writes and reads a result, and says whether it was valid.
func checkResult(t *testing.T, in Input) bool {
	t.Helper()
	before, _ := protocol.Marshal(in.Raw)
	out, _ := normalized(in)
	checkNormal(t, out)
	r := Validate(out)
	if (r.Result == nil) == r.OK() || r.OK() != (len(r.Faults) == 0) {
		t.Errorf("%s: %v %q", before, r.Result, Errors(r))
	}
	for _, f := range r.Faults {
		if f.Stage != r.Failed || f.Type == "" || f.Message == "" || strings.Contains(f.Error(), "\n") {
			t.Errorf("%s: a poor fault %+v", before, f)
		}
	}
	if r.Result == nil {
		return false
	}
	text, err := protocol.Marshal(r.Result)
	if err != nil {
		t.Fatal(err)
	}
	if in.Raw, _, err = Decode(text); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	back, changes := normalized(in)
	second := Validate(back)
	if !second.OK() || len(changes) != 0 {
		t.Fatalf("%s, written as %s: changes %q, faults %q", before, text, changes, Errors(second))
	}
	if again, _ := protocol.Marshal(second.Result); string(again) != string(text) {
		t.Fatalf("%s became %s", text, again)
	}
	return true
}
