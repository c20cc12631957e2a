package claude

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

const initLine = `{"type":"system","subtype":"init","session_id":"s-1","model":"m","cwd":"/w","claude_code_version":"2.1.329","mcp_servers":[]}`

// TestTruthTable is the table of what Claude says and what it means. The exit code is wrong in every row on purpose: it
// decides nothing.
func TestTruthTable(t *testing.T) {
	t.Parallel()
	synthetic := func(word, status string) string {
		return fmt.Sprintf(`{"type":"assistant","parent_tool_use_id":null,"error":%q,"api_error_status":%s,"message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"API Error"}],"usage":{}}}`, word, status)
	}
	tests := []struct {
		name   string
		before string
		result string // members of the result line
		status execution.Status
		code   execution.ErrorCode
		reason execution.TurnEndReason
		exit   execution.ExitReason
	}{
		{name: "success", result: `"subtype":"success","is_error":false,"terminal_reason":"completed","result":"ok"`,
			status: execution.StatusCompleted, reason: execution.TurnCompleted, exit: execution.ExitCompleted},
		{name: "success that is an error", result: `"subtype":"success","is_error":true,"api_error_status":400,"terminal_reason":"completed","result":"API Error: 400 no"`,
			code: execution.CodeInvalidRequest},
		{name: "401", result: `"subtype":"success","is_error":true,"api_error_status":401,"terminal_reason":"api_error","result":"no"`, code: execution.CodeAuth},
		{name: "403", result: `"subtype":"success","is_error":true,"api_error_status":403,"terminal_reason":"api_error","result":"no"`, code: execution.CodeAuth},
		{name: "404", result: `"subtype":"success","is_error":true,"api_error_status":404,"terminal_reason":"api_error","result":"no"`, code: execution.CodeModelNotFound},
		{name: "429", result: `"subtype":"success","is_error":true,"api_error_status":429,"terminal_reason":"api_error","result":"no"`, code: execution.CodeRateLimited},
		{name: "500", result: `"subtype":"success","is_error":true,"api_error_status":500,"terminal_reason":"api_error","result":"no"`, code: execution.CodeProvider},
		{name: "529", result: `"subtype":"success","is_error":true,"api_error_status":529,"terminal_reason":"api_error","result":"no"`, code: execution.CodeProvider},
		{name: "408", result: `"subtype":"success","is_error":true,"api_error_status":408,"terminal_reason":"api_error","result":"no"`, code: execution.CodeProvider},
		{name: "transport", result: `"subtype":"success","is_error":true,"api_error_status":null,"terminal_reason":"api_error","result":"API Error: Connection refused"`,
			code: execution.CodeProvider},
		{name: "transport, older", result: `"subtype":"success","is_error":true,"api_error_status":null,"terminal_reason":"completed","result":"API Error: Connection closed"`,
			code: execution.CodeProvider},
		{name: "not logged in", result: `"subtype":"success","is_error":true,"api_error_status":null,"terminal_reason":"completed","result":"Not logged in · Please run /login"`,
			code: execution.CodeAuth},
		{name: "word of the message in the model's place", before: synthetic("rate_limit", "null"),
			result: `"subtype":"success","is_error":true,"api_error_status":null,"terminal_reason":"completed","result":"slow down"`, code: execution.CodeRateLimited},
		{name: "billing", before: synthetic("billing_error", "null"),
			result: `"subtype":"success","is_error":true,"api_error_status":null,"terminal_reason":"api_error","result":"pay"`, code: execution.CodeAuth},
		{name: "status of the message in the model's place", before: synthetic("unknown", "503"),
			result: `"subtype":"success","is_error":true,"terminal_reason":"completed","result":"x"`, code: execution.CodeProvider},
		{name: "output limit", before: synthetic("max_output_tokens", "null"),
			result: `"subtype":"success","is_error":true,"terminal_reason":"api_error","result":"too much"`, code: execution.CodeContextExceeded},
		{name: "prompt too long", result: `"subtype":"success","is_error":true,"api_error_status":400,"terminal_reason":"prompt_too_long","result":"x"`,
			code: execution.CodeContextExceeded},
		{name: "prompt too long, by text", result: `"subtype":"success","is_error":true,"api_error_status":400,"terminal_reason":"completed","result":"Prompt is too long"`,
			code: execution.CodeContextExceeded},
		{name: "blocking limit", result: `"subtype":"success","is_error":true,"terminal_reason":"blocking_limit","result":"x"`, code: execution.CodeContextExceeded},
		{name: "refusal", result: `"subtype":"success","is_error":true,"terminal_reason":"api_error","stop_reason":"refusal","result":"API Error: safeguards"`,
			code: execution.CodeInvalidRequest},
		{name: "turn limit", result: `"subtype":"error_max_turns","is_error":true,"terminal_reason":"max_turns","errors":["Reached maximum number of turns (2)"]`,
			status: execution.StatusDeferred, reason: execution.TurnLimitReached, exit: execution.ExitTurnLimit},
		{name: "budget", result: `"subtype":"error_max_budget_usd","is_error":true,"terminal_reason":"budget_exhausted","errors":["Reached maximum budget ($1)"]`,
			code: execution.CodeBudgetExceeded, reason: execution.TurnBudget},
		{name: "budget, older", result: `"subtype":"error_max_budget_usd","is_error":true,"errors":["x"]`, code: execution.CodeBudgetExceeded, reason: execution.TurnBudget},
		{name: "schema never met", result: `"subtype":"error_max_structured_output_retries","is_error":true,"errors":["x"]`, code: execution.CodeInvalidOutput},
		{name: "interrupted", result: `"subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","errors":["[ede_diagnostic] x"]`,
			code: execution.CodeInterrupted, reason: execution.TurnInterrupted, exit: execution.ExitInterrupted},
		{name: "interrupted tools", result: `"subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools"`,
			code: execution.CodeInterrupted, reason: execution.TurnInterrupted, exit: execution.ExitInterrupted},
		{name: "interrupted, a success", result: `"subtype":"success","is_error":false,"terminal_reason":"aborted_streaming"`,
			code: execution.CodeInterrupted, reason: execution.TurnInterrupted, exit: execution.ExitInterrupted},
		{name: "session in use", result: `"subtype":"error_during_execution","is_error":true,"errors":["Error: Session ID x is already in use."]`,
			code: execution.CodeValidation},
		{name: "anything else", result: `"subtype":"error_during_execution","is_error":true,"errors":["boom"]`, code: execution.CodeAgentCrash},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stream := initLine + "\n" + tt.before + "\n" + `{"type":"result",` + tt.result + `,"session_id":"s-1","total_cost_usd":0,"usage":{},"modelUsage":{}}` + "\n"
			exit := process.Exit{Code: 1}
			if tt.code != "" {
				exit.Code = 0
			}
			events, res := cliagent.Replay(newParser(request()), []byte(stream), nil, exit, false)
			if tt.status == "" {
				tt.status = execution.StatusFailed
			}
			if tt.reason == "" {
				tt.reason = execution.TurnFailed
			}
			if tt.exit == "" {
				tt.exit = execution.ExitCompleted
			}
			if res.Status != tt.status || res.Error.ErrorCode() != tt.code || res.ExitReason != tt.exit {
				t.Errorf("the result is %s %s %s, want %s %s %s", res.Status, res.Error.ErrorCode(), res.ExitReason, tt.status, tt.code, tt.exit)
			}
			end, ok := events[len(events)-1].Body.(execution.TurnEnd)
			if !ok || end.Reason != tt.reason {
				t.Errorf("the turn ended %+v, want %s", events[len(events)-1].Body, tt.reason)
			}
			failed := tt.reason == execution.TurnFailed || tt.reason == execution.TurnBudget
			if failed != (end.Error != nil) || end.Error.ErrorCode() != tt.code && failed {
				t.Errorf("the turn's error is %v", end.Error)
			}
			if res.UnknownLines != 0 {
				t.Errorf("%d lines are unknown", res.UnknownLines)
			}
		})
	}
}

