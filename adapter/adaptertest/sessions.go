package adaptertest

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
)

// SessionSubject is a store to test against the contract of adapter.SessionStore.
type SessionSubject struct {
	Store adapter.SessionStore
	// Home is a home directory with real sessions of the agent. It is copied, never changed.
	Home string
	// Variable relocates the agent's directory; Below is its place in a home without the variable.
	Variable, Below string
	// Inside is the place in the variable's directory of what a home has in Below, empty if they are the same.
	Inside string
	// Whole is for a store whose files are one JSON document each: they are rewritten, so that nobody can follow them.
	Whole bool
}

// host returns a machine with home as the home directory.
func (s SessionSubject) host(home string, env map[string]string) adapter.Host {
	return adapter.Host{FS: os.DirFS("/"), Home: home, Platform: "linux", Getenv: func(k string) string { return env[k] }}
}

// Sessions runs the checks of a session store.
func Sessions(t *testing.T, s SessionSubject) {
	home, err := filepath.Abs(s.Home)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Separator != '/' {
		t.Skip("SKIPPED: the session files under test have names of this system's root only where that is /")
	}
	t.Run("goldens", func(t *testing.T) { s.goldens(t, home) })
	t.Run("listing opens no session", func(t *testing.T) { s.listing(t, home) })
	t.Run("the variable moves the store", func(t *testing.T) { s.variable(t, home) })
	t.Run("a summary says what the session says", func(t *testing.T) { s.summaries(t, home) })
	t.Run("events say what the session says", func(t *testing.T) { s.events(t, home) })
	t.Run("the bytes hold every text", func(t *testing.T) { s.bytes(t, home) })
	t.Run("no store is an empty one", func(t *testing.T) {
		if files, problems := s.Store.ListSessions(t.Context(), s.host(t.TempDir(), nil)); len(files) != 0 || len(problems) != 0 {
			t.Errorf("%d sessions, problems %v", len(files), problems)
		}
	})
	t.Run("bad files", func(t *testing.T) { s.badFiles(t, home) })
}

func (s SessionSubject) list(t *testing.T, h adapter.Host) []history.File {
	t.Helper()
	files, problems := s.Store.ListSessions(t.Context(), h)
	if len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
	if len(files) == 0 {
		t.Fatal("no sessions")
	}
	return files
}

// goldens compares every session with testdata/session/<id>.golden, which -update or UPDATE_SESSIONS=1 rewrites.
func (s SessionSubject) goldens(t *testing.T, home string) {
	h := s.host(home, nil)
	for _, f := range s.list(t, h) {
		session, err := s.Store.ReadSession(t.Context(), h, f)
		if err != nil {
			t.Errorf("%s: %v", f.Path, err)
			continue
		}
		text, err := json.MarshalIndent(session, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		text = append(bytes.ReplaceAll(text, []byte(home), []byte("/home/user")), '\n')
		golden := filepath.Join(s.Home, session.SessionID+".golden")
		if updating() {
			if err := os.WriteFile(golden, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Errorf("%v; write it with UPDATE_SESSIONS=1", err)
			continue
		}
		if !bytes.Equal(want, text) {
			t.Errorf("%s differs from %s; rewrite it with UPDATE_SESSIONS=1 if that is right:\n%s", session.SessionID, golden, firstDifference(want, text))
		}
		checkSession(t, session)
		if len(session.UnknownRecords) > 0 {
			t.Errorf("%s: records of unknown types: %v", f.Path, session.UnknownRecords)
		}
		if len(session.Problems) > 0 {
			t.Errorf("problems: %v", session.Problems)
		}
	}
}

// updating reports whether goldens are rewritten.
func updating() bool {
	update := flag.Lookup("update")
	return os.Getenv("UPDATE_SESSIONS") == "1" || update != nil && update.Value.String() == "true"
}

func firstDifference(want, got []byte) string {
	w, g := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return "-" + w[i] + "\n+" + g[i]
		}
	}
	return "one is longer"
}

