package turnresult

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Every step by its change and its value; want is "field rationale" of all changes, then "key=JSON" of what became of the keys.
func TestNormalizeSteps(t *testing.T) {
	t.Parallel()
	type c struct {
		name, role, phase string
		edits             []string
		changes           []string
		values            []string
	}
	dev := func(name string, edits, changes, values []string) c {
		return c{name, "dev", "implementation", edits, changes, values}
	}
	qa := func(name, phase string, edits, changes, values []string) c {
		return c{name, "qa", phase, edits, changes, values}
	}
	type l = []string
	const inferred = "lifecycle_request_inferred_for_completed_review"
	cases := []c{
		dev("nothing", nil, nil, nil),
		dev("0 keys", l{"status", `Status="completed"`, `verification={"Status":"skipped"}`, `decisions=[{"ID":"DEC-001","category":"scope","statement":"s","rationale":"r"}]`},
			l{"status key_respelled", "decisions[0].id key_respelled", "verification.status key_respelled"}, l{`status="completed"`, `verification={"status":"skipped"}`}),
		dev("0 twin key", l{`Summary="other"`}, l{"Summary key_in_another_case_dropped"}, l{`summary="did it"`, "Summary"}),
		dev("1 run_id missing", l{"run_id"}, l{"run_id run_id_rewritten_from_active_turn_context"}, l{`run_id="run_1"`}),
		dev("1 run_id wrong", l{`run_id="run_9"`}, l{"run_id run_id_rewritten_from_active_turn_context"}, l{`run_id="run_1"`}),
		dev("1 run_id of another turn", l{`run_id="run_9"`, `turn_id="turn_2"`}, nil, l{`run_id="run_9"`}),
		dev("2 files_modified", l{"files_changed", `files_modified=["src/b.go"]`}, l{"files_changed files_modified_renamed_to_files_changed"}, l{`files_changed=["src/b.go"]`, "files_modified"}),
		dev("2 files_modified beside files_changed", l{`files_modified=["src/b.go"]`}, nil, l{`files_changed=["src/a.go"]`}),
		dev("3 lists", l{"decisions", `objections=null`}, l{"decisions missing_decisions_array_defaulted", "objections missing_objections_array_defaulted"}, l{"decisions=[]", "objections=[]"}),
		dev("4 runtime_id", l{`runtime_id=""`}, l{"runtime_id missing_runtime_id_defaulted_from_context"}, l{`runtime_id="cli"`}),
		dev("4 another runtime_id", l{`runtime_id="other"`}, nil, l{`runtime_id="other"`}),
		dev("5 summary from the title", l{`summary=" "`, `milestone_title="M1"`, `milestone="m"`}, l{"summary missing_summary_synthesized_from_milestone_title"}, l{`summary="M1"`}),
		dev("5 summary from the milestone", l{`summary`, `milestone="m"`}, l{"summary missing_summary_synthesized_from_milestone"}, l{`summary="dev turn for m"`}),
		dev("5 summary from nothing", l{`summary=null`}, l{"summary missing_summary_synthesized_from_fallback"}, l{`summary="dev turn completed"`}),
		dev("5 summary that is a number", l{`summary=4`}, nil, l{`summary=4`}),
		dev("6 artifact with files", l{`artifact="code"`}, l{"artifact missing_artifact_inferred_from_files_changed"}, l{`artifact={"type":"workspace"}`}),
		dev("6 artifact without files", l{`artifact`, `files_changed=[]`}, l{"artifact missing_artifact_inferred_from_files_changed"}, l{`artifact={"type":"review"}`}),
		qa("6 artifact of a reviewer", "qa", l{`artifact`, `run_completion_request=false`}, l{"artifact missing_artifact_inferred_from_files_changed"}, l{`artifact={"type":"review"}`}),
		{"6 artifact of a proposing role", "api", "implementation", l{`artifact`}, l{"artifact missing_artifact_inferred_from_files_changed"}, l{`artifact={"type":"patch"}`}},
		dev("7 next role", l{`proposed_next_role=""`}, l{"proposed_next_role missing_proposed_next_role_defaulted"}, l{`proposed_next_role="qa"`}),
		{"7 next role of an unknown phase", "dev", "elsewhere", l{`proposed_next_role`}, l{"proposed_next_role missing_proposed_next_role_defaulted"}, l{`proposed_next_role="pm"`}},
		dev("8 complete", l{`status="complete"`}, l{"status status_synonym_rewritten"}, l{`status="completed"`}),
		dev("8 success", l{`status="Success"`}, l{"status status_synonym_rewritten"}, l{`status="completed"`}),
		dev("8 done", l{`status="done"`}, l{"status status_synonym_rewritten"}, l{`status="completed"`}),
		dev("8 error", l{`status="error"`}, l{"status status_synonym_rewritten"}, l{`status="failed"`}),
		dev("8 failure", l{`status="FAILURE"`}, l{"status status_synonym_rewritten"}, l{`status="failed"`}),
		dev("8 an unknown status", l{`status="great"`}, nil, l{`status="great"`}),
		dev("8 passed", l{`verification={"status":"passed"}`}, l{"verification.status verification_status_synonym_rewritten"}, l{`verification={"status":"pass"}`}),
		dev("8 failed", l{`verification={"status":"Failed"}`}, l{"verification.status verification_status_synonym_rewritten"}, l{`verification={"status":"fail"}`}),
		dev("8 code", l{`artifact={"type":"code","ref":"src/auth.ts"}`}, l{"artifact.type artifact_type_code_read_as_workspace"}, l{`artifact={"type":"workspace","ref":"src/auth.ts"}`}),
		dev("9 objects", l{`files_changed=[{"path":"src/a.go","action":"created"},"src/b.go"]`}, l{"files_changed[0] files_changed_object_to_string"}, l{`files_changed=["src/a.go","src/b.go"]`}),
		dev("9 paths with detours", l{`files_changed=["./src/a.go","src\\b.go"]`}, l{"files_changed[0] path_cleaned", "files_changed[1] path_cleaned"}, l{`files_changed=["src/a.go","src/b.go"]`}),
		dev("9 paths that are faults stay", l{`files_changed=["../a",".git/x",""]`}, nil, l{`files_changed=["../a",".git/x",""]`}),
		dev("9 the staged result itself", l{`files_changed=["src/a.go",".agentxchain/staging/turn_1/turn-result.json","./.agentxchain/staging/turn-result.json"]`},
			l{"files_changed[1] own_staged_result_removed", "files_changed[2] own_staged_result_removed"}, l{`files_changed=["src/a.go"]`}),
		dev("9 another turn's staged result stays", l{`files_changed=["src/a.go",".agentxchain/staging/turn_2/turn-result.json",".agentxchain/staging/turn_1/../turn_2/x"]`}, nil,
			l{`files_changed=["src/a.go",".agentxchain/staging/turn_2/turn-result.json",".agentxchain/staging/turn_1/../turn_2/x"]`}),
		dev("10 ids by position", l{`decisions=[{"id":"D1","category":"scope","statement":"s","rationale":"r"},{"id":"DEC-001","category":"scope","statement":"s","rationale":"r","overrides":"D1"},{"category":"scope","statement":"s","rationale":"r"}]`},
			l{"decisions[0].id invalid_decision_id_rewritten", "decisions[2].id invalid_decision_id_rewritten", "decisions[1].overrides reference_to_rewritten_id_rewritten"},
			l{`decisions=[{"id":"DEC-002","category":"scope","statement":"s","rationale":"r"},{"id":"DEC-001","category":"scope","statement":"s","rationale":"r","overrides":"DEC-002"},{"category":"scope","statement":"s","rationale":"r","id":"DEC-003"}]`}),
		dev("10 twin ids", l{`decisions=[{"id":"DEC-001","category":"scope","statement":"s","rationale":"r"},{"id":"DEC-001","category":"scope","statement":"t","rationale":"r"}]`},
			l{"decisions[1].id invalid_decision_id_rewritten"}, nil),
		dev("10 texts", l{`decisions=[{"id":"DEC-1","category":"scope","decision":"d","why":"w"},{"id":"DEC-2","category":"scope","title":"t"}]`},
			l{"decisions[0].statement copied_from_decision", "decisions[0].rationale copied_from_why", "decisions[1].statement copied_from_title", "decisions[1].rationale copied_from_statement"}, nil),
		dev("10 category", l{`decisions=[{"id":"DEC-1","category":"taste","statement":"s","rationale":"r"}]`}, l{"decisions[0].category missing_category_defaulted"},
			l{`decisions=[{"id":"DEC-1","category":"implementation","statement":"s","rationale":"r"}]`}),
		dev("10 durability is not touched", l{`decisions=[{"id":"DEC-1","category":"scope","statement":"s","rationale":"r","durability":"forever"}]`}, nil, nil),
		dev("11 exit code 0", l{`verification={"exit_code":0}`}, l{"verification.status verification_status_inferred_from_exit_code"}, l{`verification={"exit_code":0,"status":"pass"}`}),
		dev("11 exit code 3", l{`verification={"exit_code":3}`}, l{"verification.status verification_status_inferred_from_exit_code"}, l{`verification={"exit_code":3,"status":"fail"}`}),
		dev("11 no exit code", l{`verification={}`}, l{"verification.status verification_status_inferred_from_exit_code"}, l{`verification={"status":"skipped"}`}),
		dev("11 exit code 0 beside a failing command", l{`verification={"exit_code":0,"machine_evidence":[{"command":"a","exit_code":1}]}`}, l{"verification.status verification_status_inferred_from_exit_code"},
			l{`verification={"exit_code":0,"machine_evidence":[{"command":"a","exit_code":1}],"status":"fail"}`}),
		dev("12 notes", l{`verification={"status":"pass","evidence_summary":"ok","machine_evidence":[{"command":"a","exit_code":0},{"type":"manual","detail":"looked at it"}]}`},
			l{"verification.machine_evidence[1] evidence_note_moved_to_summary", "verification.evidence_summary evidence_notes_added"},
			l{`verification={"status":"pass","evidence_summary":"ok; manual: looked at it","machine_evidence":[{"command":"a","exit_code":0}]}`}),
		dev("12 notes of a failure stay", l{`verification={"status":"pass","machine_evidence":[{"type":"test","result":"failed"},{"type":"test","exit_code":1}]}`}, nil,
			l{`verification={"status":"pass","machine_evidence":[{"type":"test","result":"failed"},{"type":"test","exit_code":1}]}`}),
		dev("12 notes beside a failing command stay", l{`verification={"status":"pass","machine_evidence":[{"command":"a","exit_code":1},{"type":"note","detail":"a 1"}]}`}, nil, nil),
		dev("12 disposition", l{`verification={"status":"pass","produced_files":[{"path":"./dist/a"}]}`},
			l{"verification.produced_files[0].disposition missing_disposition_defaulted", "verification.produced_files[0].path path_cleaned"},
			l{`verification={"status":"pass","produced_files":[{"path":"dist/a","disposition":"artifact"}]}`}),
		dev("13 is not done", l{`verification={"status":"pass","machine_evidence":[{"command":"a","exit_code":1}]}`}, nil, l{`verification={"status":"pass","machine_evidence":[{"command":"a","exit_code":1}]}`}),
		dev("14 artifact type", l{`artifact={"ref":""}`}, l{"artifact.type artifact_type_inferred_from_files_changed", "artifact.ref empty_artifact_ref_removed"}, l{`artifact={"ref":null,"type":"workspace"}`}),
		dev("15 with a request", l{`files_changed=[]`, `phase_transition_request="qa"`}, l{"artifact.type empty_files_changed_no_repo_mutation_declared"}, l{`artifact={"type":"review","ref":null}`}),
		dev("15 needs_human", l{`files_changed=[]`, `status="needs_human"`}, l{"artifact.type turn_stopped_without_changing_files"}, nil),
		dev("15 blocked", l{`files_changed=[]`, `status="blocked"`}, l{"artifact.type turn_stopped_without_changing_files"}, nil),
		qa("15 reviewer who needs another role", "qa", l{`files_changed=[]`, `artifact={"type":"workspace"}`, `status="needs_human"`, `proposed_next_role="dev"`}, l{"artifact.type review_only_turn_changed_no_files"}, nil),
		dev("15 not for a turn that completed", l{`files_changed=[]`}, nil, l{`artifact={"type":"workspace","ref":null}`}),
		dev("15 not with files", l{`phase_transition_request="qa"`}, nil, l{`artifact={"type":"workspace","ref":null}`}),
		dev("15 not with a produced artifact", l{`files_changed=[]`, `phase_transition_request="qa"`, `verification={"status":"skipped","produced_files":[{"path":"a","disposition":"artifact"}]}`}, nil, l{`artifact={"type":"workspace","ref":null}`}),
		qa("15 reviewer", "qa", l{`files_changed=[]`, `artifact={"type":"code"}`, `run_completion_request=false`}, l{"artifact.type artifact_type_code_read_as_workspace", "artifact.type review_only_turn_changed_no_files"}, l{`artifact={"type":"review"}`}),
		dev("16 objections", l{`objections=[{"id":"x","severity":"low","detail":"d"},{"id":"OBJ-7","severity":"low","summary":"s","detail":"d"}]`},
			l{"objections[0].id invalid_objection_id_rewritten", "objections[0].statement copied_from_detail", "objections[1].statement copied_from_summary"},
			l{`objections=[{"id":"OBJ-001","severity":"low","detail":"d","statement":"d"},{"id":"OBJ-7","severity":"low","summary":"s","detail":"d","statement":"s"}]`}),
		dev("17 by reason", l{`status`, `needs_human_reason="why"`, `phase_transition_request="qa"`}, l{"status status_inferred_from_needs_human_reason"}, l{`status="needs_human"`}),
		dev("17 by phase", l{`status`, `phase_transition_request="qa"`}, l{"status status_inferred_from_phase_transition_request"}, l{`status="completed"`}),
		dev("17 by completion", l{`status`, `run_completion_request=true`}, l{"status status_inferred_from_run_completion_request"}, l{`status="completed"`}),
		dev("17 by nothing", l{`status`}, nil, l{"status"}),
		dev("17 then 15", l{`status`, `needs_human_reason="why"`, `files_changed=[]`}, l{"status status_inferred_from_needs_human_reason", "artifact.type turn_stopped_without_changing_files"}, nil),
		dev("18 artifacts", l{`artifacts_created=[{"path":"a"},{"name":"b"},{"x":1},"c"]`}, l{"artifacts_created[0] artifact_object_to_string", "artifacts_created[1] artifact_object_to_string", "artifacts_created[2] artifact_object_to_string"},
			l{`artifacts_created=["a","b","{\"x\":1}","c"]`}),
		{"18 proposed paths", "api", "implementation", l{`proposed_changes=[{"path":"./a","action":"delete"}]`}, l{"proposed_changes[0].path path_cleaned"}, l{`proposed_changes=[{"path":"a","action":"delete"}]`}},
		dev("19 gate", l{`phase_transition_request="built"`}, l{"phase_transition_request gate_name_read_as_phase"}, l{`phase_transition_request="qa"`}),
		{"19 last gate", "dev", "qa", l{`phase_transition_request="ship"`}, l{"phase_transition_request gate_name_read_as_run_completion", "run_completion_request gate_name_read_as_run_completion"}, l{`phase_transition_request=null`, `run_completion_request=true`}},
		dev("19 not with completion", l{`phase_transition_request="built"`, `run_completion_request=true`}, nil, l{`phase_transition_request="built"`}),
		qa("20 affirmative in the last phase", "qa", l{`status="needs_human"`, `needs_human_reason="No blockers. Ready to ship."`},
			l{"status affirmative_review_read_as_completed", "needs_human_reason affirmative_review_read_as_completed", "run_completion_request affirmative_review_read_as_completed"}, l{`status="completed"`, "needs_human_reason", `run_completion_request=true`}),
		{"20 affirmative in a phase", "pm", "planning", l{`status="needs_human"`, `needs_human_reason="Plan approved, LGTM"`},
			l{"status affirmative_review_read_as_completed", "needs_human_reason affirmative_review_read_as_completed", "phase_transition_request affirmative_review_read_as_completed"}, l{`phase_transition_request="implementation"`}},
		qa("20 a wish for approval", "qa", l{`status="needs_human"`, `needs_human_reason="A person must approve the release"`}, nil, l{`status="needs_human"`}),
		qa("20 a blank request", "qa", l{`phase_transition_request=" "`, `run_completion_request=false`}, l{"phase_transition_request blank_phase_request_removed"}, l{`phase_transition_request=null`}),
		dev("19 a request with blanks", l{`phase_transition_request=" qa\n"`}, l{"phase_transition_request phase_request_trimmed"}, l{`phase_transition_request="qa"`}),
		qa("20 the subject is none", "qa", l{`status="needs_human"`, `needs_human_reason="Acceptance criteria and release notes"`}, nil, l{`status="needs_human"`}),
		qa("20 a choice", "qa", l{`status="needs_human"`, `needs_human_reason="Ship A or B"`}, nil, l{`status="needs_human"`}),
		qa("20 now", "qa", l{`status="needs_human"`, `needs_human_reason="Ready to ship now"`},
			l{"status affirmative_review_read_as_completed", "needs_human_reason affirmative_review_read_as_completed", "run_completion_request affirmative_review_read_as_completed"}, nil),
		qa("20 a blocker", "qa", l{`status="needs_human"`, `needs_human_reason="Ready, except for a security hole"`}, nil, l{`status="needs_human"`}),
		qa("20 not ready", "qa", l{`status="needs_human"`, `needs_human_reason="This isn't ready"`}, nil, l{`status="needs_human"`}),
		qa("20 refused completion", "qa", l{`status="needs_human"`, `needs_human_reason="Ready to ship"`, `run_completion_request=false`}, nil, l{`status="needs_human"`}),
		qa("20 with a blocking objection", "qa", l{`status="needs_human"`, `needs_human_reason="Ready to ship"`, `objections=[{"id":"OBJ-001","severity":"blocking","statement":"s"}]`}, nil, l{`status="needs_human"`}),
		dev("20 not for authors", l{`status="needs_human"`, `needs_human_reason="Ready to ship"`}, nil, l{`status="needs_human"`}),
		qa("21 last phase", "qa", nil, l{"run_completion_request " + inferred}, l{`run_completion_request=true`}),
		{"21 phase", "pm", "planning", nil, l{"phase_transition_request " + inferred}, l{`phase_transition_request="implementation"`}},
		qa("21 refused completion", "qa", l{`run_completion_request=false`}, nil, nil),
		qa("21 failing checks", "qa", l{`verification={"status":"fail"}`}, nil, l{`run_completion_request=null`}),
		qa("21 failing checks in the first edition's word", "qa", l{`verification={"status":"failed"}`}, l{"verification.status verification_status_synonym_rewritten"}, l{`run_completion_request=null`}),
		qa("21 blocking objection", "qa", l{`objections=[{"id":"OBJ-001","severity":"blocking","statement":"s"}]`}, nil, l{`run_completion_request=null`}),
		qa("21 delegations", "qa", l{`delegations=[{"id":"del-001"}]`}, nil, l{`run_completion_request=null`}),
		{"22 skipping", "dev", "planning", l{`phase_transition_request="qa"`, `proposed_next_role="qa"`}, l{"phase_transition_request skipped_phase_corrected_to_next", "proposed_next_role next_role_realigned_with_phase"},
			l{`phase_transition_request="implementation"`, `proposed_next_role="dev"`}},
		{"22 not for a turn that is blocked", "dev", "planning", l{`phase_transition_request="qa"`, `status="blocked"`}, nil, l{`phase_transition_request="qa"`}},
		{"22 not for reviewers", "pm", "planning", l{`phase_transition_request="qa"`}, nil, l{`phase_transition_request="qa"`}},
		{"23 unknown phase", "pm", "planning", l{`phase_transition_request="build it"`}, l{"phase_transition_request invalid_phase_request_corrected"}, l{`phase_transition_request="implementation"`}},
		qa("23 backward in the last phase", "qa", l{`phase_transition_request="planning"`}, l{"phase_transition_request invalid_phase_request_corrected", "run_completion_request invalid_phase_request_corrected"}, l{`phase_transition_request=null`, `run_completion_request=true`}),
		qa("23 backward with a blocking objection", "qa", l{`phase_transition_request="planning"`, `objections=[{"id":"OBJ-001","severity":"blocking","statement":"s"}]`}, nil, l{`phase_transition_request="planning"`}),
		dev("23 not for authors", l{`phase_transition_request="planning"`}, nil, l{`phase_transition_request="planning"`}),
		qa("24 after the end", "qa", l{`run_completion_request=true`, `proposed_next_role="dev"`}, l{"proposed_next_role next_role_of_run_completion"}, l{`proposed_next_role="human"`}),
		dev("24 illegal", l{`proposed_next_role="pm"`}, l{"proposed_next_role routing_illegal_for_phase_implementation"}, l{`proposed_next_role="qa"`}),
		dev("24 illegal but not completed", l{`proposed_next_role="pm"`, `status="blocked"`}, nil, l{`proposed_next_role="pm"`}),
		dev("24 a placeholder", l{`proposed_next_role="<role>"`}, nil, l{`proposed_next_role="<role>"`}),
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := input(t, c.role, c.phase, c.edits...)
			before, _ := protocol.Marshal(in.Raw)
			out, changes := normalized(in)
			if !same(changes, c.changes) {
				t.Errorf("changes %q, want %q", changes, c.changes)
			}
			for _, v := range c.values {
				key, value, ok := strings.Cut(v, "=")
				if got := string(out.Raw.At(key)); got != value || out.Raw.Has(key) != ok {
					t.Errorf("%s is %s, want %s", key, got, value)
				}
			}
			if after, _ := protocol.Marshal(in.Raw); string(after) != string(before) {
				t.Error("normalizing changed its input")
			}
			checkNormal(t, out)
			if c.changes == nil {
				if after, _ := protocol.Marshal(out.Raw); string(after) != string(before) {
					t.Errorf("changed without a change: %s", after)
				}
			}
		})
	}
}

