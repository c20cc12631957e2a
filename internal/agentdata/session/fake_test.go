package session

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/sessions"
	"go.uber.org/goleak"
)

const processDir = "DRAWBAR_TEST_SESSIONS"

func TestMain(m *testing.M) {
	if dir := os.Getenv(processDir); dir != "" { // one of several processes that index one store
		s := Open(Options{Sources: []Source{fakeSource(filepath.Join(dir, "store"))}, Host: host(), Dir: filepath.Join(dir, "state")})
		l, err := s.List(context.Background(), sessions.Query{})
		fmt.Println(len(l.Sessions), l.Total, err)
		if err := s.Close(); err != nil {
			fmt.Println(err)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func host() adapter.Host {
	return adapter.Host{FS: os.DirFS("/"), Home: "/", Platform: "linux", Getenv: os.Getenv}
}

// fake is a store of files with one message a line: {"role","text","at","model","cwd","usd"}. It counts what it is asked to do.
type fake struct {
	root                string
	summarized, read    *int
	mu                  chan struct{}
	neverSummarizeAbove int64
}

type record struct {
	Role   history.Role `json:"role"`
	Text   string       `json:"text"`
	Tool   string       `json:"tool,omitempty"`
	Output string       `json:"output,omitempty"`
	At     time.Time    `json:"at,omitzero"`
	Model  string       `json:"model,omitempty"`
	Cwd    string       `json:"cwd,omitempty"`
	USD    *float64     `json:"usd,omitempty"`
	End    bool         `json:"end,omitempty"`
}

func newFake(root string) *fake {
	return &fake{root: root, summarized: new(int), read: new(int), mu: make(chan struct{}, 1)}
}

func fakeSource(root string) Source {
	return Source{Agent: "fake", Aliases: []string{"faker"}, Store: newFake(root)}
}

func (f *fake) count(n *int) {
	f.mu <- struct{}{}
	*n++
	<-f.mu
}

func (f *fake) SessionRoots(adapter.Host) []string { return []string{f.root} }

func (f *fake) ListSessions(context.Context, adapter.Host) ([]history.File, []history.Problem) {
	entries, err := os.ReadDir(f.root)
	if err != nil {
		return nil, nil
	}
	if _, err := os.Stat(filepath.Join(f.root, "LOCKED")); err == nil {
		return nil, []history.Problem{{Path: f.root, Message: "is locked"}}
	}
	var files []history.File
	var problems []history.Problem
	for _, e := range entries {
		path := filepath.Join(f.root, e.Name())
		id, ok := strings.CutSuffix(e.Name(), ".jsonl")
		info, err := e.Info()
		if !ok || err != nil {
			problems = append(problems, history.Problem{Path: path, Message: "is no session"})
			continue
		}
		one := history.File{Agent: "fake", ID: id, Path: path, Size: info.Size(), ModTime: info.ModTime()}
		if info.IsDir() {
			one.Problem = "is a directory"
		}
		files = append(files, one)
	}
	return files, problems
}

func (f *fake) parse(one history.File) (history.Session, error) {
	s := history.Session{Summary: history.Summary{Agent: "fake", SessionID: one.ID, UnifiedID: "fake:" + one.ID, Path: one.Path, Size: one.Size,
		Tags: []string{}, CreatedAt: one.ModTime, UpdatedAt: one.ModTime}}
	text, err := os.ReadFile(one.Path)
	if one.Problem != "" {
		err = fmt.Errorf("%s: %s", one.Path, one.Problem)
	}
	if err != nil {
		return s, err
	}
	turns := 0
	for line := range strings.Lines(string(text)) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			s.Problems = append(s.Problems, history.Problem{Path: one.Path, Message: "is no JSON"})
			continue
		}
		if r.Role == history.RoleUser {
			if turns++; s.Title == "" {
				s.Title = r.Text
			}
		}
		if !r.At.IsZero() {
			s.UpdatedAt = r.At
			if turns <= 1 {
				s.CreatedAt = r.At
			}
		}
		if r.Model != "" {
			s.Model = r.Model
		}
		if r.Cwd != "" {
			s.Cwd = r.Cwd
		}
		if r.USD != nil {
			s.Cost = &execution.Cost{TotalUSD: r.USD, Source: execution.CostFromAgent}
		}
		m := history.Message{Role: r.Role, Content: r.Text, Timestamp: r.At}
		if r.Output != "" {
			m.ToolResult = &history.ToolResult{ToolName: r.Tool, Output: r.Output}
		} else if r.Tool != "" {
			m.ToolCalls = []history.ToolCall{{ToolCallID: "1", ToolName: r.Tool, Input: json.RawMessage(`{"path":"a\"b"}`)}}
		}
		s.Messages = append(s.Messages, m)
	}
	n := len(s.Messages)
	s.TurnCount, s.MessageCount, s.Usage = &turns, &n, &execution.Usage{}
	return s, nil
}

func (f *fake) SummarizeSession(_ context.Context, _ adapter.Host, one history.File) (history.Summary, error) {
	f.count(f.summarized)
	s, err := f.parse(one)
	if f.neverSummarizeAbove > 0 && one.Size > f.neverSummarizeAbove {
		s.TurnCount, s.MessageCount, s.Usage = nil, nil, nil
	}
	return s.Summary, err
}

func (f *fake) ReadSession(_ context.Context, _ adapter.Host, one history.File) (history.Session, error) {
	f.count(f.read)
	return f.parse(one)
}

func (f *fake) OpenSession(_ context.Context, _ adapter.Host, one history.File) (io.ReadCloser, error) {
	return os.Open(one.Path)
}

type fakeFollower struct{}

func (fakeFollower) Line(line []byte) []execution.Event {
	var r record
	if json.Unmarshal(line, &r) != nil {
		return nil
	}
	if r.End {
		return []execution.Event{{Body: execution.SessionEnd{SessionID: "x"}}}
	}
	return []execution.Event{{Body: execution.MessageStop{Text: r.Text}}}
}

func (f *fake) FollowSession(adapter.Host, history.File) (adapter.SessionFollower, error) {
	return fakeFollower{}, nil
}

// lab is a store on disk with its index.
type lab struct {
	t     *testing.T
	dir   string
	fake  *fake
	store *Store
	log   strings.Builder
	tags  map[string][]string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, dir: t.TempDir()}
	if err := os.Mkdir(filepath.Join(l.dir, "store"), 0o700); err != nil {
		t.Fatal(err)
	}
	l.open()
	return l
}

// open makes a store as another process would.
func (l *lab) open() {
	l.t.Helper()
	l.fake = newFake(filepath.Join(l.dir, "store"))
	l.store = Open(Options{Sources: []Source{{Agent: "fake", Aliases: []string{"faker"}, Store: l.fake}}, Host: host(), Dir: filepath.Join(l.dir, "state"),
		Tags:   func(context.Context) (map[string][]string, error) { return l.tags, nil },
		Logger: slog.New(slog.NewTextHandler(&l.log, nil))})
	opened := l.store
	l.t.Cleanup(func() { opened.Close() })
}

func (l *lab) path(id string) string { return filepath.Join(l.dir, "store", id+".jsonl") }

var day = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func (l *lab) write(id string, records ...record) {
	l.t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, r := range records {
		if err := e.Encode(r); err != nil {
			l.t.Fatal(err)
		}
	}
	if err := os.WriteFile(l.path(id), []byte(b.String()), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) list(q sessions.Query) []string {
	l.t.Helper()
	listing, err := l.store.List(l.t.Context(), q)
	if err != nil {
		l.t.Fatal(err)
	}
	var ids []string
	for _, s := range listing.Sessions {
		ids = append(ids, s.SessionID)
	}
	return ids
}
