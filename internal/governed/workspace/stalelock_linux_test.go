package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A lock that a killed git left is taken away after the wait; one beside which a git is at work stays.
func TestAbandonedLocks(t *testing.T) {
	t.Parallel()
	for _, atWork := range []bool{false, true} {
		r := newRepo(t, map[string]string{"a": "a"})
		b := r.baseline()
		r.write("a", "turn")
		p := prepare(r, request(&b, "a"))
		lock := filepath.Join(r.dir, ".git/index.lock")
		writeFile(t, lock, "")
		if atWork {
			c := exec.CommandContext(t.Context(), "git", "cat-file", "--batch") // waits for its input
			c.Dir = r.dir
			in, err := c.StdinPipe()
			if err == nil {
				err = c.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = in.Close(); _ = c.Wait() }()
		}
		err := r.Apply(t.Context(), p)
		if atWork {
			if err == nil || !strings.Contains(err.Error(), "index.lock") || !exists(lock) {
				t.Errorf("with a git at work: %v, the lock is there: %t", err, exists(lock))
			}
			continue
		}
		if err != nil || r.short() != "" {
			t.Errorf("%v, status %q", err, r.short())
		}
	}
	r := newRepo(t, map[string]string{"a": "a"})
	young := filepath.Join(r.dir, ".git/index.lock")
	writeFile(t, young, "")
	if r.abandoned(young) {
		t.Error("a lock of this moment counts as abandoned")
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(young, old, old); err != nil || !r.abandoned(young) {
		t.Errorf("a lock of an hour ago does not: %v", err)
	}
}
