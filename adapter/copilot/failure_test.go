package copilot

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// play runs the parser over lines that are given by type and data; a result line stands as it is.
func play(t *testing.T, exit process.Exit, usage string, lines ...string) ([]execution.Event, execution.Result) {
	t.Helper()
	outputs := map[string][]byte{}
	if usage != "" {
		outputs[usageFile] = []byte(usage)
	}
	return cliagent.ReplayOutputs(newParser(request()), outputs, []byte(strings.Join(lines, "\n")), nil, exit, false)
}

func say(typ, data string) string { return `{"type":"` + typ + `","data":` + data + `}` }

const (
	begins = `{"type":"assistant.turn_start","data":{"turnId":"0"}}`
	speaks = `{"type":"assistant.message","data":{"messageId":"m","content":"hi","toolRequests":[]}}`
	idles  = `{"type":"assistant.idle","data":{}}`
	ended  = `{"type":"result","exitCode":0,"sessionId":""}`
	failed = `{"type":"result","exitCode":1,"sessionId":""}`
)

func countOf[T execution.Body](events []execution.Event) (n int) {
	for _, e := range events {
		if _, ok := e.Body.(T); ok {
			n++
		}
	}
	return n
}

func TestErrorWords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, error string
		want        execution.ErrorCode
	}{
		{"authentication", `{"errorType":"authentication","message":"no","statusCode":401}`, execution.CodeAuth},
		{"authorization", `{"errorType":"authorization","message":"no"}`, execution.CodeAuth},
		{"rate limit", `{"errorType":"rate_limit","message":"slow","statusCode":429}`, execution.CodeRateLimited},
		{"context", `{"errorType":"context_limit","message":"full"}`, execution.CodeContextExceeded},
		{"prompt budget", `{"errorType":"query","message":"Request exceeds the model's prompt budget after reserving output (7 tokens; limit 5). Reduce"}`, execution.CodeContextExceeded},
		{"quota", `{"errorType":"quota","message":"used up","errorCode":"quota_exceeded"}`, execution.CodeBudgetExceeded},
		{"bad request", `{"errorType":"query","message":"400 no","statusCode":400}`, execution.CodeInvalidRequest},
		{"no model", `{"errorType":"query","message":"Model 'x' not found","statusCode":404}`, execution.CodeModelNotFound},
		{"too large", `{"errorType":"query","message":"413","statusCode":413}`, execution.CodeContextExceeded},
		{"prompt too long for the provider", `{"errorType":"query","message":"400","errorCode":"model_max_prompt_tokens_exceeded","statusCode":400}`, execution.CodeContextExceeded},
		{"server", `{"errorType":"query","message":"500 broken","statusCode":500}`, execution.CodeProvider},
		{"policy", `{"errorType":"policy","message":"not allowed"}`, execution.CodeInvalidRequest},
		{"new category", `{"errorType":"something new","message":"what"}`, execution.CodeProvider},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			events, res := play(t, process.Exit{Code: 1}, "", begins, say("session.error", tc.error), idles, failed)
			if res.Status != execution.StatusFailed || res.Error.ErrorCode() != tc.want {
				t.Fatalf("%s %+v, want %s", res.Status, res.Error, tc.want)
			}
			switch tc.want {
			case execution.CodeAuth:
				if countOf[execution.AuthError](events) != 1 {
					t.Error("no auth_error")
				}
			case execution.CodeRateLimited:
				if countOf[execution.RateLimitError](events) != 1 {
					t.Error("no rate_limit_error")
				}
			case execution.CodeContextExceeded:
				if countOf[execution.ContextExceeded](events) != 1 {
					t.Error("no context_exceeded")
				}
			default:
				if countOf[execution.ErrorEvent](events) != 1 {
					t.Error("no error")
				}
			}
		})
	}
}

