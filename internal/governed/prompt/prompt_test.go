package prompt

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

// headings of a document, outside of fences.
func headings(text string) []string {
	var out []string
	fence := ""
	for l := range strings.SplitSeq(text, "\n") {
		switch {
		case fence == "" && strings.HasPrefix(l, "```"):
			fence = l[:len(l)-len(strings.TrimLeft(l, "`"))]
		case fence != "" && strings.TrimRight(l, "`") == "" && len(l) >= len(fence):
			fence = ""
		case fence == "" && strings.HasPrefix(l, "#"):
			out = append(out, l)
		}
	}
	return out
}

// everything gives the turn a cause for every section of its prompt.
func everything(t *testing.T) Input {
	in := given(t, "dev", "implementation")
	turn := in.now()
	turn.Attempt, turn.ReissuedFrom, turn.FailureReason = 2, "turn_lost", "it never began"
	turn.LastRejection = &protocol.Rejection{TurnID: "turn_now", Attempt: 1, Reason: "the result is not valid", FailedStage: "schema",
		ValidationErrors: []string{"summary: must not be empty", "decisions[0].id: must be DEC-\nand digits"}}
	turn.IntakeContext = json.RawMessage(`{"intent_id":"intent_1","event_id":"evt_1","source":"cli","category":"bug","charter":"Mend the cart.\n# Now","acceptance_contract":["it adds","it removes"]}`)
	turn.ConflictContext = json.RawMessage(`{"conflicting_files":["src/a.go"],"accepted_turns_since":[{"turn_id":"turn_x","role":"qa","files_changed":["src/a.go"]}],
		"forward_revision_files":["src/f.go"],"non_conflicting_files_preserved":["src/b.go"],"guidance":"Mind the API."}`)
	turn.DelegationContext = json.RawMessage(`{"parent_turn_id":"turn_p","parent_role":"arch","charter":"Only the parser.","acceptance_contract":["parses"],"required_decision_ids":["DEC-101"]}`)
	turn.DelegationReview = json.RawMessage(`{"parent_turn_id":"turn_p","parent_role":"dev","results":[{"delegation_id":"del-001","child_turn_id":"turn_c","to_role":"qa",
		"status":"completed","summary":"Done.","files_changed":["x.go"],"satisfied_decision_ids":["DEC-101"],"missing_decision_ids":["DEC-102"]}]}`)
	in.RolePrompt = "You are {{role_title}} in {{phase}}.\n"
	in.Proposals = []OpenProposal{{TurnID: "turn_q", Role: "arch", Ref: ".agentxchain/proposed/turn_q", Summary: "Split the cart\nin two.", Files: []string{"src/a.go", "src/b.go"},
		Reviews: []ProposalReview{{TurnID: "turn_r", Role: "qa", Summary: "b.go has no test", Ref: ".agentxchain/reviews/turn_r-qa-review.md"}, {TurnID: "turn_s", Role: "pm", Summary: "fine"}}}}
	in.Config.WorkflowKit.Phases.Set("implementation", protocol.KitPhase{Artifacts: []protocol.Artifact{
		{Path: ".planning/IMPLEMENTATION_NOTES.md", Semantics: "implementation_notes"}}})
	return in
}

// TestPromptOrder holds the sections to the order of the protocol.
func TestPromptOrder(t *testing.T) {
	t.Parallel()
	want := []string{
		"# Turn Assignment: Developer (dev)", "## Your Mandate", "## Protocol Rules", "### Write Authority: authoritative",
		"### Implementation Phase: Code Required", "## Workflow-Kit Responsibilities", "## Phase Exit Gate", "## Reissued Turn",
		"## Previous Attempt Failed", "### Active Injected Intent", "## File Conflict", "## Delegated Work", "## Review of Delegated Work",
		"## Role-Specific Instructions", "## Unattended Turn", "## Required Output", "### Field Rules",
	}
	if diff := cmp.Diff(want, headings(Prompt(everything(t)))); diff != "" {
		t.Errorf("sections (-want +got):\n%s", diff)
	}
}

