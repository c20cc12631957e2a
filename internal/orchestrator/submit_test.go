//go:build unix

package orchestrator

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/internal/governance/protocol"
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
			turn := p.step(OutcomeAssigned, StepOptions{NoWait: true}).TurnID
			path := filepath.Join(p.root, filepath.FromSlash(protocol.StagedFile(turn)))
			put(p, path)
			p.write("work.txt", "by hand\n")
			before, _ := os.Lstat(path)
			if _, err := p.engine().Submit(t.Context(), SubmitOptions{Form: Submission{Summary: "done"}}); err == nil || hint(err) == "" {
				t.Errorf("%v, hint %q", err, hint(err))
			}
			if after, _ := os.Lstat(path); before.Mode() != after.Mode() || before.Size() != after.Size() || p.read("README.md") != "start\n" {
				t.Error("something was written")
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
			turn := p.step(OutcomeAssigned, StepOptions{NoWait: true}).TurnID
			p.write(filepath.ToSlash(filepath.Join(p.state().ActiveTurns.At(turn).Worktree, "work.txt")), "by hand\n")
			r, err := p.engine().Submit(t.Context(), SubmitOptions{Form: Submission{Summary: "done", Complete: true,
				Verification: protocol.Verification{Status: protocol.VerificationPass, EvidenceSummary: "read"}}})
			if err != nil || r.Outcome != OutcomeDone || !slices.Contains(r.Files, "work.txt") {
				t.Fatalf("%+v %v", r, err)
			}
			p.agree(r)
			if r := p.step(OutcomeAccepted); r.Status != protocol.RunCompleted || !slices.Contains(r.Files, "work.txt") || p.read("work.txt") != "by hand\n" {
				t.Errorf("%+v", r)
			}
			p.sound()
		})
	}
	p := newProject(t, one(runtimeOf("exit 3"), ""))
	p.step(OutcomeBlocked)
	if _, err := p.engine().Submit(t.Context(), SubmitOptions{Form: Submission{Summary: "done"}}); err == nil || !strings.Contains(err.Error(), "not by a person") {
		t.Errorf("an agent's turn: %v", err)
	}
}