func TestContextNumbers(t *testing.T) {
	t.Parallel()
	if got := failure(execution.CodeContextExceeded, "x after reserving output (210377 tokens; limit 128000). y").Context; got.UsedTokens != 210377 || got.MaxTokens != 128000 {
		t.Errorf("%+v", got)
	}
	if got := failure(execution.CodeContextExceeded, "x after reserving output (many). y").Context; got != (execution.ContextExceeded{}) {
		t.Errorf("%+v", got)
	}
}

// TestExitProvesNothing: what counts is what Copilot said last, and nothing of it after a signal.
func TestExitProvesNothing(t *testing.T) {
	t.Parallel()
	abort := `{"type":"abort","data":{"reason":"user_abort"}}`
	aborted := `{"type":"assistant.idle","data":{"aborted":true}}`
	for _, tc := range []struct {
		name   string
		exit   process.Exit
		lines  []string
		status execution.Status
		code   execution.ErrorCode
	}{
		{"completed", process.Exit{}, []string{begins, speaks, idles, ended}, execution.StatusCompleted, ""},
		{"code 0 and nothing said", process.Exit{}, nil, execution.StatusFailed, execution.CodeInvalidOutput},
		{"code 0 without the last line", process.Exit{}, []string{begins, speaks, idles}, execution.StatusFailed, execution.CodeInvalidOutput},
		{"code 0 after a signal", stopped, []string{begins, abort, aborted, ended}, execution.StatusFailed, execution.CodeAborted},
		{"code 0 after a signal, told by the last idle alone", stopped, []string{begins, aborted, ended}, execution.StatusFailed, execution.CodeAborted},
		{"code 0 after a signal, last line missing", stopped, []string{begins, abort, aborted}, execution.StatusFailed, execution.CodeAborted},
		{"interrupted from elsewhere", process.Exit{}, []string{begins, abort, aborted, ended}, execution.StatusFailed, execution.CodeInterrupted},
		{"interrupted from elsewhere, last line missing", process.Exit{}, []string{begins, abort, aborted}, execution.StatusFailed, execution.CodeInterrupted},
		{"a last line of 0 without a turn", process.Exit{}, []string{ended}, execution.StatusFailed, execution.CodeAgentCrash},
		{"an error at the end and code 0", process.Exit{}, []string{begins, say("session.error", `{"errorType":"query","message":"500 x","statusCode":500}`), ended}, execution.StatusFailed, execution.CodeProvider},
		{"an error that passed", process.Exit{}, []string{begins, say("session.error", `{"errorType":"query","message":"500 x","statusCode":500}`), speaks, ended}, execution.StatusCompleted, ""},
		{"failed without a reason", process.Exit{Code: 1}, []string{begins, failed}, execution.StatusFailed, execution.CodeAgentCrash},
		{"failed with a failed call as the reason", process.Exit{Code: 1}, []string{begins, say("model.call_failure", `{"statusCode":503,"errorMessage":"{\"message\":\"down\"}"}`), failed}, execution.StatusFailed, execution.CodeProvider},
		{"killed", process.Exit{Code: -1, Signal: "SIGKILL"}, []string{begins}, execution.StatusFailed, execution.CodeAgentCrash},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, res := play(t, tc.exit, "", tc.lines...)
			code := execution.ErrorCode("")
			if res.Error != nil {
				code = res.Error.ErrorCode()
			}
			if res.Status != tc.status || code != tc.code {
				t.Errorf("%s %s, want %s %s: %+v", res.Status, code, tc.status, tc.code, res.Error)
			}
		})
	}
}

func TestStartFailures(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]execution.ErrorCode{
		"Error: No session, task, or name matched 'x'.":                                    execution.CodeSessionNotFound,
		"Error: No authentication information found.\n\nCopilot can be authenticated":      execution.CodeAuth,
		"BYOK providers require an explicit model. Run `copilot help providers`":           execution.CodeConfig,
		"error: Invalid command format.":                                                   execution.CodeConfig,
		"--attachment file type not supported (must be an image or native document): /a":   execution.CodeValidation,
		"GitHub Copilot CLI: no platform package found. Reinstall with `npm install -g `":  execution.CodeAgentCrash,
		"Error: Model \"x\" from --model flag is not available.":                           execution.CodeModelNotFound,
		"GitHub Copilot native binary at /x was terminated by signal SIGKILL.\nsomething.": execution.CodeAgentCrash,
	} {
		_, res := play(t, process.Exit{Code: 1, StderrTail: text}, "")
		if res.Status != execution.StatusFailed || res.Error.ErrorCode() != want {
			t.Errorf("%q: %+v, want %s", text, res.Error, want)
		}
		if res.SessionID != "" {
			t.Errorf("%q: a session that never was: %s", text, res.SessionID)
		}
	}
}

