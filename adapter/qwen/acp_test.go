package qwen

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

func called(name, meta string) *acpagent.ToolCall {
	return &acpagent.ToolCall{Meta: json.RawMessage(`{"toolName":"` + name + `"` + meta + `}`)}
}

func TestMCPCall(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, tool, meta string
		servers          []string
		want             string
	}{
		{name: "no tool of a server", tool: "read_file"},
		{name: "known", tool: "mcp__files__read", servers: []string{"files"}, want: "files read"},
		{name: "a known server with underscores, of which Qwen states the first part", tool: "mcp__a__b__echo", meta: `,"serverId":"a"`, servers: []string{"a__b"}, want: "a__b echo"},
		{name: "the longest of two that fit", tool: "mcp__a__b__echo", servers: []string{"a", "a__b", "a", "x"}, want: "a__b echo"},
		{name: "a tool with underscores", tool: "mcp__a__b__echo", servers: []string{"a"}, want: "a b__echo"},
		{name: "the user's own server", tool: "mcp__own__b__echo", servers: []string{"a"}, want: "own b__echo"},
		{name: "a name that only begins alike", tool: "mcp__files2__read", servers: []string{"files"}, want: "files2 read"},
		{name: "no tool behind it", tool: "mcp__files"},
		{name: "nothing behind the server", tool: "mcp__files__"},
		{name: "no server", tool: "mcp____read"},
	} {
		server, tool, ok := mcpCall(called(tt.tool, tt.meta), tt.servers)
		got := ""
		if ok {
			got = server + " " + tool
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestShellCall(t *testing.T) {
	t.Parallel()
	three := 3
	for _, tt := range []struct {
		name, tool, input, output string
		want                      *acpagent.Shell
	}{
		{name: "another tool", tool: "read_file", input: `{"command":"x"}`},
		{name: "at work", tool: toolShell, input: `{"command":"ls -l"}`, want: &acpagent.Shell{Command: "ls -l"}},
		{name: "without its input", tool: toolShell, want: &acpagent.Shell{Command: "the title"}},
		{name: "ended", tool: toolShell, input: `{"command":"x"}`, output: `{"type":"shell_result","output":"a\nb","directory":"/w","exitCode":3}`,
			want: &acpagent.Shell{Command: "x", Output: "a\nb", Cwd: "/w", ExitCode: &three}},
		{name: "by a signal", tool: toolShell, input: `{"command":"x"}`, output: `{"type":"shell_result","output":"a","exitCode":null,"signal":9}`, want: &acpagent.Shell{Command: "x", Output: "a"}},
		{name: "a result of another kind", tool: toolShell, input: `{"command":"x"}`, output: `{"type":"text","output":"a","exitCode":0}`, want: &acpagent.Shell{Command: "x"}},
		{name: "a text as result", tool: toolShell, input: `{"command":"x"}`, output: `"Blocked"`, want: &acpagent.Shell{Command: "x"}},
	} {
		c := called(tt.tool, "")
		c.Title, c.Input, c.Output = "the title", json.RawMessage(tt.input), json.RawMessage(tt.output)
		sh, ok := shellCall(c)
		if ok != (tt.want != nil) {
			t.Errorf("%s: a command: %v", tt.name, ok)
		} else if ok {
			if diff := cmp.Diff(*tt.want, sh); diff != "" {
				t.Errorf("%s: %s", tt.name, diff)
			}
		}
	}
}

func TestSubagentCall(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, tool, input, output string
		want                      acpagent.Subagent
		no                        bool
	}{
		{name: "another tool", tool: "read_file", no: true},
		{name: "begins", tool: "agent", input: `{"subagent_type":"scout","prompt":"look"}`, want: acpagent.Subagent{Name: "scout", Prompt: "look", Summary: "shown"}},
		{name: "of no kind", tool: "agent", input: `{"prompt":"look"}`, want: acpagent.Subagent{Name: "general-purpose", Prompt: "look", Summary: "shown"}},
		{name: "as old versions call it", tool: "task", want: acpagent.Subagent{Name: "general-purpose", Summary: "shown"}},
		{name: "ended", tool: "agent", output: `{"executionMode":"foreground","status":"completed","terminateReason":"GOAL"}`, want: acpagent.Subagent{Name: "general-purpose", Summary: "shown"}},
		{name: "in the background", tool: "agent", output: `{"executionMode":"background","status":"background"}`, want: acpagent.Subagent{Name: "general-purpose", Summary: "shown", Running: true}},
		{name: "at work", tool: "agent", output: `{"executionMode":"foreground","status":"running"}`, want: acpagent.Subagent{Name: "general-purpose", Summary: "shown", Running: true}},
		{name: "failed", tool: "agent", output: `{"status":"failed","terminateReason":"why"}`, want: acpagent.Subagent{Name: "general-purpose", Summary: "shown", Failure: "why"}},
		{name: "cancelled without a reason", tool: "agent", output: `{"status":"cancelled"}`, want: acpagent.Subagent{Name: "general-purpose", Summary: "shown", Failure: "shown"}},
	} {
		c := called(tt.tool, "")
		c.Input, c.Output, c.Content = json.RawMessage(tt.input), json.RawMessage(tt.output), []acpagent.Content{{Text: "shown"}}
		a, ok := subagentCall(c)
		if ok == tt.no {
			t.Errorf("%s: starts a sub-agent: %v", tt.name, ok)
		} else if diff := cmp.Diff(tt.want, a); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func parse(t *testing.T, text string) jsonscan.Value {
	t.Helper()
	v, err := jsonscan.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func TestCallUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, usage string
		want        execution.Usage
		no          bool
	}{
		{name: "none", usage: `{}`, no: true},
		{name: "no object", usage: `7`, no: true},
		{name: "plain", usage: `{"inputTokens":100,"outputTokens":20,"totalTokens":120,"thoughtTokens":0,"cachedReadTokens":0}`, want: execution.Usage{Input: 100, Output: 20, Total: 120}},
		{name: "the cache is part of the input", usage: `{"inputTokens":100,"outputTokens":20,"totalTokens":120,"cachedReadTokens":60}`, want: execution.Usage{Input: 40, Cached: 60, Output: 20, Total: 120}},
		{name: "more from the cache than there is", usage: `{"inputTokens":100,"outputTokens":20,"cachedReadTokens":600}`, want: execution.Usage{Cached: 100, Output: 20, Total: 120}},
		{name: "thoughts are part of the output", usage: `{"inputTokens":100,"outputTokens":20,"totalTokens":120,"thoughtTokens":15}`, want: execution.Usage{Input: 100, Output: 20, Thinking: 15, Total: 120}},
		{name: "thoughts beside the output", usage: `{"inputTokens":100,"outputTokens":20,"totalTokens":150,"thoughtTokens":30}`, want: execution.Usage{Input: 100, Output: 50, Thinking: 30, Total: 150}},
		{name: "more thoughts than output", usage: `{"inputTokens":100,"outputTokens":20,"totalTokens":120,"thoughtTokens":90}`, want: execution.Usage{Input: 100, Output: 20, Thinking: 20, Total: 120}},
		{name: "nonsense", usage: `{"inputTokens":-5,"outputTokens":1e99,"totalTokens":"x"}`},
	} {
		u, ok := callUsage(parse(t, `{"_meta":{"usage":`+tt.usage+`}}`))
		if ok == tt.no || u != tt.want {
			t.Errorf("%s: %+v %v, want %+v", tt.name, u, ok, tt.want)
		}
	}
}

// TestClassify: what the model API said stands behind a word of the protocol, and its status or words decide.
func TestClassify(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]execution.ErrorCode{
		"Internal error: 400 no such thing":                                        execution.CodeInvalidRequest,
		"Internal error: 401 Incorrect API key provided":                           execution.CodeAuth,
		"Internal error: 403 no":                                                   execution.CodeAuth,
		"Internal error: 404 no":                                                   execution.CodeModelNotFound,
		"Internal error: 404 The model `x` does not exist":                         execution.CodeModelNotFound,
		"Internal error: 429 slow down":                                            execution.CodeRateLimited,
		"Internal error: 503 busy":                                                 execution.CodeProvider,
		"Internal error: 400 This model's maximum context length is 9":             execution.CodeContextExceeded,
		"Internal error: odd (Status: 429)":                                        execution.CodeRateLimited,
		"401 no":                                                                   execution.CodeAuth,
		"Authentication required: Missing API key for OpenAI-compatible auth":      execution.CodeAuth,
		"Internal error: No saved session found with ID x":                         execution.CodeSessionNotFound,
		"Internal error: 12 monkeys":                                               "",
		"Internal error: 4000 monkeys":                                             "",
		"something else":                                                           "",
		"Internal error: Qwen OAuth quota exceeded: Your free daily quota is used": execution.CodeRateLimited,
	} {
		if got := protocol().Classify(-32603, message); got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}

func TestMessageNotice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, meta string
		want       acpagent.Notice
		no         bool
	}{
		{name: "the model's", meta: `{}`, no: true},
		{name: "the model's answer to news", meta: `{"qwenDiscreteMessage":true,"source":"background_notification_response","backgroundTask":{"kind":"agent","toolUseId":"c"}}`, no: true},
		{name: "spoken", meta: `{"qwenDiscreteMessage":true,"source":"realtime_voice"}`, no: true},
		{name: "a note", meta: `{"qwenDiscreteMessage":true,"source":"vision_bridge_notice"}`, want: acpagent.Notice{Message: "qwen: text"}},
		{name: "a command in the background", meta: `{"qwenDiscreteMessage":true,"source":"background_notification","backgroundTask":{"kind":"shell","toolUseId":"c","status":"completed"}}`, want: acpagent.Notice{Message: "qwen: text"}},
		{name: "a sub-agent", meta: `{"qwenDiscreteMessage":true,"source":"background_task_completed","backgroundTask":{"kind":"agent","toolUseId":"c","status":"completed"}}`,
			want: acpagent.Notice{Message: "qwen: text", Call: "c", End: acpagent.Subagent{Summary: "text"}}},
		{name: "a sub-agent that failed", meta: `{"qwenDiscreteMessage":true,"source":"background_task_completed","backgroundTask":{"kind":"agent","toolUseId":"c","status":"failed"}}`,
			want: acpagent.Notice{Message: "qwen: text", Call: "c", End: acpagent.Subagent{Summary: "text", Failure: "text"}}},
	} {
		n, ok := messageNotice(parse(t, `{"content":{"type":"text","text":"text"},"_meta":`+tt.meta+`}`))
		if ok == tt.no {
			t.Errorf("%s: the program's own: %v", tt.name, ok)
		} else if diff := cmp.Diff(tt.want, n); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// TestConversationStderr: the log of the program repeats what it answers, so it is shown for debugging only, but what it warns of is told.
func TestConversationStderr(t *testing.T) {
	t.Parallel()
	for _, debug := range []bool{false, true} {
		s := cliagent.NewSink(debug)
		p := protocol().NewParser(request())
		for _, line := range []string{"[2026-01-01] a line of the log", "Ripgrep not available: x", "Warning: odd settings"} {
			p.Line(process.Stderr, []byte(line), s)
		}
		events := s.Take()
		if logs, warned := find[execution.Log](events), find[execution.Debug](events); (len(logs) == 1) != debug || len(warned) != 1 || warned[0].Level != execution.DebugWarn || s.UnknownLines() != 0 {
			t.Errorf("debug %v: %+v %+v, %d unknown", debug, logs, warned, s.UnknownLines())
		}
	}
}

// TestRedirect: the model API is named where Qwen looks for it, the key is none, and nothing else is reached.
func TestRedirect(t *testing.T) {
	t.Parallel()
	r := Adapter{}.RedirectModel("http://127.0.0.1:9/", "/home/x")
	for name, want := range map[string]string{"HOME": "/home/x", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "dummy-key-not-real", "OPENAI_MODEL": "qwen-max",
		"NO_PROXY": "127.0.0.1", "QWEN_DISABLE_AUTO_TITLE": "1"} {
		if r.Env[name] != want {
			t.Errorf("%s is %q, want %q", name, r.Env[name], want)
		}
	}
	if len(r.Files) != 1 {
		t.Fatalf("%d files", len(r.Files))
	}
	var set struct {
		Memory   map[string]bool
		Privacy  struct{ UsageStatisticsEnabled *bool }
		General  struct{ EnableAutoUpdate *bool }
		Security struct{ Auth struct{ SelectedType string } }
		Models   map[string][]struct {
			ID, EnvKey, BaseURL string
			GenerationConfig    struct{ Modalities map[string]bool }
		} `json:"modelProviders"`
	}
	for path, content := range r.Files {
		if filepath.ToSlash(path) != "/home/x/.qwen/settings.json" {
			t.Errorf("file %s", path)
		}
		if err := json.Unmarshal(content, &set); err != nil {
			t.Fatal(err)
		}
	}
	if on, ok := set.Memory["enableManagedAutoMemory"]; on || !ok || set.Memory["enableManagedAutoDream"] {
		t.Errorf("memories are made: %v", set.Memory)
	}
	if u, a := set.Privacy.UsageStatisticsEnabled, set.General.EnableAutoUpdate; u == nil || *u || a == nil || *a || set.Security.Auth.SelectedType != authOpenAI {
		t.Errorf("settings %+v", set)
	}
	var ids []string
	for _, m := range set.Models[authOpenAI] {
		ids = append(ids, m.ID)
		if m.EnvKey != "OPENAI_API_KEY" || m.BaseURL != r.Env["OPENAI_BASE_URL"] || !m.GenerationConfig.Modalities["image"] {
			t.Errorf("model %+v", m)
		}
	}
	if !slices.Contains(ids, r.Model) || !slices.Contains(ids, r.ThinkingModel) || r.ThinkingModel == "" {
		t.Errorf("models %q, used are %s and %s", ids, r.Model, r.ThinkingModel)
	}
	for _, c := range []struct{ name, input, wantName, wantInput string }{
		{r.Shell("ls", true).Name, string(r.Shell("ls", true).Input), toolShell, `{"command":"ls","is_background":false}`},
		{r.MCP("s", "t", []byte(`{"a":1}`)).Name, string(r.MCP("s", "t", []byte(`{"a":1}`)).Input), "mcp__s__t", `{"a":1}`},
		{r.Structured([]byte(`{"a":1}`)).Name, string(r.Structured([]byte(`{"a":1}`)).Input), toolStructure, `{"a":1}`},
	} {
		if c.name != c.wantName || c.input != c.wantInput {
			t.Errorf("call %s %s, want %s %s", c.name, c.input, c.wantName, c.wantInput)
		}
	}
	if r.Clarify != nil {
		t.Error("Qwen asks a person for text in its own terminal only")
	}
}

// TestConversationModel: prices go by the name of a model, of which its id has the way to log in besides.
func TestConversationModel(t *testing.T) {
	t.Parallel()
	req := request()
	req.Run.Interactive, req.Run.Cwd = true, "/work"
	p, s := protocol().NewParser(req), cliagent.NewSink(false)
	p.Open(s)
	for _, line := range []string{`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s","models":{"currentModelId":"qwen-max(openai)","availableModels":[{"modelId":"qwen-max(openai)","name":"qwen-max"}]}}}`} {
		p.Line(process.Stdout, []byte(line), s)
	}
	if start := find[execution.SessionStart](s.Take()); len(start) != 1 || start[0].Model != "qwen-max" {
		t.Errorf("%+v", start)
	}
}

// TestIsNotice: a piece of the stream is a notice only when it is a whole one.
func TestIsNotice(t *testing.T) {
	t.Parallel()
	for piece, want := range map[string]bool{"[API Error: 401 no]": true, "[API Error: 401 no]\nPlease log in.": true, "[API Error: ": false, "[API Error: 401": false,
		" [API Error: 401 no]": false, "so [API Error: 401 no]": false, "[API": false, "": false, "[api error: 401 no]": false} {
		if got := isNotice([]byte(piece)); got != want {
			t.Errorf("%q: %v", piece, got)
		}
	}
}

// TestPromptLimit: what Qwen reads of its standard input is the limit, texts that are attached included; in a conversation there is none.
func TestPromptLimit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		size     int
		attached string
		want     execution.ErrorCode
	}{
		"as much as it takes":       {size: maxPrompt},
		"one more":                  {size: maxPrompt + 1, want: execution.CodeValidation},
		"too much with a text file": {size: maxPrompt - 10, attached: "aGkgdGhlcmU=", want: execution.CodeValidation},
	} {
		req := request()
		req.Message.Text = execution.Prompt(strings.Repeat("x", tt.size))
		if tt.attached != "" {
			req.Message.Attachments = []execution.Attachment{{Base64: tt.attached, MimeType: "text/plain", Name: "n.txt"}}
		}
		inv, err := spawn(&cliagent.Launch{Request: req, Dir: t.TempDir()})
		if got := execution.CodeOf(err); err != nil && got != tt.want || err == nil && (tt.want != "" || len(inv.Stdin) < tt.size) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	req := request()
	req.Run.Interactive, req.Message.Text = true, execution.Prompt(strings.Repeat("x", maxPrompt+1))
	if _, err := spawnACP(&cliagent.Launch{Request: req, Dir: t.TempDir()}); err != nil {
		t.Errorf("in a conversation: %v", err)
	}
}
