package gemini

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

const (
	lineInit  = `{"type":"init","timestamp":"2026-11-20T11:00:00.000Z","session_id":"` + sessionID + `","model":"gemini-2.5-flash"}`
	lineEcho  = `{"type":"message","role":"user","content":"hello"}`
	lineText  = `{"type":"message","timestamp":"2026-11-20T11:00:01.000Z","role":"assistant","content":"hi","delta":true}`
	lineDone  = `{"type":"result","timestamp":"2026-11-20T11:00:02.000Z","status":"success","stats":{"total_tokens":120,"input_tokens":100,"output_tokens":20}}`
	lineShell = `{"type":"tool_use","timestamp":"2026-11-20T11:00:00.500Z","tool_name":"run_shell_command","tool_id":"c1","parameters":{"command":"false"}}`
)

// replay runs the parser over lines of standard output; those that begin with ! are lines of standard error.
func replay(set func(*execution.Request), exit process.Exit, lines ...string) ([]execution.Event, execution.Result) {
	req := newRequest()
	if set != nil {
		set(&req)
	}
	var all []process.Line
	for _, l := range lines {
		if text, ok := strings.CutPrefix(l, "!"); ok {
			all = append(all, process.Line{Stream: process.Stderr, Data: []byte(text)})
		} else {
			all = append(all, process.Line{Stream: process.Stdout, Data: []byte(l)})
		}
	}
	return cliagent.ReplayLines(newOneShot(req), all, exit, false)
}

func bodies[T execution.Body](events []execution.Event) (list []T) {
	for _, e := range events {
		if b, ok := e.Body.(T); ok {
			list = append(list, b)
		}
	}
	return list
}

// TestExitProvesNothing: Gemini exits with 0 when a signal ends it, and with the remainder of an HTTP status when a request fails.
func TestExitProvesNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		exit   process.Exit
		lines  []string
		status execution.Status
		code   execution.ErrorCode
	}{
		{"0 behind a signal of ours", process.Exit{Stopped: true}, []string{lineInit, lineEcho, lineText}, execution.StatusFailed, execution.CodeAborted},
		{"0 and no result", process.Exit{}, []string{lineInit, lineEcho, lineText}, execution.StatusFailed, execution.CodeInvalidOutput},
		{"0 and nothing at all", process.Exit{}, nil, execution.StatusFailed, execution.CodeInvalidOutput},
		{"145 without a word", process.Exit{Code: 145}, []string{lineInit, lineEcho}, execution.StatusFailed, execution.CodeAgentCrash},
		{"145 behind a success", process.Exit{Code: 145}, []string{lineInit, lineEcho, lineText, lineDone}, execution.StatusCompleted, ""},
		{"0 behind a failure", process.Exit{}, []string{lineInit, lineEcho, `{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: terminated]"}}`}, execution.StatusFailed, execution.CodeProvider},
		{"failure that says nothing", process.Exit{Code: 1}, []string{lineInit, `{"type":"result","status":"error"}`}, execution.StatusFailed, execution.CodeInternal},
		{"failure that was said before", process.Exit{Code: 1}, []string{lineInit, `{"type":"error","severity":"error","message":"You exceeded your current quota"}`, `{"type":"result","status":"error"}`}, execution.StatusFailed, execution.CodeRateLimited},
		{"no credential", process.Exit{Code: 41}, nil, execution.StatusFailed, execution.CodeAuth},
		{"gateway", process.Exit{Code: 41}, []string{"!Invalid auth method selected."}, execution.StatusFailed, execution.CodeAuth},
		{"session", process.Exit{Code: 42}, []string{`!Error resuming session: Invalid session identifier "x".`}, execution.StatusFailed, execution.CodeSessionNotFound},
		{"input", process.Exit{Code: 42}, []string{"!No input provided via stdin."}, execution.StatusFailed, execution.CodeValidation},
		{"settings", process.Exit{Code: 52}, []string{"!Error in /home/user/.gemini/settings.json: Unexpected token", "!Please fix the configuration file(s) and try again."}, execution.StatusFailed, execution.CodeConfig},
		{"turn limit", process.Exit{Code: 53}, nil, execution.StatusDeferred, ""},
		{"turn limit with a result", process.Exit{Code: 53}, []string{lineInit, `{"type":"result","status":"error","error":{"type":"FatalTurnLimitedError","message":"Reached max session turns"}}`}, execution.StatusDeferred, ""},
		{"untrusted", process.Exit{Code: 55}, []string{"!Gemini CLI is not running in a trusted directory. To proceed, ..."}, execution.StatusFailed, execution.CodeConfig},
		{"crash", process.Exit{Code: 1}, []string{"!An unexpected critical error occurred:Error: no idea", "!    at main (file:///x.js:1:1)"}, execution.StatusFailed, execution.CodeAgentCrash},
		{"stopped in a loop", process.Exit{}, []string{lineInit, lineEcho, `{"type":"error","severity":"warning","message":"Loop detected, stopping execution"}`, `{"type":"result","status":"success","stats":{}}`}, execution.StatusFailed, execution.CodeInvalidOutput},
		{"another warning", process.Exit{}, []string{lineInit, lineEcho, `{"type":"error","severity":"warning","message":"the model is slow"}`, lineText, lineDone}, execution.StatusCompleted, ""},
		{"killed", process.Exit{Code: -1, Signal: "SIGKILL"}, []string{lineInit, lineText}, execution.StatusFailed, execution.CodeAgentCrash},
	} {
		_, res := replay(nil, tt.exit, tt.lines...)
		if res.Status != tt.status || res.Error.ErrorCode() != tt.code {
			t.Errorf("%s: got %s %q (%+v), want %s %q", tt.name, res.Status, res.Error.ErrorCode(), res.Error, tt.status, tt.code)
		}
	}
}

