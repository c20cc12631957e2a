package declarative

import (
	"fmt"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// formOf returns the form of an entry.
func formOf(t testing.TB, entry string) *form {
	t.Helper()
	a, ok := describe(t, "mine", entry).New().(described)
	if !ok {
		t.Fatal("not described")
	}
	return a.form
}

// replay parses output and returns the types of its events and the result.
func replay(t testing.TB, f *form, stdout, stderr string, exit process.Exit) (string, execution.Result) {
	t.Helper()
	exit.StderrTail = stderr
	events, res := cliagent.Replay(f.parser(clitest.Request()), []byte(stdout), []byte(stderr), exit, false)
	clitest.CheckOrder(t, events)
	clitest.CheckUsage(t, events, res)
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, string(e.Body.Type()))
	}
	return strings.Join(kinds, " "), res
}

func outcome(res execution.Result) string {
	text, code := "", execution.ErrorCode("")
	if res.Output != nil {
		text = res.Output.Text
	}
	if res.Error != nil {
		code = res.Error.ErrorCode()
	}
	return fmt.Sprintf("%s %s %q unknown=%d session=%s model=%s", res.Status, code, text, res.UnknownLines, res.SessionID, res.Model)
}

func TestLines(t *testing.T) {
	t.Parallel()
	f := formOf(t, linesEntry)
	for name, c := range map[string]struct {
		lines, events, outcome string
		exit                   int
	}{
		"an answer in pieces": {lines: `{"kind":"begin","session":{"id":"s1","model":"m1"}}
{"kind":"model"}
{"kind":"thought","text":"hm"}
{"kind":"piece","text":"one "}

{"kind":"piece","text":"two"}
{"kind":"tokens","usage":{"input_tokens":10,"output_tokens":5}}
{"kind":"end","text":"one two"}
`, events: "session_start turn_start step_start thinking_start thinking_delta thinking_stop message_start text_delta text_delta token_usage message_stop step_end cost turn_end",
			outcome: `completed  "one two" unknown=0 session=s1 model=m1`},
		"an answer at the end": {lines: `{"kind":"end","text":"all"}`, events: "session_start turn_start message_start text_delta message_stop turn_end",
			outcome: `completed  "all" unknown=0 session= model=`},
		"tools": {lines: `{"kind":"call","tool":{"id":"a","name":"ls","input":{"x":1}}}
{"kind":"call","tool":{"id":7,"name":"mcp__files__read"}}
{"kind":"done","tool":{"id":7,"output":"text"}}
{"kind":"done","tool":{"id":"a"}}
{"kind":"done","tool":{"id":"b"}}
{"kind":"call","tool":{"id":"c"}}
{"kind":"end","text":"ok"}`, events: "session_start turn_start tool_call_start tool_call_ready mcp_tool_call_start mcp_tool_result tool_result message_start text_delta message_stop turn_end",
			outcome: `completed  "ok" unknown=2 session= model=`},
		"values that are missing": {lines: `{"kind":"begin"}
{"kind":"piece","text":7}
{"kind":"tokens"}
{"kind":"call","tool":{}}
{"kind":"end"}`, events: "session_start turn_start turn_end", outcome: `completed  "" unknown=4 session= model=`},
		"an error": {lines: `{"kind":"problem","text":"unknown session x"}`, exit: 1, events: "error",
			outcome: `failed SESSION_NOT_FOUND "" unknown=0 session= model=`},
		"an error that passed": {lines: "{\"kind\":\"problem\",\"text\":\"no\"}\n{\"kind\":\"end\",\"text\":\"yes\"}", events: "session_start turn_start message_start text_delta message_stop turn_end",
			outcome: `completed  "yes" unknown=0 session= model=`},
		"no end":      {lines: `{"kind":"piece","text":"half"}`, events: "session_start turn_start message_start text_delta", outcome: `failed INVALID_OUTPUT "" unknown=0 session= model=`},
		"garbage":     {lines: "\x00\xff\n[1]\n{\"kind\":\n{\"kind\":\"strange\"}\nnull", events: "", outcome: `failed INVALID_OUTPUT "" unknown=5 session= model=`},
		"wrong kinds": {lines: `{"kind":{"a":1},"text":[],"tool":"x"}`, events: "", outcome: `failed INVALID_OUTPUT "" unknown=1 session= model=`},
		"a crash":     {lines: `{"kind":"piece","text":"half"}`, exit: 3, events: "session_start turn_start message_start text_delta crash", outcome: `failed AGENT_CRASH "" unknown=0 session= model=`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, res := replay(t, f, c.lines, "", process.Exit{Code: c.exit})
			if events != c.events || outcome(res) != c.outcome {
				t.Errorf("got  %s\n     %s\nwant %s\n     %s", events, outcome(res), c.events, c.outcome)
			}
		})
	}
}