// TestLoaded: the first line of a session names its skills and plugins; the same line of the next turn says nothing new.
func TestLoaded(t *testing.T) {
	t.Parallel()
	line := strings.TrimSuffix(initLine, "}") + `,"skills":["verify",3,"batch"],"plugins":[{"name":"privacy","path":"builtin","source":"privacy@builtin"},{"name":"own","path":"/p"},7]}`
	events, _ := cliagent.Replay(newParser(request()), []byte(line+"\n"+okResult+"\n"+line+"\n"+okResult+"\n"), nil, process.Exit{}, false)
	var got []string
	for _, e := range events {
		switch b := e.Body.(type) {
		case execution.SkillLoaded:
			got = append(got, b.SkillName)
		case execution.PluginLoaded:
			got = append(got, b.PluginID+" "+b.PluginName)
		}
	}
	if want := []string{"verify", "batch", "privacy@builtin privacy", "own own"}; !slices.Equal(got, want) {
		t.Errorf("loaded: %q, want %q", got, want)
	}
}

const interruptLine = `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]},"parent_tool_use_id":null,"session_id":"s"}`

// TestHeadless: what the result line states counts, whatever else of the stream is lost.
func TestHeadless(t *testing.T) {
	t.Parallel()
	whole := clitest.Read(t, "testdata/golden/new_plain.jsonl")
	_, want := cliagent.Replay(newParser(request()), whole, nil, process.Exit{}, false)
	var headless, alone []byte
	for line := range bytes.Lines(whole) {
		if !bytes.Contains(line, []byte(`"subtype":"init"`)) {
			headless = append(headless, line...)
		}
		if bytes.Contains(line, []byte(`"type":"result"`)) {
			alone = append(alone, line...)
		}
	}
	for name, stream := range map[string][]byte{"without the first line": headless, "the result alone": alone} {
		events, res := cliagent.Replay(newParser(request()), stream, nil, process.Exit{}, false)
		if res.Status != execution.StatusCompleted || res.SessionID != want.SessionID || res.SessionID == "" ||
			*res.Cost.TotalUSD != *want.Cost.TotalUSD || *res.Usage != *want.Usage || res.Output.Text != want.Output.Text {
			t.Errorf("%s: %s %s %+v %+v %+v", name, res.Status, res.SessionID, res.Cost, res.Usage, res.Output)
		}
		text, told := "", false
		for _, e := range events {
			switch b := e.Body.(type) {
			case execution.MessageStop:
				text = b.Text
			case execution.Debug:
				told = told || b.Level == execution.DebugWarn
			}
		}
		if text != want.Output.Text || !told {
			t.Errorf("%s: the stream says %q, told %v", name, text, told)
		}
	}
}

