package prompt

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// situations are turns as they occur, each with the documents that it is given.
func situations(t *testing.T) map[string]Input {
	out := map[string]Input{}
	add := func(name, role, phase string, change func(in *Input)) {
		in := given(t, role, phase)
		in.RolePrompt = map[string]string{"pm": "Plan for {{project_name}}: {{project_goal}}\n", "dev": "# {{role_title}}\n\nRun `go test` before you hand over turn {{turn_id}}.\n"}[role]
		in.Contract = protocol.RuntimeCapabilities{CanWriteFiles: "direct", ProposalSupport: "none", WorkflowArtifactOwnership: "yes"}
		in.WritePath = "direct"
		change(&in)
		out[name] = in
	}
	add("first-manual", "pm", "planning", func(*Input) {})
	add("writer", "dev", "implementation", func(in *Input) {
		in.History = []protocol.HistoryEntry{planned()}
		in.State.OpenObjections = []protocol.OpenObjection{open(planned())}
		in.Decisions = []protocol.LedgerDecision{{ID: "DEC-001", Phase: "planning", Role: "pm", Statement: "No guests"}}
		in.State.BudgetReservations.Set("turn_now", protocol.Reservation{ReservedUSD: 2})
		in.State.PhaseGateStatus.Set("signoff", "passed")
	})
	add("retry", "dev", "implementation", func(in *Input) {
		in.History = []protocol.HistoryEntry{planned()}
		in.State.OpenObjections = []protocol.OpenObjection{open(planned())}
		in.now().Attempt = 2
		in.now().LastRejection = &protocol.Rejection{TurnID: "turn_now", Attempt: 1, Reason: "the turn result is not valid", FailedStage: "artifact",
			ValidationErrors: []string{"files_changed: src/a.go changed and is not listed"}}
		in.now().Worktree = ".agentxchain/worktrees/turn_now"
	})
	out["reviewer"] = whole(t)
	add("last-phase", "qa", "qa", func(in *Input) {
		in.History = []protocol.HistoryEntry{planned(), accepted()}
		in.State.OpenObjections = []protocol.OpenObjection{open(accepted())}
		in.file("src/cart.go", "package cart\n")
	})
	add("proposer", "arch", "implementation", func(in *Input) { in.WritePath = "proposal_apply_required" })
	add("first-edition", "old", "implementation", func(in *Input) {})
	out["everything"] = everything(t)
	return out
}

func TestGoldens(t *testing.T) {
	t.Parallel()
	for name, in := range situations(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := Assignment(in)
			if err != nil {
				t.Fatal(err)
			}
			assignment, err := protocol.MarshalFile(a)
			if err != nil {
				t.Fatal(err)
			}
			for file, got := range map[string]string{AssignmentFile: string(assignment), PromptFile: Prompt(in), ContextFile: Context(in)} {
				path := filepath.Join("testdata", name, file)
				if *update {
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", path, diff)
				}
				if strings.Contains(got, "\n\n\n") || !strings.HasSuffix(got, "\n") || strings.Contains(got, "sk-secret") {
					t.Errorf("%s has empty lines too many, no end, or a secret", path)
				}
			}
		})
	}
}

// TestSameInputSameText: rendering has no other source than its input, and leaves that as it was.
func TestSameInputSameText(t *testing.T) {
	t.Parallel()
	in := whole(t)
	before, _ := json.Marshal(in.State)
	config, _ := json.Marshal(in.Config)
	prompt, context := Prompt(in), Context(in)
	if Prompt(in) != prompt || Context(in) != context {
		t.Error("two renderings differ")
	}
	after, _ := json.Marshal(in.State)
	configAfter, _ := json.Marshal(in.Config)
	if string(before) != string(after) || string(config) != string(configAfter) {
		t.Error("rendering has changed its input")
	}
}