// TestPromptParts takes one cause at a time and looks for its effect.
func TestPromptParts(t *testing.T) {
	t.Parallel()
	none := func(*Input) {}
	rule := func(name string, set func(g *protocol.Gate)) func(in *Input) {
		return func(in *Input) {
			g := in.Config.Gates.At(name)
			set(&g)
			in.Config.Gates.Set(name, g)
		}
	}
	for _, c := range []struct {
		name, role, phase string
		change            func(in *Input)
		part              string // is there with the change and not without; with none it is there as it is
	}{
		{"identity", "dev", "implementation", none, "- **Run:** run_1\n- **Turn:** turn_now\n- **Phase:** implementation\n- **Attempt:** 1 of 3\n- **Write Authority:** authoritative\n- **Runtime:** cli\n- **Deadline:** 2026-03-01T14:00:00.000Z\n"},
		{"worktree", "dev", "implementation", func(in *Input) { in.now().Worktree = ".agentxchain/worktrees/turn_now" }, "your own git worktree"},
		{"mandate", "dev", "implementation", none, "## Your Mandate\n\nWrite code that works.\n"},
		{"reserved files", "dev", "implementation", none, "`.agentxchain/decision-ledger.jsonl`"},
		{"staging path", "dev", "implementation", none, "```\n.agentxchain/staging/turn_now/turn-result.json\n```"},
		{"allowed roles", "dev", "implementation", none, "one of `dev`, `qa`, `arch`, `human`"},
		{"reviewers must object", "qa", "qa", none, "A turn without an objection is refused."},
		{"reviewers must not where no challenge is asked for", "qa", "qa", func(in *Input) { in.Config.Rules.ChallengeRequired = new(false) }, "`objections` is an array, possibly empty"},
		{"writers need not object", "dev", "implementation", none, "`objections` is an array, possibly empty"},
		{"the first edition must object", "old", "implementation", none, "`objections` is an array of at least one"},
		{"reviewer", "qa", "qa", none, "You may write below `.planning/` and `.agentxchain/reviews/`"},
		{"reviewer without hands", "rev", "qa", none, "stored as `.agentxchain/reviews/turn_now-rev-review.md`"},
		{"writer", "dev", "implementation", none, "You may change product files."},
		{"proposer", "arch", "implementation", none, "Return every change in `proposed_changes`; it is stored below `.agentxchain/proposed/turn_now/`"},
		{"proposer with hands", "arch", "implementation", func(in *Input) { in.now().RuntimeID = "cli" }, "You must not change files of the project.\n- Return every change in `proposed_changes`"},
		{"code required", "dev", "implementation", none, "### Implementation Phase: Code Required"},
		{"kit by entry role", "dev", "implementation", none, "are responsible for producing these artifacts of phase `implementation`:\n\n- `.planning/IMPLEMENTATION_NOTES.md`: required, MISSING; needs the sections Changes and Verification"},
		{"kit by owner", "arch", "implementation", none, "- `docs/api.md`: optional, MISSING; needs the sections `Calls`, `Errors`, each with its own text"},
		{"kit by template", "pm", "planning", none, "reviewing and attesting to these artifacts of phase `planning`:\n\n- `.planning/PM_SIGNOFF.md`: required, MISSING; needs a line `Approved: YES`\n"},
		{"a file that is there", "dev", "implementation", func(in *Input) { in.file(".planning/IMPLEMENTATION_NOTES.md", "x") }, "- `.planning/IMPLEMENTATION_NOTES.md`: required, exists;"},
		{"gate", "dev", "implementation", none, "Gate `built` is between phase `implementation` and phase `qa`."},
		{"last gate", "qa", "qa", none, "Gate `ship` is between phase `qa` and the end of the run."},
		{"gate with an owner", "dev", "implementation", func(in *Input) {
			k := in.Config.WorkflowKit.Phases.At("implementation")
			k.Artifacts[0].OwnedBy = "arch"
			in.Config.WorkflowKit.Phases.Set("implementation", k)
		}, "and an accepted turn of `arch` in this phase"},
		{"gate wants verification", "dev", "implementation", none, "It requires a passed verification"},
		{"gate says what it lacks", "dev", "implementation", none, "It would not pass now:\n\n- Required file missing: .planning/IMPLEMENTATION_NOTES.md"},
		{"gate says what a file lacks", "pm", "planning", func(in *Input) { in.file(".planning/PM_SIGNOFF.md", "Approved: NO\n") }, `- PM signoff is not approved. Found "Approved: NO"`},
		{"nobody approves", "dev", "implementation", none, "No approval is needed: request it with `phase_transition_request`"},
		{"a person approves", "pm", "planning", none, "A person has to approve (approval_policy asks for a person). Request it with `phase_transition_request`"},
		{"the policy approves", "qa", "qa", none, "approval_policy (run_completion) grants when all requirements are met. Request it with `run_completion_request`"},
		{"the policy's conditions are not met", "qa", "qa", func(in *Input) { in.Config.ApprovalPolicy.RunCompletion.When.RolesParticipated = []string{"dev"} },
			`A person has to approve (role "dev" has no accepted turn in phase "qa")`},
		{"a policy cannot approve credentials", "qa", "qa", rule("ship", func(g *protocol.Gate) { g.Credentialed = true }), `A person has to approve (gate "ship" is credentialed`},
		{"rejection", "dev", "implementation", func(in *Input) {
			in.now().Attempt = 2
			in.now().LastRejection = &protocol.Rejection{Attempt: 1, Reason: "no", FailedStage: "protocol", ValidationErrors: []string{"a", "b\nc"}}
		}, "This is attempt 2 of 3. Attempt 1 was rejected:\n\n- **Reason:** no\n- **Failed stage:** protocol\n- **Errors:**\n  - a\n  - b c\n\nWhat to do: follow the rules for objections"},
		{"reissue", "dev", "implementation", func(in *Input) { in.now().ReissuedFrom = "turn_lost" }, "replaces `turn_lost`"},
		{"intent", "dev", "implementation", func(in *Input) {
			in.now().IntakeContext = json.RawMessage(`{"charter":"c\n# d","acceptance_contract":["x"]}`)
		}, "> c\n> # d\n\n1. x\n"},
		{"conflict", "dev", "implementation", func(in *Input) { in.now().ConflictContext = json.RawMessage(`{"conflicting_files":["a|b"]}`) }, "- **In conflict:** `a|b`"},
		{"delegation", "dev", "implementation", func(in *Input) {
			in.now().DelegationContext = json.RawMessage(`{"parent_role":"arch","parent_turn_id":"t","charter":"c","required_decision_ids":["DEC-101"]}`)
		}, "Your result must contain these decisions: `DEC-101`."},
		{"a delegated turn asks for nothing", "dev", "implementation", func(in *Input) { in.now().DelegationContext = json.RawMessage(`{"charter":"c"}`) },
			"`phase_transition_request` and `run_completion_request` stay `null`: they belong"},
		{"role prompt", "dev", "implementation", func(in *Input) { in.RolePrompt = "Be {{role}}.\n## Yes" }, "## Role-Specific Instructions\n\nBe dev.\n## Yes\n"},
		{"single shot", "dev", "implementation", none, "## Unattended Turn"},
		{"next phase", "dev", "implementation", none, "`phase_transition_request` is `null`, or `\"qa\"` when this phase is done"},
		{"last phase", "qa", "qa", none, "`run_completion_request` is `false`, or `true`"},
		{"a reviewer in between", "pm", "planning", none, "A completed review with `null` in both requests counts as a request for the next phase"},
		{"repo decisions", "dev", "implementation", func(in *Input) { in.State.RepoDecisions = []protocol.RepoDecision{{ID: "DEC-009"}} }, "names it in `overrides`"},
		{"answer instead of file", "rev", "qa", none, "answer with this JSON object, and nothing after it"},
		{"structured output", "qa", "qa", func(in *Input) {
			rt := in.Config.Runtimes.At("claude")
			rt.ResultMode = "structured"
			in.Config.Runtimes.Set("claude", rt)
		}, "answer with this JSON object, and nothing after it"},
		{"no gate", "dev", "implementation", func(in *Input) {
			p := in.Config.Routing.At("implementation")
			p.ExitGate = ""
			in.Config.Routing.Set("implementation", p)
			in.RolePrompt = "mark"
		}, "mark"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := given(t, c.role, c.phase)
			before := Prompt(in)
			c.change(&in)
			after := Prompt(in)
			if !strings.Contains(after, c.part) {
				t.Errorf("%q is not in\n%s", c.part, after)
			}
			if before != after && strings.Contains(before, c.part) {
				t.Errorf("%q is there without its cause", c.part)
			}
		})
	}
}