// TestSessionOfTheLastLine: the id is chosen at the start; if Copilot used another one, that is the truth.
func TestSessionOfTheLastLine(t *testing.T) {
	t.Parallel()
	events, res := play(t, process.Exit{}, "", say("session.tools_updated", `{"model":"m"}`), begins, speaks, `{"type":"result","exitCode":0,"sessionId":"another"}`)
	start, _ := events[0].Body.(execution.SessionStart)
	if len(start.SessionID) != 36 || start.Model != "m" || res.SessionID != "another" || countOf[execution.SessionStart](events) != 2 {
		t.Errorf("%+v, result %s", start, res.SessionID)
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	call := func(rest string) string { return say("model.call_failure", rest) }
	again := func(reason string) string { return say("assistant.turn_retry", `{"turnId":"0","reason":"`+reason+`"}`) }
	events, res := play(t, process.Exit{}, "", begins,
		call(`{"statusCode":429,"errorMessage":"{\"message\":\"slow down\"}"}`), again("rate_limit"),
		call(`{"statusCode":401,"errorMessage":"{\"message\":\"who\"}"}`), again("transient_auth_error"),
		call(`{"failureKind":"transport","errorMessage":"\"reset\""}`), again("streaming_error"),
		again("rate_limit"),
		call(`{"statusCode":429,"errorMessage":"\"\""}`), again("api_error"), speaks, idles, ended)
	var got []string
	for _, e := range events {
		if r, ok := e.Body.(execution.Retry); ok {
			got = append(got, string(r.Code)+" "+r.Reason)
		}
	}
	want := []string{"RATE_LIMITED the model API answered 429 (slow down)", "AUTH_ERROR the model API answered 401 (who)",
		"PROVIDER_ERROR the model API could not be reached or broke off: reset", "RATE_LIMITED the model call failed",
		"RATE_LIMITED the model API answered 429"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || res.Retries != 5 || res.Status != execution.StatusCompleted || countOf[execution.RateLimited](events) != 3 {
		t.Errorf("%q, %d retries, %s", got, res.Retries, res.Status)
	}
}

func TestUsageFile(t *testing.T) {
	t.Parallel()
	file := `{"modelMetrics":{"a":{"usage":{"inputTokens":137,"outputTokens":20,"cacheReadTokens":30,"cacheWriteTokens":7,"reasoningTokens":5}},
		"b":{"usage":{"inputTokens":10,"outputTokens":1}}},"currentModel":"a","totalNanoAiu":2500000000}`
	events, res := play(t, process.Exit{}, file, begins, speaks, idles, `{"type":"result","exitCode":0,"sessionId":"","usage":{"premiumRequests":0.33,"totalApiDurationMs":7,"codeChanges":{"filesModified":["/a"]}}}`)
	want := execution.Usage{Input: 110, Output: 21, Cached: 30, CacheWrite: 7, Thinking: 5, Total: 168}
	if res.Usage == nil || *res.Usage != want || res.Cost == nil || !res.Cost.Unpriced || res.Cost.TotalUSD != nil {
		t.Errorf("usage %+v, cost %+v", res.Usage, res.Cost)
	}
	if n := countOf[execution.TokenUsage](events); n != 1 {
		t.Errorf("%d token_usage events", n)
	}
	if res.Metadata["premiumRequests"] != 0.33 || res.Metadata["aiCredits"] != 2.5 || res.Metadata["apiDurationMs"] != 7.0 || len(res.Metadata["filesModified"].([]string)) != 1 {
		t.Errorf("metadata %v", res.Metadata)
	}
	for _, garbage := range []string{"", "{", "[]", "null", `{"modelMetrics":[]}`, `{"modelMetrics":{"a":{"usage":{"inputTokens":-5}}}}`} {
		if _, res := play(t, process.Exit{}, garbage, begins, speaks, idles, ended); res.Usage != nil || res.Status != execution.StatusCompleted {
			t.Errorf("%q: %s %+v", garbage, res.Status, res.Usage)
		}
	}
}

// TestShellOutputCountsOnce: Copilot reports what a command writes as it comes, again and again as a whole, and in the result.
func TestShellOutputCountsOnce(t *testing.T) {
	t.Parallel()
	start := say("tool.execution_start", `{"toolCallId":"c","toolName":"bash","arguments":{"command":"x"}}`)
	partial := say("tool.execution_partial_result", `{"toolCallId":"c","partialOutput":"one\ntwo\n"}`)
	done := func(code string) string {
		return say("tool.execution_complete", `{"toolCallId":"c","success":true,"shellExecution":{"exitCode":`+code+`},"result":{"content":"one\ntwo\n<shellId: 0 completed with exit code `+code+`>"}}`)
	}
	heard := []string{say("tool.shell_output", `{"toolCallId":"c","stream":"stdout","text":"one\n","sequence":0}`), say("tool.shell_output", `{"toolCallId":"c","stream":"stderr","text":"two\n","sequence":1}`)}
	for name, lines := range map[string][]string{
		"as it comes": append(append([]string{begins, start}, heard...), partial, partial, done("0"), ended),
		"at the end":  {begins, start, partial, done("0"), ended},
		"silent":      {begins, start, done("0"), ended},
	} {
		events, _ := play(t, process.Exit{}, "", lines...)
		var out string
		for _, e := range events {
			switch b := e.Body.(type) {
			case execution.ShellStdoutDelta:
				out += b.Delta
			case execution.ShellStderrDelta:
				out += b.Delta
			}
		}
		if out != "one\ntwo\n" || countOf[execution.ShellStart](events) != 1 || countOf[execution.ShellExit](events) != 1 {
			t.Errorf("%s: %q", name, out)
		}
	}
	events, _ := play(t, process.Exit{}, "", begins, start, done("3"), ended)
	if countOf[execution.ToolError](events) != 1 || countOf[execution.ToolResultEvent](events) != 0 {
		t.Error("a command that failed is a success")
	}
}

func TestDenied(t *testing.T) {
	t.Parallel()
	start := say("tool.execution_start", `{"toolCallId":"c","toolName":"bash","arguments":{"command":"x"}}`)
	why, err := json.Marshal("Permission denied because no interactive user response was available. Retry in an interactive session so the user can approve it, or try")
	if err != nil {
		t.Fatal(err)
	}
	for code, denied := range map[string]int{"denied": 1, "rejected": 1, "failure": 0} {
		events, _ := play(t, process.Exit{}, "", begins, start, say("tool.execution_complete", `{"toolCallId":"c","success":false,"error":{"code":"`+code+`","message":`+string(why)+`}}`), ended)
		if countOf[execution.ApprovalDenied](events) != denied || countOf[execution.ToolError](events) != 1 || countOf[execution.ShellStart](events) != 0 {
			t.Errorf("%s: %d refusals", code, countOf[execution.ApprovalDenied](events))
		}
		for _, e := range events {
			if d, ok := e.Body.(execution.ApprovalDenied); ok && (d.ToolName != "bash" || d.ID != "c" || strings.Contains(d.Reason, "Retry")) {
				t.Errorf("%+v", d)
			}
		}
	}
}

// TestDeniedTwice: a refusal that Copilot says again is reported once.
func TestDeniedTwice(t *testing.T) {
	t.Parallel()
	start := say("tool.execution_start", `{"toolCallId":"c","toolName":"bash","arguments":{"command":"x"}}`)
	denied := say("tool.execution_complete", `{"toolCallId":"c","success":false,"error":{"code":"denied","message":"no"}}`)
	events, _ := play(t, process.Exit{}, "", begins, start, denied, denied, ended)
	if n := countOf[execution.ApprovalDenied](events); n != 1 {
		t.Errorf("%d refusals", n)
	}
}

// TestUnknownLines: a line that nobody knows is counted, one that is known and quiet is not.
func TestUnknownLines(t *testing.T) {
	t.Parallel()
	for line, unknown := range map[string]int{
		say("session.something_new", "{}"): 0, say("something.new", "{}"): 1, "Segmentation fault": 1, `{"type":"result"}`: 1, `{}`: 1, `[]`: 1, "": 0,
		say("assistant.message_delta", `{"deltaContent":7}`): 1, say("tool.execution_start", `{}`): 1, say("tool.execution_complete", `{"toolCallId":null}`): 1,
		say("tool.shell_output", `{}`): 1, say("assistant.tool_call_delta", `{}`): 1, say("session.error", `{}`): 1, say("hook.start", `{}`): 0,
	} {
		if _, res := play(t, process.Exit{}, "", line); res.UnknownLines != unknown {
			t.Errorf("%s: %d unknown lines, want %d", line, res.UnknownLines, unknown)
		}
	}
}

// TestSubagentsAreApart: what a sub-agent says belongs to the call that started it, also where a line does not repeat that.
func TestSubagentsAreApart(t *testing.T) {
	t.Parallel()
	sub := func(typ, data string) string { return `{"type":"` + typ + `","agentId":"a","data":` + data + `}` }
	events, res := play(t, process.Exit{}, "", begins,
		say("tool.execution_start", `{"toolCallId":"c","toolName":"task","arguments":{"agent_type":"explore","prompt":"look"}}`),
		sub("subagent.started", `{"toolCallId":"c","agentName":"explore"}`),
		sub("assistant.message", `{"messageId":"n","content":"found it","toolRequests":[]}`),
		sub("subagent.completed", `{"toolCallId":"c","agentName":"explore"}`),
		say("tool.execution_complete", `{"toolCallId":"c","success":true,"result":{"content":"found it"}}`), speaks, ended)
	for _, e := range events {
		switch b := e.Body.(type) {
		case execution.MessageStop:
			if (b.Text == "found it") != (e.Parent == "c") {
				t.Errorf("%q is from %q", b.Text, e.Parent)
			}
		case execution.SubagentSpawn:
			if b.AgentName != "explore" || b.Prompt != "look" {
				t.Errorf("%+v", b)
			}
		case execution.SubagentResult:
			if b.Summary != "found it" || e.Parent != "" {
				t.Errorf("%+v from %q", b, e.Parent)
			}
		}
	}
	if res.Output == nil || res.Output.Text != "hi" || countOf[execution.SubagentResult](events) != 1 || countOf[execution.SubagentSpawn](events) != 1 {
		t.Errorf("%+v", res.Output)
	}
}

// TestLingering: after an answer, nothing to do means that Copilot waits for a command that it started; another model call or tool
// takes that back, and what Copilot says of itself does not.
func TestLingering(t *testing.T) {
	t.Parallel()
	for next, lingers := range map[string]bool{"": true, `{"type":"assistant.turn_start","data":{"turnId":"1"}}`: false, `{"type":"session.background_tasks_changed","data":{}}`: true,
		`{"type":"tool.execution_start","data":{"toolCallId":"a","toolName":"bash","arguments":{"command":"x"}}}`: false} {
		p, s := newParser(request()).(*parser), cliagent.NewSink(false)
		for _, line := range []string{`{"type":"assistant.turn_start","data":{"turnId":"0"}}`, `{"type":"assistant.turn_end","data":{"turnId":"0"}}`, next} {
			p.Line(process.Stdout, []byte(line), s)
		}
		s.Take()
		p.Alarm(s)
		if got := len(s.Take()); (got == 1) != lingers {
			t.Errorf("after %q: %d events", next, got)
		}
	}
}
