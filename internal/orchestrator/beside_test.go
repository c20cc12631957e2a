//go:build unix

package orchestrator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/internal/governance/protocol"
)

// besideProject is a project whose .gitignore names what the original's does, and nothing of ours.
func besideProject(t testing.TB, config string) *world {
	t.Helper()
	p := bare(t, config)
	var lines []string
	for _, name := range []string{"state.json", "session.json", "history.jsonl", "decision-ledger.jsonl", "events.jsonl", "run-history.jsonl", "staging/", "dispatch/"} {
		lines = append(lines, protocol.Dir+"/"+name)
	}
	p.write(".gitignore", strings.Join(lines, "\n")+"\nTALK.md\nHUMAN_TASKS.md\n")
	p.git("init", "-q", "-b", "main")
	p.git("add", "-A")
	p.git("commit", "-qm", "start")
	return p
}

// TestOwnFilesAreHiddenFromGit: the original refuses to assign a turn beside untracked files that it does not know, and deletes
// them when it accepts one.
func TestOwnFilesAreHiddenFromGit(t *testing.T) {
	p := besideProject(t, one(runtimeOf("ok"), ""))
	p.step(OutcomeAccepted)
	if out := p.git("status", "--porcelain", "--untracked-files=all"); out != "" {
		t.Errorf("git status says:\n%s", out)
	}
	if _, err := os.Stat(filepath.Join(p.root, filepath.FromSlash(protocol.ChainFile))); err != nil {
		t.Error(err)
	}
	p.sound()
}

// TestIgnoreFileOfTheUserStays: what a user wrote there is not ours to change.
func TestIgnoreFileOfTheUserStays(t *testing.T) {
	p := newProject(t, one(runtimeOf("ok"), ""))
	p.write(protocol.IgnoreFile, "mine\n")
	p.step(OutcomeAccepted)
	if got := p.read(protocol.IgnoreFile); got != "mine\n" {
		t.Errorf("it is %q", got)
	}
}

// TestHumanQueueIsTheFile: a task of the original stands in human-escalations.jsonl and nowhere else.
func TestHumanQueueIsTheFile(t *testing.T) {
	const raised = `{"kind":"raised","escalation_id":"hesc_00000000000000aa","run_id":"RUN","phase":"implementation","type":"needs_decision","blocked_on":"escalation:operator:stop","created_at":"2026-06-01T10:00:00.000Z"}` + "\n"
	p := newProject(t, one(runtimeOf("ok"), ""))
	p.step(OutcomeAccepted)
	p.write(protocol.EscalationsFile, strings.ReplaceAll(raised, "RUN", p.state().ID()))
	if _, err := p.engine().Unblock(t.Context(), "hesc_00000000000000bb"); err == nil || hint(err) == "" {
		t.Errorf("an unknown task: %v", err)
	}
	if _, err := p.engine().Unblock(t.Context(), "hesc_00000000000000aa"); err != nil {
		t.Fatalf("a task of a run that goes on: %v", err)
	}
	lines, err := p.view().Human()
	if err != nil || len(lines) != 2 || !strings.Contains(string(lines[1]), `"kind":"resolved"`) {
		t.Errorf("the queue is %s, %v", lines, err)
	}
	if strings.Contains(p.read(protocol.HumanTasksFile), "hesc_00000000000000aa — needs_decision") {
		t.Error("the task stands open in the file for people")
	}
	// And one that blocks.
	e, err := p.engine().Escalate(t.Context(), EscalateOptions{Reason: "stop here"})
	if err != nil || e.Outcome != OutcomeBlocked {
		t.Fatal(e, err)
	}
	p.write(protocol.EscalationsFile, p.read(protocol.EscalationsFile)+strings.NewReplacer("RUN", p.state().ID(), "00aa", "00cc").Replace(raised))
	if _, err := p.engine().Unblock(t.Context(), "hesc_00000000000000cc"); err != nil {
		t.Fatal(err)
	}
	if p.state().Status != protocol.RunActive || len(p.state().OpenHuman) != 0 {
		t.Errorf("the state is %+v", p.state())
	}
}

// TestGeneratedReportsAreNobodysWork: the original writes reports by itself, also within a turn.
func TestGeneratedReportsAreNobodysWork(t *testing.T) {
	p := besideProject(t, one(runtimeOf("ok and a report"), ""))
	p.step(OutcomeAccepted)
	if files := p.history()[0].FilesChanged; len(files) != 1 || files[0] != "work.txt" {
		t.Errorf("the turn has the files %v", files)
	}
}

func init() {
	workers["ok and a report"] = func(w *worker) {
		w.append("work.txt")
		w.put(".agentxchain/reports/report-run_1.md", "# Report\n")
		w.put(".agentxchain/reports/export-run_1.json", "{}\n")
		w.stage(w.result("work.txt"))
	}
}