// TestChallenge: a reviewer objects unless the rules say otherwise, a role of the first edition always, nobody else must.
func TestChallenge(t *testing.T) {
	t.Parallel()
	for role, want := range map[string][2]bool{"qa": {true, false}, "dev": {false, false}, "arch": {false, false}, "old": {true, true}} {
		for i, asked := range []*bool{nil, new(false)} {
			in := given(t, role, "implementation")
			in.Config.Rules.ChallengeRequired = asked
			text := Prompt(in)
			for _, part := range []string{"A turn without an objection is refused.", "`objections` is an array of at least one", `"id": "OBJ-001"`} {
				if strings.Contains(text, part) != want[i] {
					t.Errorf("%s, challenge %v: %q is there: %v", role, i == 0, part, !want[i])
				}
			}
		}
	}
}

// TestPromptWithout names what must not be there.
func TestPromptWithout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, role, phase, part string
		change                  func(in *Input)
	}{
		{"no rejection", "dev", "implementation", "## Previous Attempt Failed", nil},
		{"no conflict", "dev", "implementation", "## File Conflict", nil},
		{"no delegation", "dev", "implementation", "## Delegated Work", nil},
		{"no role prompt", "dev", "implementation", "## Role-Specific Instructions", nil},
		{"an empty role prompt", "dev", "implementation", "## Role-Specific Instructions", func(in *Input) { in.RolePrompt = " \n" }},
		{"a person is asked by nobody", "pm", "planning", "## Unattended Turn", nil},
		{"reviewers write no code", "qa", "implementation", "### Implementation Phase: Code Required", nil},
		{"code in another phase", "dev", "qa", "### Implementation Phase: Code Required", nil},
		{"nobody else's artifacts", "qa", "implementation", "## Workflow-Kit Responsibilities", nil},
		{"no kit", "dev", "implementation", "## Workflow-Kit Responsibilities", func(in *Input) { in.Config.WorkflowKit = &protocol.WorkflowKit{} }},
		{"a gate that nobody declared", "dev", "implementation", "## Phase Exit Gate", func(in *Input) { in.Config.Gates.Delete("built") }},
		{"no gates at all", "dev", "implementation", "## Phase Exit Gate", func(in *Input) { in.Config.Gates = nil }},
		{"an approval that nobody asks for", "dev", "implementation", "approval_policy", nil},
		{"a staged file where the answer counts", "rev", "qa", "write your turn result to", nil},
		{"runtime settings", "dev", "implementation", "sk-secret", nil},
		{"settings of the first edition", "old", "implementation", "sk-secret", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := given(t, c.role, c.phase)
			if c.change != nil {
				c.change(&in)
			}
			if got := Prompt(in); strings.Contains(got, c.part) {
				t.Errorf("%q is in\n%s", c.part, got)
			}
			if got := Context(in); strings.Contains(got, "sk-secret") {
				t.Errorf("a secret is in\n%s", got)
			}
		})
	}
}

