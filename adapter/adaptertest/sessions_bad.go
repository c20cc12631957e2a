package adaptertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/history"
)

// damage is a way to damage one session file. The reported problem must contain says, and always the path.
type damage struct {
	name   string
	spoil  func(t *testing.T, path string, text []byte)
	says   string // empty: no problem required
	listed bool   // the listing reports the problem
}

// gigantic exceeds the longest line that is read.
const gigantic = 64<<20 + 4096

func rewrite(change func(text []byte) []byte) func(*testing.T, string, []byte) {
	return func(t *testing.T, path string, text []byte) {
		if err := os.WriteFile(path, change(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func replaceBy(make func(path string) error) func(*testing.T, string, []byte) {
	return func(t *testing.T, path string, _ []byte) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := make(path); err != nil {
			t.Skipf("SKIPPED: this file system does not do it: %v", err)
		}
	}
}

func damages() []damage {
	return []damage{
		{name: "empty", spoil: rewrite(func([]byte) []byte { return nil }), says: "is empty"},
		{name: "only line ends", spoil: rewrite(func([]byte) []byte { return []byte("\n\n\r\n\n") }), says: "is empty"},
		{name: "half of the last line", spoil: rewrite(func(text []byte) []byte { return text[:len(text)-9] }), says: "the last line is cut off"},
		{name: "cut in the middle", spoil: rewrite(func(text []byte) []byte { return text[:len(text)/2] })},
		{name: "cut in the first line", spoil: rewrite(func(text []byte) []byte { return text[:20] }), says: "is cut off"},
		{name: "binary", spoil: rewrite(func([]byte) []byte { return bytes.Repeat([]byte{0, 0xff, '\n', 0x80, 7}, 4000) }), says: "is not a JSON object"},
		{name: "nul bytes behind", spoil: rewrite(func(text []byte) []byte { return append(text, make([]byte, 4096)...) }), says: "cut off"},
		{name: "garbage between", spoil: rewrite(func(text []byte) []byte {
			return bytes.Replace(text, []byte("\n"), []byte("\n}{ garbage\n"), 1)
		}), says: "is not a JSON object"},
		{name: "other JSON", spoil: rewrite(func([]byte) []byte { return []byte("[1,2]\n\"x\"\n5\nnull\n") }), says: "is not a JSON object"},
		{name: "strange objects", spoil: rewrite(func([]byte) []byte {
			return []byte(`{}` + "\n" + `{"type":5,"message":[],"payload":"x","data":7,"$set":3,"messages":{}}` + "\n" + `{"type":"user","message":{"content":{"a":[]}},"parts":3}` + "\n" + `{"type":"never heard of it"}` + "\n")
		})},
		{name: "a record of an unknown type", spoil: rewrite(func(text []byte) []byte {
			return append(text, `{"type":"never heard of it","id":"x","uuid":"y","timestamp":"2026-11-20T16:30:00Z"}`+"\n"...)
		})},
		{name: "a gigantic line", spoil: rewrite(func(text []byte) []byte {
			line := append([]byte(`{"type":"user","message":{"role":"user","content":"`), bytes.Repeat([]byte("long "), gigantic/5)...)
			return append(append(line, "\"}}\n"...), text...)
		}), says: "and was skipped"},
		{name: "a directory", spoil: replaceBy(func(path string) error { return os.Mkdir(path, 0o700) }), says: "is a directory", listed: true},
		{name: "a link out of the store", spoil: replaceBy(func(path string) error { return os.Symlink("/etc/passwd", path) }), says: "is a link out of the store", listed: true},
		{name: "a link to nothing", spoil: replaceBy(func(path string) error { return os.Symlink("nowhere", path) }), says: "leads nowhere", listed: true},
		{name: "a link in a ring", spoil: replaceBy(func(path string) error { return os.Symlink(path, path) }), says: "leads nowhere", listed: true},
		{name: "a pipe", spoil: replaceBy(mkfifo), says: "is a named pipe", listed: true},
	}
}

// badFiles damages sessions in every way, and checks that each is listed, read as far as possible, and reported with
// its path.
func (s SessionSubject) badFiles(t *testing.T, home string) {
	for _, d := range damages() {
		if s.Whole && d.says != "" && !d.listed && d.says != "is empty" {
			d.says = "is not a JSON object" // any damage is one of the whole document
		}
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(home)); err != nil {
				t.Fatal(err)
			}
			h := s.host(copied, nil)
			before := s.list(t, h)
			for i, f := range before {
				if d.name == "a gigantic line" && i > 0 {
					break // once is enough, because it is slow
				}
				s.badFile(t, h, f, d, len(before))
			}
		})
	}
	t.Run("unreadable", func(t *testing.T) { s.unreadable(t, home) })
}

