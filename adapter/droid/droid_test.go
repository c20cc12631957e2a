package droid

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
)

// TestTools: the title of a call begins with its tool, unless it is a command.
func TestTools(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{"Create /w/hello.txt": "Create", "`echo broken; exit 3` (high)": "Execute"} {
		if got := toolName(&acpagent.ToolCall{Title: title}); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
	if server, tool, ok := mcpTool(&acpagent.ToolCall{Title: "files___echo x"}, []string{"other", "files"}); server != "files" || tool != "echo" || !ok {
		t.Error(server, tool, ok)
	}
	if _, _, ok := mcpTool(&acpagent.ToolCall{Title: "files__echo"}, []string{"files"}); ok {
		t.Error("a name of another form")
	}
}

// TestSessionCases are records that the recorded sessions lack.
func TestSessionCases(t *testing.T) {
	t.Parallel()
	const file = ".factory/sessions/-w/s.jsonl"
	record := func(id, parent, role, text string) string {
		return `{"type":"message","id":"` + id + `","parentId":"` + parent + `","timestamp":"2026-11-23T22:01:36Z","message":{"role":"` + role + `","content":[{"type":"text","text":"` + text + `"}]}}` + "\n"
	}
	const head = `{"type":"session_start","id":"s","title":"ok","version":2,"cwd":"/w"}` + "\n"
	adaptertest.SessionCases(t, sessions, []adaptertest.SessionCase{
		{Name: "rewound", ID: "s", Files: map[string]string{file: head + record("1", "", "user", "one") + record("2", "1", "assistant", "1") + record("3", "2", "user", "two") + record("4", "2", "user", "else")},
			Want: "user: one\nassistant: 1\nuser: two (taken back)\nuser: else\n"},
		{Name: "a reminder", ID: "s", Files: map[string]string{file: head + record("1", "", "user", "<system-reminder>x</system-reminder>") + record("2", "1", "user", "one")}, Want: "user: one\n"},
		{Name: "a compaction", ID: "s", Files: map[string]string{file: head + record("1", "", "user", "one") + `{"type":"compaction_state","id":"c","timestamp":"2026-11-23T22:01:37Z","summaryText":"s"}` + "\n"},
			Want: "user: one\nsystem: the context was compacted\n"},
	})
}
