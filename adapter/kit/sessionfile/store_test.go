package sessionfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// toy is a format: {"u":"prompt"}, {"a":"answer","id":"x","in":5}, {"t":"time"}, {"m":"model"}.
type toy struct {
	b *Builder
	c *Conversation
}

var toyKeys = jsonscan.NewKeySet("u", "a", "id", "in", "t", "m", "cwd")

func (d toy) Line(text []byte) bool {
	var v [7]jsonscan.Value
	if jsonscan.Fields(text, v[:], toyKeys) != nil {
		return false
	}
	at := Time(v[4])
	d.b.At(at)
	if v[5].Exists() {
		d.b.Summary.Model = v[5].Str()
	}
	if v[6].Exists() {
		d.b.Summary.Cwd = v[6].Str()
	}
	if v[0].Exists() {
		d.c.Prompt(v[2].Str(), v[0].Str(), at)
	}
	if v[1].Exists() {
		m := d.c.Message(v[2].Str(), history.RoleAssistant, at)
		m.Content = AddText(m.Content, v[1].Str())
		m.TokenUsage = &execution.Usage{Input: v[3].Count(), Total: v[3].Count()}
	}
	return true
}

func toyStore(root string) Store {
	return New(Format{Agent: "toy", Roots: func(adapter.Host) []string { return []string{root} },
		List: func(l *Lister) {
			if !l.Root(root) {
				return
			}
			var walk func(dir string)
			walk = func(dir string) {
				for _, e := range l.Dir(dir) {
					if id, ok := strings.CutSuffix(e.Name, ".jsonl"); ok {
						l.Add(history.File{ID: id}, e)
					} else if l.Enter(e) {
						walk(e.Path)
					}
				}
			}
			walk(root)
		},
		Decode: func(b *Builder, c *Conversation) Decoder { return toy{b, c} }})
}

// countedFS counts the bytes that are read.
type countedFS struct {
	fs.FS
	read *int64
}

type countedFile struct {
	fs.File
	read *int64
}

func (c countedFS) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	return countedFile{f, c.read}, err
}
func (c countedFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(c.FS, name) }
func (f countedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	*f.read += int64(n)
	return n, err
}
func (f countedFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.File.(io.ReaderAt).ReadAt(p, at)
	*f.read += int64(n)
	return n, err
}

// TestHeadAndTail: of a large file the head and the tail are read, whatever their lines are like.
func TestHeadAndTail(t *testing.T) {
	t.Parallel()
	stamp := func(minute int) string {
		return time.Date(2026, 11, 1, 12, minute, 0, 0, time.UTC).Format(time.RFC3339)
	}
	first := `{"u":"the first prompt","cwd":"/w","t":"` + stamp(1) + `","m":"old"}` + "\n"
	last := `{"a":"bye","t":"` + stamp(50) + `","m":"new"}` + "\n"
	filler := strings.Repeat(`{"a":"filler filler filler","in":1}`+"\n", 80000)
	big := func(n int) string { return `{"a":"` + strings.Repeat("x", n) + `"}` + "\n" }
	for _, c := range []struct {
		name, text string
		model      string
		updated    int
		most       int64
	}{
		{"plain", first + filler + last, "new", 50, 300 << 10},
		{"a long first line", big(300<<10) + first + filler + last, "new", 50, 1500 << 10},
		{"a long last line but one", first + filler + last + big(200<<10) + `{"m":"newest"}` + "\n", "newest", 50, 1500 << 10},
		{"a half-written last line", first + filler + last + `{"m":"half`, "new", 50, 300 << 10},
		{"a last line without its end", first + filler + last + `{"m":"whole"}`, "whole", 50, 300 << 10},
		{"a last line beyond everything", first + filler + last + big(3<<20), "old", 1, 4 << 20},
		{"no line ends at all", strings.Repeat("x", 3<<20), "", 0, 4 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var read int64
			disk := fstest.MapFS{"w/s.jsonl": &fstest.MapFile{Data: []byte(c.text), ModTime: time.UnixMilli(7)}}
			h := adapter.Host{FS: countedFS{disk, &read}, Platform: "linux"}
			f := history.File{Agent: "toy", ID: "s", Path: "/w/s.jsonl", Size: int64(len(c.text)), ModTime: time.UnixMilli(7)}
			s, err := toyStore("/w").SummarizeSession(t.Context(), h, f)
			if err != nil || s.Model != c.model || s.TurnCount != nil || s.Usage != nil || read > c.most {
				t.Errorf("model %q, turns %v, %d bytes read, %v", s.Model, s.TurnCount, read, err)
			}
			if c.updated > 0 && (s.Title != "the first prompt" || s.UpdatedAt.Minute() != c.updated || s.CreatedAt.Minute() != 1) {
				t.Errorf("title %q, made %v, updated %v", s.Title, s.CreatedAt, s.UpdatedAt)
			}
		})
	}
}

