package acpagent_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// shown are the events in short, from the first turn on.
func shown(k *talk) []string {
	var list []string
	for _, e := range k.seen {
		switch b := e.Body.(type) {
		case execution.SessionStart, execution.TurnStart:
		case execution.MessageStop:
			list = append(list, "said "+b.Text)
		case execution.ThinkingStop:
			list = append(list, "thought "+b.Thinking)
		case execution.MessageStart, execution.TextDelta, execution.ThinkingStart, execution.ThinkingDelta:
		case execution.ToolCallStart:
			list = append(list, "start "+b.ToolCallID+" "+b.ToolName)
		case execution.ToolCallReady:
			list = append(list, "ready "+b.ToolCallID+" "+string(b.Input))
		case execution.ToolResultEvent:
			list = append(list, "result "+b.ToolCallID+" "+string(b.Output))
		case execution.ToolError:
			list = append(list, "error "+b.ToolCallID+" "+b.Error)
		case execution.MCPToolCallStart:
			list = append(list, "mcp "+b.Server+" "+b.ToolName+" "+string(b.Input))
		case execution.MCPToolResult:
			list = append(list, "mcp result "+b.ToolName+" "+string(b.Output))
		case execution.MCPToolError:
			list = append(list, "mcp error "+b.ToolName+" "+b.Error)
		case execution.ShellStart:
			list = append(list, "shell "+b.Command+" in "+b.Cwd)
		case execution.ShellStdoutDelta:
			list = append(list, "out "+b.Delta)
		case execution.ShellExit:
			list = append(list, "exit "+strconv.Itoa(b.ExitCode))
		case execution.FileCreate:
			list = append(list, "create "+b.Path+" "+strconv.FormatInt(b.ByteCount, 10))
		case execution.FilePatch:
			list = append(list, "patch "+b.Path+" "+b.Diff)
		case execution.FileRead:
			list = append(list, "read "+b.Path)
		case execution.FileDelete:
			list = append(list, "delete "+b.Path)
		case execution.ImageOutput:
			list = append(list, "image "+b.MimeType+" "+b.Base64)
		default:
			list = append(list, string(e.Body.Type()))
		}
	}
	return list
}

