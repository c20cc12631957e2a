//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// raceLab is a lab of Claude Code, which does the work, and Codex, which edits the check, in a repository.
func raceLab(t *testing.T, byCodex string) *lab {
	t.Helper()
	of := func(name string) kit { return kits[slices.IndexFunc(kits, func(k kit) bool { return k.name == name })] }
	claude, codex := of("claude"), of("codex")
	l := newLab(t, claude, `{"turns":[
		{"match":{"model":"claude-sonnet-4-5","contains":"made it"},"text":"done","repeat":true},
		{"match":{"model":"claude-sonnet-4-5"},"tools":[`+claude.shell("printf 'x\ny\n' > good.txt && echo made it")+`]},
		{"match":{"model":"gpt-5.4","contains":"edited it"},"text":"done","repeat":true},
		{"match":{"model":"gpt-5.4"},"tools":[`+codex.shell(byCodex)+`]},
		{"text":"a title","repeat":true}]}`)
	l.kit = codex
	l.redirect(l.server.URL())
	if err := os.WriteFile(filepath.Join(l.work, "check.sh"), []byte("test -f good.txt || { echo good.txt is missing; exit 1; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.commit()
	return l
}

// commit makes the working directory a repository whose branch main has its files.
func (l *lab) commit() {
	l.t.Helper()
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", "start"}} {
		l.git(args...)
	}
}

func (l *lab) git(args ...string) string {
	l.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = l.work, l.environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		l.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// untouched fails if git says that anything but worktrees has changed.
func (l *lab) untouched(head string) {
	l.t.Helper()
	if out := l.git("status", "--porcelain"); out != "" || l.git("rev-parse", "main") != head {
		l.t.Errorf("the repository has changed:\n%s", out)
	}
	if out := l.git("reflog", "show", "main"); strings.Count(out, "\n") != 0 {
		l.t.Errorf("the branch has moved:\n%s", out)
	}
	if out := l.git("fsck", "--no-dangling"); out != "" {
		l.t.Errorf("git fsck: %s", out)
	}
}

type raced struct {
	Lanes []struct {
		Racer, Outcome string
		RunID          execution.RunID
		Files          int
		Check          *struct{ Restored []string }
	}
}

// TestRace: two vendors' programs do the same work; the one that edits the check does not win, and the work of the other is adopted.
func TestRace(t *testing.T) {
	l := raceLab(t, "echo exit 0 > check.sh && echo edited it")
	head := l.git("rev-parse", "main")
	var r raced
	l.drawbar(&r, "run", "--race", "claude/claude-sonnet-4-5,codex/gpt-5.4", "--check", "sh check.sh", "--approve", "yolo", "make good.txt")
	if len(r.Lanes) != 2 || r.Lanes[0].Racer != "claude/claude-sonnet-4-5" || r.Lanes[0].Outcome != "green" || r.Lanes[0].Files != 1 ||
		r.Lanes[1].Outcome != "red" || r.Lanes[1].Files != 1 || !slices.Equal(r.Lanes[1].Check.Restored, []string{"check.sh"}) {
		t.Fatalf("%+v", r)
	}
	l.untouched(head)
	if n := strings.Count(l.git("worktree", "list"), "\n"); n != 2 {
		t.Errorf("%s", l.git("worktree", "list"))
	}
	var adopted struct{ Files []string }
	l.drawbar(&adopted, "adopt", string(r.Lanes[0].RunID))
	if got := l.git("status", "--porcelain"); got != "A  good.txt" || !slices.Equal(adopted.Files, []string{"good.txt"}) {
		t.Errorf("%s, %v", got, adopted.Files)
	}
	if list := l.git("worktree", "list"); strings.Contains(list, "\n") {
		t.Errorf("after adopt: %s", list)
	}
	if kept := l.git("show", "--format=", "--name-only", "refs/drawbar/runs/"+string(r.Lanes[1].RunID)); kept != "check.sh" {
		t.Errorf("the other's work is %q", kept)
	}
	l.noSurvivors()
}

// TestRaceFirstGreen: the first whose work passes interrupts the others within a second.
func TestRaceFirstGreen(t *testing.T) {
	l := raceLab(t, "sleep 78")
	began := time.Now()
	var r raced
	l.drawbar(&r, "run", "--race", "claude/claude-sonnet-4-5,codex/gpt-5.4", "--check", "sh check.sh", "--first-green", "--approve", "yolo", "make good.txt")
	if len(r.Lanes) != 2 || r.Lanes[0].Outcome != "green" || r.Lanes[1].Outcome != "stopped" || time.Since(began) > 70*time.Second {
		t.Errorf("%+v after %s", r, time.Since(began))
	}
	l.noSurvivors()
}

// TestRaceKilled: what a race that is killed leaves is found and cleaned, and the work that was done can be adopted.
func TestRaceKilled(t *testing.T) {
	l := raceLab(t, "sleep 78")
	head := l.git("rev-parse", "main")
	cmd := exec.Command(binary, "run", "--race", "claude/claude-sonnet-4-5,codex/gpt-5.4", "--check", "test -f good.txt && exec sleep 77", "--approve", "yolo", "make good.txt")
	cmd.Env, cmd.Dir = l.environ(), l.work
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s", out.String())
		}
	})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	l.running("sleep 77", 1)
	l.running("sleep 78", 1)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	l.noSurvivors()
	l.untouched(head)
	var gone struct{ Removed, Kept []struct{ Name string } }
	l.drawbar(&gone, "worktrees", "gc")
	if len(gone.Removed) != 2 || len(gone.Kept) != 1 { // the check's checkout and that of Codex, which did nothing; and that with work in it
		t.Errorf("collected %+v", gone)
	}
	var runs []struct {
		RunID execution.RunID
		Agent string
	}
	l.drawbar(&runs, "ps", "--all")
	for _, run := range runs {
		if run.Agent == "claude" {
			l.drawbar(&struct{}{}, "adopt", string(run.RunID))
		}
	}
	if got := l.git("status", "--porcelain"); got != "A  good.txt" {
		t.Errorf("adopted: %s", got)
	}
	if list := l.git("worktree", "list"); strings.Contains(list, "\n") {
		t.Errorf("left: %s", list)
	}
	l.git("fsck", "--no-dangling")
}
