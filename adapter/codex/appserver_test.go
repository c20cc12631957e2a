package codex

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonrpc"
	"github.com/drawbar/drawbar/transport/process"
)

// said are the messages written since the last call, in short: method or answered id.
func said(t *testing.T, s *cliagent.Sink) (list []string) {
	t.Helper()
	for _, w := range s.TakeWrites() {
		var m struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
			Error  *jsonrpc.Error
			Params struct{ Input []inputItem }
		}
		if err := json.Unmarshal(w, &m); err != nil {
			t.Fatalf("%v in %s", err, w)
		}
		switch {
		case m.Method != "" && len(m.Params.Input) > 0:
			list = append(list, m.Method+" "+m.Params.Input[0].Text)
		case m.Method != "":
			list = append(list, m.Method)
		case m.Error != nil:
			list = append(list, fmt.Sprintf("%s error %d", m.ID, m.Error.Code))
		default:
			list = append(list, string(m.ID)+" "+string(m.Result))
		}
	}
	return list
}

func types(events []execution.Event) string {
	var list []string
	for _, e := range events {
		list = append(list, string(e.Body.Type()))
	}
	return strings.Join(list, " ")
}

func expectSaid(t *testing.T, s *cliagent.Sink, want ...string) {
	t.Helper()
	if got := said(t, s); !slices.Equal(got, want) {
		t.Errorf("the parser says %q, want %q", got, want)
	}
}

func do(t *testing.T, p *appParser, s *cliagent.Sink, cmd execution.Command) {
	t.Helper()
	if err := p.Command(cmd, s); err != nil {
		t.Fatalf("%T: %v", cmd, err)
	}
}

const (
	completed   = `{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"completed"}}}`
	interrupted = `{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"interrupted"}}}`
)

// TestEndInput: closing the input in the middle of a turn loses the turn, so the end waits for it and for what is queued.
func TestEndInput(t *testing.T) {
	t.Parallel()
	t.Run("first thing", func(t *testing.T) {
		t.Parallel()
		p, s := newAppParser(newRequest(), ""), cliagent.NewSink(false)
		p.Open(s)
		do(t, p, s, execution.EndInput{})
		for _, line := range []string{`{"id":1,"result":{}}`, `{"id":2,"result":{"thread":{"id":"T"}}}`, `{"id":3,"result":{"turn":{"id":"U"}}}`,
			`{"method":"turn/started","params":{"threadId":"T","turn":{"id":"U"}}}`} {
			feed(p, s, line)
			if p.done {
				t.Fatalf("the run ends at %s", line)
			}
		}
		feed(p, s, completed)
		if !p.done {
			t.Error("the run goes on")
		}
	})
	t.Run("with a message queued", func(t *testing.T) {
		t.Parallel()
		p, s := began(t, nil)
		do(t, p, s, execution.Say{ID: "1", Text: "more", When: execution.WhenNextTurn})
		do(t, p, s, execution.EndInput{})
		expectSaid(t, s)
		feed(p, s, completed)
		if p.done {
			t.Fatal("the run ends before the message was said")
		}
		expectSaid(t, s, "turn/start more")
		feed(p, s, `{"id":4,"result":{"turn":{"id":"U2"}}}`, `{"method":"turn/started","params":{"threadId":"T","turn":{"id":"U2"}}}`, strings.Replace(completed, `"U"`, `"U2"`, 1))
		if !p.done {
			t.Error("the run goes on")
		}
		if err := p.Command(execution.Say{ID: "2", Text: "late"}, s); execution.CodeOf(err) != execution.CodeRunNotActive {
			t.Errorf("a message behind the end: %v", err)
		}
	})
	t.Run("with a steer on its way", func(t *testing.T) {
		t.Parallel()
		p, s := began(t, nil)
		do(t, p, s, execution.Say{ID: "1", Text: "more", When: execution.WhenNow})
		do(t, p, s, execution.EndInput{})
		feed(p, s, completed)
		if p.done {
			t.Fatal("the run ends before it is known what became of the message")
		}
		feed(p, s, `{"id":4,"error":{"code":-32600,"message":"no active turn to steer"}}`)
		expectSaid(t, s, "turn/steer more", "turn/start more")
	})
}

