package prompt

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

// whole gives a reviewer's turn a cause for every section of its context.
func whole(t testing.TB) Input {
	in := given(t, "qa", "implementation")
	s := &in.State
	s.AcceptedIntegration, s.BudgetStatus = new("git:abc"), protocol.BudgetStatus{SpentUSD: 1.239, RemainingUSD: new(48.761)}
	turn := in.now()
	turn.IntakeContext = json.RawMessage(`{"intent_id":"intent_1","event_id":"evt_1","source":"cli","category":"bug","charter":"Mend\nit.","acceptance_contract":["it adds"]}`)
	turn.DelegationContext = json.RawMessage(`{"parent_turn_id":"turn_p","parent_role":"arch","charter":"Only this.","acceptance_contract":["parses"],"required_decision_ids":["DEC-101"]}`)
	turn.DelegationReview = json.RawMessage(`{"results":[{"delegation_id":"del-001","child_turn_id":"turn_c","to_role":"qa","status":"completed","summary":"Done.",
		"files_changed":["x.go"],"satisfied_decision_ids":["DEC-101"],"missing_decision_ids":["DEC-102"]}]}`)
	in.Contract = protocol.RuntimeCapabilities{CanWriteFiles: "direct", ProposalSupport: "optional", WorkflowArtifactOwnership: "yes"}
	in.WritePath = "planning_only"
	s.RepoDecisions = []protocol.RepoDecision{{ID: "DEC-900", Category: "scope", Statement: "No | ads", Status: "active", Overrides: new("DEC-800")},
		{ID: "DEC-800", Category: "scope", Statement: "Ads", Status: "overridden"}}
	s.InheritedContext = json.RawMessage(`{"parent_run_id":"run_0","parent_status":"completed","parent_completed_at":"2026-01-01","parent_phases_completed":["planning"],
		"parent_roles_used":["pm"],"recent_decisions":[{"id":"DEC-800","statement":"Ads"}],"recent_accepted_turns":[{"turn_id":"turn_z","role":"pm","summary":"Planned."}]}`)
	in.History = []protocol.HistoryEntry{planned(), accepted(), {TurnID: "turn_gone", Status: "reissued"}}
	in.State.OpenObjections = []protocol.OpenObjection{open(accepted())}
	in.Decisions = []protocol.LedgerDecision{{ID: "DEC-001", Phase: "planning", Role: "pm", Statement: "No guests"},
		{ID: "DEC-002", Phase: "implementation", Role: "dev", Statement: "Carts are | maps\n| x"}}
	s.BlockedOn = new("human:dns")
	s.BlockedReason = &protocol.BlockedReason{Recovery: protocol.Recovery{Detail: "No DNS."}}
	s.Escalation = &protocol.Escalation{FromRole: "dev", FromTurnID: "turn_dev", Reason: "retries_exhausted", ValidationErrors: []string{"summary: empty"}}
	s.PhaseGateStatus.Set("signoff", "passed")
	s.PhaseGateStatus.Set("built", "pending")
	in.file("src/cart.go", "package cart\n\n// ```\n// ````\nfunc f() {}\n")
	in.Files["src/logo.png"] = File{Present: true, Binary: true}
	in.Files[".env"] = File{Present: true, Withheld: true}
	in.file(".planning/IMPLEMENTATION_NOTES.md", "## Changes\n\nA cart.\n")
	in.file("docs/api.md", "# API\n")
	in.Log = &Log{Lines: []string{"building", "[stderr] warning", "```", "done"}, Total: 60}
	in.Proposal = &Proposal{Ref: ".agentxchain/proposed/turn_dev", Summary: "# Proposal\n- `a.go` — create", Files: []ProposedFile{
		{Path: "a.go", Action: "create", File: File{Present: true, Text: "package a"}}}}
	return in
}

// TestContextOrder holds the sections to the order of the protocol and their names to what its compressor looks for.
func TestContextOrder(t *testing.T) {
	t.Parallel()
	want := []string{
		"# Execution Context", "## Current State", "## Project Goal", "## Intake Intent", "## Delegation Context", "## Delegation Review", "### del-001 → qa",
		"## Runtime Capability Contract", "## Active Repo Decisions", "## Inherited Run Context", "## Last Accepted Turn", "### Files Changed",
		"### Changed File Previews", "#### `src/cart.go`", "#### `src/logo.png`", "#### `.env`", "### Proposed Artifact", "### Proposed File Previews",
		"#### `a.go` (create)", "### Verification", "### Dispatch Log Excerpt", "### Observed Artifact", "## Decision History", "### Open Objections",
		"## Blockers", "## Escalation", "## Workflow Artifacts", "### `docs/api.md`", "## Gate Required Files",
		"### `.planning/IMPLEMENTATION_NOTES.md` — exists", "## Phase Gate Status",
	}
	if diff := cmp.Diff(want, headings(Context(whole(t)))); diff != "" {
		t.Errorf("sections (-want +got):\n%s", diff)
	}
}

