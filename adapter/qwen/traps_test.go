package qwen

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// The lines of a run, as Qwen Code writes them.
const (
	lineInit    = `{"type":"system","subtype":"init","session_id":"s","cwd":"/w","model":"m","qwen_code_version":"0.24.4","mcp_servers":[{"name":"a__b","status":"connected"}]}`
	lineSuccess = `{"type":"result","subtype":"success","session_id":"s","is_error":false,"duration_ms":9,"num_turns":1,"result":"hi","usage":{"input_tokens":100,"output_tokens":20},"permission_denials":[]}`
	lineStart   = `{"type":"stream_event","parent_tool_use_id":null,"event":{"type":"message_start","message":{"id":"m1"}}}`
	lineStop    = `{"type":"stream_event","parent_tool_use_id":null,"event":{"type":"message_stop"}}`
)

func said(text string, input, output int) string {
	b, _ := json.Marshal(text)
	return fmt.Sprintf(`{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{"id":"m1","content":[{"type":"text","text":%s}],"usage":{"input_tokens":%d,"output_tokens":%d}}}`,
		b, input, output)
}

func delta(text string) string {
	b, _ := json.Marshal(text)
	return fmt.Sprintf(`{"type":"stream_event","parent_tool_use_id":null,"event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}}`, b)
}

func resultOf(text string) string {
	b, _ := json.Marshal(text)
	return strings.Replace(lineSuccess, `"result":"hi"`, `"result":`+string(b), 1)
}

func play(exit process.Exit, lines ...string) ([]execution.Event, execution.Result) {
	return cliagent.Replay(newParser(request()), []byte(strings.Join(lines, "\n")), []byte(exit.StderrTail), exit, false)
}

func find[T execution.Body](events []execution.Event) (list []T) {
	for _, e := range events {
		if b, ok := e.Body.(T); ok {
			list = append(list, b)
		}
	}
	return list
}

// TestErrorsReportedAsSuccess: old versions end a run whose model call failed with success, exit code 0 and the failure as the answer.
func TestErrorsReportedAsSuccess(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		tokens     int
		want       execution.ErrorCode
		message    string
	}{
		{"unauthorized", "[API Error: 401 bad key]", 0, execution.CodeAuth, "401 bad key"},
		{"rate limit with advice", "[API Error: 429 slow down]\nPlease wait and try again later.", 0, execution.CodeRateLimited, "429 slow down"},
		{"server", "[API Error: 503 busy]", 0, execution.CodeProvider, "503 busy"},
		{"bad request", "[API Error: 400 no]", 0, execution.CodeInvalidRequest, "400 no"},
		{"status behind", "[API Error: no (Status: 404)]", 0, execution.CodeModelNotFound, "no (Status: 404)"},
		{"status in words", "[API Error: odd (Status: INVALID_ARGUMENT)]", 0, execution.CodeProvider, "odd (Status: INVALID_ARGUMENT)"},
		{"cut behind words of the model", "so far [API Error: terminated]", 0, execution.CodeProvider, "terminated"},
		{"too long", "[API Error: 400 This model's maximum context length is 9]", 0, execution.CodeContextExceeded, "400 This model's maximum context length is 9"},
		{"words of a model that was paid for", "[API Error: 401] is what you will see", 20, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			events, res := play(process.Exit{}, lineInit, said(tt.text, 5*tt.tokens, tt.tokens), resultOf(tt.text))
			if got := res.Error.ErrorCode(); got != tt.want || tt.want == "" && res.Status != execution.StatusCompleted {
				t.Fatalf("got %s %q, want %q", res.Status, got, tt.want)
			}
			for _, d := range find[execution.TextDelta](events) {
				if tt.want != "" && strings.Contains(d.Accumulated, "API Error") {
					t.Errorf("the failure is shown as an answer: %q", d.Accumulated)
				}
			}
			if tt.want != "" && res.Error.Message != tt.message {
				t.Errorf("message %q, want %q", res.Error.Message, tt.message)
			}
			if tt.want == "" && res.Output.Text != tt.text {
				t.Errorf("answer %+v", res.Output)
			}
			if tt.want == execution.CodeAuth && (len(find[execution.AuthError](events)) != 1 || res.Error.Metadata["hint"] != loginGuidance) {
				t.Errorf("no way to log in is told: %+v", res.Error)
			}
		})
	}
}