// checkSession checks a session for consistency.
func checkSession(t *testing.T, s history.Session) {
	t.Helper()
	if s.Agent == "" || s.SessionID == "" || s.UnifiedID != s.Agent+":"+s.SessionID || s.Tags == nil || s.TurnCount == nil || s.MessageCount == nil || s.Usage == nil {
		t.Errorf("the summary is incomplete: %+v", s.Summary)
	}
	if s.UpdatedAt.Before(s.CreatedAt) {
		t.Errorf("updated at %v, created at %v", s.UpdatedAt, s.CreatedAt)
	}
	calls := map[string]string{}
	for i, m := range s.Messages {
		switch m.Role {
		case history.RoleUser, history.RoleAssistant, history.RoleSystem:
		case history.RoleTool:
			if m.ToolResult == nil {
				t.Errorf("message %d is of a tool and has no result", i)
			}
		default:
			t.Errorf("message %d has the role %q", i, m.Role)
		}
		if !m.Timestamp.IsZero() && (m.Timestamp.Before(s.CreatedAt) || m.Timestamp.After(s.UpdatedAt)) {
			t.Errorf("message %d is of %v, outside the session", i, m.Timestamp)
		}
		for _, c := range m.ToolCalls {
			if _, twice := calls[c.ToolCallID]; twice {
				t.Errorf("the call %s appears twice", c.ToolCallID)
			}
			calls[c.ToolCallID] = c.ToolName
			if len(c.Input) > 0 && !json.Valid(c.Input) {
				t.Errorf("the input of %s is not JSON: %s", c.ToolCallID, c.Input)
			}
		}
		if r := m.ToolResult; r != nil {
			if name, ok := calls[r.ToolCallID]; !ok || name != r.ToolName {
				t.Errorf("a result for the call %q of %q, which is %q", r.ToolCallID, r.ToolName, name)
			}
		}
		if u := m.TokenUsage; u != nil && (u.Input < 0 || u.Output < 0 || u.Total != u.Input+u.Output+u.Cached+u.CacheWrite) {
			t.Errorf("message %d: usage %+v", i, *u)
		}
	}
}

// watchedFS records which files are opened.
type watchedFS struct {
	fs.FS
	mu     *sync.Mutex
	opened map[string]bool
}

func (w watchedFS) Open(name string) (fs.File, error) {
	w.mu.Lock()
	w.opened["/"+name] = true
	w.mu.Unlock()
	return w.FS.Open(name)
}
func (w watchedFS) ReadLink(name string) (string, error)       { return fs.ReadLink(w.FS, name) }
func (w watchedFS) Lstat(name string) (fs.FileInfo, error)     { return fs.Lstat(w.FS, name) }
func (w watchedFS) Stat(name string) (fs.FileInfo, error)      { return fs.Stat(w.FS, name) }
func (w watchedFS) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(w.FS, name) }

func (s SessionSubject) listing(t *testing.T, home string) {
	h := s.host(home, nil)
	w := watchedFS{h.FS, &sync.Mutex{}, map[string]bool{}}
	h.FS = w
	roots := s.Store.SessionRoots(h)
	seen := map[string]bool{}
	for _, f := range s.list(t, h) {
		if w.opened[f.Path] {
			t.Errorf("%s was opened for a listing", f.Path)
		}
		if f.Agent == "" || f.ID == "" || f.Size == 0 || f.ModTime.IsZero() || f.Problem != "" || seen[f.Path] {
			t.Errorf("listed %+v", f)
		}
		seen[f.Path] = true
		if !slices.ContainsFunc(roots, func(r string) bool { return strings.HasPrefix(f.Path, r+"/") }) {
			t.Errorf("%s is in none of the roots %v", f.Path, roots)
		}
	}
}

func (s SessionSubject) variable(t *testing.T, home string) {
	other := t.TempDir()
	target := filepath.Join(other, s.Inside)
	if err := os.CopyFS(target, os.DirFS(filepath.Join(home, s.Below))); err != nil {
		t.Fatal(err)
	}
	want := len(s.list(t, s.host(home, nil)))
	got := s.list(t, s.host(t.TempDir(), map[string]string{s.Variable: other}))
	if len(got) != want {
		t.Errorf("%s=%s: %d sessions, want %d", s.Variable, other, len(got), want)
	}
}

