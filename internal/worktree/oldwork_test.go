package worktree

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestOldWork: the work of a run stays in git for 90 days, and nothing else goes with it.
func TestOldWork(t *testing.T) {
	repo, m := repository(t), Manager{Dir: filepath.Join(t.TempDir(), "worktrees")}
	tree, _, release, err := m.Open(t.Context(), repo, "one")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(tree.Path, "new.txt"), "new\n")
	if _, err := tree.Snapshot(t.Context(), "R1"); err != nil {
		t.Fatal(err)
	}
	release()
	run(t, repo, "update-ref", "refs/drawbar/other", "HEAD")
	refs := func() string { return run(t, repo, "for-each-ref", "--format=%(refname)") }
	all, want := refs(), []OldWork{{Repository: repo, Runs: []string{"R1"}}}
	for _, c := range []struct {
		after time.Duration
		dry   bool
		want  []OldWork
		gone  bool
	}{
		{89 * 24 * time.Hour, false, nil, false}, {91 * 24 * time.Hour, true, want, false}, {91 * 24 * time.Hour, false, want, true}, {91 * 24 * time.Hour, false, nil, true},
	} {
		old, faults := m.CollectWork(t.Context(), time.Now().Add(c.after), c.dry)
		if diff := cmp.Diff(c.want, old); diff != "" || faults != nil {
			t.Errorf("after %v: %v\n%s", c.after, faults, diff)
		}
		if gone := refs() != all; gone != c.gone {
			t.Errorf("after %v: %s", c.after, refs())
		}
	}
	if got, want := refs(), "refs/drawbar/other\nrefs/heads/drawbar/one\nrefs/heads/main"; got != want {
		t.Errorf("left: %s", got)
	}
}