func TestSay(t *testing.T) {
	t.Parallel()
	t.Run("before the turn has begun", func(t *testing.T) {
		t.Parallel()
		p, s := asked(t, nil)
		do(t, p, s, execution.Say{ID: "1", Text: "early", When: execution.WhenNow})
		expectSaid(t, s)
		feed(p, s, `{"id":3,"result":{"turn":{"id":"U"}}}`)
		expectSaid(t, s)
		feed(p, s, `{"method":"turn/started","params":{"threadId":"T","turn":{"id":"U"}}}`)
		expectSaid(t, s, "turn/steer early")
		s.Take()
		feed(p, s, `{"id":4,"result":{"turnId":"U"}}`)
		if e := s.Take(); len(e) != 1 || e[0].Body != (execution.InputTaken{ID: "1", Steered: true}) {
			t.Errorf("the events are %v", e)
		}
	})
	t.Run("to a turn that takes none", func(t *testing.T) {
		t.Parallel()
		p, s := began(t, nil)
		do(t, p, s, execution.Say{ID: "1", Text: "a", When: execution.WhenNow})
		do(t, p, s, execution.Say{ID: "2", Text: "b", When: execution.WhenNow})
		expectSaid(t, s, "turn/steer a", "turn/steer b")
		feed(p, s, `{"id":4,"error":{"code":-32600,"message":"cannot steer a review"}}`, `{"id":5,"error":{"code":-32600,"message":"cannot steer a review"}}`)
		expectSaid(t, s) // and not again
		feed(p, s, completed)
		if got := said(t, s); len(got) != 1 || !strings.HasPrefix(got[0], "turn/start ") {
			t.Errorf("behind the turn the parser says %q", got)
		}
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		p, s := began(t, nil)
		feed(p, s, completed)
		s.Take()
		do(t, p, s, execution.Say{ID: "1", Text: "a"})
		do(t, p, s, execution.Say{ID: "2", Text: "b"})
		feed(p, s, `{"id":4,"error":{"code":-32602,"message":"Input exceeds the maximum length"}}`)
		if e := s.Take(); types(e) != "input_cancelled" {
			t.Errorf("the events are %s", types(e))
		}
		expectSaid(t, s, "turn/start a", "turn/start b")
	})
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	t.Run("before the turn has begun", func(t *testing.T) {
		t.Parallel()
		p, s := asked(t, nil)
		feed(p, s, `{"id":3,"result":{"turn":{"id":"U"}}}`)
		do(t, p, s, execution.Interrupt{})
		expectSaid(t, s) // codex would refuse it
		feed(p, s, `{"method":"turn/started","params":{"threadId":"T","turn":{"id":"U"}}}`)
		expectSaid(t, s, "turn/interrupt")
		feed(p, s, `{"id":4,"result":{}}`, interrupted)
		res := p.Exit(process.Exit{}, s)
		if res.ExitReason != execution.ExitInterrupted || res.Error.ErrorCode() != execution.CodeInterrupted {
			t.Errorf("the result is %s %v", res.ExitReason, res.Error)
		}
	})
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		p, s := began(t, nil)
		feed(p, s, completed)
		if err := p.Command(execution.Interrupt{}, s); execution.CodeOf(err) != execution.CodeInvalidStateTransition {
			t.Errorf("the error is %v", err)
		}
	})
}

// TestTurnThatEndsAgain: what a turn that is over still says is not taken for the next one.
func TestTurnThatEndsAgain(t *testing.T) {
	t.Parallel()
	p, s := began(t, nil)
	feed(p, s, completed)
	do(t, p, s, execution.Say{ID: "1", Text: "more"})
	feed(p, s, `{"id":4,"result":{"turn":{"id":"U2"}}}`, `{"method":"turn/started","params":{"threadId":"T","turn":{"id":"U2"}}}`)
	s.Take()
	feed(p, s, completed)
	if e := s.Take(); len(e) != 0 || p.turn != "U2" {
		t.Errorf("the end of U made %s and left turn %q", types(e), p.turn)
	}
}