func TestUpdates(t *testing.T) {
	t.Parallel()
	text := func(s string) string {
		return `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + s + `"}}`
	}
	thought := func(s string) string {
		return `{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"` + s + `"}}`
	}
	withID := func(id, s string) string {
		return `{"sessionUpdate":"agent_message_chunk","messageId":"` + id + `","content":{"type":"text","text":"` + s + `"}}`
	}
	tests := []struct {
		name    string
		spec    acpagent.Spec
		servers []string
		updates []string
		want    []string
	}{
		{name: "text and thoughts", updates: []string{thought("a"), thought("b"), text("c"), text("d"), thought("e"), text("")}, want: []string{"thought ab", "said cd", "thought e"}},
		{name: "messages by id", updates: []string{text("warning"), withID("1", "a"), withID("1", "b"), withID("2", "c"), text("d")}, want: []string{"said warning", "said ab", "said cd"}},
		{name: "a tool ends a message", updates: []string{text("a"), `{"sessionUpdate":"tool_call","toolCallId":"1","title":"Read f","kind":"read","status":"in_progress","rawInput":{"p":"f"},"locations":[{"path":"/f"}]}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"of f"}}]}`, text("b")},
			want: []string{"said a", "start 1 read", `ready 1 {"p":"f"}`, `result 1 "of f"`, "read /f", "said b"}},
		{name: "a call that is heard of at its end", updates: []string{`{"sessionUpdate":"tool_call_update","toolCallId":"1","title":"w","kind":"edit","status":"completed","rawOutput":{"ok":true},"content":[{"type":"diff","path":"/n","oldText":null,"newText":"new"},{"type":"diff","path":"/o","oldText":"a\nb\nc\n","newText":"a\nB\nc\n"}]}`},
			want: []string{"start 1 edit", `ready 1 {"title":"w"}`, `result 1 {"ok":true}`, "create /n 3", "patch /o  a\n-b\n+B\n c\n"}},
		{name: "an input that comes later", updates: []string{`{"sessionUpdate":"tool_call","toolCallId":"1","name":"Write","title":"Preparing","kind":"edit","status":"pending","rawInput":{}}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"1","rawInput":{"f":1},"title":"Write f"}`, `{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"in_progress"}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"failed","rawOutput":{"message":"no space"}}`, `{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed"}`},
			want: []string{"start 1 Write", `ready 1 {"f":1}`, "error 1 no space"}},
		{name: "a second tool_call", updates: []string{`{"sessionUpdate":"tool_call","toolCallId":"1","title":"a","kind":"other","status":"pending"}`, `{"sessionUpdate":"tool_call","toolCallId":"1","title":"b","kind":"other","status":"in_progress"}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"failed"}`}, want: []string{"start 1 a", `ready 1 {"title":"b"}`, "error 1 the call failed"}},
		{name: "a command", updates: []string{`{"sessionUpdate":"tool_call","toolCallId":"1","title":"list","kind":"execute","status":"in_progress","rawInput":{"command":"ls","cwd":"/w"}}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"1","_meta":{"terminal_output_delta":{"data":"a\n"}}}`, `{"sessionUpdate":"tool_call_update","toolCallId":"1","_meta":{"terminal_output_delta":{"data":"b\n"}}}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed","_meta":{"terminal_exit":{"exit_code":2}}}`},
			want: []string{"start 1 execute", `ready 1 {"command":"ls","cwd":"/w"}`, "shell ls in /w", "out a\n", "out b\n", "exit 2", "error 1 a\nb"}},
		{name: "words of a command", updates: []string{`{"sessionUpdate":"tool_call","toolCallId":"1","title":"list","kind":"execute","status":"completed","rawInput":{"command":["ls","-l"]},"content":[{"type":"content","content":{"type":"text","text":"out"}}]}`},
			want: []string{"start 1 execute", `ready 1 {"command":["ls","-l"]}`, "shell ls -l in ", "out out", `result 1 "out"`}},
		{name: "a command that never ran", updates: []string{`{"sessionUpdate":"tool_call","toolCallId":"1","title":"rm","kind":"execute","status":"failed","content":[{"type":"content","content":{"type":"text","text":"forbidden"}}]}`},
			want: []string{"start 1 execute", `ready 1 {"title":"rm"}`, "error 1 forbidden"}},
		{name: "an adapter's words", spec: acpagent.Spec{ToolName: func(c *acpagent.ToolCall) string { return "tool-" + c.MetaField("toolName").Str() },
			Input: func(*acpagent.ToolCall) []byte { return []byte(`{"mine":1}`) },
			Shell: func(c *acpagent.ToolCall) (acpagent.Shell, bool) {
				return acpagent.Shell{Command: c.InputField("x"), ExitCode: new(7)}, true
			}},
			updates: []string{`{"sessionUpdate":"tool_call","toolCallId":"1","title":"a","kind":"other","status":"completed","_meta":{"toolName":"x"}}`},
			want:    []string{"start 1 tool-x", `ready 1 {"mine":1}`, "shell  in ", "exit 7", "error 1 the command ended with exit code 7"}},
		{name: "MCP", servers: []string{"files"}, updates: []string{`{"sessionUpdate":"tool_call","toolCallId":"1","title":"files-read","kind":"other","status":"pending","rawInput":{"p":1}}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"x"}}]}`,
			`{"sessionUpdate":"tool_call","toolCallId":"2","title":"mcp__files__write","kind":"other","status":"failed"}`, `{"sessionUpdate":"tool_call","toolCallId":"3","title":"files are fine","kind":"other","status":"completed"}`},
			want: []string{`mcp files read {"p":1}`, `mcp result read "x"`, `mcp files write {"title":"mcp__files__write"}`, "mcp error write the call failed",
				"start 3 files are fine", `ready 3 {"title":"files are fine"}`, "result 3 null"}},
		{name: "a file that is deleted", updates: []string{`{"sessionUpdate":"tool_call","toolCallId":"1","title":"rm","kind":"delete","status":"completed","locations":[{"path":"/f"},{"line":1}]}`},
			want: []string{"start 1 delete", `ready 1 {"locations":["/f"],"title":"rm"}`, "result 1 null", "delete /f"}},
		{name: "a plan", updates: []string{text("a"), `{"sessionUpdate":"plan","entries":[{"content":"one","status":"pending"}]}`},
			want: []string{"said a", "start plan-1 update_plan", `ready plan-1 {"plan":[{"content":"one","status":"pending"}]}`, "result plan-1 null"}},
		{name: "an image", updates: []string{text("a"), `{"sessionUpdate":"agent_message_chunk","content":{"type":"image","mimeType":"image/png","data":"aGk="}}`}, want: []string{"said a", "image image/png aGk="}},
		{name: "resources", updates: []string{`{"sessionUpdate":"agent_message_chunk","content":{"type":"resource_link","uri":"file:///x","name":"x"}}`,
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"resource","resource":{"uri":"file:///y","text":" inside"}}}`, `{"sessionUpdate":"agent_message_chunk","content":{"type":"audio","data":"x"}}`},
			want: []string{"said file:///x inside"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := newRequest("hi")
			for _, s := range tt.servers {
				req.Run.MCPServers = append(req.Run.MCPServers, execution.MCPServer{Name: s, Transport: execution.MCPStdio, Command: s})
			}
			k := opened(t, tt.spec, req)
			for _, u := range tt.updates {
				k.update(u)
			}
			k.line(`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`)
			if diff := cmp.Diff(append(tt.want, "turn_end"), shown(k)); diff != "" {
				t.Error(diff)
			}
			if n := k.sink.UnknownLines(); n != 0 {
				t.Errorf("%d lines are unknown", n)
			}
		})
	}
}

// TestManyCalls bounds what is remembered of a turn.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	k := opened(t, acpagent.Spec{}, newRequest("hi"))
	for i := range 5000 {
		k.update(`{"sessionUpdate":"tool_call","toolCallId":"` + strconv.Itoa(i) + `","title":"a","kind":"other","status":"pending"}`)
	}
	if n := len(bodies[execution.ToolCallStart](k)); n != 4096 {
		t.Errorf("%d open calls are remembered", n)
	}
	k = opened(t, acpagent.Spec{}, newRequest("hi"))
	for i := range 5000 {
		k.update(`{"sessionUpdate":"tool_call","toolCallId":"` + strconv.Itoa(i) + `","title":"a","kind":"other","status":"completed"}`)
	}
	if n := len(bodies[execution.ToolResultEvent](k)); n != 5000 {
		t.Errorf("%d calls ended", n)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	const call = `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""},"_meta":{"usage":{"inputTokens":100,"outputTokens":20,"thoughtTokens":5,"cachedReadTokens":7}}}`
	steps := acpagent.Spec{Steps: true, CallUsage: func(u jsonscan.Value) (execution.Usage, bool) {
		return execution.Usage{}, u.Get("sessionUpdate").IsStr("usage_update")
	}}
	const used = `{"sessionUpdate":"usage_update","used":10,"size":100}`
	tests := []struct {
		name    string
		spec    acpagent.Spec
		updates []string
		reply   string
		want    execution.Usage
		steps   int
	}{
		{name: "none", reply: `{"stopReason":"end_turn"}`},
		{name: "of the turn", reply: `{"stopReason":"end_turn","usage":{"inputTokens":100,"outputTokens":20,"cachedReadTokens":3,"cachedWriteTokens":4,"thoughtTokens":5,"totalTokens":9}}`,
			want: execution.Usage{Input: 100, Output: 20, Cached: 3, CacheWrite: 4, Thinking: 5, Total: 127}},
		{name: "of a quota", reply: `{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":100,"output_tokens":20}}}}`, want: execution.Usage{Input: 100, Output: 20, Total: 120}},
		{name: "both count once", reply: `{"stopReason":"end_turn","usage":{"inputTokens":100,"outputTokens":20},"_meta":{"quota":{"token_count":{"inputTokens":100,"outputTokens":20}}}}`, want: execution.Usage{Input: 100, Output: 20, Total: 120}},
		{name: "of calls", updates: []string{call, call}, reply: `{"stopReason":"end_turn","usage":{"inputTokens":200,"outputTokens":40}}`, want: execution.Usage{Input: 200, Output: 40, Thinking: 10, Cached: 14, Total: 254}},
		{name: "nonsense", reply: `{"stopReason":"end_turn","usage":{"inputTokens":-5,"outputTokens":"many"}}`},
		{name: "an adapter's", spec: acpagent.Spec{PromptUsage: func(v jsonscan.Value) (execution.Usage, bool) {
			n, ok := v.Get("x").Int()
			return execution.Usage{Input: n, Total: n}, ok
		}}, reply: `{"stopReason":"end_turn","x":9}`, want: execution.Usage{Input: 9, Total: 9}},
		{name: "steps", spec: steps, updates: []string{used, `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}`, used}, reply: `{"stopReason":"end_turn"}`, steps: 2},
		{name: "a step without an end", spec: steps, updates: []string{`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}`}, reply: `{"stopReason":"end_turn"}`, steps: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := opened(t, tt.spec, newRequest("hi"))
			for _, u := range tt.updates {
				k.update(u)
			}
			k.reply(tt.reply)
			res := k.exit()
			if res.Usage == nil {
				res.Usage = &execution.Usage{}
			}
			if *res.Usage != tt.want {
				t.Errorf("usage %+v, want %+v", *res.Usage, tt.want)
			}
			var sum execution.Usage
			for _, u := range bodies[execution.TokenUsage](k) {
				sum = sum.Add(execution.Usage{Input: u.InputTokens, Output: u.OutputTokens, Thinking: u.ThinkingTokens, Cached: u.CachedTokens, CacheWrite: u.CacheWriteTokens,
					Total: u.InputTokens + u.OutputTokens + u.CachedTokens + u.CacheWriteTokens})
			}
			if sum != tt.want {
				t.Errorf("the events add up to %+v, want %+v", sum, tt.want)
			}
			if n := len(bodies[execution.StepStart](k)); n != tt.steps || len(bodies[execution.StepEnd](k)) != n {
				t.Errorf("%d steps, %d ends, want %d", n, len(bodies[execution.StepEnd](k)), tt.steps)
			}
		})
	}
}