// TestStreamedNotice: the same in pieces, where it must be held back before it is known what it is.
func TestStreamedNotice(t *testing.T) {
	t.Parallel()
	events, res := play(process.Exit{}, lineInit, lineStart, delta("half "), delta("[API Error: 500 x]"), said("half [API Error: 500 x]", 0, 0), lineStop, resultOf("half [API Error: 500 x]"))
	if res.Error.ErrorCode() != execution.CodeProvider || len(find[execution.TextDelta](events)) != 1 {
		t.Errorf("%+v, deltas %+v", res.Error, find[execution.TextDelta](events))
	}
	text := "[API Error: 500 x] is an example"
	events, res = play(process.Exit{}, lineInit, lineStart, delta("[API Error: 500 x]"), delta(" is an example"), said(text, 100, 20), lineStop, resultOf(text))
	if stops := find[execution.MessageStop](events); res.Status != execution.StatusCompleted || len(stops) != 1 || stops[0].Text != text {
		t.Errorf("%s, texts %+v", res.Status, stops)
	}
}

// TestLostNotice: the result repeats the failure, and the line that said it first is missing.
func TestLostNotice(t *testing.T) {
	t.Parallel()
	_, res := play(process.Exit{}, lineInit, resultOf("[API Error: 401 bad key]\nPlease wait."))
	if res.Error.ErrorCode() != execution.CodeAuth {
		t.Errorf("%s %+v", res.Status, res.Error)
	}
}

// TestNoNotice: only the agent itself without tokens can say that a call of the model API failed.
func TestNoNotice(t *testing.T) {
	t.Parallel()
	const text = "it says [API Error: 500 x]"
	events, res := play(process.Exit{}, lineInit, said(text, 100, 20), resultOf(text))
	if stops := find[execution.MessageStop](events); res.Status != execution.StatusCompleted || len(stops) != 1 || stops[0].Text != text {
		t.Errorf("a model that was paid for: %s, texts %+v", res.Status, stops)
	}
	sub := strings.Replace(said("[API Error: 500 x]", 0, 0), `"parent_tool_use_id":null`, `"parent_tool_use_id":"c1"`, 1)
	events, res = play(process.Exit{}, lineInit, sub, said("[API Error: 500 x]", 100, 20), resultOf("[API Error: 500 x]"))
	if stops := find[execution.MessageStop](events); res.Status != execution.StatusCompleted || len(stops) != 2 {
		t.Errorf("a sub-agent: %s, texts %+v", res.Status, stops)
	}
	events, _ = play(process.Exit{}, lineInit, sub)
	if stops := find[execution.MessageStop](events); len(stops) != 1 {
		t.Errorf("what a sub-agent says is held back: %+v", stops)
	}
}

// TestSessionSums: what Qwen states is the sum of the session. What it spends on itself and on sub-agents is the run's, what the
// session had used before is not.
func TestSessionSums(t *testing.T) {
	t.Parallel()
	stated := strings.Replace(lineSuccess, `"input_tokens":100,"output_tokens":20`, `"input_tokens":330,"output_tokens":50`, 1)
	for _, tt := range []struct {
		name    string
		session string
		before  *execution.Usage
		want    int64
	}{
		{"a new session", "", nil, 330},
		{"one that goes on", "s", &execution.Usage{Input: 200, Output: 30, Total: 230}, 130},
		{"one of which nothing is known", "s", nil, 100},
		{"a sum of something else", "s", &execution.Usage{Input: 1000, Output: 30, Total: 1030}, 100},
	} {
		req := request()
		req.SessionUsage, req.Run.SessionID = tt.before, tt.session
		_, res := cliagent.Replay(newParser(req), []byte(strings.Join([]string{lineInit, said("hi", 100, 20), stated}, "\n")), nil, process.Exit{}, false)
		if res.Usage.Input != tt.want {
			t.Errorf("%s: %d tokens in, want %d", tt.name, res.Usage.Input, tt.want)
		}
	}
}