// checkNormal fails unless what was normalized is normal, and every change can be written.
func checkNormal(t *testing.T, in Input) {
	t.Helper()
	again, changes := Normalize(in)
	if len(changes) != 0 {
		t.Errorf("normalizing again changes %+v", changes)
	}
	a, err := protocol.Marshal(in.Raw)
	b, err2 := protocol.Marshal(again)
	if err != nil || err2 != nil || string(a) != string(b) {
		t.Errorf("%s became %s: %v %v", a, b, err, err2)
	}
}

func TestNormalizeWithTheOperatorsWord(t *testing.T) {
	t.Parallel()
	in := input(t, "dev", "planning", `files_changed=[]`)
	in.NormalizeArtifact = true
	if out, changes := normalized(in); !same(changes, []string{"artifact.type operator_said_review"}) || !Validate(out).OK() {
		t.Errorf("got %q", changes)
	}
}

func TestNormalizeOfDelegatedWork(t *testing.T) {
	t.Parallel()
	in := input(t, "qa", "qa")
	in.Turn.DelegationContext = json.RawMessage(`{"delegation_id":"del-001"}`)
	if _, changes := normalized(in); len(changes) != 0 {
		t.Errorf("a delegated review ends the run: %q", changes)
	}
	in = input(t, "qa", "qa")
	in.Turn.DelegationReview = json.RawMessage(`{"results":[{"delegation_id":"d","missing_decision_ids":["DEC-1"]}]}`)
	if _, changes := normalized(in); len(changes) != 0 {
		t.Errorf("a review of unmet work ends the run: %q", changes)
	}
	in = input(t, "dev", "implementation", `run_id="run_9"`)
	in.Turn.RunID = "run_8"
	if _, changes := normalized(in); len(changes) != 0 {
		t.Errorf("a turn of another run: %q", changes)
	}
}

