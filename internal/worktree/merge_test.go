package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// worked is a worktree of a repository, which no run has any more.
func worked(t *testing.T, repo string, m Manager, name string) (Tree, string) {
	t.Helper()
	tree, where, release, err := m.Open(t.Context(), repo, name)
	if err != nil {
		t.Fatal(err)
	}
	release()
	return tree, where
}

func snapshot(t *testing.T, tree Tree, run execution.RunID) Work {
	t.Helper()
	w, err := tree.Snapshot(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func target(t *testing.T, repo string) *Target {
	t.Helper()
	to, err := OpenTarget(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(to.Close)
	return to
}

func read1(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestSnapshot: the work of a run has its commits, what it staged and what it did not, and the worktree is as it was.
func TestSnapshot(t *testing.T) {
	repo, m := repository(t), Manager{Dir: filepath.Join(t.TempDir(), "worktrees")}
	tree, where := worked(t, repo, m, "one")
	if w := snapshot(t, tree, "R0"); w.Commit != w.Base {
		t.Errorf("no work: %+v", w)
	}
	write(t, filepath.Join(where, ".gitignore"), "*.log\n")
	write(t, filepath.Join(where, "committed.txt"), "c")
	run(t, where, "add", "-A")
	run(t, where, "commit", "-q", "-m", "by the agent")
	write(t, filepath.Join(where, "staged.txt"), "s")
	run(t, where, "add", "staged.txt")
	write(t, filepath.Join(where, "sub", "new.txt"), "one\ntwo\n")
	write(t, filepath.Join(where, "debug.log"), "x")
	if err := os.Remove(filepath.Join(where, "a.txt")); err != nil {
		t.Fatal(err)
	}
	before, head := run(t, where, "status", "--porcelain"), run(t, where, "rev-parse", "HEAD")
	w := snapshot(t, tree, "R1")
	if after := run(t, where, "status", "--porcelain"); after != before || run(t, where, "rev-parse", "HEAD") != head {
		t.Errorf("the worktree was\n%s\nand is\n%s", before, after)
	}
	list, err := w.Changes(t.Context())
	want := []Change{{".gitignore", 1, 0}, {"a.txt", 0, 1}, {"committed.txt", 1, 0}, {"staged.txt", 1, 0}, {"sub/new.txt", 2, 0}}
	if err != nil || !slices.Equal(list, want) {
		t.Errorf("%v, %v", list, err)
	}
	if again := snapshot(t, tree, "R1"); again != w {
		t.Errorf("kept twice: %+v and %+v", w, again)
	}
	if kept, ok, err := WorkOf(t.Context(), repo, "R1"); err != nil || !ok || kept.Commit != w.Commit || kept.Base != w.Base {
		t.Errorf("%+v %t %v", kept, ok, err)
	}
	if _, ok, err := WorkOf(t.Context(), repo, "R9"); ok || err != nil {
		t.Errorf("of no run: %t %v", ok, err)
	}
}

// TestRacyIndex: a file that was written again in the same instant as the index, with the same size, is in the work.
func TestRacyIndex(t *testing.T) {
	repo, m := repository(t), Manager{Dir: filepath.Join(t.TempDir(), "worktrees")}
	tree, where := worked(t, repo, m, "one")
	file := filepath.Join(where, "x.txt")
	write(t, file, "old")
	run(t, where, "add", "x.txt")
	index := run(t, where, "rev-parse", "--path-format=absolute", "--git-path", "index")
	instant := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(file, instant, instant); err != nil {
		t.Fatal(err)
	}
	run(t, where, "update-index", "--refresh")
	if err := os.Chtimes(index, instant, instant); err != nil {
		t.Fatal(err)
	}
	write(t, file, "new")
	if err := os.Chtimes(file, instant, instant); err != nil {
		t.Fatal(err)
	}
	w := snapshot(t, tree, "R1")
	if got := w.File(t.Context(), w.Commit, "x.txt"); got != "new" {
		t.Errorf("the work has %q", got)
	}
}

// TestMerge: a work is merged three-way, all of it or nothing.
func TestMerge(t *testing.T) {
	repo, m := repository(t), Manager{Dir: filepath.Join(t.TempDir(), "worktrees")}
	write(t, filepath.Join(repo, "b.txt"), "1\n2\n3\n4\n5\n")
	write(t, filepath.Join(repo, ".gitignore"), "*.log\n")
	run(t, repo, "add", "-A")
	run(t, repo, "commit", "-q", "-m", "more")
	tree, where := worked(t, repo, m, "one")
	write(t, filepath.Join(where, "b.txt"), "1\n2\n3\n4\nfive\n")
	write(t, filepath.Join(where, "n.txt"), "new")
	write(t, filepath.Join(where, ".gitignore"), "nothing\n")
	write(t, filepath.Join(where, "d.log"), "a log")
	work := snapshot(t, tree, "R1")
	write(t, filepath.Join(repo, "b.txt"), "one\n2\n3\n4\n5\n")
	run(t, repo, "commit", "-q", "-a", "-m", "ours")

	to := target(t, repo)
	merged, err := to.Merge(t.Context(), work)
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(why, file, text string) {
		t.Helper()
		write(t, filepath.Join(repo, file), text)
		before := run(t, repo, "status", "--porcelain", "--ignored")
		for name, err := range map[string]error{"staged": to.Stage(t.Context(), merged), "advanced": to.Advance(t.Context(), merged)} {
			var overlap *Overlap
			if !errors.As(err, &overlap) || !slices.Equal(overlap.Files, []string{file}) {
				t.Errorf("%s over %s: %v", name, why, err)
			}
		}
		if after := run(t, repo, "status", "--porcelain", "--ignored"); after != before || read1(t, filepath.Join(repo, file)) != text {
			t.Errorf("over %s:\n%s\n%s", why, before, after)
		}
	}
	refuse("a changed file", "b.txt", "mine\n")
	run(t, repo, "checkout", "-q", "b.txt")
	for file, why := range map[string]string{"n.txt": "a file that git does not have", "d.log": "an ignored file"} {
		refuse(why, file, "mine")
		if err := os.Remove(filepath.Join(repo, file)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(repo, "other.txt"), "mine") // in nobody's way
	if err := to.Stage(t.Context(), merged); err != nil {
		t.Fatal(err)
	}
	if got := run(t, repo, "status", "--porcelain"); got != "M  .gitignore\nM  b.txt\nA  d.log\nA  n.txt\n?? other.txt" || read1(t, filepath.Join(repo, "b.txt")) != "one\n2\n3\n4\nfive\n" {
		t.Errorf("staged:\n%s", got)
	}
	var overlap *Overlap
	if err := to.Nothing(t.Context()); !errors.As(err, &overlap) || len(overlap.Files) != 4 {
		t.Errorf("with something staged: %v", err)
	}
	run(t, repo, "reset", "-q", "--hard")
	if err := to.Nothing(t.Context()); err != nil {
		t.Error(err)
	}
	commit, err := to.Commit(t.Context(), merged, "theirs", work.Commit)
	if err != nil {
		t.Fatal(err)
	}
	if err := to.Advance(t.Context(), commit); err != nil || to.Head != commit || run(t, repo, "rev-parse", "main") != commit {
		t.Errorf("advanced to %s: %v", commit, err)
	}

	// What was committed since conflicts.
	other, where := worked(t, repo, m, "two")
	write(t, filepath.Join(where, "b.txt"), "one\n2\n3\n4\nFIVE\n")
	conflicting := snapshot(t, other, "R2")
	write(t, filepath.Join(repo, "b.txt"), "one\n2\n3\n4\n55\n")
	run(t, repo, "commit", "-q", "-a", "-m", "again")
	if err := to.Advance(t.Context(), commit); execution.CodeOf(err) != execution.CodeConfigLock {
		t.Errorf("after somebody committed: %v", err)
	}
	if _, err := OpenTarget(t.Context(), repo); execution.CodeOf(err) != execution.CodeConfigLock {
		t.Errorf("a second merge at once: %v", err)
	}
	to.Close()
	var conflict *Conflict
	if _, err := target(t, repo).Merge(t.Context(), conflicting); !errors.As(err, &conflict) || !slices.Equal(conflict.Files, []string{"b.txt"}) {
		t.Errorf("a conflict: %v", err)
	}
	if out := run(t, repo, "fsck", "--no-dangling"); out != "" {
		t.Errorf("git fsck: %s", out)
	}
}

// TestWithout: protected files are as they were, however a work has changed them; the rest is the work.
func TestWithout(t *testing.T) {
	repo, m := repository(t), Manager{Dir: filepath.Join(t.TempDir(), "worktrees")}
	for _, file := range []string{"tests/changed", "tests/gone", "tests/dir/deep", "tests/link/x"} {
		write(t, filepath.Join(repo, filepath.FromSlash(file)), "base")
	}
	run(t, repo, "add", "-A")
	run(t, repo, "commit", "-q", "-m", "tests")
	tree, where := worked(t, repo, m, "one")
	write(t, filepath.Join(where, "tests", "changed"), "cheat")
	write(t, filepath.Join(where, "tests", "added"), "cheat")
	write(t, filepath.Join(where, "code"), "work")
	for _, name := range []string{"gone", "dir", "link"} {
		if err := os.RemoveAll(filepath.Join(where, "tests", name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(where, "tests", "dir"), "a file where a directory was")
	if err := os.Symlink("..", filepath.Join(where, "tests", "link")); err != nil {
		t.Skip(err)
	}
	w := snapshot(t, tree, "R1")
	commit, restored, err := w.Without(t.Context(), func(file string) bool { return strings.HasPrefix(file, "tests/") })
	if err != nil {
		t.Fatal(err)
	}
	if got, want := run(t, repo, "diff", "--name-status", w.Base, commit), "A\tcode"; got != want {
		t.Errorf("differs in %q", got)
	}
	if want := []string{"tests/added", "tests/changed", "tests/dir", "tests/dir/deep", "tests/gone", "tests/link", "tests/link/x"}; !slices.Equal(restored, want) {
		t.Errorf("restored %q", restored)
	}
	if same, restored, err := w.Without(t.Context(), func(string) bool { return false }); same != w.Commit || restored != nil || err != nil {
		t.Errorf("nothing protected: %s %v %v", same, restored, err)
	}
}

// TestCheckout: a clean checkout has the files of its commit and goes without a trace, also if the process was killed that made it.
func TestCheckout(t *testing.T) {
	repo, m := repository(t), Manager{Dir: filepath.Join(t.TempDir(), "worktrees")}
	head := run(t, repo, "rev-parse", "HEAD")
	for _, killed := range []bool{false, true} {
		dir, remove, err := m.Checkout(t.Context(), repo, "check-1", head)
		if err != nil || read1(t, filepath.Join(dir, "a.txt")) != "a\n" {
			t.Fatalf("%s: %v", dir, err)
		}
		if s := stand(t, m, "check-1").State; s != Live {
			t.Errorf("in use: %s", s)
		}
		if killed { // what is left is its record and its directory, without a lease
			record := read1(t, dir+record)
			if err := remove(); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "a.txt"), "a\n")
			write(t, dir+".json", record)
			if removed, _, faults := m.Collect(t.Context(), false); len(removed) != 1 || len(faults) > 0 {
				t.Errorf("collected %v, %v", removed, faults)
			}
		} else if err := remove(); err != nil {
			t.Fatal(err)
		}
		left, _ := filepath.Glob(filepath.Join(m.Dir, "*"))
		if len(left) > 0 || strings.Contains(run(t, repo, "worktree", "list"), "check") {
			t.Errorf("killed %t: %v is left", killed, left)
		}
	}
}

// TestLeaseGoes: the lease of a worktree goes with it, and one that was waited for is not that of another.
func TestLeaseGoes(t *testing.T) {
	repo, m := repository(t), Manager{Dir: filepath.Join(t.TempDir(), "worktrees")}
	tree, _ := worked(t, repo, m, "one")
	if _, err := m.Remove(t.Context(), tree, OwnNothing); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(m.Dir, "*", "one*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	tree, _ = worked(t, repo, m, "one")
	if list := m.Of(filepath.Join(tree.Path, "sub")); len(list) != 1 || list[0].Name != "one" {
		t.Errorf("%v", list)
	}
	if list := m.Of(repo); len(list) > 0 {
		t.Errorf("of the repository: %v", list)
	}
}