func (s SessionSubject) summaries(t *testing.T, home string) {
	h := s.host(home, nil)
	for _, f := range s.list(t, h) {
		short, err := s.Store.SummarizeSession(t.Context(), h, f)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := s.Store.ReadSession(t.Context(), h, f)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(short)
		b, _ := json.Marshal(whole.Summary)
		if !bytes.Equal(a, b) {
			t.Errorf("the summary is\n%s\nand the session is\n%s", a, b)
		}
		if short.Title == "" || short.Cwd == "" || short.Model == "" {
			t.Errorf("title, directory or model are missing: %s", a)
		}
	}
}

// events follows every session from its first line and compares the events with the session.
func (s SessionSubject) events(t *testing.T, home string) {
	h := s.host(home, nil)
	for _, f := range s.list(t, h) {
		session, err := s.Store.ReadSession(t.Context(), h, f)
		if err != nil {
			t.Fatal(err)
		}
		if session.ForkedFrom != "" || session.Parent != "" {
			continue // part of it is in another file
		}
		follower, err := s.Store.FollowSession(h, f)
		if s.Whole {
			if execution.CodeOf(err) != execution.CodeCapability {
				t.Errorf("following a document: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		var said, prompts, results []string
		var usage execution.Usage
		calls := 0
		for line := range bytes.Lines(text) {
			for _, e := range follower.Line(bytes.TrimRight(line, "\n")) {
				if e.Parent != "" {
					continue
				}
				switch b := e.Body.(type) {
				case execution.MessageStop:
					said = append(said, b.Text)
				case execution.InputQueued:
					prompts = append(prompts, b.Text)
				case execution.ToolCallReady:
					calls++
				case execution.ToolResultEvent, execution.ToolError:
					results = append(results, "")
				case execution.TokenUsage:
					usage = usage.Add(execution.Usage{Input: b.InputTokens, Output: b.OutputTokens, Thinking: b.ThinkingTokens, Cached: b.CachedTokens,
						CacheWrite: b.CacheWriteTokens, Total: b.InputTokens + b.OutputTokens + b.CachedTokens + b.CacheWriteTokens})
				}
			}
		}
		var wantSaid, wantPrompts []string
		wantCalls, wantResults := 0, 0
		for _, m := range session.Messages {
			wantCalls += len(m.ToolCalls)
			switch m.Role {
			case history.RoleAssistant:
				if m.Content != "" {
					wantSaid = append(wantSaid, m.Content)
				}
			case history.RoleUser:
				wantPrompts = append(wantPrompts, m.Content)
			case history.RoleTool:
				wantResults++
			}
		}
		if a, b := strings.Join(said, "\n"), strings.Join(wantSaid, "\n"); a != b {
			t.Errorf("%s: the events contain %q, the session %q", f.Path, a, b)
		}
		if !slices.Equal(prompts, wantPrompts) || calls != wantCalls || len(results) != wantResults {
			t.Errorf("%s: events: prompts %q, %d calls, %d results; session: %q, %d, %d", f.Path, prompts, calls, len(results), wantPrompts, wantCalls, wantResults)
		}
		if usage != *session.Usage {
			t.Errorf("%s: the events add up to %+v, the session to %+v", f.Path, usage, *session.Usage)
		}
	}
}

// bytes searches the output of OpenSession for every text of a session.
func (s SessionSubject) bytes(t *testing.T, home string) {
	h := s.host(home, nil)
	for _, f := range s.list(t, h) {
		session, err := s.Store.ReadSession(t.Context(), h, f)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Store.OpenSession(t.Context(), h, f)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			t.Fatal(err)
		}
		messages := session.Messages
		for _, a := range session.Subagents {
			messages = append(messages, a.Messages...)
		}
		for _, m := range messages {
			text := m.Content
			if m.ToolResult != nil {
				text = m.ToolResult.Output
			}
			for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
				if !bytes.Contains(raw, []byte(word)) {
					t.Errorf("%s: %q of message %s is not in the bytes", f.Path, word, m.ID)
				}
			}
		}
	}
}
