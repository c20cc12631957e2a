package copilot

import (
	"encoding/json"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// TestAside: Copilot puts its own notes among the words of its model, and says end_turn after an error.
func TestAside(t *testing.T) {
	t.Parallel()
	for chunk, want := range map[string]*acpagent.Aside{
		"Info: /work/a file.txt":                                         {},
		"Info: C:\\work\\a.txt":                                          {},
		"Info: Operation cancelled by user":                              {},
		"Info: Request failed due to a transient API error. Retrying...": {Retry: execution.CodeProvider, Message: "Request failed due to a transient API error."},
		"Error: Authentication failed with provider at http://x (HTTP 401).\n  Check your COPILOT_PROVIDER_API_KEY": {Failed: execution.CodeAuth,
			Message: "Authentication failed with provider at http://x (HTTP 401).\n  Check your COPILOT_PROVIDER_API_KEY"},
		"Error: Failed to get response from the AI model; retried 5 times Last error: 429 slow": {Failed: execution.CodeRateLimited,
			Message: "Failed to get response from the AI model; retried 5 times Last error: 429 slow"},
		"Error: Failed to get response from the AI model; retried 5 times Last error: 500 broken": {Failed: execution.CodeProvider,
			Message: "Failed to get response from the AI model; retried 5 times Last error: 500 broken"},
		"Error: Failed to get response from the AI model": {Failed: execution.CodeProvider, Message: "Failed to get response from the AI model"},
		"Error: 400 bad": {Failed: execution.CodeInvalidRequest, Message: "400 bad"},
		"Error: Request exceeds the model's prompt budget": {Failed: execution.CodeContextExceeded, Message: "Request exceeds the model's prompt budget"},
		// What a model may say.
		"Info: this is how it works": nil, "Error: ": nil, "Error: the file was missing, so I made it": nil, "hello": nil, "Info": nil, "Info: /a\n/b": nil,
	} {
		got, ok := aside(chunk)
		if ok != (want != nil) || want != nil && got != *want {
			t.Errorf("%q: %+v %v, want %+v", chunk, got, ok, want)
		}
	}
}

func TestCallsOfTheProtocol(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		title, kind, input, want string
	}{
		{"run it", "execute", `{"command":"x"}`, "bash"},
		{"Creating a", "edit", `{"path":"a","file_text":"x"}`, "create"},
		{"Editing a", "edit", `{"path":"a","old_str":"x"}`, "edit"},
		{"Viewing a", "read", `{"path":"a"}`, "view"},
		{"look around", "other", `{"agent_type":"explore"}`, "task"},
		{"read_bash", "other", `{}`, "read_bash"},
		{"words and words", "search", `{}`, "search"},
	} {
		if got := toolName(&acpagent.ToolCall{Title: tc.title, Kind: tc.kind, Input: json.RawMessage(tc.input)}); got != tc.want {
			t.Errorf("%+v: %s", tc, got)
		}
	}
	servers := []string{"my", "my-files", "drawbar"}
	for title, want := range map[string][2]string{"my-files-read-all": {"my-files", "read-all"}, "my-x": {"my", "x"}, "drawbar-weather": {"drawbar", "weather"}, "other-x": {}} {
		server, tool, ok := mcpTool(&acpagent.ToolCall{Title: title, Kind: "other"}, servers)
		if server != want[0] || tool != want[1] || ok != (want[0] != "") {
			t.Errorf("%s: %s %s %v", title, server, tool, ok)
		}
	}
}

func TestShellOfTheProtocol(t *testing.T) {
	t.Parallel()
	c := &acpagent.ToolCall{Kind: "execute", Input: json.RawMessage(`{"command":"x","commands":["x"]}`), Content: []acpagent.Content{{Text: "hi\n<shellId: 0 completed with exit code 3>"}},
		Output: json.RawMessage(`{"content":"hi","contents":[{"type":"text"},{"type":"shell_exit","shellId":"0","exitCode":3,"cwd":"/w"}]}`)}
	sh, ok := shellOf(c)
	if !ok || sh.Command != "x" || sh.Output != "hi\n" || sh.ExitCode == nil || *sh.ExitCode != 3 || sh.Cwd != "/w" {
		t.Errorf("%+v %v", sh, ok)
	}
	c.Output = nil
	if sh, ok = shellOf(c); !ok || sh.ExitCode != nil {
		t.Errorf("%+v %v", sh, ok)
	}
	if _, ok = shellOf(&acpagent.ToolCall{Kind: "read"}); ok {
		t.Error("a read is not a command")
	}
}

func TestPromptUsage(t *testing.T) {
	t.Parallel()
	v, err := jsonscan.Parse([]byte(`{"usage":{"inputTokens":137,"outputTokens":20,"thoughtTokens":5,"cachedReadTokens":30,"cachedWriteTokens":7}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := execution.Usage{Input: 100, Output: 20, Cached: 30, CacheWrite: 7, Thinking: 5, Total: 157}
	if u, ok := promptUsage(v); !ok || u != want {
		t.Errorf("%+v", u)
	}
	if v, err = jsonscan.Parse([]byte(`{"stopReason":"end_turn"}`)); err != nil {
		t.Fatal(err)
	}
	if _, ok := promptUsage(v); ok {
		t.Error("an answer without usage has some")
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]execution.ErrorCode{
		"Resource not found: Session 0 not found":                          execution.CodeSessionNotFound,
		`Request sessions.open failed with message: Invalid sessionId: ""`: execution.CodeSessionNotFound,
		"No authentication information found.":                             execution.CodeAuth,
		"something else":                                                   "",
	} {
		if got := classify(-32603, message); got != want {
			t.Errorf("%s: %s", message, got)
		}
	}
}