// The example of both specifications, word for word where it binds, is accepted; in the first edition it has to object.
func TestBothEditionsSpellings(t *testing.T) {
	t.Parallel()
	const example = `{"schema_version":"1.0","run_id":"run_1","turn_id":"turn_1","role":"dev","runtime_id":"cli","status":"completed",
	  "summary":"Implemented the authentication module...",
	  "decisions":[{"id":"DEC-005","category":"implementation","statement":"Use bcrypt","rationale":"Industry standard"}],
	  "objections":[{"id":"OBJ-003","severity":"low","against_turn_id":"turn_prev","statement":"rate limiting","status":"raised"}],
	  "files_changed":[{"path":"src/auth.ts","action":"created"},{"path":"src/auth.test.ts","action":"created"}],
	  "verification":{"status":"passed","commands":["npm test","npm run lint"],"evidence_summary":"All 14 tests pass.","machine_evidence":[{"command":"npm test","exit_code":0,"stdout_tail":"14 passing (1.2s)"}]},
	  "artifact":{"type":"code","ref":"src/auth.ts"},"proposed_next_role":"qa","phase_transition_request":null,"run_completion_request":null}`
	for _, role := range []string{"dev", "old"} {
		in := input(t, role, "implementation")
		raw, changes, err := Decode([]byte(strings.Replace(example, `"role":"dev"`, `"role":"`+role+`"`, 1)))
		if err != nil || len(changes) != 0 {
			t.Fatal(err)
		}
		in.Raw = raw
		out, list := normalized(in)
		if want := []string{"files_changed[0] files_changed_object_to_string", "files_changed[1] files_changed_object_to_string",
			"verification.status verification_status_synonym_rewritten", "artifact.type artifact_type_code_read_as_workspace"}; !same(list, want) {
			t.Errorf("%s: changes %q", role, list)
		}
		r := Validate(out)
		if !r.OK() || !slices.Equal(r.Result.FilesChanged, []string{"src/auth.ts", "src/auth.test.ts"}) || r.Result.Verification.Status != "pass" ||
			r.Result.Artifact.Type != "workspace" || r.Result.Transition() != "" || r.Result.Completion() {
			t.Errorf("%s: %+v %q", role, r.Result, Errors(r))
		}
		out.Raw.Set("objections", json.RawMessage("[]"))
		if got := Validate(out).OK(); got == (role == "old") {
			t.Errorf("%s without objections: accepted %v", role, got)
		}
	}
}