// TestLinesWithoutAnEnd: without a rule for the result the exit code is the outcome, if any line was known.
func TestLinesWithoutAnEnd(t *testing.T) {
	t.Parallel()
	f := formOf(t, `{"command": ["x"], "output": {"format": "json-lines", "events": [{"event": "message", "when": {"a.b": "true"}, "text": "a.t"},
		{"event": "ignore", "when": {"skip": "*"}}]}}`)
	for lines, want := range map[string]string{
		`{"a":{"b":true,"t":"x"}}`:                `completed  "x" unknown=0 session= model=`,
		`{"a":{"b":"true","t":"x"}}`:              `completed  "x" unknown=0 session= model=`,
		`{"a":{"b":false,"t":"x"}}`:               `failed INVALID_OUTPUT "" unknown=1 session= model=`,
		"{\"skip\":null}\n{\"skip\":{}}":          `completed  "" unknown=0 session= model=`,
		"":                                        `failed INVALID_OUTPUT "" unknown=0 session= model=`,
		"{\"a\":{\"b\":true,\"t\":\"x\"}}\nhello": `completed  "x" unknown=1 session= model=`,
	} {
		if _, res := replay(t, f, lines, "", process.Exit{}); outcome(res) != want {
			t.Errorf("%s: got %s, want %s", lines, outcome(res), want)
		}
	}
}

