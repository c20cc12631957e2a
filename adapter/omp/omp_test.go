package omp

import (
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// TestFailures: an error of the model API is an answer that begins with its status.
func TestFailures(t *testing.T) {
	t.Parallel()
	used := execution.Usage{Input: 1, Output: 1}
	for _, tt := range []struct {
		text  string
		spent execution.Usage
		want  execution.ErrorCode
	}{
		{"401 bad key\nbad key (type=authentication_error param=invalid_api_key)", execution.Usage{}, execution.CodeAuth},
		{"401 Unauthorized", execution.Usage{}, execution.CodeAuth},
		{"503 no server", execution.Usage{}, execution.CodeProvider},
		{"401 means that the key is wrong.", used, ""},
		{"42 is the answer", execution.Usage{}, ""},
		{"", execution.Usage{}, ""},
	} {
		code, failed := failedText(tt.text, tt.spent)
		if failed != (tt.want != "") || failed && code != tt.want {
			t.Errorf("%q, %+v: %s %v, want %q", tt.text, tt.spent, code, failed, tt.want)
		}
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
		return inv.Args
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
	titled := func(want string) func(*testing.T, adapter.Session) {
		return func(t *testing.T, s adapter.Session) {
			if s.Title != want {
				t.Errorf("title %q, want %q", s.Title, want)
			}
		}
	}
	adaptertest.SessionCases(t, sessions, []adaptertest.SessionCase{
		{Name: "the agent's title", ID: "s", Files: map[string]string{file: head(`"title":"about one","source":"auto"`, "") + one}, Want: "user: one\n", Check: titled("about one")},
		{Name: "a title of the user's", ID: "s", Files: map[string]string{file: head(`"title":"mine","source":"user"`, "") + one +
			entry("2", `"1"`, "title_change", `,"title":"about one","source":"auto"`)}, Want: "user: one\n", Check: titled("mine")},
		{Name: "a fork names a session", ID: "s", Files: map[string]string{file: head(`"title":""`, `,"parentSession":"p"`) + one}, Want: "user: one\n", Check: func(t *testing.T, s adapter.Session) {
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
			Want: "user: one\nsub-agent Looker  \n  user: look\nsub-agent My_Sub  \n  user: deeper\n", Check: func(t *testing.T, s adapter.Session) {
				if len(s.Subagents) != 2 || s.Subagents[0].ID != "Looker" || s.Subagents[1].ID != "My_Sub" || s.Subagents[1].Messages[0].Content != "deeper" || s.Subagents[0].Messages[0].Role != adapter.RoleUser {
					t.Errorf("sub-agents %+v", s.Subagents)
				}
			}},
	})
}