// TestNoResult is for processes that end without having said how: exit code 0 proves nothing.
func TestNoResult(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		stream string
		exit   process.Exit
		code   execution.ErrorCode
	}{
		{"silence", "", process.Exit{}, execution.CodeInvalidOutput},
		{"exit 0 in a turn", initLine, process.Exit{}, execution.CodeInvalidOutput},
		{"exit 1 in a turn", initLine, process.Exit{Code: 1}, execution.CodeAgentCrash},
		{"stopped", initLine, process.Exit{Code: 143, Stopped: true}, execution.CodeAborted},
		{"killed", initLine, process.Exit{Code: -1, Signal: "SIGKILL"}, execution.CodeAgentCrash},
		{"unknown session", "", process.Exit{Code: 1, StderrTail: "No conversation found with session ID: x\n"}, execution.CodeSessionNotFound},
		{"bad schema", "", process.Exit{Code: 1, StderrTail: "Error: --json-schema is not a valid JSON Schema: x\n"}, execution.CodeValidation},
		{"unknown option", "", process.Exit{Code: 1, StderrTail: "error: unknown option '--replay-user-messages'\n"}, execution.CodeConfig},
		{"wrong flags together", "", process.Exit{Code: 1, StderrTail: "Error: When using --print, --output-format=stream-json requires --verbose\n"}, execution.CodeValidation},
		{"no prompt", "", process.Exit{Code: 1, StderrTail: "Error: Input must be provided either through stdin or as a prompt argument when using --print\n"}, execution.CodeValidation},
		{"stated interrupt", initLine + "\n" + interruptLine, process.Exit{}, execution.CodeInterrupted},
		{"stated interrupt of a run that was stopped", initLine + "\n" + interruptLine, process.Exit{Stopped: true}, execution.CodeAborted},
		{"second turn cut off", initLine + "\n" + `{"type":"result","subtype":"success","is_error":false,"result":"ok"}` + "\n" + initLine, process.Exit{Code: 1}, execution.CodeAgentCrash},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, res := cliagent.Replay(newParser(request()), []byte(tt.stream), nil, tt.exit, false)
			if res.Status != execution.StatusFailed || res.Error.ErrorCode() != tt.code {
				t.Errorf("the result is %s %s, want failed %s", res.Status, res.Error.ErrorCode(), tt.code)
			}
		})
	}
}