// TestLoopCostIsUnknown: a stopped loop called the model, and nothing says what that used.
func TestLoopCostIsUnknown(t *testing.T) {
	t.Parallel()
	events, res := replay(nil, process.Exit{}, lineInit, `{"type":"error","severity":"warning","message":"Loop detected, stopping execution"}`, `{"type":"result","status":"success","stats":{}}`)
	if res.Cost == nil || !res.Cost.Unpriced || res.Error.Retryable || len(bodies[execution.ErrorEvent](events)) != 1 {
		t.Errorf("%+v %+v", res.Cost, res.Error)
	}
}

// TestHints: an error says what to type next.
func TestHints(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{"!Invalid auth method selected.": "selectedType", "!When using Gemini API, you must specify the GEMINI_API_KEY environment variable.": "set GEMINI_API_KEY"} {
		events, res := replay(nil, process.Exit{Code: 41}, line)
		if hint, _ := res.Error.Metadata["hint"].(string); !strings.Contains(hint, want) {
			t.Errorf("%s: the hint is %q", line, hint)
		}
		if list := bodies[execution.AuthError](events); len(list) != 1 || !strings.Contains(list[0].Guidance, want) {
			t.Errorf("%s: %+v", line, list)
		}
	}
	_, res := replay(nil, process.Exit{Code: 55}, "!Gemini CLI is not running in a trusted directory.")
	if hint, _ := res.Error.Metadata["hint"].(string); !strings.Contains(hint, "GEMINI_CLI_TRUST_WORKSPACE") {
		t.Errorf("untrusted: the hint is %q", hint)
	}
}

func TestFailureOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		class, message string
		code           execution.ErrorCode
		says           string
		retryable      bool
	}{
		{"unknown", `[API Error: {"error":{"code":401,"message":"scripted 401","status":"UNAUTHENTICATED"}}]`, execution.CodeAuth, "scripted 401", false},
		{"unknown", `[API Error: {"error":{"code":403,"message":"denied","status":"PERMISSION_DENIED"}}]`, execution.CodeAuth, "denied", false},
		{"unknown", `[API Error: {"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, execution.CodeAuth, "API key not valid. Please pass a valid API key.", false},
		{"unknown", `[API Error: {"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}]`, execution.CodeInvalidRequest, "bad", false},
		{"unknown", `[API Error: {"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, execution.CodeContextExceeded, "", false},
		{"unknown", `[API Error: {"error":{"code":404,"message":"models/x is not found","status":"NOT_FOUND"}}]`, execution.CodeModelNotFound, "models/x is not found", false},
		{"unknown", `[API Error: {"error":{"code":503,"message":"{\"error\":{\"code\":503,\"message\":\"The model is overloaded.\"}}","status":"UNAVAILABLE"}}]`, execution.CodeProvider, "The model is overloaded.", true},
		{"RetryableQuotaError", "[API Error: slow down\nSuggested retry after 1s.]\nPlease wait and try again later.", execution.CodeRateLimited, "slow down\nSuggested retry after 1s.", true},
		{"TerminalQuotaError", "[API Error: You have exhausted your daily quota on this model.]", execution.CodeRateLimited, "", false},
		{"ModelNotFoundError", "[API Error: Requested entity was not found.]", execution.CodeModelNotFound, "Requested entity was not found.", false},
		{"FatalTurnLimitedError", "Reached max session turns", execution.CodeTurnLimit, "", false},
		{"FatalCancellationError", "Operation cancelled.", execution.CodeInterrupted, "", false},
		{"Error", "[API Error: Incomplete JSON segment at the end]", execution.CodeProvider, "Incomplete JSON segment at the end", true},
		{"TypeError", "[API Error: exception TypeError: fetch failed sending request]", execution.CodeProvider, "", true},
		{"Error", "[API Error: who knows]", execution.CodeProvider, "who knows", true},
		{"", "who knows", execution.CodeInternal, "who knows", false},
		{"", "{", execution.CodeInternal, "{", false},
	} {
		f := failureOf(tt.class, tt.message)
		if f.Code != tt.code || tt.says != "" && f.Message != tt.says || f.Result().Retryable != tt.retryable {
			t.Errorf("%s %s: got %s %q, retryable %v; want %s %q, %v", tt.class, tt.message, f.Code, f.Message, f.Result().Retryable, tt.code, tt.says, tt.retryable)
		}
	}
}

// TestRetries: standard error is the only trace of model calls that are tried again.
func TestRetries(t *testing.T) {
	t.Parallel()
	lines := []string{
		`!Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}`,
		`!    at throwErrorIfNotOK (file:///x.js:1:1)`, `!    at async Turn.run (file:///x.js:1:1) {`, `!  status: 429`, `!}`,
		`!Attempt 2 failed: rate limit exceeded`, `!Suggested retry after 1s.. Retrying after 5568ms...`,
		`!Attempt 3 failed with status 500. Retrying with backoff... _ApiError: {"error":{"code":500,"message":"broken"}}`, `!  status: 500`, `!}`,
		`!Attempt 4 failed. Retrying with backoff... TypeError: fetch failed`,
		`!Attempt 5 failed: slow down`, `!Suggested retry after 1s.. Max attempts reached`,
		`!Attempt x failed. Retrying with backoff...`,
	}
	for name, all := range map[string][]string{"in their turn": append([]string{lineInit}, append(lines, lineText, lineDone)...), "overtaking the session": append(lines, lineInit, lineText, lineDone)} {
		events, res := replay(nil, process.Exit{}, all...)
		if _, ok := events[0].Body.(execution.SessionStart); !ok {
			t.Errorf("%s: the first event is %s", name, events[0].Body.Type())
		}
		got := bodies[execution.Retry](events)
		want := []execution.Retry{
			{Attempt: 1, Reason: "slow down", Code: execution.CodeRateLimited},
			{Attempt: 2, Reason: "rate limit exceeded Suggested retry after 1s", DelayMs: 5568, Code: execution.CodeRateLimited},
			{Attempt: 3, Reason: "broken", Code: execution.CodeProvider},
			{Attempt: 4, Reason: "TypeError: fetch failed", Code: execution.CodeProvider},
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %d retries %+v, want %d", name, len(got), got, len(want))
		}
		for i, r := range got {
			if r != want[i] {
				t.Errorf("%s: retry %d is %+v, want %+v", name, i, r, want[i])
			}
		}
		if res.Retries != len(want) || res.UnknownLines != 0 || res.Status != execution.StatusCompleted {
			t.Errorf("%s: %d retries, %d unknown lines, %s", name, res.Retries, res.UnknownLines, res.Status)
		}
		if limited := bodies[execution.RateLimited](events); len(limited) == 0 {
			t.Errorf("%s: nothing says that the provider slows Gemini down", name)
		}
	}
}

// TestSideRequests: what Gemini asks a Flash-Lite model for itself, such as the summary of an earlier session, is none of the run's.
func TestSideRequests(t *testing.T) {
	t.Parallel()
	const stats = `{"type":"result","status":"success","stats":{"total_tokens":1500,"input_tokens":1000,"output_tokens":400,"models":{` +
		`"MAIN":{"total_tokens":600,"input_tokens":400,"output_tokens":150,"cached":100,"input":300},` +
		`"gemini-3.5-flash-lite":{"total_tokens":900,"input_tokens":600,"output_tokens":250,"cached":0}}}}`
	for _, tt := range []struct {
		model string
		want  execution.Usage
	}{
		{"gemini-2.5-flash", execution.Usage{Input: 300, Output: 200, Thinking: 50, Cached: 100, Total: 600}},
		{"gemini-3.1-flash-lite", execution.Usage{Input: 900, Output: 500, Thinking: 100, Cached: 100, Total: 1500}},
	} {
		init := strings.ReplaceAll(lineInit, "gemini-2.5-flash", tt.model)
		events, res := replay(nil, process.Exit{}, init, lineText, strings.ReplaceAll(stats, "MAIN", tt.model))
		if res.Usage == nil || *res.Usage != tt.want {
			t.Errorf("%s: usage %+v, want %+v", tt.model, res.Usage, tt.want)
		}
		clitest.CheckUsage(t, events, res)
	}
}

// TestPriceOfOtherModels: where the session names an alias, what was used is charged at the price of the model that answered.
func TestPriceOfOtherModels(t *testing.T) {
	t.Parallel()
	auto := strings.ReplaceAll(lineInit, "gemini-2.5-flash", "auto")
	events, res := replay(nil, process.Exit{}, auto, lineText, `{"type":"result","status":"success","stats":{"models":{"gemini-3-flash-preview":{"total_tokens":2000000,"input_tokens":1000000,"output_tokens":1000000,"cached":0}}}}`)
	costs := bodies[execution.CostEvent](events)
	if len(costs) != 1 || costs[0].Cost.TotalUSD == nil || *costs[0].Cost.TotalUSD != 3.5 || costs[0].Cost.Source != execution.CostFromTable {
		t.Errorf("costs %+v, want 3.5 US dollars", costs)
	}
	if res.Model != "gemini-3-flash-preview" {
		t.Errorf("the result names the model %q", res.Model)
	}
	events, _ = replay(nil, process.Exit{}, auto, lineText, `{"type":"result","status":"success","stats":{"models":{"gemini-3-pro-preview":{"total_tokens":20,"input_tokens":10,"output_tokens":10}}}}`)
	if costs := bodies[execution.CostEvent](events); len(costs) != 0 {
		t.Errorf("a price that nobody knows: %+v", costs)
	}
}

// TestExitCodeOfCommands: Gemini reports every command that ran as a success.
func TestExitCodeOfCommands(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, result string
		codes        []int
	}{
		{"printed, exit code hidden", `"output":"broken"`, nil},
		{"failed without a word", `"output":"Command exited with code: 3"`, []int{3}},
		{"well, without a word", `"output":""`, []int{0}},
		{"shown in another form", `"x":1`, nil},
		{"killed", `"output":"Command terminated by signal: 9"`, nil},
	} {
		events, _ := replay(yolo, process.Exit{}, lineInit, lineShell, `{"type":"tool_result","timestamp":"2026-11-20T11:00:00.750Z","tool_id":"c1","status":"success",`+tt.result+`}`, lineText, lineDone)
		var codes []int
		for _, e := range bodies[execution.ShellExit](events) {
			codes = append(codes, e.ExitCode)
		}
		if len(codes) != len(tt.codes) || len(codes) == 1 && codes[0] != tt.codes[0] {
			t.Errorf("%s: exit codes %v, want %v", tt.name, codes, tt.codes)
		}
		if r := bodies[execution.ToolResultEvent](events); len(r) != 1 || r[0].DurationMs != 250 {
			t.Errorf("%s: %+v", tt.name, r)
		}
	}
}

// TestRefusals: without a person Gemini takes tools away instead of asking; that is a refusal, and a wrong name is none.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, tool, kind string
		set              func(*execution.Request)
		denied           bool
	}{
		{"command", toolShell, "tool_not_registered", nil, true},
		{"MCP server", "mcp_s_t", "tool_not_registered", nil, true},
		{"policy", toolShell, "policy_violation", yolo, true},
		{"wrong name", "no_such_tool", "tool_not_registered", nil, false},
		{"approved, and not there", "mcp_s_t", "tool_not_registered", yolo, false},
		{"failed", "write_file", "file_write_failure", nil, false},
	} {
		events, res := replay(tt.set, process.Exit{}, lineInit, `{"type":"tool_use","tool_name":"`+tt.tool+`","tool_id":"c1","parameters":{}}`,
			`{"type":"tool_result","tool_id":"c1","status":"error","output":"no","error":{"type":"`+tt.kind+`","message":"no"}}`, lineText, lineDone)
		if denied := len(bodies[execution.ApprovalDenied](events)) == 1; denied != tt.denied {
			t.Errorf("%s: denied %v, want %v", tt.name, denied, tt.denied)
		}
		if n := len(bodies[execution.ToolError](events)) + len(bodies[execution.MCPToolError](events)); n != 1 || res.Status != execution.StatusCompleted {
			t.Errorf("%s: %d errors of tools, %s", tt.name, n, res.Status)
		}
		if starts := bodies[execution.ShellStart](events); len(starts) > 0 && tt.denied && tt.set == nil {
			t.Errorf("%s: a command that never ran starts: %+v", tt.name, starts)
		}
	}
}