// No step turns a failing command into a passing one: whatever a result with one says, it is not accepted as passed.
func TestAFailingCommandNeverPasses(t *testing.T) {
	t.Parallel()
	for _, v := range []string{
		`{"status":"pass","machine_evidence":[{"command":"make","exit_code":2}]}`,
		`{"status":"passed","machine_evidence":[{"command":"make","exit_code":2}]}`,
		`{"Status":"PASSED","machine_evidence":[{"Command":"make","Exit_Code":2}]}`,
		`{"exit_code":0,"machine_evidence":[{"command":"make","exit_code":2}]}`,
		`{"status":"pass","exit_code":2}`,
		`{"status":"pass","machine_evidence":[{"type":"test","exit_code":2}]}`,
		`{"status":"pass","machine_evidence":[{"type":"test","status":"failed"}]}`,
		`{"status":"pass","machine_evidence":[{"command":"make","exit_code":2},{"type":"note","detail":"make exits with 2"}]}`,
		`{"status":"pass","machine_evidence":[{"command":"make","exit_code":2.0}]}`,
		`{"status":"pass","machine_evidence":[{"command":"make","exit_code":2,"expected_exit_code":null}]}`,
		`{"status":"pass","machine_evidence":[{"command":"make","exit_code":"2"}]}`,
	} {
		out, _ := normalized(input(t, "dev", "implementation", "verification="+v))
		if r := Validate(out); r.OK() && r.Result.Verification.Status == protocol.VerificationPass || !r.OK() && r.Failed != protocol.StageVerification {
			t.Errorf("%s: passed %v, failed in %q: %q", v, r.OK(), r.Failed, Errors(r))
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	_, changes := Normalize(input(t, "dev", "implementation", `status="done"`))
	if got := Warnings(changes); !same(got, []string{`[normalized] status: "done" to "completed" (status_synonym_rewritten)`}) {
		t.Errorf("got %q", got)
	}
}

// FuzzResult normalizes and validates: nothing panics, what is normal stays so, and a result that was validated survives
// being written and read again.
func FuzzResult(f *testing.F) {
	for _, role := range []string{"dev", "qa", "api", "old"} {
		raw, _ := protocol.Marshal(input(f, role, "qa").Raw)
		f.Add(raw, role, uint8(1))
	}
	f.Add([]byte(`{"status":"done","files_modified":["a"],"needs_human_reason":"ready","decisions":[{"id":"x","overrides":"x"}],"objections":[{}],"verification":{"machine_evidence":[{"type":"a"}]}}`), "pm", uint8(0))
	f.Add([]byte(`{"turn_id":"turn_1","Status":"","artifact":[],"proposed_changes":[{"Path":"./a"}],"phase_transition_request":"ship","delegations":[1]}`), "qa", uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, role string, phase uint8) {
		raw, _, err := Decode(data)
		if err != nil {
			return
		}
		in := input(t, role, []string{"planning", "implementation", "qa", "elsewhere"}[phase%4])
		in.NormalizeArtifact = phase > 127
		in.Raw = raw
		checkResult(t, in)
	})
}

func BenchmarkResult(b *testing.B) {
	in := input(b, "dev", "implementation", `status="done"`, `files_changed=[{"path":"src/a.go"},{"path":"src/b.go"}]`)
	for b.Loop() {
		out := in
		out.Raw, _ = Normalize(in)
		if r := Validate(out); !r.OK() {
			b.Fatal(Errors(r))
		}
	}
}