func TestSchemaWithoutOutput(t *testing.T) {
	t.Parallel()
	req := request()
	wantsAnswer(&req)
	result := func(more string) string {
		return initLine + "\n" + `{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","result":"no"` + more + `}`
	}
	_, res := cliagent.Replay(newParser(req), []byte(result("")), nil, process.Exit{}, false)
	if res.Error.ErrorCode() != execution.CodeInvalidOutput {
		t.Errorf("an answer without structured output is %s %v", res.Status, res.Error)
	}
	_, res = cliagent.Replay(newParser(req), []byte(result(`,"structured_output":{"answer":1}`)), nil, process.Exit{}, false)
	if res.Status != execution.StatusCompleted || string(res.Output.Structured) != `{"answer":1}` {
		t.Errorf("got %s with %s", res.Status, res.Output.Structured)
	}
}

// TestUsageOnce: one message is many lines, a result states totals of the process, or of the session.
func TestUsageOnce(t *testing.T) {
	t.Parallel()
	text := func(id string) string {
		return `{"type":"assistant","parent_tool_use_id":null,"message":{"id":"` + id + `","model":"m","content":[{"type":"text","text":"x"}],"usage":{"input_tokens":100,"output_tokens":1,"cache_read_input_tokens":7}}}` + "\n"
	}
	result := func(total float64, in, out, cached int, since string) string {
		return fmt.Sprintf(`{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","result":"x","total_cost_usd":%v,"usage":{"input_tokens":1,"output_tokens":1},"modelUsage":{"m":{"inputTokens":%d,"outputTokens":%d,"cacheReadInputTokens":%d,"costUSD":%v}}%s}`,
			total, in, out, cached, total, since) + "\n"
	}
	since := `,"model_usage_since_last_result":{"m":{"inputTokens":100,"outputTokens":20,"cacheReadInputTokens":7,"costUSD":0.5},"side":{"inputTokens":3,"outputTokens":1,"costUSD":0.25}}`
	tests := []struct {
		name   string
		stream string
		want   execution.Usage
		usd    float64
	}{
		{"a message of three lines", text("a") + text("a") + text("a") + result(0.5, 100, 20, 7, ""), execution.Usage{Input: 100, Output: 20, Cached: 7, Total: 127}, 0.5},
		{"two turns, totals of the process", text("a") + result(0.5, 100, 20, 7, "") + initLine + "\n" + text("b") + result(0.75, 300, 50, 14, ""),
			execution.Usage{Input: 300, Output: 50, Cached: 14, Total: 364}, 0.75},
		{"totals of a resumed session", text("a") + result(9.5, 9100, 920, 907, since), execution.Usage{Input: 103, Output: 21, Cached: 7, Total: 131}, 0.75},
		{"no totals", text("a") + `{"type":"result","subtype":"success","is_error":false,"total_cost_usd":0.5,"usage":{"input_tokens":100,"output_tokens":20,"cache_read_input_tokens":7}}`,
			execution.Usage{Input: 100, Output: 20, Cached: 7, Total: 127}, 0.5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			events, res := cliagent.Replay(newParser(request()), []byte(initLine+"\n"+tt.stream), nil, process.Exit{}, false)
			clitest.CheckUsage(t, events, res)
			if res.Usage == nil || *res.Usage != tt.want || *res.Cost.TotalUSD != tt.usd {
				t.Errorf("got %+v for %v, want %+v for %v", res.Usage, *res.Cost.TotalUSD, tt.want, tt.usd)
			}
		})
	}
}

// TestLostCall: a call that the end of the process cuts off has cost its prompt.
func TestLostCall(t *testing.T) {
	t.Parallel()
	stream := initLine + "\n" + `{"type":"stream_event","parent_tool_use_id":null,"event":{"type":"message_start","message":{"id":"a","usage":{"input_tokens":100,"output_tokens":1}}}}`
	events, res := cliagent.Replay(newParser(request()), []byte(stream), nil, process.Exit{Code: -1, Signal: "SIGTERM", Stopped: true}, false)
	clitest.CheckUsage(t, events, res)
	if res.Usage == nil || res.Usage.Input != 100 || res.Cost.TotalUSD != nil || !res.Cost.Unpriced {
		t.Errorf("got %+v and %+v, want 100 tokens without a price", res.Usage, res.Cost)
	}
}