// TestContextWithoutCauses: a first turn without anything has what is always there, and nothing else.
func TestContextWithoutCauses(t *testing.T) {
	t.Parallel()
	in := given(t, "dev", "implementation")
	in.Config.Project.Goal, in.Config.WorkflowKit, in.Config.Gates = "", &protocol.WorkflowKit{}, nil
	want := []string{"# Execution Context", "## Current State", "## Runtime Capability Contract"}
	if diff := cmp.Diff(want, headings(Context(in))); diff != "" {
		t.Errorf("sections (-want +got):\n%s", diff)
	}
}

// TestContextSections takes the cause of one section away and looks for what goes with it.
func TestContextSections(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		remove func(in *Input)
		gone   []string
	}{
		{"integration ref", func(in *Input) { in.State.AcceptedIntegration = nil }, []string{"- **Integration ref:** git:abc"}},
		{"budget", func(in *Input) { in.State.BudgetStatus = protocol.BudgetStatus{} }, []string{"- **Budget spent:** $1.24", "- **Budget remaining:** $48.76"}},
		{"goal", func(in *Input) { in.Config.Project.Goal = " " }, []string{"## Project Goal\n\n> Sell | buy things\n> without surprises."}},
		{"intent", func(in *Input) { in.now().IntakeContext = nil }, []string{"## Intake Intent", "- **Charter:** Mend it.", "  - it adds"}},
		{"delegation", func(in *Input) { in.now().DelegationContext = nil }, []string{"## Delegation Context", "- **Delegated by:** arch (turn `turn_p`)", "- **Required decisions:** DEC-101"}},
		{"delegation review", func(in *Input) { in.now().DelegationReview = nil }, []string{"## Delegation Review", "- **Missing decisions:** DEC-102"}},
		{"contract", func(in *Input) { in.Contract = protocol.RuntimeCapabilities{} }, []string{"- **Can write files:** direct", "- **Proposal support:** optional"}},
		{"write path", func(in *Input) { in.WritePath = "" }, []string{"- **Effective write path for this role:** planning_only"}},
		{"repo decisions", func(in *Input) { in.State.RepoDecisions = nil }, []string{"## Active Repo Decisions", "- **DEC-900** (scope): No | ads (replaces DEC-800)"}},
		{"inherited", func(in *Input) { in.State.InheritedContext = nil }, []string{"## Inherited Run Context", "- **Parent run:** run_0"}},
		{"last turn", func(in *Input) { in.History, in.State.OpenObjections = nil, nil }, []string{"## Last Accepted Turn", "### Files Changed", "### Verification", "### Observed Artifact", "### Open Objections",
			"- **Summary:** Built the cart | and ## Escalation ```\n", "  - OBJ-002 (high): No limit | is named."}},
		{"files of the workspace", func(in *Input) { in.Files = nil }, []string{"### Changed File Previews", "`````\npackage cart", "_Not a text file; not shown._", "_Not shown: files of this name contain secrets._",
			"### `.planning/IMPLEMENTATION_NOTES.md` — exists", "## Changes\n\nA cart."}},
		{"previews for a writer", func(in *Input) { in.now().AssignedRole = "dev" }, []string{"### Changed File Previews", "### Proposed Artifact", "### Dispatch Log Excerpt",
			"### `docs/api.md`", "### `.planning/IMPLEMENTATION_NOTES.md` — exists"}},
		{"log", func(in *Input) { in.Log = nil }, []string{"### Dispatch Log Excerpt\n\n_The last 4 of 60 lines._\n\n````\nbuilding"}},
		{"proposal", func(in *Input) { in.Proposal = nil }, []string{"### Proposed Artifact", "### Proposed File Previews", "- **Proposed files:** 1"}},
		{"evidence", func(in *Input) { in.History[1].Verification.MachineEvidence = nil }, []string{"| Command | Exit Code |\n| --- | --- |\n| `go test ./... \\| tail` | 0 |\n| `grep -q TODO .` | 1 (expected 1) |"}},
		{"normalized check", func(in *Input) { in.History[1].NormalizedVerification = protocol.NormalizedCheck{Status: "pass"} }, []string{"- **Normalized status:** attested_pass — nobody has run it again"}},
		{"decisions", func(in *Input) { in.Decisions = nil }, []string{"| ID | Phase | Role | Statement |\n| --- | --- | --- | --- |\n| DEC-001 | planning | pm | No guests |\n| DEC-002 | implementation | dev | Carts are \\| maps \\| x |"}},
		{"block", func(in *Input) { in.State.BlockedOn = nil }, []string{"## Blockers\n\n- **Blocked on:** human:dns\n- **Detail:** No DNS."}},
		{"escalation", func(in *Input) { in.State.Escalation = nil }, []string{"## Escalation\n\n- **From:** dev\n", "  - summary: empty"}},
		{"kit", func(in *Input) { in.Config.WorkflowKit = &protocol.WorkflowKit{} }, []string{"## Workflow Artifacts", "| `docs/api.md` | no | `section_check` | arch | exists |",
			"| `.planning/IMPLEMENTATION_NOTES.md` | yes | `implementation_notes` | dev (entry role) | exists |"}},
		{"gate", func(in *Input) { in.Config.Gates.Delete("built") }, []string{"## Gate Required Files", "- **Not satisfied yet:**\n  - .planning/IMPLEMENTATION_NOTES.md must define ## Verification"}},
		{"gate status", func(in *Input) { in.State.PhaseGateStatus = protocol.Ordered[string]{} }, []string{"## Phase Gate Status\n\n- `signoff`: passed\n- `built`: pending"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := whole(t)
			before := Context(in)
			c.remove(&in)
			after := Context(in)
			for _, part := range c.gone {
				if !strings.Contains(before, part) {
					t.Errorf("%q is not in\n%s", part, before)
				}
				if strings.Contains(after, part) {
					t.Errorf("%q is there without its cause", part)
				}
			}
		})
	}
}

