package workspace

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiscard(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "a", "gone": "g", "dir/x": "x", "stays": "s"})
	r.write("mine", "mine")
	r.write("kept", "mine")
	r.write("stays", "mine")
	r.run("add", "stays")
	b := r.baseline()
	before := r.short()
	outside := t.TempDir()
	writeFile(t, filepath.Join(outside, "x"), "x")
	r.write("a", "turn")
	r.remove("gone")
	chmod(t, filepath.Join(r.dir, "dir/x"), 0o755)
	r.write("new/deep/file", "turn")
	r.write("staged", "turn")
	r.run("add", "staged", "a")
	r.write("mine", "turn")
	paths := append(r.observe(b, "").Paths(), "kept", "stays", "never-there")
	for range 2 {
		left, err := r.Discard(t.Context(), b, "", paths)
		if err != nil || !cmp.Equal(left, []string{"mine"}) {
			t.Fatalf("got %q, %v", left, err)
		}
	}
	if got := r.short(); got != before || exists(filepath.Join(r.dir, "new")) || r.read("mine") != "turn" || r.read("kept") != "mine" {
		t.Errorf("got %s, want %s", got, before)
	}
	symlink(t, outside, filepath.Join(r.dir, "out"))
	for _, p := range []string{"out/x", "../x", ".git/config"} {
		if _, err := r.Discard(t.Context(), b, "", []string{p}); err == nil {
			t.Errorf("%q was discarded", p)
		}
	}
	if !exists(filepath.Join(outside, "x")) {
		t.Error("a file outside is gone")
	}
	path, base, _, err := r.Worktree(t.Context(), "turn_1")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(path, "a"), "turn")
	writeFile(t, filepath.Join(path, "new"), "turn")
	r.runIn(path, nil, "commit", "-q", "-a", "-m", "the agent's")
	r.write("a", "by hand")
	r.run("commit", "-q", "-m", "by hand", "a")
	if left, err := r.Discard(t.Context(), base, path, []string{"a", "new"}); err != nil || len(left) != 0 {
		t.Fatalf("got %q, %v", left, err)
	}
	if o := r.observe(base, path); len(o.Files) != 0 {
		t.Errorf("got %q", changes(o))
	}
}