// TestCost counts what a session cost since the run began.
func TestCost(t *testing.T) {
	t.Parallel()
	spent := func(k *talk, amount, currency string) {
		k.update(`{"sessionUpdate":"usage_update","used":1,"size":10,"cost":{"amount":` + amount + `,"currency":"` + currency + `"}}`)
	}
	sum := func(k *talk) (usd float64) {
		for _, c := range bodies[execution.CostEvent](k) {
			usd += *c.Cost.TotalUSD
		}
		return usd
	}
	k := opened(t, acpagent.Spec{}, newRequest("hi"))
	for _, amount := range []string{"0.25", "0.5", "0.5", "0.4", "1"} {
		spent(k, amount, "USD")
	}
	spent(k, "99", "EUR")
	spent(k, "-1", "USD")
	if got := sum(k); got < 1.09 || got > 1.11 { // a total that went back begins anew
		t.Errorf("a new session cost %g", got)
	}
	req := newRequest("hi")
	req.Run.SessionID = "s1"
	k = newTalk(t, acpagent.Spec{}, req)
	k.reply(able)
	k.reply(`{}`)
	k.alarm()
	spent(k, "5", "USD") // nobody knows what of it is old
	spent(k, "6", "USD")
	if got := sum(k); got != 1 {
		t.Errorf("a session that goes on cost %g", got)
	}
}

func TestContextFillsUp(t *testing.T) {
	t.Parallel()
	k := opened(t, acpagent.Spec{}, newRequest("hi"))
	for _, used := range []string{"10", "95", "96", "10", "97"} {
		k.update(`{"sessionUpdate":"usage_update","size":100,"used":` + used + `}`)
	}
	k.update(`{"sessionUpdate":"usage_update","size":0,"used":5}`)
	if w := bodies[execution.ContextLimitWarning](k); len(w) != 2 || w[0].UsedTokens != 95 || w[0].PctUsed != 95 {
		t.Errorf("%+v", w)
	}
}

// TestNegotiate refuses what cannot be kept.
func TestNegotiate(t *testing.T) {
	t.Parallel()
	req := newRequest("hi")
	req.Run.MaxTurns = 3
	if r := (acpagent.Spec{Name: "agent"}).Negotiate(req); len(r) != 1 || r[0].Severity != execution.SeverityBlocking || !strings.Contains(r[0].Message, "agent") {
		t.Errorf("%+v", r)
	}
	if r := (acpagent.Spec{Name: "agent", Steps: true}).Negotiate(req); len(r) != 0 {
		t.Errorf("%+v", r)
	}
}
