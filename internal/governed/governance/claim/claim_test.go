package claim

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

func result(kind string, files ...string) *protocol.TurnResult {
	return &protocol.TurnResult{Status: protocol.ResultCompleted, FilesChanged: files, Artifact: protocol.ResultArtifact{Type: kind}}
}

func verified(r *protocol.TurnResult, produced ...protocol.ProducedFile) *protocol.TurnResult {
	r.Verification = protocol.Verification{Status: "pass", Commands: []string{"make test"}, ProducedFiles: produced}
	return r
}

func TestCompare(t *testing.T) {
	t.Parallel()
	const dev, review, propose = protocol.Authoritative, protocol.ReviewOnly, protocol.Proposed
	for _, tt := range []struct {
		name     string
		in       Input
		errors   []string // "code: path path"
		warnings []string // a part of each
		files    []string
		ignored  []string
	}{
		{name: "declared and observed", in: Input{Authority: dev, Available: true, Result: result("workspace", "./b", "a"), Observed: []string{"a", "b"}},
			files: []string{"a", "b"}},
		{name: "undeclared", in: Input{Authority: dev, Available: true, Result: result("workspace", "a"), Observed: []string{"a", "b", "c"}},
			errors: []string{"artifact_mismatch: b c"}, files: []string{"a", "b", "c"}},
		{name: "phantom", in: Input{Authority: dev, Available: true, Result: result("workspace", "a", "ghost"), Observed: []string{"a"}},
			warnings: []string{"not counted: ghost"}, files: []string{"a"}},
		{name: "a person's unchanged work is not credited by declaring it",
			in:       Input{Authority: dev, Available: true, Result: result("workspace", "a", "mine"), Observed: []string{"a"}, BaselineDirty: []string{"mine"}},
			warnings: []string{"mine"}, files: []string{"a"}},
		{name: "a person's work that changed and is not declared",
			in:     Input{Authority: dev, Available: true, Result: result("workspace", "a"), Observed: []string{"a", "mine"}, BaselineDirty: []string{"mine"}},
			errors: []string{"artifact_dirty_tree_mismatch: mine"}, files: []string{"a", "mine"}},
		{name: "a person's work that changed and is declared",
			in:    Input{Authority: dev, Available: true, Result: result("workspace", "mine"), Observed: []string{"mine"}, BaselineDirty: []string{"mine"}},
			files: []string{"mine"}},
		{name: "outputs of verification",
			in: Input{Authority: dev, Available: true, Result: verified(result("workspace", "a")), Observed: []string{"a", "changed", "coverage.out"},
				Created: []string{"coverage.out"}},
			errors: []string{"artifact_mismatch: changed", "undeclared_verification_outputs: coverage.out"}, files: []string{"a", "changed", "coverage.out"}},
		{name: "a new file without verification",
			in:     Input{Authority: dev, Available: true, Result: result("workspace", "a"), Observed: []string{"a", "coverage.out"}, Created: []string{"coverage.out"}},
			errors: []string{"artifact_mismatch: coverage.out"}, files: []string{"a", "coverage.out"}},
		{name: "produced files", in: Input{Authority: dev, Available: true, Created: []string{"report.xml", "tmp.bin"},
			Result: verified(result("workspace", "a"), protocol.ProducedFile{Path: "report.xml", Disposition: "artifact"},
				protocol.ProducedFile{Path: "tmp.bin", Disposition: "ignore"}, protocol.ProducedFile{Path: "not-there", Disposition: "ignore"}),
			Observed: []string{"a", "report.xml", "tmp.bin"}}, files: []string{"a", "report.xml"}, ignored: []string{"tmp.bin"}},
		{name: "a folder declares what is below", in: Input{Authority: dev, Available: true, Result: result("workspace", "src/"), Observed: []string{"src/a", "src/b/c"}},
			files: []string{"src/a", "src/b/c"}},
		{name: "a folder without changes", in: Input{Authority: dev, Available: true, Result: result("workspace", "a", "docs/"), Observed: []string{"a"}},
			warnings: []string{"docs/"}, files: []string{"a"}},
		{name: "a rename is declared by its new name", in: Input{Authority: dev, Available: true, Result: result("workspace", "new"), Observed: []string{"new", "old"},
			Renamed: map[string]string{"new": "old"}}, files: []string{"new", "old"}},
		{name: "a rename is not declared by its old name", in: Input{Authority: dev, Available: true, Result: result("workspace", "old"), Observed: []string{"new", "old"},
			Renamed: map[string]string{"new": "old"}}, errors: []string{"artifact_mismatch: new"}, files: []string{"new", "old"}},
		{name: "an operator's commit is nobody's fault", in: Input{Authority: dev, Available: true, Result: result("workspace", "a"), Observed: []string{"a"},
			Committed: []string{"op"}}, files: []string{"a"}},
		{name: "declared and committed by hand", in: Input{Authority: dev, Available: true, Result: result("workspace", "a"), Committed: []string{"a", "op"}},
			files: []string{"a"}},
		{name: "declared and in a checkpoint already", in: Input{Authority: dev, Available: true, Result: result("workspace", "a"), CheckpointedSince: []string{"a", "b"}},
			files: []string{"a"}},
		{name: "another case", in: Input{Authority: dev, Available: true, Result: result("workspace", "SRC/a"), Observed: []string{"src/a"}},
			errors: []string{"artifact_mismatch: src/a"}, warnings: []string{"SRC/a", "SRC/a is declared, but the file is named src/a"}, files: []string{"src/a"}},
		{name: "reserved", in: Input{Authority: dev, Available: true, Result: result("workspace", "a", ".agentxchain/STATE.json", "x/../.agentxchain/history.jsonl"),
			Observed: []string{"a", ".agentxchain/Decision-Ledger.jsonl"}},
			errors: []string{"reserved_path: .agentxchain/STATE.json .agentxchain/history.jsonl .agentxchain/Decision-Ledger.jsonl"},
			files:  []string{"a"}},
		{name: "the turn's own result is no change", in: Input{Authority: dev, Available: true,
			Result: result("workspace", "a", ".agentxchain/staging/turn_1/turn-result.json", "TALK.md"), Observed: []string{"a"}}, files: []string{"a"}},
		{name: "outside", in: Input{Authority: dev, Available: true, Result: result("workspace", "a", "../x", "/etc/passwd", "", `..\y`), Observed: []string{"a"}},
			errors: []string{"path_escape: ../x /etc/passwd  ../y"}, files: []string{"a"}},
		{name: "empty workspace", in: Input{Authority: dev, Available: true, Result: result("workspace"), Phase: "implementation"},
			errors: []string{"empty_workspace_artifact: "}},
		{name: "only a phantom", in: Input{Authority: dev, Available: true, Result: result("workspace", "ghost")},
			errors: []string{"empty_workspace_artifact: ghost"}, warnings: []string{"ghost"}},
		{name: "empty and not completed", in: Input{Authority: dev, Available: true, Result: func() *protocol.TurnResult {
			r := result("workspace")
			r.Status = protocol.ResultBlocked
			return r
		}()}},
		{name: "empty review artifact", in: Input{Authority: dev, Available: true, Result: result("review")}},
		{name: "without git", in: Input{Authority: dev, Result: result("workspace", "a", "TALK.md"), Observed: []string{"a", "b"}},
			warnings: []string{"git init"}, files: []string{"a"}},
		{name: "without git and empty", in: Input{Authority: dev, Result: result("workspace")}, errors: []string{"empty_workspace_artifact: "}, warnings: []string{"git init"}},

		{name: "review of plans", in: Input{Authority: review, Available: true, Result: result("review", ".planning/PLAN.md", ".agentxchain/reviews/r.md"),
			Observed: []string{".planning/PLAN.md", ".agentxchain/reviews/r.md"}}, files: []string{".agentxchain/reviews/r.md", ".planning/PLAN.md"}},
		{name: "review touches the product", in: Input{Authority: review, Available: true, Result: result("review", ".planning/PLAN.md"),
			Observed: []string{".planning/PLAN.md", "src/a"}}, errors: []string{"artifact_mismatch: src/a"}, files: []string{".planning/PLAN.md", "src/a"}},
		{name: "review declares the product", in: Input{Authority: review, Available: true, Result: result("review", "src/a")},
			errors: []string{"artifact_mismatch: src/a"}},
		{name: "review with a phantom", in: Input{Authority: review, Available: true, Result: result("review", ".planning/PLAN.md")},
			errors: []string{"artifact_mismatch: .planning/PLAN.md"}},
		{name: "review with an undeclared plan", in: Input{Authority: review, Available: true, Result: result("review"), Observed: []string{".planning/PLAN.md"}},
			warnings: []string{"counted as the turn's"}, files: []string{".planning/PLAN.md"}},
		{name: "review from afar", in: Input{Authority: review, RuntimeType: protocol.RuntimeAPIProxy, Available: true,
			Result: result("review", ".agentxchain/reviews/r.md"), Observed: []string{"src/a"}},
			warnings: []string{"cannot write files: src/a"}, files: []string{".agentxchain/reviews/r.md"}},
		{name: "review from afar of the product", in: Input{Authority: review, RuntimeType: protocol.RuntimeRemoteAgent, Available: true, Result: result("review", "src/a")},
			errors: []string{"artifact_mismatch: src/a"}},

		{name: "proposal", in: Input{Authority: propose, Available: true, Result: result("patch", "src/a"), Observed: []string{".agentxchain/proposed/turn_1/src/a"}},
			files: []string{".agentxchain/proposed/turn_1/src/a"}},
		{name: "proposal from afar", in: Input{Authority: propose, RuntimeType: protocol.RuntimeAPIProxy, Available: true, Result: result("patch", "src/a"),
			Observed: []string{"src/a", "src/b"}}, warnings: []string{"cannot write files: src/b"}},
		{name: "proposal without git", in: Input{Authority: propose, Result: result("patch", "src/a")}, warnings: []string{"git init"}},
		{name: "proposal that writes", in: Input{Authority: propose, Available: true, Result: result("patch", "src/a"), Observed: []string{"src/a"}},
			errors: []string{"artifact_mismatch: src/a"}, files: []string{"src/a"}},
		{name: "no result", in: Input{Authority: dev, Available: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Compare(tt.in)
			var faults []string
			for _, f := range got.Errors {
				faults = append(faults, f.Code+": "+strings.Join(f.Paths, " "))
				if len(f.Paths) > 0 && !strings.Contains(f.Message, f.Paths[0]) && f.Code != CodeEmptyWorkspace || !strings.ContainsAny(f.Message, ";:") {
					t.Errorf("the message names no file or no way on: %s", f.Message)
				}
			}
			if diff := cmp.Diff(tt.errors, faults); diff != "" {
				t.Errorf("errors (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.files, got.Files); diff != "" {
				t.Errorf("files (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.ignored, got.Ignored); diff != "" {
				t.Errorf("ignored (-want +got)\n%s", diff)
			}
			if len(got.Warnings) != len(tt.warnings) {
				t.Fatalf("got warnings %q, want %q", got.Warnings, tt.warnings)
			}
			for i, w := range tt.warnings {
				if !strings.Contains(got.Warnings[i], w) {
					t.Errorf("got warning %q, want %q", got.Warnings[i], w)
				}
			}
		})
	}
}

func TestLongLists(t *testing.T) {
	t.Parallel()
	got := Compare(Input{Authority: protocol.Authoritative, Available: true, Result: result("workspace", "x"), Observed: []string{"a", "b", "c", "d", "e", "f", "g"}})
	if len(got.Errors) != 1 || len(got.Errors[0].Paths) != 7 || !strings.Contains(got.Errors[0].Message, "a, b, c, d, e and 2 more; ") {
		t.Errorf("got %+v", got.Errors)
	}
}

// Whatever is claimed, nothing operational is credited, nothing twice, and every credited file was declared or observed.
func FuzzCompare(f *testing.F) {
	f.Add("a\nb/\n../x\n.agentxchain/state.json", "a\nTALK.md\nb/c", "authoritative", true)
	f.Fuzz(func(t *testing.T, declared, observed, authority string, available bool) {
		in := Input{Authority: protocol.Authority(authority), Available: available, Result: result("workspace", strings.Split(declared, "\n")...),
			Observed: strings.Split(observed, "\n")}
		seen := map[string]bool{}
		for _, p := range Compare(in).Files {
			if protocol.Operational(p) || protocol.Reserved(p) || seen[p] {
				t.Errorf("%q is operational or credited twice", p)
			}
			seen[p] = true
		}
	})
}
