package adaptertest

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/history"
)

// SessionsIn reads all sessions of a store with these files, given by path below the home directory.
func SessionsIn(t *testing.T, store adapter.SessionStore, files map[string]string) (map[string]history.Session, []history.Problem) {
	t.Helper()
	disk := fstest.MapFS{}
	for path, text := range files {
		disk["home/"+path] = &fstest.MapFile{Data: []byte(text), ModTime: time.UnixMilli(1_800_000_000_000)}
	}
	h := adapter.Host{FS: disk, Home: "/home", Platform: "linux", Getenv: func(string) string { return "" }}
	list, problems := store.ListSessions(t.Context(), h)
	byID := map[string]history.Session{}
	for _, f := range list {
		s, err := store.ReadSession(t.Context(), h, f)
		if err != nil {
			s.Problems = append(s.Problems, history.Problem{Path: f.Path, Message: err.Error()})
		}
		short, err := store.SummarizeSession(t.Context(), h, f)
		if err == nil && (short.SessionID != s.SessionID || short.Title != s.Title || short.Model != s.Model || short.ForkedFrom != s.ForkedFrom || short.Parent != s.Parent) {
			t.Errorf("the summary is %+v, the session %+v", short, s.Summary)
		}
		byID[s.SessionID] = s
	}
	return byID, problems
}

// Transcript formats a session with one line per message, for tests.
func Transcript(s history.Session) string {
	var b strings.Builder
	write := func(indent string, messages []history.Message) {
		for _, m := range messages {
			fmt.Fprintf(&b, "%s%s: %s", indent, m.Role, m.Content)
			if m.Thinking != "" {
				fmt.Fprintf(&b, " ~%s", m.Thinking)
			}
			for _, c := range m.ToolCalls {
				fmt.Fprintf(&b, " [%s %s]", c.ToolName, c.Input)
			}
			if r := m.ToolResult; r != nil {
				fmt.Fprintf(&b, "%s=%s", r.ToolName, r.Output)
				if r.IsError {
					b.WriteString(" failed")
				}
			}
			if u := m.TokenUsage; u != nil {
				fmt.Fprintf(&b, " %d/%d/%d", u.Input, u.Cached, u.Output)
			}
			if m.Inactive {
				b.WriteString(" (taken back)")
			}
			b.WriteByte('\n')
		}
	}
	write("", s.Messages)
	for _, a := range s.Subagents {
		fmt.Fprintf(&b, "sub-agent %s %s %s\n", a.ID, a.Name, a.ToolCallID)
		write("  ", a.Messages)
	}
	return b.String()
}

// SessionCase is files and the sessions in them.
type SessionCase struct {
	Name  string
	Files map[string]string
	ID    string // the session to check
	Want  string // its Transcript
	Check func(t *testing.T, s history.Session)
}

// SessionCases reads the sessions of each case.
func SessionCases(t *testing.T, store adapter.SessionStore, cases []SessionCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			all, problems := SessionsIn(t, store, c.Files)
			s, ok := all[c.ID]
			if !ok {
				t.Fatalf("session %s is missing: %v, problems %v", c.ID, all, problems)
			}
			if got := Transcript(s); got != c.Want {
				t.Errorf("got\n%swant\n%s", got, c.Want)
			}
			if c.Check != nil {
				c.Check(t, s)
			}
		})
	}
}
