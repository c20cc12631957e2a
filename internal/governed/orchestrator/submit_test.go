//go:build unix

package orchestrator

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// What lies where the result is expected and is no file stays as it is, and so does a draft that nobody said to replace.
func TestSubmitTouchesNothingElse(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(p *world, path string){
		"a link":   func(p *world, path string) { _ = os.Symlink(filepath.Join(p.root, "README.md"), path) },
		"a folder": func(_ *world, path string) { _ = os.MkdirAll(path, 0o755) },
		"a draft":  func(_ *world, path string) { _ = os.WriteFile(path, []byte(`{"half":`), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, one(manualRuntime, ""))
			turn := p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true}).TurnID
			path := filepath.Join(p.root, filepath.FromSlash(protocol.StagedFile(turn)))
			put(p, path)
			p.write("work.txt", "by hand\n")
			before, _ := os.Lstat(path)
			if _, err := p.engine().Submit(t.Context(), govern.SubmitOptions{Form: govern.Submission{Summary: "done"}}); err == nil || hint(err) == "" {
				t.Errorf("%v, hint %q", err, hint(err))
			}
			if after, _ := os.Lstat(path); before.Mode() != after.Mode() || before.Size() != after.Size() || p.read("README.md") != "start\n" {
				t.Error("something was written")
			}
			if name != "a draft" {
				if _, err := p.engine().Submit(t.Context(), govern.SubmitOptions{Form: govern.Submission{Summary: "done"}, Replace: true}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
					t.Errorf("replaced: %v", err)
				}
				return
			}
			if _, err := p.engine().Submit(t.Context(), govern.SubmitOptions{Form: govern.Submission{Summary: "done"}, Replace: true}); err != nil {
				t.Fatal(err)
			}
			kept, _ := filepath.Glob(filepath.Join(p.root, filepath.FromSlash(protocol.BundleDir(turn)), "*", "draft-*.json")) // the pattern is valid
			if len(kept) != 1 || !strings.Contains(p.read(protocol.StagedFile(turn)), "done") {
				t.Fatalf("kept %v", kept)
			}
			if b, err := os.ReadFile(kept[0]); err != nil || string(b) != `{"half":` {
				t.Errorf("the draft is kept as %q, %v", b, err)
			}
		})
	}
}

// A turn that is handed in is accepted with the files that git saw, in the project and in a worktree; an agent's is not handed in.
func TestSubmit(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{"in the project": "", "in a worktree": `,"workspace":"worktree"`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, one(manualRuntime, more))
			turn := p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true}).TurnID
			p.write(filepath.ToSlash(filepath.Join(p.state().ActiveTurns.At(turn).Worktree, "work.txt")), "by hand\n")
			r, err := p.engine().Submit(t.Context(), govern.SubmitOptions{Form: govern.Submission{Summary: "done", Complete: true,
				Verification: protocol.Verification{Status: protocol.VerificationPass, EvidenceSummary: "read"}}})
			if err != nil || r.Outcome != govern.OutcomeDone || !slices.Contains(r.Files, "work.txt") {
				t.Fatalf("%+v %v", r, err)
			}
			p.agree(r)
			if r := p.step(govern.OutcomeAccepted); r.Status != protocol.RunCompleted || !slices.Contains(r.Files, "work.txt") || p.read("work.txt") != "by hand\n" {
				t.Errorf("%+v", r)
			}
			p.sound()
		})
	}
	p := newProject(t, one(runtimeOf("exit 3"), ""))
	p.step(govern.OutcomeBlocked)
	if _, err := p.engine().Submit(t.Context(), govern.SubmitOptions{Form: govern.Submission{Summary: "done"}}); err == nil || !strings.Contains(err.Error(), "not by a person") {
		t.Errorf("an agent's turn: %v", err)
	}
}

// What a person leaves out is filled in: ids that are free, the severity of what they speak of, what kind of work it was.
func TestWhatASubmissionBecomes(t *testing.T) {
	t.Parallel()
	p := newProject(t, one(manualRuntime, ""))
	submit := func(f govern.Submission) string {
		t.Helper()
		turn := p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true}).TurnID
		if f.Files == nil {
			p.write("work.txt", turn)
		}
		p.write("TALK.md", "## by hand\n")
		f.Summary = "done"
		if r, err := p.engine().Submit(t.Context(), govern.SubmitOptions{Form: f, DryRun: true}); err != nil || r.Outcome != govern.OutcomeDone || len(r.Warnings) == 0 {
			t.Fatalf("%+v %v", r, err)
		}
		if _, err := os.Stat(filepath.Join(p.root, filepath.FromSlash(protocol.StagedFile(turn)))); err == nil {
			t.Error("a dry run staged it")
		}
		if r, err := p.engine().Submit(t.Context(), govern.SubmitOptions{Form: f}); err != nil || r.Outcome != govern.OutcomeDone {
			t.Fatalf("%+v %v", r, err)
		}
		if _, err := p.engine().Submit(t.Context(), govern.SubmitOptions{Form: f}); err != nil {
			t.Errorf("said once more: %v", err)
		}
		return strings.Join(strings.Fields(p.read(protocol.StagedFile(turn))), " ")
	}
	has := func(staged string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(staged, w) {
				t.Errorf("it lacks %s:\n%s", w, staged)
			}
		}
	}
	decision := protocol.Decision{Category: "scope", Statement: "one program", Rationale: "the goal asks for no more"}
	has(submit(govern.Submission{Objections: []protocol.Objection{{Severity: "high", Statement: "it is slow"}}, Decisions: []protocol.Decision{decision}}),
		`"id": "OBJ-001"`, `"id": "DEC-001"`, `"files_changed": [ "work.txt" ]`, `"type": "workspace"`, `"status": "skipped"`, `"proposed_next_role": "human"`)
	p.step(govern.OutcomeAccepted)
	has(submit(govern.Submission{NeedsHuman: "which colour", Files: []string{}, Objections: []protocol.Objection{{ID: "OBJ-001", Status: "resolved", Statement: "it is fast now"},
		{Severity: "low", Statement: "a typo"}}, Decisions: []protocol.Decision{decision}}),
		`"id": "OBJ-001", "severity": "high"`, `"id": "OBJ-002"`, `"id": "DEC-002"`, `"status": "needs_human"`, `"needs_human_reason": "which colour"`, `"type": "review"`)

	p = newProject(t, strings.Replace(one(manualRuntime, ""), `"authoritative"`, `"proposed"`, 1))
	p.write(".gitignore", ".agentxchain/\n") // TALK.md is seen, and is nobody's work
	p.git("commit", "-qam", "what git ignores")
	has(submit(govern.Submission{}), `"type": "patch"`, `"files_changed": [ "work.txt" ]`)
}