func TestUsageOf(t *testing.T) {
	t.Parallel()
	for usage, want := range map[string]execution.Usage{
		`{"input_tokens":100,"output_tokens":20,"cache_read_input_tokens":60,"total_tokens":120}`: {Input: 40, Cached: 60, Output: 20, Total: 120},
		`{"input_tokens":100,"output_tokens":20,"total_tokens":150}`:                              {Input: 100, Output: 50, Thinking: 30, Total: 150},
		`{"input_tokens":-5,"output_tokens":1e99,"cache_read_input_tokens":7}`:                    {},
		`{"total_tokens":9}`: {},
	} {
		events, _ := play(process.Exit{}, lineInit, strings.Replace(said("x", 0, 0), `{"input_tokens":0,"output_tokens":0}`, usage, 1))
		var got execution.Usage
		for _, b := range find[execution.TokenUsage](events) {
			got = got.Add(execution.Usage{Input: b.InputTokens, Output: b.OutputTokens, Thinking: b.ThinkingTokens, Cached: b.CachedTokens}.WithTotal())
		}
		if got != want {
			t.Errorf("%s: got %+v, want %+v", usage, got, want)
		}
	}
}

func retryLine(data string) string {
	return `{"type":"system","subtype":"retry","session_id":"s","parent_tool_use_id":null,"data":` + data + `}`
}

// TestRetries: a retry that waits is told twice and counts once; a discarded answer ends, one that is gone on with does not.
func TestRetries(t *testing.T) {
	t.Parallel()
	waits, plain := retryLine(`{"reason":"retry","attempt":1,"maxRetries":10,"delayMs":60000,"discardedToolCalls":0,"preserveText":false}`),
		retryLine(`{"reason":"retry","discardedToolCalls":0,"preserveText":false}`)
	keeps := retryLine(`{"reason":"retry","discardedToolCalls":0,"preserveText":true}`)
	for _, tt := range []struct {
		name  string
		lines []string
		n     int
		text  string
	}{
		{"told twice", []string{waits, plain, lineStart, delta("hi"), said("hi", 100, 20), lineStop}, 1, "hi"},
		{"two in a row", []string{plain, plain, lineStart, delta("hi"), said("hi", 100, 20), lineStop}, 2, "hi"},
		{"again after an answer", []string{waits, lineStart, delta("x"), said("x", 100, 20), lineStop, plain, lineStart, delta("hi"), said("hi", 100, 20), lineStop}, 2, "x,hi"},
		{"discarded", []string{lineStart, delta("ha"), said("ha", 0, 0), lineStop, plain, lineStart, delta("hi"), said("hi", 100, 20), lineStop}, 1, "ha,hi"},
		{"gone on with", []string{lineStart, delta("ha"), keeps, delta("lf"), said("half", 100, 20), lineStop}, 1, "half"},
		{"another model", []string{retryLine(`{"reason":"model_fallback","discardedToolCalls":0,"preserveText":false}`),
			`{"type":"system","subtype":"model_fallback","data":{"fromModel":"a","toModel":"b","statusCode":429,"fallbackIndex":0}}`}, 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			events, res := play(process.Exit{}, append(append([]string{lineInit}, tt.lines...), lineSuccess)...)
			var texts []string
			for _, s := range find[execution.MessageStop](events) {
				texts = append(texts, s.Text)
			}
			if got := find[execution.Retry](events); len(got) != tt.n || res.Retries != tt.n || strings.Join(texts, ",") != tt.text || res.UnknownLines != 0 {
				t.Errorf("retries %+v (%d), texts %q, %d unknown", got, res.Retries, texts, res.UnknownLines)
			}
			clitest.CheckOrder(t, events)
		})
	}
}

