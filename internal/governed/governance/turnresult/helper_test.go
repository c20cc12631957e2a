package turnresult

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

const testConfig = `{
  "schema_version": "1.0", "project": {"id": "p", "name": "P"},
  "roles": {
    "pm": {"title": "PM", "mandate": "plan", "write_authority": "review_only", "runtime": "manual"},
    "dev": {"title": "Dev", "mandate": "build", "write_authority": "authoritative", "runtime": "cli"},
    "api": {"title": "API", "mandate": "propose", "write_authority": "proposed", "runtime": "proxy"},
    "patcher": {"title": "Patcher", "mandate": "patch", "write_authority": "proposed", "runtime": "cli"},
    "qa": {"title": "QA", "mandate": "check", "write_authority": "review_only", "runtime": "manual"},
    "old": {"title": "Old", "mandate": "build", "write_authority": "authoritative", "runtime": "cli", "adapter": "local_cli"}
  },
  "runtimes": {"manual": {"type": "manual"}, "cli": {"type": "local_cli"}, "proxy": {"type": "api_proxy"}},
  "routing": {
    "planning": {"entry_role": "pm", "allowed_next_roles": ["pm", "dev", "human"], "exit_gate": "signoff"},
    "implementation": {"entry_role": "dev", "allowed_next_roles": ["dev", "qa", "api", "human"], "exit_gate": "built"},
    "qa": {"entry_role": "qa", "allowed_next_roles": ["dev", "qa", "human"], "exit_gate": "ship"}
  },
  "gates": {"signoff": {}, "built": {}, "ship": {}}
}`

// runtimeOf are the runtimes of the roles above.
var runtimeOf = map[string]string{"pm": "manual", "dev": "cli", "api": "proxy", "patcher": "cli", "qa": "manual", "old": "cli"}

// input is a turn of a role in a phase with a valid result, in which the edits replace keys: "key=JSON", or "key" to remove it.
func input(t testing.TB, role, phase string, edits ...string) Input {
	t.Helper()
	in := Input{Config: &protocol.Config{}, State: &protocol.State{Phase: phase}}
	if err := json.Unmarshal([]byte(testConfig), in.Config); err != nil {
		t.Fatal(err)
	}
	run := "run_1"
	in.State.RunID = &run
	in.Turn = &protocol.Turn{TurnID: "turn_1", RunID: run, AssignedRole: role, RuntimeID: runtimeOf[role]}
	set := func(key, value string) { in.Raw.Set(key, json.RawMessage(value)) }
	set("schema_version", `"1.0"`)
	set("run_id", `"run_1"`)
	set("turn_id", `"turn_1"`)
	set("role", `"`+role+`"`)
	set("runtime_id", `"`+runtimeOf[role]+`"`)
	set("status", `"completed"`)
	set("summary", `"did it"`)
	set("decisions", `[{"id":"DEC-001","category":"scope","statement":"s","rationale":"r"}]`)
	set("objections", `[{"id":"OBJ-001","severity":"low","statement":"s"}]`)
	set("files_changed", `["src/a.go"]`)
	set("verification", `{"status":"pass","commands":["go test"],"machine_evidence":[{"command":"go test","exit_code":0}]}`)
	set("artifact", `{"type":"workspace","ref":null}`)
	set("proposed_next_role", `"human"`)
	set("phase_transition_request", `null`)
	set("run_completion_request", `null`)
	switch in.Config.Roles.At(role).WriteAuthority {
	case protocol.ReviewOnly:
		set("files_changed", `[".planning/ROADMAP.md"]`)
		set("artifact", `{"type":"review"}`)
	case protocol.Proposed:
		set("files_changed", `[]`)
		set("artifact", `{"type":"patch"}`)
		set("proposed_changes", `[{"path":"src/a.go","action":"create","content":"package a"}]`)
	}
	for _, e := range edits {
		if key, value, ok := strings.Cut(e, "="); ok {
			set(key, value)
		} else {
			in.Raw.Delete(key)
		}
	}
	return in
}

// normalized is the normalized input, with the changes as "field rationale".
func normalized(in Input) (Input, []string) {
	raw, changes := Normalize(in)
	in.Raw = raw
	var out []string
	for _, c := range changes {
		out = append(out, c.Field+" "+c.Rationale)
	}
	return in, out
}

// types are "stage type field" of all faults.
func types(r Report) []string {
	var out []string
	for _, f := range r.Faults {
		out = append(out, string(f.Stage)+" "+f.Type+" "+f.Field)
	}
	return out
}

func same(a, b []string) bool { return slices.Equal(a, b) }