func (s SessionSubject) badFile(t *testing.T, h adapter.Host, f history.File, d damage, want int) {
	text, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	d.spoil(t, f.Path, text)
	defer func() {
		if err := errors.Join(os.RemoveAll(f.Path), os.WriteFile(f.Path, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}()
	files, _ := s.Store.ListSessions(t.Context(), h)
	var now *history.File
	for i := range files {
		if files[i].Path == f.Path {
			now = &files[i]
		}
	}
	if now == nil || len(files) != want {
		t.Fatalf("%d sessions are listed of %d; %s among them: %t", len(files), want, f.Path, now != nil)
	}
	if d.listed != (now.Problem != "") || d.listed && !strings.Contains(now.Problem, d.says) {
		t.Errorf("listed with the problem %q, want %q", now.Problem, d.says)
	}
	_, summaryErr := s.Store.SummarizeSession(t.Context(), h, *now)
	session, err := s.Store.ReadSession(t.Context(), h, *now)
	if d.listed {
		for _, err := range []error{summaryErr, err} {
			if err == nil || !strings.Contains(err.Error(), f.Path) || !strings.Contains(err.Error(), d.says) {
				t.Errorf("the error is %v, want the path and %q", err, d.says)
			}
		}
		if r, err := s.Store.OpenSession(t.Context(), h, *now); err == nil {
			r.Close()
			t.Error("it can be opened")
		}
		if _, err := s.Store.FollowSession(h, *now); err == nil {
			t.Error("it can be followed")
		}
		return
	}
	if err != nil || summaryErr != nil {
		t.Errorf("read: %v; summarize: %v", err, summaryErr)
	}
	if session.Path != f.Path || session.SessionID == "" || session.UpdatedAt.IsZero() {
		t.Errorf("the session is %+v", session.Summary)
	}
	told := ""
	for _, p := range session.Problems {
		told += p.String() + "\n"
		if p.Path == "" {
			t.Errorf("a problem without a path: %v", p)
		}
	}
	if !strings.Contains(told, d.says) || d.says != "" && !strings.Contains(told, f.Path) {
		t.Errorf("the problems are %q, want %q", told, d.says)
	}
	if d.name == "a record of an unknown type" && !s.Whole && len(session.UnknownRecords) == 0 {
		t.Error("the unknown record is not counted")
	}
	if _, err := json.Marshal(session); err != nil {
		t.Errorf("it cannot be encoded: %v", err)
	}
	if follower, err := s.Store.FollowSession(h, *now); err == nil && d.name != "a gigantic line" {
		spoiled, err := os.ReadFile(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(spoiled) {
			follower.Line(line)
		}
	}
}

// refusingFS refuses to open one file.
type refusingFS struct {
	watchedFS
	refused string
}

func (r refusingFS) Open(name string) (fs.File, error) {
	if name == r.refused {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return r.watchedFS.FS.Open(name)
}

func (s SessionSubject) unreadable(t *testing.T, home string) {
	h := s.host(home, nil)
	for _, f := range s.list(t, h) {
		refusing := h
		refusing.FS = refusingFS{watchedFS{FS: h.FS}, strings.TrimPrefix(filepath.Clean(f.Path), "/")}
		_, err := s.Store.SummarizeSession(t.Context(), refusing, f)
		_, readErr := s.Store.ReadSession(t.Context(), refusing, f)
		for _, err := range []error{err, readErr} {
			if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), f.Path) {
				t.Errorf("the error is %v, want one with the file and the refused permission", err)
			}
		}
	}
}
