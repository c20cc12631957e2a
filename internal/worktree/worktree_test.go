package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := git(t.Context(), dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// repository makes a repository with one commit.
func repository(t *testing.T) string {
	t.Helper()
	for name, value := range map[string]string{"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org",
		"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org"} {
		t.Setenv(name, value)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, "init", "-q", "-b", "main")
	write(t, filepath.Join(dir, "a.txt"), "a\n")
	run(t, dir, "add", "-A")
	run(t, dir, "commit", "-q", "-m", "start")
	return dir
}

func stand(t *testing.T, m Manager, name string) Tree {
	t.Helper()
	tree, err := m.Find(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// TestWorktree: a worktree is made once, belongs to one run at a time, and goes only when nothing is lost with it.
func TestWorktree(t *testing.T) {
	repo, m := repository(t), Manager{Dir: filepath.Join(t.TempDir(), "worktrees")}
	ctx := t.Context()
	tree, where, release, err := m.Open(ctx, repo, "one")
	if err != nil {
		t.Fatal(err)
	}
	if where != tree.Path || strings.HasPrefix(where, repo) || run(t, where, "branch", "--show-current") != "drawbar/one" {
		t.Errorf("%+v in %s", tree, where)
	}
	if _, _, _, err := m.Open(ctx, repo, "one"); execution.CodeOf(err) != execution.CodeConfigLock {
		t.Errorf("a second run: %v", err)
	}
	if s := stand(t, m, "one").State; s != Live {
		t.Errorf("in use: %s", s)
	}
	if _, err := m.Remove(ctx, tree, OwnSubmodules); execution.CodeOf(err) != execution.CodeConfigLock || !exists(where) {
		t.Errorf("removed while in use: %v", err)
	}
	release()
	if got := stand(t, m, "one"); got.State != Clean || !slices.Equal(got.InBranch, []string{"main"}) {
		t.Errorf("nothing in it: %+v", got)
	}

	write(t, filepath.Join(where, "new.txt"), "x")
	if got := stand(t, m, "one"); got.State != Dirty || !slices.Equal(got.Changes, []string{"new.txt"}) {
		t.Errorf("with a file: %+v", got)
	}
	if _, err := m.Remove(ctx, stand(t, m, "one"), OwnNothing); execution.CodeOf(err) != execution.CodeValidation || !exists(filepath.Join(where, "new.txt")) {
		t.Errorf("removed with a file: %v", err)
	}
	run(t, where, "add", "-A")
	run(t, where, "commit", "-q", "-m", "work")
	if got := stand(t, m, "one"); got.State != Unmerged || got.Commits != 1 {
		t.Errorf("with a commit: %+v", got)
	}
	tip := run(t, where, "rev-parse", "HEAD")
	removed, kept, faults := m.Collect(ctx, false)
	if len(removed) > 0 || len(kept) != 1 || len(faults) > 0 {
		t.Errorf("collected: %v %v %v", removed, kept, faults)
	}
	again, _, release, err := m.Open(ctx, repo, "one")
	if err != nil || again.Path != where || run(t, where, "rev-parse", "HEAD") != tip {
		t.Fatalf("opened again: %+v %v", again, err)
	}
	release()

	// Without its directory, the branch has the commit; with the branch merged, nothing is lost.
	r, err := m.Remove(ctx, stand(t, m, "one"), OwnNothing)
	if err != nil || !r.KeptBranch || exists(where) || !exists(filepath.Join(r.Trash, "new.txt")) {
		t.Errorf("removed: %+v %v", r, err)
	}
	if run(t, repo, "rev-parse", "drawbar/one") != tip || strings.Contains(run(t, repo, "worktree", "list"), "one") {
		t.Error("the branch is lost, or git has the worktree still")
	}
	if _, _, _, err := m.Open(ctx, repo, "one"); execution.CodeOf(err) != execution.CodeValidation {
		t.Errorf("over the branch that stayed: %v", err)
	}
	_, where, release, err = m.Open(ctx, repo, "two")
	if err != nil {
		t.Fatal(err)
	}
	release()
	write(t, filepath.Join(where, "two.txt"), "x")
	run(t, where, "add", "-A")
	run(t, where, "commit", "-q", "-m", "two")
	run(t, repo, "merge", "-q", "drawbar/two")
	if removed, _, _ := m.Collect(ctx, true); len(removed) != 1 || !exists(where) || !slices.Equal(removed[0].InBranch, []string{"main"}) {
		t.Errorf("would be collected: %+v", removed)
	}
	if removed, _, faults := m.Collect(ctx, false); len(removed) != 1 || exists(where) || len(faults) > 0 {
		t.Errorf("collected: %+v %v", removed, faults)
	}
	if out := run(t, repo, "branch", "--list", "drawbar/two"); out != "" {
		t.Errorf("the merged branch stays: %s", out)
	}
	if out := run(t, repo, "fsck", "--no-dangling"); out != "" {
		t.Errorf("git fsck: %s", out)
	}
}

// TestSubmoduleCommits: commits in a submodule are in the worktree's own part of the repository, and are not lost with it.
func TestSubmoduleCommits(t *testing.T) {
	lib, repo, m, ctx := repository(t), repository(t), Manager{Dir: filepath.Join(t.TempDir(), "worktrees")}, t.Context()
	run(t, repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", lib, "lib")
	run(t, repo, "commit", "-q", "-m", "lib")
	tree, where, release, err := m.Open(ctx, repo, "one")
	if err != nil {
		t.Fatal(err)
	}
	release()
	run(t, where, "-c", "protocol.file.allow=always", "submodule", "update", "-q", "--init")
	if s := stand(t, m, "one"); s.State != Clean || s.Submodules != nil {
		t.Errorf("with nothing of its own: %+v", s)
	}
	sub := filepath.Join(where, "lib")
	write(t, filepath.Join(sub, "b.txt"), "b\n")
	run(t, sub, "add", "-A")
	run(t, sub, "commit", "-q", "-m", "only here")
	commit := run(t, sub, "rev-parse", "HEAD")
	run(t, sub, "branch", "kept")
	run(t, sub, "checkout", "-q", "HEAD^") // git status of the project shows nothing
	if s := stand(t, m, "one"); s.State != Dirty || len(s.Changes) > 0 || !slices.Equal(s.Submodules, []string{"lib"}) {
		t.Errorf("with a commit of its own: %+v", s)
	}
	if removed, kept, faults := m.Collect(ctx, false); len(removed)+len(faults) > 0 || len(kept) != 1 {
		t.Errorf("collected %v %v %v", removed, kept, faults)
	}
	if _, err := m.Remove(ctx, tree, OwnNothing); err == nil || !strings.Contains(err.Error(), "lib") || !exists(where) {
		t.Errorf("removed: %v", err)
	}
	if err := os.RemoveAll(where); err != nil { // by hand
		t.Fatal(err)
	}
	r, err := m.Remove(ctx, stand(t, m, "one"), OwnSubmodules)
	if err != nil || r.Modules == "" || run(t, r.Modules, "--git-dir="+filepath.Join(r.Modules, "lib"), "rev-parse", "kept") != commit {
		t.Errorf("%+v: %v", r, err)
	}
}

// TestSubmodulesCheckedOut: a new worktree has the submodules that are checked out in the repository, and theirs, also at commits that no
// remote has; one that is not checked out there stays empty, and so does one at a commit that is not there, which is said.
func TestSubmodulesCheckedOut(t *testing.T) {
	deep, lib, repo, ctx := repository(t), repository(t), repository(t), t.Context()
	var said []string
	m := Manager{Dir: filepath.Join(t.TempDir(), "worktrees"), Setup: Setup{Say: func(line string) { said = append(said, line) }}}
	add := func(to, module, path string) {
		run(t, to, "-c", "protocol.file.allow=always", "submodule", "add", "-q", module, path)
		run(t, to, "commit", "-q", "-m", path)
	}
	add(lib, deep, "a dir/deep")
	add(repo, lib, "lib")
	add(repo, deep, "other")
	run(t, repo, "submodule", "deinit", "-q", "other")
	sub := filepath.Join(repo, "lib")
	run(t, sub, "-c", "protocol.file.allow=always", "submodule", "update", "-q", "--init")
	write(t, filepath.Join(sub, "local.txt"), "local\n")
	run(t, sub, "add", "-A")
	run(t, sub, "commit", "-q", "-m", "not pushed")
	run(t, repo, "commit", "-q", "-am", "lib")
	tree, where, release, err := m.Open(ctx, repo, "one")
	if err != nil {
		t.Fatal(err)
	}
	release()
	for _, file := range []string{"lib/local.txt", "lib/a.txt", "lib/a dir/deep/a.txt"} {
		if !exists(filepath.Join(where, filepath.FromSlash(file))) {
			t.Errorf("%s is missing", file)
		}
	}
	if exists(filepath.Join(where, "other", "a.txt")) || len(said) > 0 {
		t.Errorf("other is checked out, or %q", said)
	}
	if got := run(t, filepath.Join(where, "lib"), "remote", "get-url", "origin"); got != lib {
		t.Errorf("the remote is %s", got)
	}
	if s := stand(t, m, "one"); s.State != Clean || s.Submodules != nil {
		t.Errorf("with nothing of its own: %+v", s)
	}
	if status := run(t, repo, "submodule", "status", "--recursive"); strings.Contains(status, "+") || strings.Contains(run(t, repo, "config", "--list", "--local"), where) {
		t.Errorf("the repository has changed: %s", status)
	}
	if _, err := m.Remove(ctx, tree, OwnNothing); err != nil || exists(where) {
		t.Errorf("removed: %v", err)
	}

	run(t, repo, "update-index", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",lib")
	run(t, repo, "commit", "-q", "-m", "a commit from elsewhere")
	if _, where, release, err = m.Open(ctx, repo, "two"); err != nil || !slices.Equal(said, []string{"submodules without their files: lib; their repositories in " + repo + " lack the commit or cannot be read"}) {
		t.Fatalf("%q, %v", said, err)
	}
	release()
	if exists(filepath.Join(where, "lib", "a.txt")) {
		t.Error("lib is at some other commit")
	}

	write(t, filepath.Join(sub, ".git"), "gitdir: gone\n")
	said = nil
	if _, _, release, err = m.Open(ctx, repo, "three"); err != nil || len(said) != 1 || !strings.Contains(said[0], "files: lib;") {
		t.Fatalf("a broken submodule: %q, %v", said, err)
	}
	release()
}

// TestDetachedCommits: commits that an agent made beside its branch are not lost.
func TestDetachedCommits(t *testing.T) {
	repo, m := repository(t), Manager{Dir: filepath.Join(t.TempDir(), "worktrees")}
	_, where, release, err := m.Open(t.Context(), repo, "one")
	if err != nil {
		t.Fatal(err)
	}
	release()
	run(t, where, "checkout", "-q", "--detach")
	write(t, filepath.Join(where, "x.txt"), "x")
	run(t, where, "add", "-A")
	run(t, where, "commit", "-q", "-m", "beside")
	if got := stand(t, m, "one"); got.State != Unmerged || got.Commits != 1 {
		t.Errorf("%+v", got)
	}
	if removed, _, _ := m.Collect(t.Context(), false); len(removed) > 0 {
		t.Errorf("collected: %+v", removed)
	}
}

// TestRefused: nothing is made where a worktree cannot be.
func TestRefused(t *testing.T) {
	repo, m := repository(t), Manager{Dir: filepath.Join(t.TempDir(), "worktrees")}
	empty := t.TempDir()
	run(t, empty, "init", "-q")
	run(t, repo, "branch", "drawbar/taken")
	write(t, filepath.Join(m.home(repo), "broken.json"), "{")
	write(t, filepath.Join(m.home(repo), "there", "x"), "")
	for name, c := range map[string]struct {
		dir, tree string
		code      execution.ErrorCode
	}{
		"no repository": {t.TempDir(), "one", execution.CodeValidation}, "no commit": {empty, "one", execution.CodeValidation}, "a branch": {repo, "taken", execution.CodeValidation},
		"a directory": {repo, "there", execution.CodeConfig}, "a broken record": {repo, "broken", execution.CodeConfig},
		"capitals": {repo, "One", execution.CodeValidation}, "a path": {repo, "../one", execution.CodeValidation}, "the trash": {repo, "trash", execution.CodeValidation}, "nothing": {repo, "", execution.CodeValidation},
	} {
		if _, _, _, err := m.Open(t.Context(), c.dir, c.tree); execution.CodeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if out := run(t, repo, "worktree", "list"); strings.Contains(out, m.Dir) {
		t.Errorf("%s", out)
	}
	if list, faults := m.List(context.Background()); len(list) > 0 || len(faults) != 1 {
		t.Errorf("%v %v", list, faults)
	}
}

// TestMissing: a worktree whose directory somebody removed is known, and collected if its commits are elsewhere.
func TestMissing(t *testing.T) {
	repo, m := repository(t), Manager{Dir: filepath.Join(t.TempDir(), "worktrees")}
	_, where, release, err := m.Open(t.Context(), repo, "one")
	if err != nil {
		t.Fatal(err)
	}
	release()
	if err := os.RemoveAll(where); err != nil {
		t.Fatal(err)
	}
	if got := stand(t, m, "one"); got.State != Missing {
		t.Errorf("%+v", got)
	}
	if _, again, release, err := m.Open(t.Context(), repo, "one"); err != nil || again != where || run(t, where, "branch", "--show-current") != "drawbar/one" {
		t.Errorf("opened again: %s %v", again, err)
	} else {
		release()
	}
	if err := os.RemoveAll(where); err != nil {
		t.Fatal(err)
	}
	if removed, _, faults := m.Collect(t.Context(), false); len(removed) != 1 || len(faults) > 0 {
		t.Errorf("%v %v", removed, faults)
	}
	if _, _, release, err := m.Open(t.Context(), repo, "one"); err != nil {
		t.Errorf("made again: %v", err)
	} else {
		release()
	}
}

// TestInterrupted: a worktree whose making was killed is made anew, or collected; nothing of it stays in the repository.
func TestInterrupted(t *testing.T) {
	repo, m := repository(t), Manager{Dir: filepath.Join(t.TempDir(), "worktrees")}
	for name, left := range map[string]func(Tree){
		"record": func(Tree) {},
		"branch": func(c Tree) { run(t, repo, "branch", c.Branch, c.Base) },
		"half": func(c Tree) {
			run(t, repo, "worktree", "add", "-q", "--lock", "-b", c.Branch, c.Path, c.Base)
			_ = os.Remove(filepath.Join(c.Path, "a.txt"))
		},
		"collect": func(c Tree) { run(t, repo, "worktree", "add", "-q", "--lock", "-b", c.Branch, c.Path, c.Base) },
	} {
		file := filepath.Join(m.home(repo), name+record)
		begun := Tree{Name: name, Path: strings.TrimSuffix(file, record), Repository: repo, Branch: branches + name, Base: run(t, repo, "rev-parse", "HEAD"), file: file}
		if err := os.MkdirAll(m.home(repo), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := begun.write(); err != nil {
			t.Fatal(err)
		}
		left(begun)
		if got := stand(t, m, name); got.State != Partial {
			t.Errorf("%s: %+v", name, got)
		}
		if name == "collect" {
			if removed, _, faults := m.Collect(t.Context(), false); len(removed) != 1 || len(faults) > 0 {
				t.Errorf("%v %v", removed, faults)
			}
		} else if _, where, release, err := m.Open(t.Context(), repo, name); err != nil || !exists(filepath.Join(where, "a.txt")) {
			t.Errorf("%s: opened: %v", name, err)
		} else {
			release()
			if r, err := m.Remove(t.Context(), stand(t, m, name), OwnNothing); err != nil || r.KeptBranch {
				t.Errorf("%s: %+v %v", name, r, err)
			}
		}
		if out := run(t, repo, "branch", "--list", "drawbar/*") + strings.Join(strings.Split(run(t, repo, "worktree", "list"), "\n")[1:], ""); out != "" || exists(file) {
			t.Errorf("%s: left: %s", name, out)
		}
	}
}

// TestManyAtOnce: git fails to add a worktree while another one is half made or half removed; that is nobody's business.
func TestManyAtOnce(t *testing.T) {
	repo, m := repository(t), Manager{Dir: filepath.Join(t.TempDir(), "worktrees")}
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			for j := range 6 {
				tree, _, release, err := m.Open(t.Context(), repo, fmt.Sprintf("task-%d-%d", i, j))
				if err != nil {
					t.Error(err)
					return
				}
				release()
				if _, err := m.Remove(t.Context(), tree, OwnSubmodules); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
