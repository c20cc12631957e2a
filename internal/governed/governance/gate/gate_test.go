package gate

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

// config reads a configuration and gives it the default kit when kit is true, as normalizing does.
func config(t *testing.T, text string, kit bool) *protocol.Config {
	t.Helper()
	var c protocol.Config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	if kit && c.WorkflowKit == nil {
		c.WorkflowKit = DefaultKit(c.Phases())
	}
	return &c
}

const threePhases = `{"routing":{
	"planning":{"entry_role":"pm","exit_gate":"signoff"},
	"implementation":{"entry_role":"dev","exit_gate":"done"},
	"qa":{"entry_role":"qa","exit_gate":"ship"}},
	"gates":{
	"signoff":{"requires_files":[".planning/PM_SIGNOFF.md"],"requires_human_approval":true},
	"done":{"requires_verification_pass":true},
	"ship":{}}%s}`

func three(t *testing.T, more string) *protocol.Config {
	t.Helper()
	return config(t, strings.Replace(threePhases, "%s", more, 1), false)
}

var signed = map[string]string{PMSignoffFile: "Approved: YES\n"}

func TestPhaseExit(t *testing.T) {
	for _, tc := range []struct {
		name   string
		in     Input
		want   Decision
		reason string
	}{
		{name: "nothing asked for", in: Input{Phase: "planning"}, want: Decision{Action: NoRequest, From: "planning"}},
		{
			name:   "a phase that does not exist",
			in:     Input{Phase: "planning", Request: "launch"},
			want:   Decision{Action: UnknownPhase, From: "planning", To: "launch", Reasons: []string{`The requested phase "launch" is not in routing.`}},
			reason: `The requested phase "launch" is not in routing.`,
		},
		{
			name: "a phase too far",
			in:   Input{Phase: "planning", Request: "qa"},
			want: Decision{Action: GateFailed, From: "planning", To: "qa", Reasons: []string{`Phase "qa" cannot be entered from "planning": the next phase is "implementation".`}},
		},
		{
			name: "the same phase",
			in:   Input{Phase: "implementation", Request: "implementation"},
			want: Decision{Action: GateFailed, From: "implementation", To: "implementation", Reasons: []string{`Phase "implementation" cannot be entered from "implementation": the next phase is "qa".`}},
		},
		{
			name: "backwards from the last phase",
			in:   Input{Phase: "qa", Request: "planning"},
			want: Decision{Action: GateFailed, From: "qa", To: "planning", Reasons: []string{`Phase "qa" is the last one: ask for the end of the run with run_completion_request, not for phase "planning".`}},
		},
		{
			name: "from a phase that is gone",
			in:   Input{Phase: "design", Request: "qa"},
			want: Decision{Action: GateFailed, From: "design", To: "qa", Reasons: []string{`The current phase "design" is not in routing, so no phase follows it.`}},
		},
		{
			name:   "file missing",
			in:     Input{Phase: "planning", Request: "implementation"},
			want:   Decision{Action: GateFailed, GateID: "signoff", From: "planning", To: "implementation", Reasons: []string{"Required file missing: .planning/PM_SIGNOFF.md"}, MissingFiles: []string{PMSignoffFile}},
			reason: "requires_files predicate failed",
		},
		{
			name: "a person is asked",
			in:   Input{Phase: "planning", Request: "implementation", Files: signed},
			want: Decision{Action: AwaitingHumanApproval, GateID: "signoff", From: "planning", To: "implementation"},
		},
		{
			name:   "verification failed",
			in:     Input{Phase: "implementation", Request: "qa", Verification: "fail"},
			want:   Decision{Action: GateFailed, GateID: "done", From: "implementation", To: "qa", MissingVerification: true, Reasons: []string{`Verification is "fail"; gate "done" needs "pass" or "attested_pass".`}},
			reason: "requires_verification_pass predicate failed",
		},
		{
			name: "no verification",
			in:   Input{Phase: "implementation", Request: "qa"},
			want: Decision{Action: GateFailed, GateID: "done", From: "implementation", To: "qa", MissingVerification: true, Reasons: []string{`Verification is "missing"; gate "done" needs "pass" or "attested_pass".`}},

			reason: "requires_verification_pass predicate failed",
		},
		{
			name: "verification passed",
			in:   Input{Phase: "implementation", Request: "qa", Verification: "pass"},
			want: Decision{Action: Advance, GateID: "done", From: "implementation", To: "qa"},
		},
		{
			name: "verification attested",
			in:   Input{Phase: "implementation", Request: "qa", Verification: "attested_pass"},
			want: Decision{Action: Advance, GateID: "done", From: "implementation", To: "qa"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.in.Config = three(t, "")
			got := PhaseExit(tc.in)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
			if tc.reason != "" && got.Reason() != tc.reason {
				t.Errorf("reason %q, want %q", got.Reason(), tc.reason)
			}
		})
	}
}