// TestTemplate holds the result that agents are shown to what validation wants of one.
func TestTemplate(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]struct {
		artifact, verification, next string
		objections, proposed         int
	}{
		"pm":   {"review", "skipped", "dev", 1, 0},
		"dev":  {"workspace", "pass", "qa", 0, 0},
		"qa":   {"review", "skipped", "dev", 1, 0},
		"arch": {"patch", "pass", "dev", 0, 1},
		"old":  {"workspace", "pass", "dev", 1, 0},
	} {
		phase := map[string]string{"pm": "planning", "qa": "qa"}[role]
		if phase == "" {
			phase = "implementation"
		}
		in := given(t, role, phase)
		in.History = []protocol.HistoryEntry{planned(), accepted()}
		in.Decisions = []protocol.LedgerDecision{{ID: "DEC-041"}, {ID: "DEC-7"}, {ID: "DEC-99999999999999999999"}, {ID: "DEC-5000000"}}
		text := Prompt(in)
		_, rest, _ := strings.Cut(text, "```json\n")
		raw, _, ok := strings.Cut(rest, "\n```")
		if !ok {
			t.Fatalf("%s: no template in\n%s", role, text)
		}
		var r protocol.TurnResult
		if err := json.Unmarshal([]byte(raw), &r); err != nil {
			t.Fatalf("%s: %v", role, err)
		}
		if r.SchemaVersion != "1.0" || r.RunID != "run_1" || r.TurnID != "turn_now" || r.Role != role || r.RuntimeID != in.now().RuntimeID || r.Status != "completed" {
			t.Errorf("%s: ids %+v", role, r)
		}
		if r.Artifact.Type != want.artifact || r.Verification.Status != want.verification || r.ProposedNextRole != want.next ||
			len(r.Objections) != want.objections || len(r.ProposedChanges) != want.proposed {
			t.Errorf("%s: %s", role, raw)
		}
		if r.Decisions[0].ID != "DEC-042" || len(r.Objections) > 0 && (r.Objections[0].ID != "OBJ-003" || r.Objections[0].AgainstTurnID != "turn_dev") {
			t.Errorf("%s: the ids do not go on: %s", role, raw)
		}
		for _, key := range []string{"schema_version", "run_id", "turn_id", "role", "runtime_id", "status", "summary", "decisions", "objections", "files_changed",
			"verification", "artifact", "proposed_next_role", "phase_transition_request", "run_completion_request"} {
			if !strings.Contains(raw, `"`+key+`"`) {
				t.Errorf("%s: the required field %s is not in the template", role, key)
			}
		}
	}
}

func TestAdviceForEveryStage(t *testing.T) {
	t.Parallel()
	seen := []string{advice("something else")}
	for _, s := range protocol.Stages() {
		a := advice(string(s))
		if slices.Contains(seen, a) {
			t.Errorf("stage %s has no advice of its own", s)
		}
		if a != advice(s.Class()) {
			t.Errorf("the class %s has another advice", s.Class())
		}
		seen = append(seen, a)
	}
}
