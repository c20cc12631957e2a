package turnresult

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

func TestValidBases(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"pm", "planning"}, {"dev", "implementation"}, {"api", "implementation"}, {"patcher", "implementation"}, {"qa", "qa"}, {"old", "implementation"}} {
		if r := Validate(input(t, c[0], c[1])); !r.OK() || r.Result == nil || len(r.Passed) != 5 || r.Class() != "" {
			t.Errorf("%s in %s: %q", c[0], c[1], Errors(r))
		}
	}
}

// Every rule by its own reason: the result is valid but for one thing, and only that is reported.
func TestValidateRules(t *testing.T) {
	t.Parallel()
	const evidence = `verification={"status":"pass","machine_evidence":[`
	const delegation = `{"id":"del-001","to_role":"qa","charter":"c","acceptance_contract":["a"]}`
	many := strings.Repeat(delegation+",", 5)
	for i := range 5 {
		many = strings.Replace(many, "del-001", "del-10"+string(rune('0'+i)), 1)
	}
	type c struct {
		name, role, phase string
		edits             []string
		want              []string // stage type field; empty: valid
		warning           string
	}
	dev := func(name string, want []string, edits ...string) c {
		return c{name, "dev", "implementation", edits, want, ""}
	}
	one := func(s string) []string { return []string{s} }
	cases := []c{
		// schema: missing keys are all that is reported
		dev("two missing keys", []string{"schema missing_field schema_version", "schema missing_field artifact"}, "schema_version", "artifact", `status="odd"`),
		dev("empty result", []string{"schema missing_field schema_version", "schema missing_field run_id", "schema missing_field turn_id", "schema missing_field role",
			"schema missing_field runtime_id", "schema missing_field status", "schema missing_field summary", "schema missing_field decisions", "schema missing_field objections",
			"schema missing_field files_changed", "schema missing_field verification", "schema missing_field artifact", "schema missing_field proposed_next_role"}, table().KeyNames()...),
		dev("version as a number", one("schema schema_version_invalid schema_version"), `schema_version=1.0`),
		dev("another version", one("schema schema_version_invalid schema_version"), `schema_version="2.0"`),
		dev("blank run_id", one("schema empty_required_field run_id"), `run_id=" "`),
		dev("turn_id of another type", one("schema invalid_type turn_id"), `turn_id=7`),
		dev("null runtime_id", one("schema invalid_type runtime_id"), `runtime_id=null`),
		dev("blank summary", one("schema empty_required_field summary"), `summary=""`),
		dev("role with capitals", one("schema invalid_format role"), `role="Dev"`),
		dev("next role with a space", one("schema invalid_format proposed_next_role"), `proposed_next_role="the dev"`),
		dev("status", one("schema invalid_enum_value status"), `status="complete"`),
		dev("status of another type", one("schema invalid_type status"), `status=true`),
		dev("decisions no array", one("schema invalid_type decisions"), `decisions={}`),
		dev("decision no object", one("schema invalid_type decisions[0]"), `decisions=["x"]`),
		dev("null decision", one("schema invalid_type decisions[0]"), `decisions=[null]`),
		dev("decision id", one("schema invalid_decision_id_format decisions[0].id"), `decisions=[{"id":"DEC-X","category":"scope","statement":"s","rationale":"r"}]`),
		dev("decision category", one("schema invalid_enum_value decisions[0].category"), `decisions=[{"id":"DEC-1","category":"taste","statement":"s","rationale":"r"}]`),
		dev("decision statement", one("schema empty_required_field decisions[0].statement"), `decisions=[{"id":"DEC-1","category":"scope","statement":" ","rationale":"r"}]`),
		dev("decision rationale", one("schema invalid_type decisions[0].rationale"), `decisions=[{"id":"DEC-1","category":"scope","statement":"s"}]`),
		dev("durability forever", one("schema invalid_enum_value decisions[0].durability"), `decisions=[{"id":"DEC-1","category":"scope","statement":"s","rationale":"r","durability":"forever"}]`),
		dev("durability repo", nil, `decisions=[{"id":"DEC-1","category":"scope","statement":"s","rationale":"r","durability":"repo","overrides":"DEC-9"}]`),
		dev("override of itself", one("schema self_override decisions[0].overrides"), `decisions=[{"id":"DEC-1","category":"scope","statement":"s","rationale":"r","overrides":"DEC-1"}]`),
		dev("override of no decision", one("schema invalid_decision_id_format decisions[0].overrides"), `decisions=[{"id":"DEC-1","category":"scope","statement":"s","rationale":"r","overrides":"that"}]`),
		dev("several faults of one decision and another field", []string{"schema empty_required_field summary", "schema invalid_enum_value decisions[0].category", "schema empty_required_field decisions[0].statement"},
			`summary=""`, `decisions=[{"id":"DEC-1","category":"x","statement":"","rationale":"r"}]`),
		dev("objection id", one("schema invalid_objection_id_format objections[0].id"), `objections=[{"id":"1","severity":"low","statement":"s"}]`),
		dev("objection severity", one("schema invalid_enum_value objections[0].severity"), `objections=[{"id":"OBJ-1","severity":"huge","statement":"s"}]`),
		dev("objection statement", one("schema empty_required_field objections[0].statement"), `objections=[{"id":"OBJ-1","severity":"low","statement":""}]`),
		dev("objection status", one("schema invalid_enum_value objections[0].status"), `objections=[{"id":"OBJ-1","severity":"low","statement":"s","status":"open"}]`),
		dev("objection against a number", one("schema invalid_type objections[0].against_turn_id"), `objections=[{"id":"OBJ-1","severity":"low","statement":"s","against_turn_id":4}]`),
		dev("null objection fields", nil, `objections=[{"id":"OBJ-1","severity":"low","statement":"s","against_turn_id":null,"status":null}]`),
		dev("files_changed no array", one("schema invalid_type files_changed"), `files_changed="src/a.go"`),
		dev("file is a number", one("schema invalid_type files_changed[1]"), `files_changed=["src/a.go",1]`),
		dev("artifacts_created", one("schema invalid_type artifacts_created[0]"), `artifacts_created=[1]`),
		dev("verification no object", one("schema invalid_type verification"), `verification="pass"`),
		dev("verification status missing", one("schema missing_field verification.status"), `verification={}`),
		dev("verification status passed", one("schema invalid_enum_value verification.status"), `verification={"status":"passed"}`),
		dev("verification lists", []string{"schema invalid_type verification.commands", "schema invalid_type verification.evidence_summary", "schema invalid_type verification.machine_evidence", "schema invalid_type verification.produced_files"},
			`verification={"status":"skipped","commands":"a","evidence_summary":[],"machine_evidence":{},"produced_files":"x"}`),
		dev("artifact no object", one("schema invalid_type artifact"), `artifact=[]`),
		dev("artifact type", one("schema invalid_enum_value artifact.type"), `artifact={"type":"code"}`),
		dev("artifact ref", one("schema invalid_type artifact.ref"), `artifact={"type":"workspace","ref":1}`),
		dev("phase request of another type", one("schema invalid_type phase_transition_request"), `phase_transition_request=true`),
		dev("completion request of another type", one("schema invalid_type run_completion_request"), `run_completion_request="yes"`),
		dev("reason of another type", one("schema invalid_type needs_human_reason"), `needs_human_reason=[]`),
		dev("intent of another type", one("schema invalid_type intent_id"), `intent_id=1`),
		dev("cost no object", one("schema invalid_type cost"), `cost=3`),
		dev("negative tokens", one("schema invalid_value cost.input_tokens"), `cost={"input_tokens":-1}`),
		dev("broken tokens", one("schema invalid_value cost.output_tokens"), `cost={"output_tokens":1.5}`),
		dev("negative cost", one("schema invalid_value cost.usd"), `cost={"usd":-0.1}`),
		dev("cost as text", one("schema invalid_value cost.usd"), `cost={"usd":"1"}`),
		dev("whole numbers in another spelling", nil, `cost={"input_tokens":12.0,"output_tokens":1e3,"usd":0.5}`),
		dev("null cost", nil, `cost=null`),
		dev("adapter_meta", one("schema invalid_type adapter_meta.retries"), `adapter_meta={"retries":"many"}`),
		dev("key in another case", one("schema ambiguous_key Proposed_Changes"), `Proposed_Changes=[{"path":"../x","action":"delete"}]`),
		dev("inner key in another case", one("schema ambiguous_key decisions[0].ID"), `decisions=[{"ID":"DEC-1","id":"DEC-1","category":"scope","statement":"s","rationale":"r"}]`),
		dev("delegations no array", one("schema invalid_type delegations"), `delegations={}`),
		dev("delegation id", one("schema invalid_delegation_id_format delegations[0].id"), `delegations=[{"id":"del-1","to_role":"qa","charter":"c","acceptance_contract":["a"]}]`),
		dev("delegation role", one("schema invalid_format delegations[0].to_role"), `delegations=[{"id":"del-001","to_role":"The QA","charter":"c","acceptance_contract":["a"]}]`),
		dev("placeholders where a pattern binds", []string{"schema invalid_decision_id_format decisions[0].id", "schema invalid_decision_id_format decisions[0].overrides"}, `decisions=[{"id":"<id>","category":"scope","statement":"s","rationale":"r","overrides":"<other>"}]`),
		dev("delegation without charter", one("schema invalid_type delegations[0].charter"), `delegations=[{"id":"del-001","to_role":"qa","acceptance_contract":["a"]}]`),
		dev("delegation with an empty contract", one("schema invalid_value delegations[0].acceptance_contract"), `delegations=[{"id":"del-001","to_role":"qa","charter":"c","acceptance_contract":[]}]`),
		dev("delegation with a blank condition", one("schema empty_required_field delegations[0].acceptance_contract[1]"), `delegations=[{"id":"del-001","to_role":"qa","charter":"c","acceptance_contract":["a"," "]}]`),
		dev("delegation with no required ids", one("schema invalid_value delegations[0].required_decision_ids"), `delegations=[{"id":"del-001","to_role":"qa","charter":"c","acceptance_contract":["a"],"required_decision_ids":[]}]`),
		dev("delegation with twin ids", one("schema duplicate_required_decision_id delegations[0].required_decision_ids[1]"), `delegations=[{"id":"del-001","to_role":"qa","charter":"c","acceptance_contract":["a"],"required_decision_ids":["DEC-1","DEC-1"]}]`),
		dev("delegation with a malformed id", one("schema invalid_decision_id_format delegations[0].required_decision_ids[0]"), `delegations=[{"id":"del-001","to_role":"qa","charter":"c","acceptance_contract":["a"],"required_decision_ids":["X"]}]`),
		dev("proposed change of another shape", []string{"schema invalid_type proposed_changes[0]", "schema invalid_type proposed_changes[1].path"}, `proposed_changes=["a",{"path":1,"action":"delete"}]`),
		dev("placeholders", []string{"schema unfilled_placeholder summary", "schema unfilled_placeholder decisions[0].statement", "schema unfilled_placeholder decisions[0].rationale",
			"schema unfilled_placeholder objections[0].statement", "schema unfilled_placeholder objections[0].against_turn_id", "schema unfilled_placeholder files_changed[0]", "schema unfilled_placeholder verification.commands[0]",
			"schema unfilled_placeholder verification.evidence_summary", "schema unfilled_placeholder verification.machine_evidence[0].command", "schema unfilled_placeholder proposed_next_role"},
			`summary="<what>"`, `proposed_next_role="<role>"`, `decisions=[{"id":"DEC-1","category":"scope","statement":"<s>","rationale":"<r>"}]`, `objections=[{"id":"OBJ-1","severity":"low","statement":"<s>","against_turn_id":"<turn>"}]`,
			`files_changed=["<file>"]`, `verification={"status":"pass","commands":["<c>"],"evidence_summary":"<e>","machine_evidence":[{"command":"<c>","exit_code":0}]}`),
		dev("angle brackets in a sentence are none", nil, `summary="made <T> generic"`),

		// assignment
		dev("run_id", one("assignment run_id_mismatch run_id"), `run_id="run_2"`),
		dev("turn_id", one("assignment turn_id_mismatch turn_id"), `turn_id="turn_2"`),
		dev("role", one("assignment role_mismatch role"), `role="qa"`),
		dev("runtime_id", one("assignment runtime_id_mismatch runtime_id"), `runtime_id="manual"`),
		dev("all of them", []string{"assignment run_id_mismatch run_id", "assignment turn_id_mismatch turn_id", "assignment role_mismatch role", "assignment runtime_id_mismatch runtime_id"},
			`run_id="a"`, `turn_id="a"`, `role="a"`, `runtime_id="a"`),

		// artifact: paths wherever they stand
		dev("absolute", one("artifact path_escape files_changed[1]"), `files_changed=["src/a.go","/etc/passwd"]`),
		dev("drive", one("artifact path_escape files_changed[1]"), `files_changed=["src/a.go","C:\\x"]`),
		dev("climbing", one("artifact path_escape files_changed[1]"), `files_changed=["src/a.go","src/../../x"]`),
		dev("created", one("artifact path_escape artifacts_created[0]"), `artifacts_created=["../x"]`),
		dev("produced", one("artifact path_escape verification.produced_files[0].path"), `verification={"status":"skipped","produced_files":[{"path":"/x","disposition":"ignore"}]}`),
		dev("proposed", one("artifact path_escape proposed_changes[0].path"), `proposed_changes=[{"path":"../../escape.txt","action":"create","content":""}]`),
		dev("ref", one("artifact path_escape artifact.ref"), `artifact={"type":"workspace","ref":"/tmp/x.patch"}`),
		dev("empty ref", one("artifact empty_path artifact.ref"), `artifact={"type":"workspace","ref":""}`),
		dev("ref of a commit", nil, `artifact={"type":"commit","ref":"git:abc123"}`),
		dev("reserved", one("artifact reserved_path_violation files_changed[1]"), `files_changed=["src/a.go",".agentxchain/state.json"]`),
		dev("reserved in another case", one("artifact reserved_path_violation files_changed[1]"), `files_changed=["src/a.go",".AgentXChain/History.JSONL"]`),
		dev("reserved and proposed", one("artifact reserved_path_violation proposed_changes[0].path"), `proposed_changes=[{"path":".agentxchain/lock.json","action":"delete"}]`),
		dev("git", one("artifact reserved_path_violation files_changed[1]"), `files_changed=["src/a.go",".GIT/hooks/pre-commit"]`),
		dev("empty path", one("artifact empty_path files_changed[1]"), `files_changed=["src/a.go",""]`),
		dev("NUL", one("artifact invalid_path files_changed[1]"), `files_changed=["src/a.go","a\u0000b"]`),

		// artifact: authority
		{"reviewer changes the product", "qa", "qa", []string{`files_changed=["src/a.go"]`}, one("artifact write_authority_violation files_changed[0]"), ""},
		{"reviewer writes a review", "qa", "qa", []string{`files_changed=[".agentxchain/reviews/r.md"]`}, nil, ""},
		{"reviewer hands over a patch", "qa", "qa", []string{`artifact={"type":"patch"}`}, one("artifact artifact_type_violation artifact.type"), ""},
		{"reviewer proposes", "qa", "qa", []string{`proposed_changes=[{"path":"a","action":"delete"}]`}, nil, "are ignored"},
		{"workspace of a proposing role", "patcher", "implementation", []string{`artifact={"type":"workspace"}`, `files_changed=["src/a.go"]`}, one("artifact artifact_type_violation artifact.type"), ""},
		{"empty workspace", "dev", "planning", []string{`files_changed=[]`}, one("artifact empty_workspace_artifact artifact.type"), "without a changed file"},
		{"workspace of a produced file", "dev", "planning", []string{`files_changed=[]`, `verification={"status":"skipped","produced_files":[{"path":"dist/a","disposition":"artifact"}]}`}, nil, ""},
		{"workspace of an ignored file", "dev", "planning", []string{`files_changed=[]`, `verification={"status":"skipped","produced_files":[{"path":"dist/a","disposition":"ignore"}]}`}, one("artifact empty_workspace_artifact artifact.type"), ""},
		dev("review that changed the product", one("artifact artifact_type_violation artifact.type"), `artifact={"type":"review"}`),
		{"review that changed the plan", "dev", "planning", []string{`artifact={"type":"review"}`, `files_changed=[".planning/x.md"]`}, nil, ""},
		dev("implementation of planning files only", one("artifact no_product_change files_changed"), `files_changed=[".planning/x.md",".agentxchain/reviews/y.md"]`),
		dev("implementation that is not completed", nil, `status="blocked"`, `files_changed=[".planning/x.md"]`),
		{"only tests", "dev", "implementation", []string{`files_changed=["src/a_test.go","tests/b.py"]`}, nil, "only tests"},
		{"api role without changes", "api", "implementation", []string{`proposed_changes=[]`}, one("artifact missing_proposed_changes proposed_changes"), ""},
		{"api role that ends the run", "api", "implementation", []string{`proposed_changes=null`, `run_completion_request=true`}, nil, ""},
		{"api role that is blocked", "api", "implementation", []string{`proposed_changes=[]`, `status="blocked"`}, nil, ""},
		{"proposing role with a workspace", "patcher", "implementation", []string{`proposed_changes`}, nil, ""},
		dev("proposed without a path", one("artifact missing_field proposed_changes[0].path"), `proposed_changes=[{"action":"delete"}]`),
		dev("proposed action", one("artifact invalid_enum_value proposed_changes[0].action"), `proposed_changes=[{"path":"a","action":"move","content":""}]`),
		dev("proposed without content", one("artifact missing_field proposed_changes[0].content"), `proposed_changes=[{"path":"a","action":"modify"}]`),
		dev("proposed action with blanks", one("artifact invalid_enum_value proposed_changes[0].action"), `proposed_changes=[{"path":"a","action":"delete "}]`),
		dev("proposed deletion", nil, `proposed_changes=[{"path":"a","action":"delete"}]`),

		// verification
		dev("blank command", one("verification empty_required_field verification.commands[1]"), `verification={"status":"pass","commands":["a"," "]}`),
		dev("evidence no object", one("verification invalid_type verification.machine_evidence[0]"), evidence+`"a"]}`),
		dev("evidence without a command", one("verification invalid_type verification.machine_evidence[0].command"), evidence+`{"exit_code":0}]}`),
		dev("evidence without a code", one("verification invalid_type verification.machine_evidence[0].exit_code"), evidence+`{"command":"a"}]}`),
		dev("evidence with half a code", one("verification invalid_type verification.machine_evidence[0].exit_code"), evidence+`{"command":"a","exit_code":0.5}]}`),
		dev("expected code of another type", one("verification invalid_type verification.machine_evidence[0].expected_exit_code"), evidence+`{"command":"a","exit_code":1,"expected_exit_code":"1"}]}`),
		dev("stdout_tail and argv", []string{"verification invalid_type verification.machine_evidence[0].stdout_tail", "verification invalid_type verification.machine_evidence[0].argv"}, evidence+`{"command":"a","exit_code":0,"stdout_tail":1,"argv":"a"}]}`),
		dev("pass with a failing command", one("verification failing_command_reported_as_pass verification.machine_evidence[1].exit_code"), evidence+`{"command":"a","exit_code":0},{"command":"b","exit_code":2}]}`),
		dev("pass with a failing command spelled 1.0", one("verification failing_command_reported_as_pass verification.machine_evidence[0].exit_code"), evidence+`{"command":"b","exit_code":1.0}]}`),
		dev("pass with an expected failure", nil, evidence+`{"command":"b","exit_code":1,"expected_exit_code":1}]}`),
		dev("pass with another failure than expected", one("verification failing_command_reported_as_pass verification.machine_evidence[0].exit_code"), evidence+`{"command":"b","exit_code":2,"expected_exit_code":1}]}`),
		dev("pass although a failure was expected", one("verification failing_command_reported_as_pass verification.machine_evidence[0].exit_code"), evidence+`{"command":"b","exit_code":0,"expected_exit_code":1}]}`),
		{"explained in the summary", "dev", "implementation", []string{`verification={"status":"pass","evidence_summary":"grep -q TODO exits with code 1, as it should","machine_evidence":[{"command":"grep -q TODO","exit_code":1}]}`}, nil, "only evidence_summary explains"},
		dev("explained against the stated expectation", one("verification failing_command_reported_as_pass verification.machine_evidence[0].exit_code"), `verification={"status":"pass","evidence_summary":"make exits 1","machine_evidence":[{"command":"make","exit_code":1,"expected_exit_code":2}]}`),
		dev("explained with another code", one("verification failing_command_reported_as_pass verification.machine_evidence[0].exit_code"), `verification={"status":"pass","evidence_summary":"grep -q TODO exits with code 2","machine_evidence":[{"command":"grep -q TODO","exit_code":1}]}`),
		dev("explained of another command", one("verification failing_command_reported_as_pass verification.machine_evidence[0].exit_code"), `verification={"status":"pass","evidence_summary":"make exits with code 1","machine_evidence":[{"command":"grep -q TODO","exit_code":1}]}`),
		dev("explained too far away", one("verification failing_command_reported_as_pass verification.machine_evidence[0].exit_code"), `verification={"status":"pass","evidence_summary":"grep `+strings.Repeat("x", 160)+` exits 1","machine_evidence":[{"command":"grep","exit_code":1}]}`),
		dev("codes in another spelling", nil, evidence+`{"command":"a","exit_code":0.0},{"command":"b","exit_code":1e0,"expected_exit_code":1.0}]}`),
		dev("fail with a failing command", nil, `verification={"status":"fail","machine_evidence":[{"command":"b","exit_code":2}]}`),
		dev("pass with an exit code of its own", one("verification failing_command_reported_as_pass verification.status"), `verification={"status":"pass","exit_code":1}`),
		{"pass without evidence", "dev", "implementation", []string{`verification={"status":"pass"}`}, nil, "no evidence"},
		dev("produced no object", one("verification invalid_type verification.produced_files[0]"), `verification={"status":"pass","produced_files":["a"]}`),
		dev("produced without a path", one("verification empty_required_field verification.produced_files[0].path"), `verification={"status":"pass","produced_files":[{"path":" ","disposition":"ignore"}]}`),
		dev("produced disposition", one("verification invalid_enum_value verification.produced_files[0].disposition"), `verification={"status":"pass","produced_files":[{"path":"a","disposition":"keep"}]}`),
		dev("produced twice", one("verification duplicate_produced_file verification.produced_files[1].path"), `verification={"status":"pass","produced_files":[{"path":"a/b","disposition":"ignore"},{"path":"a//b","disposition":"ignore"}]}`),
		dev("ignored and declared", one("verification ignored_file_declared verification.produced_files[0].disposition"), `verification={"status":"pass","produced_files":[{"path":"./src/a.go","disposition":"ignore"}]}`),

		// protocol
		{"reviewer without objection", "qa", "qa", []string{`objections=[]`}, one("protocol challenge_requirement_violated objections"), ""},
		{"first edition without objection", "old", "implementation", []string{`objections=[]`}, one("protocol challenge_requirement_violated objections"), ""},
		dev("author without objection", nil, `objections=[]`),
		dev("next role", one("protocol next_role_not_allowed proposed_next_role"), `proposed_next_role="pm"`),
		dev("phase with blanks", one("protocol unknown_phase phase_transition_request"), `phase_transition_request=" qa "`),
		dev("blank phase", nil, `phase_transition_request=" "`),
		dev("unknown phase", one("protocol unknown_phase phase_transition_request"), `phase_transition_request="release"`),
		{"skipped phase", "dev", "planning", []string{`phase_transition_request="qa"`}, one("protocol phase_order_violation phase_transition_request"), ""},
		dev("phase behind", one("protocol phase_order_violation phase_transition_request"), `phase_transition_request="planning"`),
		dev("next phase", nil, `phase_transition_request="qa"`),
		{"request in the last phase", "dev", "qa", []string{`phase_transition_request="planning"`}, one("protocol phase_order_violation phase_transition_request"), ""},
		dev("both requests", one("protocol mutually_exclusive_requests run_completion_request"), `phase_transition_request="qa"`, `run_completion_request=true`),
		dev("a request and a refusal", nil, `phase_transition_request="qa"`, `run_completion_request=false`),
		{"nobody says why", "dev", "implementation", []string{`status="needs_human"`}, nil, "needs_human_reason"},
		dev("six delegations", one("protocol too_many_delegations delegations"), `delegations=[`+many+delegation+`]`),
		dev("five delegations", nil, `delegations=[`+strings.TrimSuffix(many, ",")+`]`),
		dev("delegation and completion", one("protocol delegation_with_completion run_completion_request"), `delegations=[`+delegation+`]`, `run_completion_request=true`),
		dev("twin delegations", one("protocol duplicate_delegation_id delegations[1].id"), `delegations=[`+delegation+`,`+delegation+`]`),
		dev("delegation to itself", one("protocol self_delegation delegations[0].to_role"), `delegations=[{"id":"del-001","to_role":"dev","charter":"c","acceptance_contract":["a"]}]`),
		dev("delegation to nobody", one("protocol undeclared_role_reference delegations[0].to_role"), `delegations=[{"id":"del-001","to_role":"ops","charter":"c","acceptance_contract":["a"]}]`),
		dev("delegation out of routing", one("protocol next_role_not_allowed delegations[0].to_role"), `delegations=[{"id":"del-001","to_role":"pm","charter":"c","acceptance_contract":["a"]}]`),
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := input(t, c.role, c.phase, c.edits...)
			before, _ := protocol.Marshal(in.Raw)
			r := Validate(in)
			if !same(types(r), c.want) {
				t.Errorf("got %q, want %q\n%s", types(r), c.want, strings.Join(Errors(r), "\n"))
			}
			if (r.Result != nil) != (len(c.want) == 0) {
				t.Errorf("the result is %v with %d faults", r.Result, len(r.Faults))
			}
			if c.warning != "" && !strings.Contains(strings.Join(r.Warnings, "\n"), c.warning) {
				t.Errorf("warnings %q, want %q", r.Warnings, c.warning)
			}
			if after, _ := protocol.Marshal(in.Raw); string(after) != string(before) {
				t.Error("validating changed the result")
			}
			for _, line := range Errors(r) {
				if !strings.Contains(line, ": ") || strings.Contains(line, "\n") {
					t.Errorf("a fault without field: %q", line)
				}
			}
		})
	}
}

