package workspace

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// instant sets a file's time of change, so that several things seem to have happened at once.
func (r *repo) instant(at time.Time, names ...string) {
	r.t.Helper()
	for _, name := range names {
		if err := os.Chtimes(filepath.Join(r.dir, name), at, at); err != nil {
			r.t.Fatal(err)
		}
	}
}

// TestChangeInTheInstantOfTheIndex: a file that changed in the instant in which git's index was written, by nothing but its content, is
// committed all the same when the private index is a copy of that index.
func TestChangeInTheInstantOfTheIndex(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "1", "b": "1"})
	r.run("config", "core.trustctime", "false")
	r.run("config", "core.checkStat", "minimal")
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	r.instant(at, "a", "b")
	r.run("update-index", "--refresh")
	r.instant(at, ".git/index")
	b := r.baseline()
	r.write("a", "2")
	r.instant(at, "a")
	if o := r.observe(b, ""); len(o.Files) != 1 || o.Files[0].Path != "a" {
		t.Fatalf("observed %+v", o.Files)
	}
	p := prepare(r, request(&b, "a"))
	if r.index.next.commit != p.Commit {
		t.Fatal("the private index is no copy of git's")
	}
	written := at.Add(time.Minute)
	r.index.next.written = written
	apply(r, p)
	if got := r.run("show", "HEAD:a"); got != "2" || r.short() != "" {
		t.Errorf("committed %q, status %q", got, r.short())
	}
	// A later change is told from the index by its age, too.
	if info, err := os.Stat(filepath.Join(r.dir, ".git/index")); err != nil || !info.ModTime().Equal(written) {
		t.Errorf("%v, %v", info.ModTime(), err)
	}
}

// TestIndexIsInstalled: git's index becomes the private one only if it is still what that began as.
func TestIndexIsInstalled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options       []string
		before, after func(r *repo) // the status, the checkpoint
		copied        bool
		installed     bool
		short         string
	}{
		"as it was":         {copied: true, installed: true},
		"sha256":            {options: []string{"--object-format=sha256"}, copied: true, installed: true},
		"staged before":     {before: func(r *repo) { r.write("b", "2"); r.run("add", "b") }, short: "M  b\n"},
		"staged since":      {after: func(r *repo) { r.write("b", "2"); r.run("add", "b") }, copied: true, short: "M  b\n"},
		"meant to be added": {before: func(r *repo) { r.write("c", "2"); r.run("add", "-N", "c") }, copied: true, installed: true, short: " A c\n"},
		"a split index":     {before: func(r *repo) { r.run("update-index", "--split-index") }},
		"a work tree's own settings": {before: func(r *repo) {
			r.run("config", "core.repositoryFormatVersion", "1")
			r.run("config", "extensions.worktreeConfig", "true")
			r.run("config", "--worktree", "core.sparseCheckout", "false")
		}, copied: true, installed: true},
		"another branch is checked out": {after: func(r *repo) { r.run("checkout", "-q", "-b", "side") }, copied: true, short: " M a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, map[string]string{"a": "1", "b": "1"}, c.options...)
			if c.before != nil {
				c.before(r)
			}
			b := r.baseline()
			r.write("a", "turn")
			r.observe(b, "")
			p := prepare(r, request(&b, "a"))
			if copied := r.index.next.commit == p.Commit; copied != c.copied {
				t.Errorf("copied: %v", copied)
			}
			if c.after != nil {
				c.after(r)
			}
			want := markIndex(r.index.next.data)
			apply(r, p)
			if _, now := r.gitIndex(); (now == want && want != indexMark{}) != c.installed {
				t.Errorf("installed: %v", now == want)
			}
			if got := r.run("show", "main:a"); got != "turn" || r.run("log", "-1", "--format=%an", "main") != "Ann" {
				t.Errorf("committed %q", got)
			}
			if got := r.short(); got != c.short {
				t.Errorf("status %q, want %q", got, c.short)
			}
			if left, _ := filepath.Glob(filepath.Join(r.dir, ".git", "*.lock")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			r.run("fsck", "--strict")
		})
	}
}

func TestMarkIndex(t *testing.T) {
	t.Parallel()
	whole := append([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x00"), make([]byte, 20)...)
	if markIndex(whole) != (indexMark{}) {
		t.Error("an index without a checksum is told from others")
	}
	whole[len(whole)-1] = 1
	if markIndex(whole) == (indexMark{}) || markIndex(whole[1:]) != (indexMark{}) || markIndex(nil) != (indexMark{}) {
		t.Error("an index is not told from what is none")
	}
}
