package omp

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
)

// TestReports: what the extension states of a model call is read, and nothing else is taken for it.
func TestReports(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]acpagent.Report{
		`drawbar:{"session":"s"}`: {Session: "s"},
		`drawbar:{"session":"s","ended":true,"usage":{"input":5,"output":2,"cacheRead":1,"totalTokens":8,"cost":{"total":0.25}}}`: {Session: "s", Ended: true,
			Usage: execution.Usage{Input: 5, Output: 2, Cached: 1}.WithTotal(), USD: 0.25},
		`drawbar:{"ended":true,"usage":{"input":0},"failed":"401 bad key"}`: {Ended: true, Failed: execution.CodeAuth, Message: "401 bad key"},
		`drawbar:{"failed":"the retries are used up"}`:                      {Failed: execution.CodeProvider, Message: "the retries are used up"},
		`drawbar:{"session":"s","limit":true}`:                              {Session: "s", Limit: true},
		`drawbar:{"retry":"429 slow down"}`:                                 {Retry: execution.CodeRateLimited, Message: "429 slow down"},
	} {
		if got, ok := reportOf([]byte(line)); !ok || got != want {
			t.Errorf("%s: %+v %v, want %+v", line, got, ok, want)
		}
	}
	for _, line := range []string{"", "drawbar:", "drawbar:[]", `drawbar:{"ended":`, `{"ended":true}`, "drawbar: it works"} {
		if got, ok := reportOf([]byte(line)); ok {
			t.Errorf("%q is taken for a report: %+v", line, got)
		}
	}
}

func FuzzReports(f *testing.F) {
	f.Add([]byte(`drawbar:{"session":"s","ended":true,"usage":{"input":5,"cost":{"total":0.25}},"failed":"x"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if r, ok := reportOf(line); ok && (r.USD < 0 || r.Usage.Input < 0 || r.Failed != "" && r.Message == "" && bytes.Contains(line, []byte(`"failed":"x`))) {
			t.Errorf("%q: %+v", line, r)
		}
	})
}

// TestShell: the output of a command is without the command and the tool's remarks; the exit code is known once it has ended.
func TestShell(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, status, output, want string
		exit                       *int
	}{
		{"ended well", "completed", `{"content":[{"type":"text","text":"hi\n\n\nWall time: 0.06 seconds"}],"details":{"wallTimeMs":60}}`, "hi\n", new(0)},
		{"without output", "completed", `{"content":[{"type":"text","text":"(no output)\n\nWall time: 0.06 seconds"}],"details":{"wallTimeMs":60}}`, "", new(0)},
		{"failed", "failed", `{"content":[{"type":"text","text":"no\n\n\nWall time: 0.06 seconds\n\nCommand exited with code 3"}],"details":{"wallTimeMs":60,"exitCode":3},"isError":true}`, "no\n", new(3)},
		{"ran too long", "failed", `{"content":[{"type":"text","text":"no\n\nWall time: 1.00 seconds\n\n[Command timed out after 1 seconds]"}],"details":{"wallTimeMs":1000,"timedOut":true}}`, "no", nil},
		{"goes on", "in_progress", `{"content":[{"type":"text","text":"hi"}],"details":{}}`, "hi", nil},
		{"was refused", "failed", `{"content":[{"type":"text","text":"refused"}]}`, "refused", nil},
	} {
		c := &acpagent.ToolCall{Kind: "execute", Status: tt.status, Title: "$ x", Input: []byte(`{"command":"x"}`), Output: []byte(tt.output)}
		sh, ok := shellOf(c)
		if !ok || sh.Command != "x" || sh.Output != tt.want || (sh.ExitCode == nil) != (tt.exit == nil) || tt.exit != nil && *sh.ExitCode != *tt.exit {
			t.Errorf("%s: %+v %v", tt.name, sh, ok)
		}
	}
	if sh, ok := shellOf(&acpagent.ToolCall{Kind: "execute", Title: "eval: 1"}); !ok || sh.Command != "eval: 1" {
		t.Errorf("a call without a command: %+v %v", sh, ok)
	}
}

