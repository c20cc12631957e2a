package codetool

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/execution"
)

// folder is a working directory with files, and one beside it that no tool may reach.
func folder(t *testing.T, files map[string]string) (*Folder, string) {
	t.Helper()
	top := t.TempDir()
	dir := filepath.Join(top, "work")
	files["../outside/secret.txt"] = "secret\n"
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f, dir
}

// use calls a tool of the folder.
func use(t *testing.T, f *Folder, name string, input any) modelapi.Answer {
	t.Helper()
	text, ok := input.(string)
	if !ok {
		b, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
	}
	for _, tool := range append(f.Read(), f.Change()...) {
		if tool.Name != name {
			continue
		}
		job, err := tool.Check(json.RawMessage(text))
		if err != nil {
			return modelapi.Failed(err)
		}
		if wants := job.Ask != ""; wants != (name == "write" || name == "edit" || name == "patch") {
			t.Errorf("%s asks %q", name, job.Ask)
		}
		return job.Do(t.Context(), nil)
	}
	t.Fatalf("no tool %s", name)
	return modelapi.Answer{}
}

type in = map[string]any

func content(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Skip("no links on this system")
	}
}

// TestConfined: no path and no link leads out of the folder, for any tool.
func TestConfined(t *testing.T) {
	t.Parallel()
	f, dir := folder(t, map[string]string{"a.txt": "a\n"})
	outside := filepath.Join(dir, "..", "outside")
	link(t, filepath.Join(outside, "secret.txt"), filepath.Join(dir, "file-link"))
	link(t, "../outside", filepath.Join(dir, "dir-link"))
	link(t, filepath.Join(dir, "a.txt"), filepath.Join(dir, "inner"))
	for _, path := range []string{"../outside/secret.txt", filepath.Join(outside, "secret.txt"), "file-link", "dir-link/secret.txt", "x/../../outside/secret.txt", "..", "/etc/passwd",
		"dir-link/../../outside/secret.txt", "a.txt\x00", ""} {
		for name, input := range map[string]in{"read": {"path": path}, "write": {"path": path, "content": "x"}, "edit": {"path": path, "old": "secret", "new": "x"},
			"search": {"path": path, "pattern": "secret"}, "list": {"path": path}, "patch": {"patch": "--- a/" + path + "\n+++ b/" + path + "\n@@ -1 +1 @@\n-secret\n+x\n"}} {
			if path == "" && (name == "search" || name == "list") {
				continue // the whole folder
			}
			a := use(t, f, name, input)
			if a.Error == "" || strings.Contains(a.Text+a.Error, "secret\n") {
				t.Errorf("%s %q: %+v", name, path, a)
			}
		}
	}
	if got := content(t, dir, "../outside/secret.txt"); got != "secret\n" {
		t.Errorf("the file outside became %q", got)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside has %v, %v", entries, err)
	}
	if a := use(t, f, "search", in{"pattern": "secret"}); a.Text != "[no match]" {
		t.Errorf("a search follows a link: %+v", a)
	}
	if a := use(t, f, "list", in{"recursive": true}); strings.Contains(a.Text, "dir-link/") || !strings.Contains(a.Text, "dir-link -> ../outside") {
		t.Errorf("the list is %s", a.Text)
	}
	// A link is never replaced by a file.
	if a := use(t, f, "write", in{"path": "inner", "content": "x"}); !strings.Contains(a.Error, "is a link") {
		t.Errorf("a link was written: %+v", a)
	}
}

// TestPaths: relative and absolute paths, and the folder by its other name, are the same files.
func TestPaths(t *testing.T) {
	t.Parallel()
	f, dir := folder(t, map[string]string{"sub/a.txt": "hello\n"})
	_ = f
	other := filepath.Join(filepath.Dir(dir), "other")
	link(t, dir, other)
	g, err := OpenFolder(other)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Close() }()
	for _, path := range []string{"sub/a.txt", "./sub/../sub/a.txt", filepath.Join(dir, "sub/a.txt"), filepath.Join(other, "sub/a.txt")} {
		if a := use(t, g, "read", in{"path": path}); a.Text != "1\thello\n" {
			t.Errorf("%s: %+v", path, a)
		}
	}
}

