package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestHiddenPaths reads the marks that make git overlook files, from every form of an index.
func TestHiddenPaths(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2", "3", "4"} {
		r := newRepo(t, nil)
		for _, name := range []string{"a", "dir/one", "dir/other", "z"} {
			r.write(name, name)
		}
		r.run("add", "-A")
		r.run("update-index", "--index-version", version)
		r.run("update-index", "--assume-unchanged", "dir/other")
		r.run("update-index", "--skip-worktree", "z")
		index, err := os.ReadFile(filepath.Join(r.dir, ".git", "index"))
		if err != nil {
			t.Fatal(err)
		}
		if got := hiddenPaths(index, 20); !slices.Equal(got, []string{"dir/other", "z"}) {
			t.Errorf("version %s: %q", version, got)
		}
		for n := range index {
			hiddenPaths(index[:n], 20) // a torn one does not end the process
		}
	}
}