// TestBehindTheTurn: commands go on behind an interrupted turn, and nothing of them may lie outside a turn.
func TestBehindTheTurn(t *testing.T) {
	t.Parallel()
	p, s := began(t, nil)
	const item = `{"method":"item/%s","params":{"threadId":"T","turnId":"U","item":{"type":"commandExecution","id":"c1","command":"sleep 20","cwd":"/w","processId":"7","status":"%s","aggregatedOutput":null,"exitCode":%s}}}`
	feed(p, s, fmt.Sprintf(item, "started", "inProgress", "null"), interrupted)
	s.Take()
	feed(p, s, `{"method":"item/commandExecution/outputDelta","params":{"threadId":"T","turnId":"U","itemId":"c1","delta":"x"}}`, fmt.Sprintf(item, "completed", "completed", "0"),
		`{"method":"item/agentMessage/delta","params":{"threadId":"T","turnId":"U","itemId":"m1","delta":"x"}}`,
		`{"method":"turn/plan/updated","params":{"threadId":"T","turnId":"U","plan":[]}}`)
	if e := s.Take(); len(e) != 0 {
		t.Errorf("behind the turn come %s", types(e))
	}
}

// TestWhyACommandFailed: the error has the command's output, whether it was streamed before the end or not.
func TestWhyACommandFailed(t *testing.T) {
	t.Parallel()
	const item = `{"method":"item/%s","params":{"threadId":"T","turnId":"U","item":{"type":"commandExecution","id":"c1","command":"make","cwd":"/w","processId":"7","status":"%s","aggregatedOutput":%s,"exitCode":%s}}}`
	for name, tt := range map[string]struct{ streamed, all string }{"not streamed": {"", `"broken"`}, "streamed": {"broken", `"broken"`}, "streamed only": {"broken", "null"}} {
		p, s := began(t, nil)
		feed(p, s, fmt.Sprintf(item, "started", "inProgress", "null", "null"))
		if tt.streamed != "" {
			feed(p, s, `{"method":"item/commandExecution/outputDelta","params":{"threadId":"T","turnId":"U","itemId":"c1","delta":"`+tt.streamed+`"}}`)
		}
		feed(p, s, fmt.Sprintf(item, "completed", "failed", tt.all, "3"))
		var said []string
		for _, e := range s.Take() {
			if b, ok := e.Body.(execution.ToolError); ok {
				said = append(said, b.Error)
			}
		}
		if len(said) != 1 || said[0] != "the command ended with exit code 3:\nbroken" {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// TestHandshakeRefused: an error at the begin of the conversation ends the run.
func TestHandshakeRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		key   string
		lines []string
		want  execution.ErrorCode
	}{
		{name: "initialize", lines: []string{`{"id":1,"error":{"code":-32600,"message":"no"}}`}, want: execution.CodeInternal},
		{name: "login", key: "k", lines: []string{`{"id":1,"result":{}}`, `{"id":2,"error":{"code":-32600,"message":"Incorrect API key"}}`}, want: execution.CodeAuth},
		{name: "thread", lines: []string{`{"id":1,"result":{}}`, `{"id":2,"error":{"code":-32600,"message":"failed to load configuration: x"}}`}, want: execution.CodeConfig},
		{name: "thread without id", lines: []string{`{"id":1,"result":{}}`, `{"id":2,"result":{}}`}, want: execution.CodeInvalidOutput},
		{name: "turn", lines: []string{`{"id":1,"result":{}}`, `{"id":2,"result":{"thread":{"id":"T"}}}`, `{"id":3,"error":{"code":-32602,"message":"Input exceeds the maximum length"}}`}, want: execution.CodeInvalidRequest},
	} {
		req := newRequest()
		req.Run.Interactive = true
		var lines []process.Line
		for _, l := range tt.lines {
			lines = append(lines, process.Line{Stream: process.Stdout, Data: []byte(l)})
		}
		_, res := cliagent.ReplayLines(newAppParser(req, tt.key), lines, process.Exit{Stopped: true}, false)
		if res.Status != execution.StatusFailed || res.Error.ErrorCode() != tt.want {
			t.Errorf("%s: %s %v, want failed %s", tt.name, res.Status, res.Error, tt.want)
		}
	}
}

// TestUnknownLines: every line is known, or counted; what Codex waits for is answered all the same.
func TestUnknownLines(t *testing.T) {
	t.Parallel()
	p, s := began(t, nil)
	for _, line := range []string{
		`not json`, `[]`, `{}`, `{"method":"brand/new","params":{}}`, `{"id":99,"result":{}}`, `{"id":"x","result":{}}`, `{"id":3}`,
		`{"method":"item/started","params":{"threadId":"T","item":{"type":"brandNew","id":"x"}}}`, `{"method":"item/started","params":{"item":{}}}`,
		`{"method":"turn/started","params":{}}`, `{"method":"turn/completed","params":{}}`, `{"method":"thread/tokenUsage/updated","params":{}}`,
		`{"method":"error","params":{}}`, `{"method":"serverRequest/resolved","params":{}}`, `{"method":"account/rateLimits/updated","params":{}}`,
		`{"method":"item/agentMessage/delta","params":{"threadId":"T"}}`, `{"method":"turn/plan/updated","params":{"threadId":"T"}}`,
	} {
		feed(p, s, line)
		if e := s.Take(); types(e) != "log" {
			// An item of a new kind is work of the model all the same.
			t.Errorf("%s makes %q", line, types(e))
		}
	}
	expectSaid(t, s)
	for _, line := range []string{
		`{"id":7,"method":"attestation/generate","params":{}}`, `{"id":"a","method":"execCommandApproval","params":{}}`,
		`{"id":8,"method":"item/permissions/requestApproval","params":{"threadId":"T"}}`, `{"id":9,"method":"item/tool/requestUserInput","params":{"threadId":"T","questions":[]}}`,
	} {
		feed(p, s, line)
	}
	expectSaid(t, s, "7 error -32601", `"a" error -32601`, "8 error -32601", "9 error -32601")
}

// TestItems: the items that no recording has.
func TestItems(t *testing.T) {
	t.Parallel()
	item := func(state, body string) string {
		return `{"method":"item/` + state + `","params":{"threadId":"T","turnId":"U","item":` + body + `}}`
	}
	for _, tt := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"web search", []string{item("started", `{"type":"webSearch","id":"w","query":"q","action":null}`), item("completed", `{"type":"webSearch","id":"w","query":"q","action":{"type":"search"}}`)},
			"tool_call_start tool_call_ready tool_result"},
		{"image", []string{item("completed", `{"type":"imageView","id":"v","path":"/a.png"}`)}, "tool_call_start tool_call_ready tool_result file_read"},
		{"generated image", []string{item("started", `{"type":"imageGeneration","id":"g","status":"generating"}`), item("completed", `{"type":"imageGeneration","id":"g","status":"completed","savedPath":"/x.webp","revisedPrompt":"p"}`)},
			"tool_call_start tool_call_ready tool_result image_output"},
		{"sleep", []string{item("completed", `{"type":"sleep","id":"s","durationMs":5}`)}, "tool_call_start tool_call_ready tool_result"},
		{"dynamic tool", []string{item("completed", `{"type":"dynamicToolCall","id":"d","tool":"x","arguments":{},"status":"failed","contentItems":null}`)}, "tool_call_start tool_call_ready tool_error"},
		{"compaction", []string{item("started", `{"type":"contextCompaction","id":"k"}`), item("completed", `{"type":"contextCompaction","id":"k"}`)}, "context_compacted"},
		{"plan", []string{item("started", `{"type":"plan","id":"p","text":""}`), `{"method":"item/plan/delta","params":{"threadId":"T","turnId":"U","itemId":"p","delta":"# P"}}`, item("completed", `{"type":"plan","id":"p","text":"# P\n- a"}`)},
			"message_start text_delta text_delta message_stop"},
		{"plan of steps", []string{`{"method":"turn/plan/updated","params":{"threadId":"T","turnId":"U","plan":[{"step":"a","status":"pending"}]}}`, `{"method":"turn/plan/updated","params":{"threadId":"T","turnId":"U","plan":[]}}`},
			"tool_call_start tool_call_ready tool_result tool_call_start tool_call_ready tool_result"},
		{"text at once", []string{item("completed", `{"type":"agentMessage","id":"m","text":"x"}`)}, "message_start text_delta message_stop"},
		{"thought at once", []string{item("completed", `{"type":"reasoning","id":"r","summary":["a"],"content":["b"]}`)}, "thinking_start thinking_delta thinking_stop"},
		{"empty thought", []string{item("completed", `{"type":"reasoning","id":"r","summary":[],"content":[]}`)}, "thinking_start thinking_stop"},
		{"text that ends otherwise", []string{`{"method":"item/agentMessage/delta","params":{"threadId":"T","itemId":"m","delta":"abc"}}`, item("completed", `{"type":"agentMessage","id":"m","text":"xyz"}`)},
			"message_start text_delta message_stop"},
		{"thought within a text", []string{`{"method":"item/agentMessage/delta","params":{"threadId":"T","itemId":"m","delta":"abc"}}`, `{"method":"item/reasoning/textDelta","params":{"threadId":"T","itemId":"r","delta":"t"}}`,
			item("completed", `{"type":"agentMessage","id":"m","text":"abcd"}`)}, "message_start text_delta message_stop thinking_start thinking_delta"},
		{"text that a message cuts off", []string{`{"method":"item/agentMessage/delta","params":{"threadId":"T","itemId":"m","delta":"abc"}}`, item("started", `{"type":"userMessage","id":"u","content":[]}`)},
			"message_start text_delta message_stop"},
		{"failed command without exit", []string{item("completed", `{"type":"commandExecution","id":"c","command":"x","cwd":"/","status":"failed","aggregatedOutput":"o","exitCode":null}`)},
			"tool_call_start tool_call_ready shell_start shell_stdout_delta tool_error"},
		{"sub-agent of the other kind", []string{item("completed", `{"type":"subAgentActivity","id":"a","kind":"started","agentThreadId":"S","agentPath":"/root/b"}`),
			item("completed", `{"type":"subAgentActivity","id":"b","kind":"completed","agentThreadId":"S","agentPath":"/root/b"}`)}, "subagent_spawn subagent_result"},
		{"interrupted sub-agent", []string{item("completed", `{"type":"subAgentActivity","id":"a","kind":"started","agentThreadId":"S","agentPath":"/root/b"}`),
			item("completed", `{"type":"subAgentActivity","id":"b","kind":"interrupted","agentThreadId":"S","agentPath":"/root/b"}`)}, "subagent_spawn subagent_error"},
		{"words of the user", []string{item("started", `{"type":"userMessage","id":"u","content":[]}`), item("completed", `{"type":"hookPrompt","id":"h","fragments":[]}`)}, ""},
		{"failing server", []string{`{"method":"mcpServer/startupStatus/updated","params":{"threadId":"T","name":"x","status":"failed","error":"gone"}}`, `{"method":"mcpServer/startupStatus/updated","params":{"threadId":"T","name":"x","status":"ready","error":null}}`}, "debug"},
		{"another model", []string{`{"method":"model/rerouted","params":{"threadId":"T","turnId":"U","fromModel":"a","toModel":"b","reason":"x"}}`}, "debug"},
		{"limits", []string{`{"method":"account/rateLimits/updated","params":{"rateLimits":{"limitId":"codex","primary":{"usedPercent":43,"resetsAt":1795999999},"rateLimitReachedType":null}}}`}, ""},
		{"limit reached", slices.Repeat([]string{`{"method":"account/rateLimits/updated","params":{"rateLimits":{"limitId":"codex","primary":{"usedPercent":100,"resetsAt":1795999999},"rateLimitReachedType":null}}}`}, 2), "rate_limited"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, s := began(t, nil)
			feed(p, s, tt.lines...)
			e := s.Take()
			if got := types(e); got != tt.want {
				t.Errorf("the events are\n%s, want\n%s", got, tt.want)
			}
		})
	}
}

func TestRateLimited(t *testing.T) {
	t.Parallel()
	p, s := began(t, nil)
	feed(p, s, `{"method":"account/rateLimits/updated","params":{"rateLimits":{"limitId":"codex","primary":{"usedPercent":20},"secondary":{"usedPercent":100,"resetsAt":1795999999},"rateLimitReachedType":"rate_limit_reached"}}}`)
	want := execution.RateLimited{ResetsAt: 1795999999000, Limit: "codex/secondary", Status: "rate_limit_reached"}
	if e := s.Take(); len(e) != 1 || e[0].Body != want {
		t.Errorf("the event is %+v, want %+v", e, want)
	}
}