// TestExtra: an extra folder is read and never changed.
func TestExtra(t *testing.T) {
	t.Parallel()
	_, dir := folder(t, map[string]string{"a.txt": "a\n"})
	extra := filepath.Join(dir, "..", "outside")
	f, err := OpenFolder(dir, extra)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	path := filepath.Join(extra, "secret.txt")
	if a := use(t, f, "read", in{"path": path}); a.Text != "1\tsecret\n" {
		t.Errorf("%+v", a)
	}
	for name, input := range map[string]in{"write": {"path": path, "content": "x"}, "edit": {"path": path, "old": "secret", "new": "x"}} {
		if a := use(t, f, name, input); !strings.Contains(a.Error, "may only be read") {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if _, err := OpenFolder(dir, filepath.Join(dir, "none")); err == nil {
		t.Error("a missing folder was opened")
	}
}

// TestRead: which lines are read, and what is no text.
func TestRead(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("line\n", 3000)
	f, dir := folder(t, map[string]string{"a.txt": "one\ntwo\r\n\nfour", "empty": "", "many": many, "bin": "a\x00b", "latin": "caf\xe9\n", "long": strings.Repeat("x", 5000) + "\nend\n",
		"blank": "\n\n"})
	big := filepath.Join(dir, "big")
	if err := os.WriteFile(big, []byte(strings.Repeat("a line of a large file\n", 600_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		input any
		want  string // exact, or a part if it ends with ...
		err   string
	}{
		{"all", in{"path": "a.txt"}, "1\tone\n2\ttwo\n3\t\n4\tfour\n", ""},
		{"a part", in{"path": "a.txt", "offset": 2, "limit": 1}, "2\ttwo\n[more follows: continue with offset 3]\n", ""},
		{"to the end", in{"path": "a.txt", "offset": 3, "limit": 9}, "3\t\n4\tfour\n", ""},
		{"behind the end", in{"path": "a.txt", "offset": 5}, "", "has 4 lines"},
		{"negative", in{"path": "a.txt", "offset": -1}, "", "must not be negative"},
		{"empty", in{"path": "empty"}, "[the file is empty]", ""},
		{"blank lines", in{"path": "blank"}, "1\t\n2\t\n", ""},
		{"binary", in{"path": "bin"}, "", "binary file of 3 bytes"},
		{"not UTF-8", in{"path": "latin"}, "1\tcaf\uFFFD\n", ""},
		{"missing", in{"path": "none"}, "", "none does not exist"},
		{"a folder", in{"path": "."}, "", "is a folder: use list"},
		{"a long line", in{"path": "long"}, "1\t" + strings.Repeat("x", 2002) + " [2999 more bytes]\n2\tend\n", ""},
		{"an unknown member", in{"path": "a.txt", "lines": 3}, "", `unexpected additional properties ["lines"]`},
		{"a text for a number", in{"path": "a.txt", "limit": "3"}, "", `3 has type "string", want "integer"`},
		{"no object", `[]`, "", "must be a JSON object"},
		{"null", `null`, "", "must be a JSON object"},
		{"no JSON", `{"path":`, "", "must be a JSON object"},
		{"two values", `{"path":"a.txt"} {}`, "", "must be a JSON object"},
		{"no path", `{}`, "", `missing properties: ["path"]`},
		{"a large file", in{"path": "big", "offset": 500_000, "limit": 1}, "500000\ta line of a large file\n[more follows: continue with offset 500001]\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := use(t, f, "read", tt.input)
			if a.Text != tt.want && tt.err == "" || !strings.Contains(a.Error, tt.err) || (a.Error == "") != (tt.err == "") {
				t.Errorf("%q, error %q", a.Text, a.Error)
			}
			if shown := len(a.Files) == 1; shown != (tt.err == "") {
				t.Errorf("the events are %v", a.Files)
			}
		})
	}
	a := use(t, f, "read", in{"path": "many"})
	if !strings.HasSuffix(a.Text, "2000\tline\n[more follows: continue with offset 2001]\n") {
		t.Errorf("the end of many lines is %q", a.Text[len(a.Text)-80:])
	}
	if a := use(t, f, "edit", in{"path": "big", "old": "a", "new": "b"}); !strings.Contains(a.Error, "larger than 10 MB") {
		t.Errorf("%+v", a)
	}
}

// TestPipe: a pipe or a device does not block a tool.
func TestPipe(t *testing.T) {
	t.Parallel()
	f, dir := folder(t, map[string]string{})
	if !fifo(t, filepath.Join(dir, "pipe")) {
		t.Skip("no pipes on this system")
	}
	for name, input := range map[string]in{"read": {"path": "pipe"}, "write": {"path": "pipe", "content": "x"}, "edit": {"path": "pipe", "old": "a", "new": "b"}} {
		if a := use(t, f, name, input); !strings.Contains(a.Error, "not a regular file") {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a := use(t, f, "search", in{"pattern": "x"}); a.Text != "[no match]" {
		t.Errorf("%+v", a)
	}
}

// TestWrite: a new file is created with its folders, one that exists must be known, and what changed meanwhile stays.
func TestWrite(t *testing.T) {
	t.Parallel()
	f, dir := folder(t, map[string]string{"a.txt": "a\n", "run.sh": "#!/bin/sh\n", "dos.txt": "a\r\nb\r\n", "bom.txt": "\xEF\xBB\xBFa\n", ".git/config": "x\n", "sub/b.txt": "b\n"})
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o755); err != nil { //nolint:gosec // that is tested
		t.Fatal(err)
	}
	a := use(t, f, "write", in{"path": "new/deep/n.txt", "content": "n\n"})
	if a.Text != "created new/deep/n.txt (2 bytes)" || content(t, dir, "new/deep/n.txt") != "n\n" {
		t.Errorf("%+v", a)
	}
	if e, ok := a.Files[0].(execution.FileCreate); !ok || e.ByteCount != 2 || e.Path != filepath.Join(dir, "new/deep/n.txt") {
		t.Errorf("the event is %+v", a.Files)
	}
	if a := use(t, f, "write", in{"path": "new/deep/n.txt", "content": "again\n"}); a.Error != "" { // the model wrote it
		t.Errorf("%+v", a)
	} else if _, ok := a.Files[0].(execution.FileWrite); !ok {
		t.Errorf("the event is %+v", a.Files)
	}
	if a := use(t, f, "write", in{"path": "a.txt", "content": "x"}); !strings.Contains(a.Error, "was not read") || content(t, dir, "a.txt") != "a\n" {
		t.Errorf("an unknown file was overwritten: %+v", a)
	}
	for _, name := range []string{"a.txt", "run.sh", "dos.txt", "bom.txt"} {
		use(t, f, "read", in{"path": name})
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("theirs\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, input := range map[string]in{"write": {"path": "a.txt", "content": "x"}, "edit": {"path": "a.txt", "old": "theirs", "new": "x"},
		"patch": {"patch": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-theirs\n+x\n"}} {
		if a := use(t, f, name, input); !strings.Contains(a.Error, "has changed since it was read") || content(t, dir, "a.txt") != "theirs\n" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	use(t, f, "write", in{"path": "run.sh", "content": "#!/bin/sh\ntrue\n"})
	if info, err := os.Stat(filepath.Join(dir, "run.sh")); err != nil || info.Mode().Perm() != 0o755 && runtime.GOOS != "windows" {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	use(t, f, "write", in{"path": "dos.txt", "content": "a\nc\n"})
	if got := content(t, dir, "dos.txt"); got != "a\r\nc\r\n" {
		t.Errorf("CRLF became %q", got)
	}
	use(t, f, "write", in{"path": "bom.txt", "content": "b\n"})
	if got := content(t, dir, "bom.txt"); got != "\xEF\xBB\xBFb\n" {
		t.Errorf("the byte order mark is gone: %q", got)
	}
	for path, want := range map[string]string{".git/config": "belongs to git", "sub/.GIT/hooks/x": "belongs to git", "sub": "is a folder", "sub/b.txt/c": "not a directory"} {
		if a := use(t, f, "write", in{"path": path, "content": "x"}); !strings.Contains(a.Error, want) {
			t.Errorf("%s: %+v", path, a)
		}
	}
	if a := use(t, f, "write", in{"path": "large", "content": strings.Repeat("x", maxFile+1)}); !strings.Contains(a.Error, "larger than 10 MB") {
		t.Errorf("%+v", a.Error)
	}
	for _, input := range []string{`{"path":"sub/b.txt"}`, `{"path":"sub/b.txt","content":null}`} { // a missing content would empty the file
		use(t, f, "read", in{"path": "sub/b.txt"})
		if a := use(t, f, "write", input); a.Error == "" || content(t, dir, "sub/b.txt") != "b\n" {
			t.Errorf("%s: %+v", input, a)
		}
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".*drawbar*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestEdit: the old text is replaced where it is, once unless all are meant, and nothing else changes.
func TestEdit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, before string
		input        in
		after, err   string
	}{
		{"once", "a\nb\nc\n", in{"old": "b\n", "new": "B\n"}, "a\nB\nc\n", ""},
		{"twice", "x\nx\n", in{"old": "x", "new": "y"}, "", "occurs 2 times in f (lines 1, 2)"},
		{"all", "x\nx\n", in{"old": "x", "new": "y", "all": true}, "y\ny\n", ""},
		{"not there", "x\n", in{"old": "z", "new": "y"}, "", "does not occur in f"},
		{"nothing", "x\n", in{"old": "", "new": "y"}, "", "the old text is empty"},
		{"the same", "x\n", in{"old": "x", "new": "x"}, "", "are the same"},
		{"CRLF", "a\r\nb\r\n", in{"old": "a\nb", "new": "a\nc\nb"}, "a\r\nc\r\nb\r\n", ""},
		{"CRLF in both", "a\r\nb\r\n", in{"old": "a\r\nb", "new": "c\r\nd"}, "c\r\nd\r\n", ""},
		{"mixed endings", "a\r\nb\nc\n", in{"old": "b\nc", "new": "d\ne"}, "a\r\nd\ne\n", ""},
		{"deleted", "a\nb\n", in{"old": "b\n", "new": ""}, "a\n", ""},
		{"bytes that are no text", "caf\xe9 x\n", in{"old": "x", "new": "y"}, "caf\xe9 y\n", ""},
		{"binary", "a\x00b", in{"old": "a", "new": "b"}, "", "binary file"},
		{"a dollar", "a\n", in{"old": "a", "new": "$1 \\0"}, "$1 \\0\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, dir := folder(t, map[string]string{"f": tt.before})
			tt.input["path"] = "f"
			a := use(t, f, "edit", tt.input)
			want := tt.after
			if tt.err != "" {
				want = tt.before
			}
			if got := content(t, dir, "f"); got != want || !strings.Contains(a.Error, tt.err) || (a.Error == "") != (tt.err == "") {
				t.Errorf("got %q and %+v", got, a)
			}
			if tt.err == "" {
				if p, ok := a.Files[0].(execution.FilePatch); !ok || !strings.Contains(p.Diff, "\n+") && tt.name != "deleted" {
					t.Errorf("the event is %+v", a.Files)
				}
			}
		})
	}
	f, _ := folder(t, map[string]string{})
	if a := use(t, f, "edit", in{"path": "f", "old": "a", "new": "b"}); !strings.Contains(a.Error, "f does not exist") {
		t.Errorf("%+v", a)
	}
}

// FuzzInput: no input of a model breaks a tool's check.
func FuzzInput(f *testing.F) {
	for _, s := range []string{`{"path":"a"}`, `{"command":"ls"}`, `{"patch":"--- a\n"}`, `{"pattern":"("}`, `null`, `[]`, `{`, `{"path":1}`} {
		f.Add(s)
	}
	dir := f.TempDir()
	folder, err := OpenFolder(dir)
	if err != nil {
		f.Fatal(err)
	}
	tools := append(append(folder.Read(), folder.Change()...), Shell{Dir: dir}.Tool())
	f.Fuzz(func(t *testing.T, input string) {
		for _, tool := range tools {
			if job, err := tool.Check(json.RawMessage(input)); err == nil && job.Do == nil {
				t.Errorf("%s does nothing with %q", tool.Name, input)
			}
		}
	})
}