// TestSilenceAfterASignal: no result is no success, whatever the exit code says.
func TestSilenceAfterASignal(t *testing.T) {
	t.Parallel()
	for _, exit := range []process.Exit{{Code: 0, Stopped: true}, {Code: 130, Stopped: true, StderrTail: "Operation cancelled.\n"}, {Code: 0}, {Code: -1, Signal: "SIGTERM", Stopped: true}} {
		_, res := play(exit, lineInit, lineStart, delta("half"))
		if res.Status != execution.StatusFailed {
			t.Errorf("%+v: %s", exit, res.Status)
		}
	}
	// Neither a code nor words explain the end of a process that was stopped, or that calls itself a success.
	for _, exit := range []process.Exit{{Code: exitTurnLimit, Stopped: true}, {Code: 1, Stopped: true, StderrTail: "Missing API key"}, {Code: 0, StderrTail: "Missing API key"}, {Code: -1, Signal: "SIGKILL", StderrTail: "Missing API key"}} {
		_, res := play(exit, lineInit)
		if res.Status != execution.StatusFailed || res.Error.ErrorCode() == execution.CodeAuth || res.ExitReason == execution.ExitTurnLimit {
			t.Errorf("%+v: %s %s %+v", exit, res.Status, res.ExitReason, res.Error)
		}
	}
}

// TestStartFailures are the ends that only the exit code or standard error explain.
func TestStartFailures(t *testing.T) {
	t.Parallel()
	crash := "file:///opt/qwen-code/cli.js:10\nSyntaxError: Unexpected token\n    at x (y.js:1:2)\n\nNode.js v%s\n"
	for _, tt := range []struct {
		name string
		exit process.Exit
		want execution.ErrorCode
		text string
	}{
		{"session", process.Exit{Code: 1, StderrTail: "No saved session found with ID x. Run `qwen --resume`"}, execution.CodeSessionNotFound, "No saved session"},
		{"old node", process.Exit{Code: 1, StderrTail: fmt.Sprintf(crash, "18.19.0")}, execution.CodeAgentNotInstalled, "needs Node.js 22 or later, and crashes in version 18.19.0"},
		{"new node", process.Exit{Code: 1, StderrTail: fmt.Sprintf(crash, "22.3.0")}, execution.CodeAgentCrash, "exited with code 1"},
		{"no node", process.Exit{Code: 127, StderrTail: "/usr/bin/env: 'node': No such file or directory\n"}, execution.CodeAgentNotInstalled, "there is no node on PATH"},
		{"flag", process.Exit{Code: 1, StderrTail: "Unknown argument: x\nUsage: qwen [options]\n\nlong help"}, execution.CodeConfig, "Unknown argument: x"},
		{"budget of its own", process.Exit{Code: 55, StderrTail: "Run aborted: wall-clock budget of 5s exceeded (--max-wall-time)."}, execution.CodeBudgetExceeded, "Run aborted"},
		{"noise only", process.Exit{Code: 1, StderrTail: "Ripgrep not available: x EACCES. Falling back to built-in grep.\n"}, execution.CodeAgentCrash, "exited with code 1"},
	} {
		_, res := play(tt.exit)
		if res.Error.ErrorCode() != tt.want || !strings.Contains(res.Error.Message, tt.text) {
			t.Errorf("%s: got %+v, want %s %q", tt.name, res.Error, tt.want, tt.text)
		}
		if tt.want == execution.CodeAgentNotInstalled && res.Error.Metadata["hint"] != nodeGuidance {
			t.Errorf("%s: no hint in %+v", tt.name, res.Error.Metadata)
		}
	}
}

func TestLoginFailures(t *testing.T) {
	t.Parallel()
	for _, message := range []string{"No auth type is selected. Please configure an auth type (e.g. via settings or `--auth-type`) before running in non-interactive mode.",
		"Missing API key for OpenAI-compatible auth. Set settings.security.auth.apiKey, or set the 'OPENAI_API_KEY' environment variable.",
		"ANTHROPIC_BASE_URL environment variable not found.", "Qwen OAuth free tier was discontinued on 2026-04-15. Run /auth"} {
		b, _ := json.Marshal(message)
		events, res := play(process.Exit{Code: 1}, `{"type":"result","subtype":"error_during_execution","session_id":"s","is_error":true,"duration_ms":0,"num_turns":0,"usage":{},"error":{"message":`+string(b)+`}}`)
		if e := find[execution.AuthError](events); res.Error.ErrorCode() != execution.CodeAuth || len(e) != 1 || e[0].Guidance != loginGuidance {
			t.Errorf("%s: %+v, %+v", message, res.Error, e)
		}
	}
}