func TestLinesOfAnyLength(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("y", 200<<10)
	var got []string
	err := scan(t.Context(), strings.NewReader("a\r\n\n  \n"+long+"\nb"), 1, func(l line) error {
		got = append(got, fmt.Sprint(l.number, len(l.text), l.whole))
		return nil
	})
	if want := "[1 1 true 4 204800 true 5 1 false]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v, %v, want %s", got, err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = scan(ctx, strings.NewReader("a\nb\n"), 1, func(line) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("not cancelled: %v", err)
	}
}

// failingFile breaks off in the middle.
type failingFile struct {
	fs.File
	left int
}

func (f *failingFile) Read(p []byte) (int, error) {
	if f.left == 0 {
		return 0, errors.New("the disk is gone")
	}
	n, err := f.File.Read(p[:min(len(p), f.left)])
	f.left -= n
	return n, err
}

type failingFS struct{ fs.FS }

func (f failingFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.FS, name) }
func (f failingFS) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	return &failingFile{file, 30}, err
}

// TestReadError: what was read before a failing disk is shown, with the failure.
func TestReadError(t *testing.T) {
	t.Parallel()
	disk := fstest.MapFS{"w/s.jsonl": &fstest.MapFile{Data: []byte(`{"u":"hello"}` + "\n" + `{"a":"a long answer that is cut"}` + "\n")}}
	s, err := toyStore("/w").ReadSession(t.Context(), adapter.Host{FS: failingFS{disk}, Platform: "linux"}, history.File{Agent: "toy", ID: "s", Path: "/w/s.jsonl", Size: 60})
	if err != nil || len(s.Messages) != 1 || len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Message, "the disk is gone") {
		t.Errorf("%d messages, problems %v, %v", len(s.Messages), s.Problems, err)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	disk := fstest.MapFS{"w/s.jsonl": &fstest.MapFile{Data: []byte(strings.Repeat("x\n", 1000))}}
	s, err := toyStore("/w").ReadSession(t.Context(), adapter.Host{FS: disk, Platform: "linux"}, history.File{Agent: "toy", ID: "s", Path: "/w/s.jsonl", Size: 2000})
	if err != nil || len(s.Problems) != maxProblems+1 || s.Problems[maxProblems].Message != "and 980 more problems" || s.Problems[1].Line != 2 {
		t.Errorf("%d problems, the last %v, %v", len(s.Problems), s.Problems[len(s.Problems)-1], err)
	}
}

// TestLinks: a store may be a link, and have links in it that do not lead out.
func TestLinks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: links need a privilege on Windows")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, outside := filepath.Join(dir, "real"), filepath.Join(dir, "outside")
	text := []byte(`{"u":"hello"}` + "\n")
	for _, err := range []error{os.MkdirAll(filepath.Join(real, "sub"), 0o700), os.Mkdir(outside, 0o700), os.WriteFile(filepath.Join(real, "sub", "a.jsonl"), text, 0o600),
		os.WriteFile(filepath.Join(outside, "x.jsonl"), text, 0o600), os.Symlink("sub/a.jsonl", filepath.Join(real, "b.jsonl")), os.Symlink("sub", filepath.Join(real, "again")),
		os.Symlink(outside, filepath.Join(real, "out")), os.Symlink("../outside/x.jsonl", filepath.Join(real, "c.jsonl")), os.Symlink(real, filepath.Join(dir, "store")),
		os.Symlink(filepath.Join(dir, "real-not"), filepath.Join(real, "d.jsonl"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	files, problems := toyStore(filepath.Join(dir, "store")).ListSessions(t.Context(), adapter.Host{FS: os.DirFS("/"), Platform: runtime.GOOS})
	var got []string
	for _, f := range files {
		state := "ok"
		if f.Problem != "" {
			state = f.Problem[:min(len(f.Problem), 24)]
		}
		got = append(got, f.ID+": "+state)
	}
	if want := "b: ok; c: is a link out of the sto; d: is a link that leads now; a: ok"; strings.Join(got, "; ") != want {
		t.Errorf("got %s", strings.Join(got, "; "))
	}
	if len(problems) != 2 || !strings.HasSuffix(problems[0].Path, "again") || !strings.Contains(problems[1].Message, "out of the store") {
		t.Errorf("problems %v", problems)
	}
}

func TestTitle(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{" a\n\tb ": "a b", "": "", strings.Repeat("ä", 300): strings.Repeat("ä", maxTitle-1) + "…", "bad \xff byte": "bad byte"} {
		if got := shorten(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
