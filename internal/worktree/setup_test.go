package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestSetup: a new worktree, one whose directory was removed, and a clean checkout get copies of ignored files and what the commands make.
func TestSetup(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: the commands are those of a Unix shell")
	}
	repo := repository(t)
	write(t, filepath.Join(repo, ".gitignore"), ".env*\ndeps/\nkeys\n")
	write(t, filepath.Join(repo, ".env.kept"), "committed\n")
	run(t, repo, "add", "-f", "-A")
	run(t, repo, "commit", "-q", "-m", "more")
	write(t, filepath.Join(repo, ".gitignore"), ".env*\ndeps/\nkeys\nlater\n")
	write(t, filepath.Join(repo, "later"), "x")
	outside := t.TempDir()
	write(t, filepath.Join(outside, "id"), "secret\n")
	old := time.Now().Add(-48 * time.Hour).Truncate(time.Second)
	for name, text := range map[string]string{".env": "KEY=1\n", ".env.kept": "changed\n", "deps/a/tool": "#!/bin/sh\n", "sub/.env": "KEY=2\n", "notes.txt": "mine\n"} {
		write(t, filepath.Join(repo, name), text)
	}
	for _, err := range []error{os.Chmod(filepath.Join(repo, "deps/a/tool"), 0o700), os.Chtimes(filepath.Join(repo, ".env"), old, old),
		os.Symlink("a/tool", filepath.Join(repo, "deps/link")), os.Symlink(outside, filepath.Join(repo, "keys"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var said []string
	m := Manager{Dir: filepath.Join(t.TempDir(), "worktrees"), Setup: Setup{Copy: []string{"**/.env*", "deps", "keys/*", "notes.txt", "later", "no-such"},
		Command: Command{Line: `test -f "$DRAWBAR_REPOSITORY/notes.txt" && cat .env > first && pwd > second`, Root: filepath.Join(repo, "sub")},
		Say:     func(line string) { said = append(said, line) }}}
	has := func(dir string) {
		t.Helper()
		for name, want := range map[string]string{".env": "KEY=1\n", ".env.kept": "committed\n", "deps/a/tool": "#!/bin/sh\n", "deps/link": "#!/bin/sh\n", "sub/.env": "KEY=2\n",
			"sub/first": "KEY=2\n", "sub/second": filepath.Join(dir, "sub") + "\n"} {
			if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
				t.Errorf("%s: %q, %v; want %q", name, b, err, want)
			}
		}
		if i, err := os.Stat(filepath.Join(dir, ".env")); err != nil || !i.ModTime().Equal(old) {
			t.Errorf("its time: %v, %v", i, err)
		}
		if i, err := os.Stat(filepath.Join(dir, "deps/a/tool")); err != nil || i.Mode().Perm() != 0o700 {
			t.Errorf("its mode: %v, %v", i, err)
		}
		for _, name := range []string{"notes.txt", "later", "keys/id"} {
			if exists(filepath.Join(dir, name)) {
				t.Errorf("%s is copied: git does not ignore it, or not in the commit, or it is behind a link", name)
			}
		}
	}
	tree, _, release, err := m.Open(t.Context(), repo, "one")
	if err != nil {
		t.Fatal(err)
	}
	release()
	has(tree.Path)
	if len(said) != 1 {
		t.Errorf("said %q", said)
	}
	write(t, filepath.Join(tree.Path, "sub/first"), "mine")
	if _, _, release, err = m.Open(t.Context(), repo, "one"); err != nil {
		t.Fatal(err)
	}
	release()
	if b, _ := os.ReadFile(filepath.Join(tree.Path, "sub/first")); string(b) != "mine" {
		t.Errorf("a worktree that was there is set up again: %q", b)
	}
	if err := os.RemoveAll(tree.Path); err != nil {
		t.Fatal(err)
	}
	if _, _, release, err = m.Open(t.Context(), repo, "one"); err != nil {
		t.Fatal(err)
	}
	release()
	has(tree.Path)
	// The same again, but killed in the middle of it.
	if tree = stand(t, m, "one"); tree.Restoring {
		t.Error("a worktree that is there is made again")
	}
	tree.Restoring = true
	if err := errors.Join(tree.write(), os.RemoveAll(filepath.Join(tree.Path, "a.txt")), os.Remove(filepath.Join(tree.Path, ".env"))); err != nil {
		t.Fatal(err)
	}
	if _, _, release, err = m.Open(t.Context(), repo, "one"); err != nil {
		t.Fatal(err)
	}
	release()
	has(tree.Path)
	said = nil
	dir, remove, err := m.Checkout(t.Context(), repo, "check", tree.Base)
	if err != nil {
		t.Fatal(err)
	}
	has(dir)
	if err := remove(); err != nil || len(said) > 0 {
		t.Errorf("%v, said %q", err, said)
	}
}

// TestSetupFails: what cannot be set up leaves nothing, and the next run begins anew.
func TestSetupFails(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: the commands are those of a Unix shell")
	}
	repo := repository(t)
	denied := errors.New("not trusted")
	for name, c := range map[string]struct {
		setup Setup
		want  string
	}{
		"fails":       {Setup{Command: Command{Line: "echo out of space; exit 3"}}, "exit code 3: out of space"},
		"slow":        {Setup{Command: Command{Line: "sleep 60", Limit: 200 * time.Millisecond}}, "it took longer than 200ms"},
		"silent":      {Setup{Command: Command{Line: "exit 3"}}, "it printed nothing"},
		"not allowed": {Setup{Command: Command{Line: "touch ran", Allowed: func(string) error { return denied }}}, denied.Error()},
		"elsewhere":   {Setup{Command: Command{Line: "touch ran", Root: t.TempDir()}}, "is not in"},
	} {
		t.Run(name, func(t *testing.T) {
			m := Manager{Dir: filepath.Join(t.TempDir(), "worktrees"), Setup: c.setup}
			if _, _, _, err := m.Open(t.Context(), repo, "one"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if _, _, err := m.Checkout(t.Context(), repo, "check", run(t, repo, "rev-parse", "HEAD")); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("a checkout: %v", err)
			}
			if list, faults := m.List(t.Context()); len(list)+len(faults) > 0 {
				t.Errorf("left: %+v %v", list, faults)
			}
			if left := run(t, repo, "worktree", "list"); strings.Contains(left, "one") || strings.Contains(run(t, repo, "branch", "--list"), "drawbar") {
				t.Errorf("left: %s", left)
			}
			m.Setup = Setup{}
			tree, _, release, err := m.Open(t.Context(), repo, "one")
			if err != nil {
				t.Fatal(err)
			}
			release()
			m.Setup = c.setup
			if err := os.RemoveAll(tree.Path); err != nil {
				t.Fatal(err)
			}
			if _, _, _, err := m.Open(t.Context(), repo, "one"); err == nil || exists(tree.Path) {
				t.Errorf("made again: %v, its directory is there: %t", err, exists(tree.Path))
			}
			if r, err := m.Remove(t.Context(), tree, OwnNothing); err != nil || r.KeptBranch {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
}