// TestDenials: a refusal is told once, whether the result of the call says it, the result of the run, or both.
func TestDenials(t *testing.T) {
	t.Parallel()
	call := `{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{"id":"m1","content":[{"type":"tool_use","id":"c1","name":"run_shell_command","input":{"command":"touch x"}}],"usage":{"input_tokens":100,"output_tokens":20}}}`
	told := `{"type":"user","session_id":"s","parent_tool_use_id":null,"message":{"content":[{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":"Qwen Code requires permission to use \"run_shell_command\", but that permission was declined."}]}}`
	listed := strings.Replace(lineSuccess, `"permission_denials":[]`, `"permission_denials":[{"tool_name":"run_shell_command","tool_use_id":"c1"}]`, 1)
	for name, lines := range map[string][]string{"both": {call, told, listed}, "the call": {call, told, lineSuccess}, "the run": {call, listed}} {
		events, _ := play(process.Exit{}, append([]string{lineInit}, lines...)...)
		if d := find[execution.ApprovalDenied](events); len(d) != 1 || d[0].ID != "c1" || d[0].ToolName != toolShell {
			t.Errorf("%s: %+v", name, d)
		}
		if len(find[execution.ShellStart](events)) != 0 {
			t.Errorf("%s: a command that was refused is said to run", name)
		}
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	call := func(name, input string) string {
		return `{"type":"assistant","parent_tool_use_id":null,"message":{"id":"m1","content":[{"type":"tool_use","id":"c1","name":"` + name + `","input":` + input + `}],"usage":{}}}`
	}
	done := func(content string, failed bool) string {
		b, _ := json.Marshal(content)
		return fmt.Sprintf(`{"type":"user","parent_tool_use_id":null,"message":{"content":[{"type":"tool_result","tool_use_id":"c1","is_error":%v,"content":%s}]}}`, failed, b)
	}
	// A server whose name has two underscores, called through the tool that calls others.
	events, _ := play(process.Exit{}, lineInit, call("tool_call", `{"name":"mcp__a__b__echo","arguments":{"x":1}}`), done("y", false), lineSuccess)
	if m := find[execution.MCPToolCallStart](events); len(m) != 1 || m[0].Server != "a__b" || m[0].ToolName != "echo" || string(m[0].Input) != `{"x":1}` || len(find[execution.ToolCallStart](events)) != 0 {
		t.Errorf("deferred call: %+v %+v", m, find[execution.ToolCallStart](events))
	}
	if r := find[execution.MCPToolResult](events); len(r) != 1 {
		t.Errorf("results: %+v", r)
	}
	events, _ = play(process.Exit{}, lineInit, call("run_shell_command", `{"command":"x"}`),
		done("Command: x\nDirectory: (root)\nOutput: a\nError: b\nError: (none)\nExit Code: (none)\nSignal: 9\n", true), lineSuccess)
	if e, d := find[execution.ShellExit](events), find[execution.ShellStdoutDelta](events); len(e) != 1 || e[0].ExitCode != -1 || len(d) != 1 || d[0].Delta != "a\nError: b" {
		t.Errorf("killed command: %+v %+v", e, d)
	}
	old := strings.Replace(lineInit, "0.24.4", "0.15.10", 1)
	events, _ = play(process.Exit{}, old, call("run_shell_command", `{"command":"x"}`), done("a", false), lineSuccess)
	if e := find[execution.ShellExit](events); len(e) != 1 || e[0].ExitCode != -1 {
		t.Errorf("a version that tells no exit codes: %+v", e)
	}
	for result, want := range map[string]execution.EventType{"Successfully created and wrote to new file: /a.": "file_create", "Successfully overwrote file: /a.": "file_write"} {
		events, _ = play(process.Exit{}, lineInit, call("write_file", `{"file_path":"/a","content":"ü"}`), done(result, false), lineSuccess)
		if !slices.ContainsFunc(events, func(e execution.Event) bool { return e.Body.Type() == want }) {
			t.Errorf("%s: no %s", result, want)
		}
	}
}