// TestUnknownLines: a line that nobody knows is counted, one that is known is not.
// TestNoColours: what Gemini says in red reaches a message in plain text, and once.
func TestNoColours(t *testing.T) {
	t.Parallel()
	const says = "\x1b[31mGemini CLI is not running in a trusted directory. To proceed, ...\x1b[0m"
	_, res := replay(nil, process.Exit{Code: 55, StderrTail: "256-color support not detected\n" + says + "\n"}, "!"+says)
	if res.Error.ErrorCode() != execution.CodeConfig || !strings.HasPrefix(res.Error.Message, "Gemini CLI is not") || strings.ContainsAny(res.Error.Message, "\x1b") || res.Error.Stderr != "" {
		t.Errorf("%+v", res.Error)
	}
}

// TestMCPIssues: a server that does not start is mentioned.
func TestMCPIssues(t *testing.T) {
	t.Parallel()
	events, res := replay(nil, process.Exit{}, lineInit, "!MCP issues detected. Run /mcp list for status.", lineText, lineDone)
	notes := bodies[execution.Debug](events)
	if len(notes) != 1 || notes[0].Level != execution.DebugWarn || !strings.Contains(notes[0].Message, "MCP server did not start") || res.Status != execution.StatusCompleted {
		t.Errorf("%+v %s", notes, res.Status)
	}
}

func TestUnknownLines(t *testing.T) {
	t.Parallel()
	_, res := replay(nil, process.Exit{}, lineInit, "hello", `{"type":"moon"}`, `{"type":"tool_result","tool_id":"never","status":"success"}`, "!who knows", "!Warning: Basic terminal detected", lineText, lineDone)
	if res.UnknownLines != 3 || res.Metadata["unknownStderrLines"] != 1 || res.Status != execution.StatusCompleted {
		t.Errorf("%d unknown lines, %s", res.UnknownLines, res.Status)
	}
}

// TestLostEnd: an output without a result of a Gemini that went well lost its end.
func TestLostEnd(t *testing.T) {
	t.Parallel()
	out := []byte(`{"type":"init","timestamp":"2026-11-20T11:45:28.080Z","session_id":"cf5c6b07-1e34-4da0-ba09-29d0c4ad72ac","model":"gemini-2.5-pro"}` + "\n")
	_, res := cliagent.Replay(newOneShot(newRequest()), out, nil, process.Exit{}, false)
	if res.Status != execution.StatusFailed || res.Error.ErrorCode() != execution.CodeInvalidOutput || !strings.Contains(res.Error.Message, "large output") {
		t.Errorf("%s %+v", res.Status, res.Error)
	}
}
