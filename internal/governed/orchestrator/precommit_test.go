//go:build unix

package orchestrator

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/settings/trust"
)

func init() {
	// tidies writes untidy text, and corrects it when its prompt says what is wrong.
	workers["tidies"] = func(w *worker) {
		text := "untidy \n"
		if strings.Contains(w.prompt, "spaces at the end") {
			text = "tidy\n"
		}
		w.put("src/a.txt", text)
		w.stage(w.result("src/a.txt"))
	}
}

const (
	hooksRun   = `,"checkpoint":{"hooks":"run"}`
	refuses    = "#!/bin/sh\ngit diff --cached --check || { echo spaces at the end; exit 1; }\n"
	formats    = "#!/bin/sh\nfor f in $(git diff --cached --name-only); do sed -i 's/ *$//' $f; git add $f; done\n"
	neverTidy  = "#!/bin/sh\nfor f in $(git diff --cached --name-only); do echo more >> $f; git add $f; done\n"
	noShebang  = "test \"$(git diff --cached --name-only)\" = src/a.txt || exit 9\ntest -n \"$GIT_INDEX_FILE\" && touch .git/hooked\n"
	indexOnly  = "#!/bin/sh\nsed -i 's/ *$//' src/a.txt\n"
	preCommits = ".git/hooks/pre-commit"
)

func (p *world) hook(script string) {
	p.t.Helper()
	p.write(preCommits, script)
	if err := os.Chmod(filepath.Join(p.root, preCommits), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

// git's pre-commit hook checks the files of a turn as it checks those of a person: what it refuses goes back to the agent, what it formats is
// committed, and a person's own staged files are not part of it.
func TestPreCommitHook(t *testing.T) {
	t.Parallel()
	for _, more := range []string{"", `,"workspace":"worktree"`} {
		p := newProject(t, one(runtimeOf("tidies"), hooksRun+more))
		p.hook(refuses)
		staged := ""
		if more != "" { // else the turn does not start
			staged = "mine.txt"
			p.write(staged, "staged by a person \n")
			p.git("add", staged)
		}
		p.step(govern.OutcomeAccepted)
		if got := p.git("show", "HEAD:src/a.txt"); got != "tidy" {
			t.Errorf("committed %q", got)
		}
		if h := p.history(); h[0].Attempt != 2 || p.git("diff", "--cached", "--name-only") != staged {
			t.Errorf("attempt %d, staged %s", h[0].Attempt, p.git("diff", "--cached", "--name-only"))
		}
		r := newProject(t, one(runtimeOf("tidies"), hooksRun+more))
		r.hook(refuses)
		if rep := r.step(govern.OutcomeFailed, govern.StepOptions{NoRepair: true}); rep.Code != codePreCommit || !strings.Contains(rep.Errors[0], "spaces at the end") || len(r.accepted()) != 0 {
			t.Errorf("%s %v", rep.Code, rep.Errors)
		}
		r.sound()
		p.sound()

		for name, script := range map[string]string{"formats and stages": formats, "formats only": indexOnly} {
			p := newProject(t, one(runtimeOf("tidies"), hooksRun+more))
			p.hook(script)
			rep := p.step(govern.OutcomeAccepted)
			got, dirty := p.git("show", "HEAD:src/a.txt"), p.git("status", "--porcelain")
			if got != "untidy" || dirty != "" || !strings.Contains(strings.Join(rep.Warnings, "\n"), "hook changed files") {
				t.Errorf("%s%s: %q, %q, %q", name, more, got, dirty, rep.Warnings)
			}
			p.sound()
		}
	}
}

func TestPreCommitHookIsRefusedOrMissing(t *testing.T) {
	t.Parallel()
	p := newProject(t, one(runtimeOf("tidies"), hooksRun))
	p.hook(neverTidy)
	if r := p.step(govern.OutcomeFailed, govern.StepOptions{NoRepair: true}); !strings.Contains(r.Errors[0], "each time it runs") {
		t.Errorf("%v", r.Errors)
	}

	p = newProject(t, one(runtimeOf("tidies"), hooksRun)) // a script without a first line for the system
	p.hook(noShebang)
	p.step(govern.OutcomeAccepted)
	if _, err := os.Stat(filepath.Join(p.root, ".git/hooked")); err != nil {
		t.Error("the hook did not run")
	}

	for _, config := range []string{"", `,"checkpoint":{"hooks":"skip"}`, hooksRun} {
		p = newProject(t, one(runtimeOf("tidies"), config))
		if p.write(preCommits, refuses); config != hooksRun {
			p.hook(refuses)
		} // else it is not executable, so git ignores it
		p.step(govern.OutcomeAccepted, govern.StepOptions{NoRepair: true})
	}
}

// What is committed after the acceptance is checked too.
func TestPreCommitHookOfCheckpoint(t *testing.T) {
	t.Parallel()
	p := newProject(t, one(runtimeOf("ok"), hooksRun))
	p.step(govern.OutcomeAccepted)
	p.git("reset", "-q", "--soft", "HEAD~1")
	p.hook("#!/bin/sh\necho not today; exit 1\n")
	if _, err := p.engine().Checkpoint(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "not today") || p.git("log", "--format=%s") != "start" {
		t.Errorf("%v", err)
	}
	p.hook("#!/bin/sh\n")
	if r, err := p.engine().Checkpoint(t.Context(), ""); err != nil || r.Commit == "" {
		t.Errorf("%+v %v", r, err)
	}
}

// The hook runs only if its user trusts its content, wherever git's settings place it.
func TestPreCommitHookNeedsTrust(t *testing.T) {
	t.Parallel()
	p := newProject(t, one(runtimeOf("ok"), hooksRun))
	p.git("config", "core.hooksPath", "hooks/_")
	p.write("hooks/pre-commit", "exit 0\n")
	p.write("hooks/_/pre-commit", "#!/bin/sh\nsh hooks/pre-commit\n")
	if err := os.Chmod(filepath.Join(p.root, "hooks/_/pre-commit"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.git("add", "-A")
	p.git("commit", "-qm", "hooks", "--no-verify")
	var seen []trust.Item
	engine := p.engine(func(o *Options) {
		o.Trust = func(_ string, items []trust.Item) error {
			for _, i := range items {
				if i.Place == "checkpoint.hooks" {
					seen = append(seen, i)
				}
			}
			if len(seen) > 1 {
				return errors.New("not trusted")
			}
			return nil
		}
	})
	r, err := engine.Step(t.Context(), govern.StepOptions{})
	if err == nil || !strings.Contains(err.Error(), "not trusted") || len(p.accepted()) != 0 {
		t.Fatalf("%v %v", r.Outcome, err)
	}
	if len(seen) != 2 || len(seen[1].Files) != 2 || !strings.Contains(seen[1].Runs, "sha256 ") {
		t.Errorf("%+v", seen)
	}
}