// TestTools: the title of a call begins with the tool, unless it is a command or an intent.
func TestTools(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{"write: /w/a.txt": "write", "Look: everywhere": "edit", "$ ls": "edit", "scripted": "edit"} {
		if got := toolName(&acpagent.ToolCall{Title: title, Kind: "edit", Input: []byte(`{"path":"/w/a.txt"}`)}); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
	if got := toolName(&acpagent.ToolCall{Title: "task", Kind: "other"}); got != "task" {
		t.Errorf("a tool without a kind: %q", got)
	}
	for title, want := range map[string]string{"mcp__files_echo": "files echo", "mcp__files_echo: /w": "files echo", "mcp__other_echo": " ", "mcp__files_": " ", "mcp__files_echo is asked": " "} {
		server, tool, ok := mcpTool(&acpagent.ToolCall{Title: title}, []string{"files"})
		if got := server + " " + tool; got != want || ok != (want != " ") {
			t.Errorf("%q: %q %v, want %q", title, got, ok, want)
		}
	}
}

// TestSpawn: the approval mode decides whether it asks; the system prompt has places of its own.
func TestSpawn(t *testing.T) {
	t.Parallel()
	spawned := func(run execution.RunOptions, prompt string) []string {
		t.Helper()
		l := &cliagent.Launch{Request: execution.Request{Run: run, Instructions: execution.Instructions{SystemPrompt: prompt}}, Dir: "/private"}
		inv, err := spawn(l)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.Index(inv.Args, "--extension")
		if at < 0 || !strings.HasPrefix(inv.Args[at+1], "/private") {
			t.Errorf("the extension that reports model calls is not loaded: %q", inv.Args)
			return inv.Args
		}
		return slices.Delete(inv.Args, at, at+2)
	}
	for _, tt := range []struct {
		mode  execution.ApprovalMode
		asked bool
		want  string
	}{
		{"", true, "write"}, {execution.ApprovalPrompt, true, "write"}, {"", false, "always-ask"}, {execution.ApprovalPrompt, false, "always-ask"},
		{execution.ApprovalDeny, true, "always-ask"}, {execution.ApprovalYolo, false, "yolo"}, {execution.ApprovalYolo, true, "yolo"},
	} {
		if got := spawned(execution.RunOptions{ApprovalMode: tt.mode, Interactive: tt.asked}, ""); !slices.Equal(got, []string{"acp", "--approval-mode", tt.want}) {
			t.Errorf("%+v: %q", tt, got)
		}
	}
	for mode, want := range map[execution.SystemPromptMode]string{execution.SystemPromptAppend: "--append-system-prompt", execution.SystemPromptReplace: "--system-prompt"} {
		if got := spawned(execution.RunOptions{SystemPromptMode: mode}, "be kind"); len(got) != 5 || got[3] != want || !strings.HasPrefix(got[4], "/private") {
			t.Errorf("%s: %q", mode, got)
		}
	}
}

// TestSessionCases are entries that the recorded sessions lack.
func TestSessionCases(t *testing.T) {
	t.Parallel()
	const file = ".omp/agent/sessions/-w/2026-11-23T17-31-57-298Z_s.jsonl"
	head := func(title, more string) string {
		return `{"type":"title","v":1,` + title + `,"updatedAt":"2026-11-23T17:31:57.298Z","pad":"  "}` + "\n" +
			`{"type":"session","version":3,"id":"s","timestamp":"2026-11-23T17:31:57.298Z","cwd":"/w"` + more + "}\n"
	}
	entry := func(id, parent, kind, more string) string {
		return `{"type":"` + kind + `","id":"` + id + `","parentId":` + parent + `,"timestamp":"2026-11-23T17:31:58Z"` + more + "}\n"
	}
	said := func(role, text string) string {
		return `,"message":{"role":"` + role + `","content":[{"type":"text","text":"` + text + `"}],"stopReason":"stop"}`
	}
	one := entry("1", "null", "message", said("user", "one"))
	titled := func(want string) func(*testing.T, history.Session) {
		return func(t *testing.T, s history.Session) {
			if s.Title != want {
				t.Errorf("title %q, want %q", s.Title, want)
			}
		}
	}
	adaptertest.SessionCases(t, sessions, []adaptertest.SessionCase{
		{Name: "the agent's title", ID: "s", Files: map[string]string{file: head(`"title":"about one","source":"auto"`, "") + one}, Want: "user: one\n", Check: titled("about one")},
		{Name: "a title of the user's", ID: "s", Files: map[string]string{file: head(`"title":"mine","source":"user"`, "") + one +
			entry("2", `"1"`, "title_change", `,"title":"about one","source":"auto"`)}, Want: "user: one\n", Check: titled("mine")},
		{Name: "a fork names a session", ID: "s", Files: map[string]string{file: head(`"title":""`, `,"parentSession":"p"`) + one}, Want: "user: one\n", Check: func(t *testing.T, s history.Session) {
			if s.ForkedFrom != "p" {
				t.Errorf("forked from %q", s.ForkedFrom)
			}
		}},
		{Name: "records that are not messages", ID: "s", Files: map[string]string{file: head(`"title":""`, "") + one + entry("2", `"1"`, "reset_boundary", "") +
			entry("3", `"2"`, "model_usage", `,"purpose":"title","model":"m","usage":{"input":5,"output":1,"reasoningTokens":1}`) +
			entry("4", `"3"`, "message", said("developer", "a reminder")) + entry("5", `"4"`, "message", `,"message":{"role":"user","content":"go on","attribution":"agent"}`) +
			entry("6", `"5"`, "message", `,"message":{"role":"pythonExecution","code":"1+1","output":"2"}`) +
			entry("7", `"6"`, "message", `,"message":{"role":"fileMention","files":[{"path":"a.txt","content":"x"},{"path":"b.txt"}]}`) +
			entry("8", `"7"`, "mode_change", "") + entry("9", `"8"`, "credential_pin", "") + entry("10", `"9"`, "ttsr_injection", "") + entry("11", `"10"`, "service_tier_change", "")},
			Want: "user: one\nsystem: the context was cleared\nsystem: tokens used beside the conversation 5/0/1\nsystem: a reminder\nsystem: go on\nsystem: $ 1+1\n2\n" +
				"system: files read: a.txt, b.txt\n"},
		{Name: "a helper of a helper", ID: "s", Files: map[string]string{file: head(`"title":""`, "") + one,
			strings.TrimSuffix(file, ".jsonl") + "/Looker.jsonl":        entry("1", "null", "message", `,"message":{"role":"user","content":"look","attribution":"agent"}`),
			strings.TrimSuffix(file, ".jsonl") + "/Looker/My_Sub.jsonl": entry("1", "null", "message", said("user", "deeper"))},
			Want: "user: one\nsub-agent Looker  \n  user: look\nsub-agent My_Sub  \n  user: deeper\n", Check: func(t *testing.T, s history.Session) {
				if len(s.Subagents) != 2 || s.Subagents[0].ID != "Looker" || s.Subagents[1].ID != "My_Sub" || s.Subagents[1].Messages[0].Content != "deeper" || s.Subagents[0].Messages[0].Role != history.RoleUser {
					t.Errorf("sub-agents %+v", s.Subagents)
				}
			}},
	})
}