func TestCompletion(t *testing.T) {
	c := three(t, "")
	for _, tc := range []struct {
		name  string
		phase string
		want  Decision
	}{
		{"too early", "implementation", Decision{Action: NotFinalPhase, From: "implementation", Reasons: []string{`Run completion requested but current phase "implementation" is not the final phase "qa"`}}},
		{"in the last phase", "qa", Decision{Action: Complete, GateID: "ship", From: "qa"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Completion(Input{Config: c, Phase: tc.phase})); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOpenGates(t *testing.T) {
	c := config(t, `{"routing":{"planning":{"entry_role":"pm"},"qa":{"entry_role":"qa","exit_gate":"gone"}}}`, false)
	if d := PhaseExit(Input{Config: c, Phase: "planning", Request: "qa"}); d.Action != Advance || d.GateID != "" {
		t.Errorf("without a gate: %+v", d)
	}
	d := Completion(Input{Config: c, Phase: "qa"})
	if d.Action != Complete || d.GateID != "gone" || len(d.Reasons) != 1 || !strings.Contains(d.Reasons[0], `"gone"`) {
		t.Errorf("with a gate that is not declared: %+v", d)
	}
	none := config(t, `{}`, false)
	if d := PhaseExit(Input{Config: none, Phase: "planning", Request: "implementation"}); d.Action != Advance {
		t.Errorf("without routing: %+v", d)
	}
}

func TestFilesAreThoseOfGateAndKit(t *testing.T) {
	text := `{"routing":{"planning":{"entry_role":"pm","exit_gate":"g"},"design":{"entry_role":"dev","exit_gate":"g2"},"free":{"entry_role":"dev"}},
		"gates":{"g":{"requires_files":[".planning/ROADMAP.md","docs/PLAN.md"]},"g2":{}}%s}`
	plain := config(t, strings.Replace(text, "%s", "", 1), false)
	kit := config(t, strings.Replace(text, "%s", "", 1), true)
	own := config(t, strings.Replace(text, "%s", `,"workflow_kit":{"phases":{"design":{"template":"architecture-review","artifacts":[
		{"path":".planning/ARCHITECTURE.md","semantics":"section_check","semantics_config":{"required_sections":["## Why"]},"owned_by":"arch"},
		{"path":"docs/NOTE.md","required":false}]},"free":{"artifacts":[{"path":"x.md"}]}}}`, 1), true)
	out := config(t, strings.Replace(text, "%s", `,"workflow_kit":{}`, 1), true)
	for _, tc := range []struct {
		name  string
		c     *protocol.Config
		phase string
		want  []string
	}{
		{"not normalized: only the gate's", plain, "planning", []string{RoadmapFile, "docs/PLAN.md"}},
		{"default kit", kit, "planning", []string{RoadmapFile, "docs/PLAN.md", PMSignoffFile, SystemSpecFile}},
		{"default kit of a phase it does not know", kit, "design", nil},
		{"opted out", out, "planning", []string{RoadmapFile, "docs/PLAN.md"}},
		{"own kit", own, "design", []string{ArchitectureFile, "docs/NOTE.md"}},
		{"a kit without a gate", own, "free", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Paths(tc.c, tc.phase)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	want := []Requirement{
		{Path: ArchitectureFile, Semantics: []string{SectionCheck}, Sections: []string{"## Why"}, Owner: "arch", Required: true, Sources: []string{SourceKit}},
		{Path: "docs/NOTE.md", Sources: []string{SourceKit}},
	}
	if diff := cmp.Diff(want, Requirements(own, "design")); diff != "" {
		t.Errorf("requirements (-want +got):\n%s", diff)
	}
	if got := Requirements(own, "free"); len(got) != 1 || got[0].Path != "x.md" {
		t.Errorf("a phase without a gate still has a kit: %+v", got)
	}
}

func TestBothSourcesOfAFileCount(t *testing.T) {
	c := config(t, `{"routing":{"qa":{"entry_role":"qa","exit_gate":"g"}},"gates":{"g":{"requires_files":["./.planning/ship-verdict.md"]}},
		"workflow_kit":{"phases":{"qa":{"artifacts":[{"path":".planning/ship-verdict.md","semantics":"section_check","semantics_config":{"required_sections":["## Why"]},"owned_by":"qa","required":false}]}}}}`, false)
	d := Completion(Input{Config: c, Phase: "qa", Role: "dev", Files: map[string]string{"./.planning/ship-verdict.md": "## Verdict: NO\n"}})
	want := []string{
		`Ship verdict is not affirmative. Found "## Verdict: NO" in ./.planning/ship-verdict.md; use "## Verdict: YES".`,
		"./.planning/ship-verdict.md must define ## Why.",
		`./.planning/ship-verdict.md belongs to role "qa", which has no accepted turn in phase "qa".`,
	}
	if diff := cmp.Diff(want, d.Reasons); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d := Completion(Input{Config: c, Phase: "qa"}); d.Action != GateFailed || len(d.MissingFiles) != 1 {
		t.Errorf("what the gate requires stays required: %+v", d)
	}
}

func TestOwnership(t *testing.T) {
	c := config(t, `{"routing":{"qa":{"entry_role":"qa","exit_gate":"g"}},"gates":{"g":{}},
		"workflow_kit":{"phases":{"qa":{"artifacts":[{"path":"REPORT.md","owned_by":"sec"}]}}}}`, false)
	files := map[string]string{"REPORT.md": "x"}
	for _, tc := range []struct {
		name string
		in   Input
		want string
	}{
		{"nobody", Input{}, GateFailed},
		{"the owner asks", Input{Role: "sec"}, Complete},
		{"the owner had a turn", Input{Role: "qa", History: []protocol.HistoryEntry{{Role: "sec", Phase: "qa", Status: "completed"}}}, Complete},
		{"the owner had one in another phase", Input{Role: "qa", History: []protocol.HistoryEntry{{Role: "sec", Phase: "planning", Status: "completed"}}}, GateFailed},
		{"the owner's turn was issued again", Input{Role: "qa", History: []protocol.HistoryEntry{{Role: "sec", Phase: "qa", Status: "reissued"}}}, GateFailed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.in.Config, tc.in.Phase, tc.in.Files = c, "qa", files
			if d := Completion(tc.in); d.Action != tc.want {
				t.Errorf("got %+v, want %s", d, tc.want)
			}
		})
	}
}

func TestApprovalPolicy(t *testing.T) {
	policy := func(s string) string { return `,"approval_policy":` + s }
	exit := Input{Phase: "planning", Request: "implementation", Files: signed, Role: "pm"}
	for _, tc := range []struct {
		name string
		more string
		in   Input
		auto bool
		rule string
	}{
		{"none", "", exit, false, ""},
		{"says nothing of phases", policy(`{"run_completion":{"action":"auto_approve"}}`), exit, false, ""},
		{"default", policy(`{"phase_transitions":{"default":"auto_approve"}}`), exit, true, "phase_transitions.default"},
		{"no default", policy(`{"phase_transitions":{}}`), exit, false, "phase_transitions.default"},
		{
			"the first rule that matches", policy(`{"phase_transitions":{"default":"auto_approve","rules":[
			{"from_phase":"qa","action":"auto_approve"},{"to_phase":"implementation","action":"require_human"},{"action":"auto_approve"}]}}`),
			exit, false, "phase_transitions.rules[1]",
		},
		{
			"a later rule is not asked when conditions fail", policy(`{"phase_transitions":{"default":"auto_approve","rules":[
			{"action":"auto_approve","when":{"roles_participated":["dev"]}},{"action":"auto_approve"}]}}`),
			exit, false, "phase_transitions.rules[0]",
		},
		{"gate_passed", policy(`{"phase_transitions":{"rules":[{"from_phase":"planning","to_phase":"implementation","action":"auto_approve","when":{"gate_passed":true}}]}}`), exit, true, "phase_transitions.rules[0]"},
		{"the asking role took part", policy(`{"phase_transitions":{"rules":[{"action":"auto_approve","when":{"roles_participated":["pm"]}}]}}`), exit, true, "phase_transitions.rules[0]"},
		{"not every phase was visited", policy(`{"phase_transitions":{"rules":[{"action":"auto_approve","when":{"all_phases_visited":true}}]}}`), exit, false, "phase_transitions.rules[0]"},
		{"all_phases_visited false demands nothing", policy(`{"phase_transitions":{"rules":[{"action":"auto_approve","when":{"all_phases_visited":false}}]}}`), exit, true, "phase_transitions.rules[0]"},
		{"credentialed_gate false", policy(`{"phase_transitions":{"rules":[{"action":"auto_approve","when":{"credentialed_gate":false}}]}}`), exit, true, "phase_transitions.rules[0]"},
		{"credentialed_gate true", policy(`{"phase_transitions":{"rules":[{"action":"auto_approve","when":{"credentialed_gate":true}}]}}`), exit, false, "phase_transitions.rules[0]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.in.Config = three(t, tc.more)
			d := PhaseExit(tc.in)
			want := AwaitingHumanApproval
			if tc.auto {
				want = Advance
			}
			if d.Action != want || d.AutoApproved != tc.auto || d.PolicyRule != tc.rule || tc.more != "" && d.PolicyReason == "" || !d.Passed() {
				t.Errorf("got %+v, want %s by %q", d, want, tc.rule)
			}
		})
	}
	t.Run("a gate that fails is not asked for", func(t *testing.T) {
		in := exit
		in.Config, in.Files = three(t, policy(`{"phase_transitions":{"default":"auto_approve"}}`)), nil
		if d := PhaseExit(in); d.Action != GateFailed || d.PolicyRule != "" {
			t.Errorf("got %+v", d)
		}
	})
}

func TestApprovalOfTheEnd(t *testing.T) {
	text := `{"routing":{"planning":{},"qa":{"exit_gate":"ship"}},"gates":{"ship":{%s}},
		"approval_policy":{"run_completion":{"action":"auto_approve","when":{"gate_passed":true,"all_phases_visited":true}}}}`
	visited := []protocol.HistoryEntry{{Role: "pm", Phase: "planning", Status: "completed"}}
	human := config(t, strings.Replace(text, "%s", `"requires_human_approval":true`, 1), false)
	if d := Completion(Input{Config: human, Phase: "qa", History: visited}); d.Action != Complete || !d.AutoApproved || d.PolicyRule != "run_completion" {
		t.Errorf("conditions met: %+v", d)
	}
	if d := Completion(Input{Config: human, Phase: "qa"}); d.Action != AwaitingHumanApproval || d.AutoApproved || !strings.Contains(d.PolicyReason, `"planning"`) {
		t.Errorf("planning was not visited: %+v", d)
	}
	for _, gate := range []string{`"credentialed":true`, `"credentialed":true,"requires_human_approval":true`} {
		c := config(t, strings.Replace(text, "%s", gate, 1), false)
		if d := Completion(Input{Config: c, Phase: "qa", History: visited}); d.Action != AwaitingHumanApproval || !strings.Contains(d.PolicyReason, "credentialed") {
			t.Errorf("credentialed gates are for people: %+v", d)
		}
	}
}

func TestTemplates(t *testing.T) {
	for _, name := range Templates() {
		list, ok := Template(name)
		if !ok || len(list) == 0 {
			t.Errorf("%s stands for nothing", name)
		}
		for _, a := range list {
			if a.Semantics != "" && !slices.Contains(Semantics(), a.Semantics) {
				t.Errorf("%s: %s has unknown semantics %q", name, a.Path, a.Semantics)
			}
			list[0].Path = "changed"
		}
		if again, _ := Template(name); again[0].Path == "changed" {
			t.Errorf("%s is shared", name)
		}
	}
	if _, ok := Template("nothing"); ok {
		t.Error("a template of no name exists")
	}
	kit := DefaultKit([]string{"design", "qa", "planning"})
	if diff := cmp.Diff([]string{"qa", "planning"}, kit.Phases.Keys()); diff != "" {
		t.Errorf("default kit (-want +got):\n%s", diff)
	}
	for phase, p := range kit.Phases.All() {
		if diff := cmp.Diff(p.Artifacts, Artifacts(p)); diff != "" {
			t.Errorf("%s changes when it is applied again:\n%s", phase, diff)
		}
	}
}