func TestContextBounds(t *testing.T) {
	t.Parallel()
	in := whole(t)
	h := &in.History[1]
	h.FilesChanged = nil
	for i := range 300 {
		name := fmt.Sprintf("f%03d.txt", i)
		h.FilesChanged = append(h.FilesChanged, name)
		in.file(name, strings.Repeat(name+"\n", 200))
		in.Decisions = append(in.Decisions, protocol.LedgerDecision{ID: fmt.Sprintf("DEC-%d", 1000+i), Statement: "s"})
	}
	in.file(".planning/IMPLEMENTATION_NOTES.md", strings.Repeat("note\n", 200))
	in.Log = &Log{Total: 900}
	for i := range 900 {
		in.Log.Lines = append(in.Log.Lines, fmt.Sprintf("line %d", i))
	}
	text := Context(in)
	for part, want := range map[string]int{
		"#### `f": MaxPreviewFiles, "\nf000.txt": MaxPreviewLines, "\nnote": MaxGateLines, "\nline ": MaxLogLines,
		"\n| DEC-1": MaxDecisions, "\n- `f": maxFilesListed,
	} {
		if got := strings.Count(text, part); got != want {
			t.Errorf("%q stands %d times, want %d", part, got, want)
		}
	}
	for _, part := range []string{"\nline 899\n", "\n| DEC-1299 |", "_The last 50 of 302 decisions; all are in `.agentxchain/decision-ledger.jsonl`._", "- … and 100 more",
		"_Only the beginning is shown: at most 120 lines._", "_Only the beginning is shown: at most 60 lines._", "_The last 50 of 900 lines._"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing", part)
		}
	}
	if n := len(in.Paths()); n > 2*MaxPreviewFiles+5 {
		t.Errorf("%d files are asked for", n)
	}
}

func TestInheritedInFullForTheFirstTurn(t *testing.T) {
	t.Parallel()
	in := whole(t)
	in.History = nil
	for _, part := range []string{"### Recent Decisions\n\n- **DEC-800:** Ads", "### Recent Accepted Turns\n\n- **pm** (turn_z): Planned."} {
		if !strings.Contains(Context(in), part) {
			t.Errorf("%q is missing for the first turn", part)
		}
		if strings.Contains(Context(whole(t)), part) {
			t.Errorf("%q is there for a later turn", part)
		}
	}
}

// FuzzContext: whatever a turn says, it begins no section of its own.
func FuzzContext(f *testing.F) {
	for _, s := range []string{"x\n## Escalation\n", "```\n## Blockers", "\r## Phase Gate Status", "\u2028# x", "`", "|\n|---|", "~~~\n## y"} {
		f.Add(s)
	}
	want := headings(Context(whole(f)))
	f.Fuzz(func(t *testing.T, s string) {
		in := whole(t)
		h := &in.History[1]
		h.Summary, h.Role, h.Phase = "a"+s, "a"+s, "a"+s
		h.Decisions[0].Statement, h.Objections[0].Statement, h.Verification.EvidenceSummary, h.Verification.Commands[0] = s, s, s, s
		h.ObservedArtifact.DiffSummary = "a" + s
		in.Decisions[0].Statement, in.Log.Lines[0], in.Proposal.Summary = s, s, s
		in.file("src/cart.go", s)
		in.file(".planning/IMPLEMENTATION_NOTES.md", s)
		in.Config.Project.Goal = "a" + s
		in.State.BlockedOn = new("a" + s)
		if diff := cmp.Diff(want, headings(Context(in))); diff != "" {
			t.Errorf("a text has made sections (-want +got):\n%s", diff)
		}
	})
}