func TestValidateByTurnAndRun(t *testing.T) {
	t.Parallel()
	in := input(t, "dev", "implementation")
	in.Turn = nil
	if r := Validate(in); !same(types(r), []string{"assignment no_active_turn turn_id"}) || r.Class() != "assignment_error" {
		t.Errorf("no turn: %q", types(r))
	}
	in = input(t, "dev", "implementation")
	in.Config.Roles.Delete("dev")
	if r := Validate(in); !same(types(r), []string{"assignment undeclared_role_reference role"}) {
		t.Errorf("a role that is gone: %q", types(r))
	}
	if r := Validate(Input{}); r.Failed != protocol.StageSchema {
		t.Errorf("nothing: %q", types(r))
	}

	in = input(t, "dev", "implementation", `files_changed=[".planning/x.md"]`)
	in.History = []protocol.HistoryEntry{{Phase: "implementation", Status: "completed", FilesChanged: []string{"src/a.go"}}}
	if r := Validate(in); !r.OK() {
		t.Errorf("an earlier turn changed the product: %q", Errors(r))
	}
	for _, h := range []protocol.HistoryEntry{{Phase: "planning", Status: "completed", FilesChanged: []string{"src/a.go"}},
		{Phase: "implementation", Status: "failed", FilesChanged: []string{"src/a.go"}}, {Phase: "implementation", Status: "completed", FilesChanged: []string{".planning/a"}}} {
		in.History = []protocol.HistoryEntry{h}
		if r := Validate(in); !same(types(r), []string{"artifact no_product_change files_changed"}) {
			t.Errorf("%+v: %q", h, types(r))
		}
	}

	in = input(t, "dev", "implementation", `delegations=[{"id":"del-001","to_role":"qa","charter":"c","acceptance_contract":["a"]}]`)
	in.Turn.DelegationContext = json.RawMessage(`{"delegation_id":"del-009"}`)
	if r := Validate(in); !same(types(r), []string{"protocol nested_delegation delegations"}) {
		t.Errorf("delegated delegation: %q", types(r))
	}

	in = input(t, "dev", "implementation", `phase_transition_request="qa"`)
	in.Turn.DelegationReview = json.RawMessage(`{"results":[{"delegation_id":"del-001","missing_decision_ids":["DEC-7"]}]}`)
	if r := Validate(in); !same(types(r), []string{"protocol delegation_review_unmet phase_transition_request"}) || !strings.Contains(Errors(r)[0], "DEC-7") {
		t.Errorf("review of unmet work: %q", Errors(r))
	}
	in.Raw.Set("phase_transition_request", null)
	in.Raw.Set("run_completion_request", json.RawMessage("true"))
	if r := Validate(in); !same(types(r), []string{"protocol delegation_review_unmet run_completion_request"}) {
		t.Errorf("review of unmet work: %q", types(r))
	}
	in.Turn.DelegationReview = json.RawMessage(`{"results":[{"delegation_id":"del-001","missing_decision_ids":[]}]}`)
	if r := Validate(in); !r.OK() {
		t.Errorf("review of work that is done: %q", Errors(r))
	}

	no := false
	in = input(t, "qa", "qa", `objections=[]`)
	in.Config.Rules.ChallengeRequired = &no
	if r := Validate(in); !r.OK() {
		t.Errorf("no challenge is required: %q", Errors(r))
	}
	in = input(t, "old", "implementation", `objections=[]`)
	in.Config.Rules.ChallengeRequired = &no
	if r := Validate(in); !same(types(r), []string{"protocol challenge_requirement_violated objections"}) {
		t.Errorf("the first edition objects always: %q", types(r))
	}
	in = input(t, "dev", "implementation", `proposed_next_role="ops"`)
	in.Config.Routing = nil
	if r := Validate(in); !same(types(r), []string{"protocol undeclared_role_reference proposed_next_role"}) {
		t.Errorf("without routing: %q", types(r))
	}
}