// TestTotals: the usage of a result is the total of the run.
func TestTotals(t *testing.T) {
	t.Parallel()
	f := formOf(t, `{"command": ["x"], "output": {"format": "json-lines", "events": [{"event": "usage", "when": {"u": "*"}, "usage": "u"},
		{"event": "result", "when": {"r": "*"}, "text": "r", "usage": "sum"}]}}`)
	_, res := replay(t, f, `{"u":{"input_tokens":10,"output_tokens":2}}
{"u":{"input_tokens":20,"output_tokens":3}}
{"r":"done","sum":{"input_tokens":40,"output_tokens":4,"cost_usd":0.5}}`, "", process.Exit{})
	if res.Usage == nil || res.Usage.Input != 40 || res.Usage.Output != 5 || res.Cost == nil || res.Cost.TotalUSD == nil || *res.Cost.TotalUSD != 0.5 {
		t.Errorf("%+v %+v", res.Usage, res.Cost)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	f := formOf(t, `{"command": ["x"], "login": {"command": ["x", "login"]}, "errors": [{"code": "RATE_LIMITED", "pattern": "^429|Too [Mm]any"},
		{"code": "AUTH_ERROR", "phrases": ["Not Logged In"], "exits": [4]}, {"code": "MODEL_NOT_FOUND", "exits": [5]}]}`)
	for name, c := range map[string]struct {
		stdout, stderr string
		exit           process.Exit
		want           string
	}{
		"a phrase":         {"", "error: not logged in", process.Exit{Code: 1}, `failed AUTH_ERROR ""`},
		"a phrase in text": {"You are NOT logged in.", "", process.Exit{Code: 1}, `failed AUTH_ERROR ""`},
		"a pattern":        {"", "Too Many requests", process.Exit{Code: 4}, `failed RATE_LIMITED ""`},
		"an exit code":     {"", "no", process.Exit{Code: 5}, `failed MODEL_NOT_FOUND ""`},
		"unknown":          {"", "no", process.Exit{Code: 6}, `failed AGENT_CRASH ""`},
		"success":          {"not logged in", "429", process.Exit{}, `completed  "not logged in"`},
		"stopped":          {"", "not logged in", process.Exit{Code: 4, Stopped: true}, `failed ABORTED ""`},
		"a signal":         {"", "not logged in", process.Exit{Code: -1, Signal: "SIGKILL"}, `failed AGENT_CRASH ""`},
	} {
		_, res := replay(t, f, c.stdout, c.stderr, c.exit)
		if !strings.HasPrefix(outcome(res), c.want) {
			t.Errorf("%s: got %s, want %s", name, outcome(res), c.want)
		}
		if res.Error != nil && res.Error.ErrorCode() == execution.CodeAuth && res.Error.Metadata["hint"] != "log in with: x login" {
			t.Errorf("%s: hint %v", name, res.Error.Metadata["hint"])
		}
	}
}

// TestStream: messages in pieces, whole messages, and what a result adds.
func TestStream(t *testing.T) {
	t.Parallel()
	f := formOf(t, streamEntry)
	for name, c := range map[string]struct{ lines, events, outcome string }{
		"whole messages": {`{"type":"system","subtype":"init","session_id":"s1","model":"m"}
{"type":"assistant","session_id":"s1","message":{"content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":10,"output_tokens":5}}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"a.txt"}]}}
{"type":"assistant","message":{"content":[{"type":"text","text":"There is a.txt."}],"usage":{"input_tokens":10,"output_tokens":5}}}
{"type":"result","subtype":"success","is_error":false,"result":"There is a.txt.","total_cost_usd":0.25}`,
			"session_start turn_start step_start token_usage message_start text_delta message_stop tool_call_start tool_call_ready step_end tool_result step_start token_usage " +
				"message_start text_delta message_stop step_end cost turn_end",
			`completed  "There is a.txt." unknown=0 session=s1 model=m`},
		"pieces, and the whole again": {`{"type":"system","subtype":"init","session_id":"s1"}
{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1","usage":{"input_tokens":10}}}}
{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}}
{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}}
{"type":"stream_event","event":{"type":"content_block_stop","index":0}}
{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":10,"output_tokens":1}}}
{"type":"stream_event","event":{"type":"message_delta","usage":{"output_tokens":5}}}
{"type":"stream_event","event":{"type":"message_stop"}}
{"type":"result","subtype":"success","result":"hi","usage":{"input_tokens":10,"output_tokens":5}}`,
			"session_start turn_start step_start message_start text_delta message_stop token_usage step_end cost turn_end", `completed  "hi" unknown=0 session=s1 model=`},
		"an error": {`{"type":"result","subtype":"error_during_execution","is_error":true,"error":"it broke","session_id":"s1"}`,
			"session_start turn_start error turn_end", `failed INTERNAL "" unknown=0 session=s1 model=`},
		"an error by its subtype": {`{"type":"result","subtype":"error_max_turns","session_id":"s1"}`,
			"session_start turn_start error turn_end", `failed INTERNAL "" unknown=0 session=s1 model=`},
		"no result": {`{"type":"assistant","message":{"content":[{"type":"text","text":"half"}]}}`,
			"session_start turn_start step_start message_start text_delta message_stop", `failed INVALID_OUTPUT "" unknown=0 session= model=`},
		"unknown lines": {"{\"type\":\"other\"}\nhello\n{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\"}]}}\n" +
			`{"type":"assistant","message":{"content":"x"}}`, "", `failed INVALID_OUTPUT "" unknown=4 session= model=`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, res := replay(t, f, c.lines, "", process.Exit{})
			if events != c.events || outcome(res) != c.outcome {
				t.Errorf("got  %s\n     %s\nwant %s\n     %s", events, outcome(res), c.events, c.outcome)
			}
		})
	}
}

// FuzzLines: any output of any of the parsers gives events in the order of the contract, and one outcome.
func FuzzLines(f *testing.F) {
	forms := []*form{formOf(f, textEntry), formOf(f, linesEntry), formOf(f, streamEntry)}
	f.Add([]byte("{\"kind\":\"begin\",\"session\":{\"id\":\"s\"}}\n{\"kind\":\"piece\",\"text\":\"a\"}\n{\"kind\":\"thought\",\"text\":\"b\"}\n{\"kind\":\"end\",\"text\":\"\"}"), 0)
	f.Add([]byte("{\"kind\":\"model\"}\n{\"kind\":\"call\",\"tool\":{\"id\":1,\"name\":\"x\"}}\n{\"kind\":\"done\",\"tool\":{\"id\":1}}\n{\"kind\":\"tokens\",\"usage\":{\"input_tokens\":1}}"), 1)
	f.Add([]byte("{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}}\n{\"type\":\"result\",\"is_error\":true}"), 2)
	f.Fuzz(func(t *testing.T, output []byte, code int) {
		for _, form := range forms {
			_, res := replay(t, form, string(output), string(output), process.Exit{Code: code & 0xff})
			if res.Status == "" {
				t.Fatal("no outcome")
			}
		}
	})
}
