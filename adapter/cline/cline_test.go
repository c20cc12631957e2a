package cline

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/history"
)

// TestTools: the title of a call begins with its tool, and its output may be an error.
func TestTools(t *testing.T) {
	t.Parallel()
	if got := acpagent.TitleWord(&acpagent.ToolCall{Title: "editor: {\"path\":\"/w/hello.txt\"}"}); got != "editor" {
		t.Error(got)
	}
	if got := failedCall(&acpagent.ToolCall{Output: []byte(`{"query":"edit","result":"","error":"it exists"}`)}); got != "it exists" {
		t.Errorf("%q", got)
	}
}

// TestShell: a call of several commands is one command line, with what they printed and the exit code of the last that failed.
func TestShell(t *testing.T) {
	t.Parallel()
	code := func(n int) *int { return &n }
	for _, tt := range []struct {
		output, printed string
		code            *int
	}{
		{``, "", nil},
		{`[{"query":"a","result":"fine\n","success":true},{"query":"b","result":"","success":true}]`, "fine\n", code(0)},
		{`[{"query":"a","result":"[Command exited with code 3]\nbroken\n","error":"Command exited with code 3","success":false},{"query":"b","result":"fine\n","success":true}]`, "broken\nfine\n", code(3)},
		{`[{"query":"a","result":"","error":"timed out","success":false}]`, "", nil},
		{`"text"`, "", nil},
	} {
		sh, ok := shellOf(&acpagent.ToolCall{Kind: "execute", Title: "run_commands: a", Input: []byte(`{"commands":["a","b"]}`), Output: []byte(tt.output)})
		if !ok || sh.Command != "a\nb" || sh.Output != tt.printed || (sh.ExitCode == nil) != (tt.code == nil) || tt.code != nil && *sh.ExitCode != *tt.code {
			t.Errorf("%s: %+v", tt.output, sh)
		}
	}
	if sh, ok := shellOf(&acpagent.ToolCall{Kind: "execute", Title: "ls", Input: []byte(`{}`)}); !ok || sh.Command != "ls" {
		t.Errorf("a call without commands: %+v", sh)
	}
	if _, ok := shellOf(&acpagent.ToolCall{Kind: "edit", Title: "editor: x", Input: []byte(`{"path":"x"}`)}); ok {
		t.Error("an edit is a command")
	}
}

// TestSessionCases are files that the recorded sessions lack.
func TestSessionCases(t *testing.T) {
	t.Parallel()
	const file = ".cline/data/sessions/s/s.messages.json"
	adaptertest.SessionCases(t, sessions, []adaptertest.SessionCase{
		{Name: "results", ID: "s", Files: map[string]string{file: `{"updated_at":"2026-11-23T22:01:36Z","messages":[{"id":"1","role":"user","content":"one","ts":1795471301527},
			{"id":"2","role":"assistant","content":[{"type":"tool_use","id":"a","name":"ls","input":{}}],"ts":1795471301528},
			{"id":"3","role":"user","content":[{"type":"tool_result","tool_use_id":"a","name":"ls","content":[{"query":"ls","result":"x","success":true},{"query":"rm","error":"no","success":false}]}],"ts":1795471301529}]}`},
			Want: "user: one\nassistant:  [ls {}]\ntool: ls=x\nno failed\n"},
		{Name: "about a session", ID: "s", Files: map[string]string{file: `{"messages":[{"id":"1","role":"user","content":"<user_input mode=\"plan\">one</user_input>"}]}`,
			".cline/data/sessions/s/s.json": `{"cwd":"/w","model":"m","started_at":"2026-11-23T22:01:36Z","parent_session_id":"p","metadata":{"title":"about one"}}`},
			Want: "user: one\n", Check: func(t *testing.T, s history.Session) {
				if s.Cwd != "/w" || s.Model != "m" || s.Parent != "p" || s.Title != "about one" || s.CreatedAt.IsZero() {
					t.Errorf("%+v", s.Summary)
				}
			}},
	})
}

func FuzzHooks(f *testing.F) { adaptertest.FuzzHooks(f, Adapter{}) }