// The literal words that conformance fixtures ask for.
func TestFixtureWords(t *testing.T) {
	t.Parallel()
	r := Validate(input(t, "qa", "qa", `objections=[]`))
	if f := r.Faults[0]; f.Type != "challenge_requirement_violated" || f.Message != "review_only role must raise at least one objection" {
		t.Errorf("got %+v", f)
	}
	r = Validate(input(t, "dev", "qa", `phase_transition_request="nowhere"`, `run_completion_request=true`, `proposed_next_role="pm"`))
	if f := r.Faults[0]; f.Type != "mutually_exclusive_requests" || f.Message != "phase_transition_request and run_completion_request cannot both be present" {
		t.Errorf("got %+v", f)
	}
	r = Validate(input(t, "dev", "implementation", `files_changed=[".agentxchain/state.json"]`))
	if f := r.Faults[0]; f.Type != "reserved_path_violation" || f.Path != ".agentxchain/state.json" {
		t.Errorf("got %+v", f)
	}
}

func TestErrorsAreBounded(t *testing.T) {
	t.Parallel()
	r := Validate(input(t, "dev", "implementation", `files_changed=[`+strings.Repeat(`1,`, 499)+`1]`))
	lines := Errors(r)
	if len(r.Faults) != 500 || len(lines) != 101 || lines[100] != "and 400 more faults of the same stage" {
		t.Errorf("%d faults, %d lines: %s", len(r.Faults), len(lines), lines[len(lines)-1])
	}
	r = Validate(input(t, "dev", "implementation", `status="`+strings.Repeat("ä", 1000)+`"`))
	if line := Errors(r)[0]; len(line) > 300 || !strings.HasPrefix(line, "status: is \"ää") || !strings.Contains(line, "; expected: completed, blocked, needs_human or failed") {
		t.Errorf("got %q", line)
	}
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	_, _, err := Decode([]byte("done"))
	if r := Unreadable(err); !same(types(r), []string{"schema invalid_json $"}) || !strings.HasPrefix(Errors(r)[0], "$: line 1, column 1: ") || r.OK() {
		t.Errorf("got %q", Errors(r))
	}
	if r := Unreadable(errors.New("gone")); !same(types(r), []string{"schema unreadable_result $"}) {
		t.Errorf("got %q", types(r))
	}
}
