package streamjson_test

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/adapter/kit/streamjson"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

// A whole adapter for an agent that takes one prompt and prints the stream of the Messages API begins here. An init function of
// its package would register the descriptor: adapter.Register(kite).

func kite() adapter.Descriptor {
	return adapter.Descriptor{Name: "kite", Command: "kite", New: func() adapter.Adapter { return cliagent.New(kiteSpec, cliagent.Options{}) }}
}

var kiteSpec = cliagent.Spec{
	Name: "kite", Command: "kite", NewParser: newKite,
	Capabilities: func() execution.Capabilities {
		return execution.Capabilities{ToolUse: execution.ToolsNativeIterative, StructuredToolCalls: true, TraceDepth: execution.TraceDetailed,
			Agent: execution.AgentCapabilities{TextStreaming: true, NativeTools: true, MCP: true,
				MCPTransports: []execution.MCPTransport{execution.MCPStdio, execution.MCPStreamableHTTP},
				ApprovalModes: []execution.ApprovalMode{execution.ApprovalYolo, execution.ApprovalDeny}}}
	},
	Spawn: func(l *cliagent.Launch) (cliagent.Invocation, error) {
		args := []string{"--print", "--output-format=stream-json"}
		if l.Request.Run.ApprovalMode == execution.ApprovalYolo {
			args = append(args, "--yolo")
		}
		if servers := l.Request.Run.MCPServers; len(servers) > 0 {
			args = append(args, "--mcp-config="+l.File("mcp.json", cliagent.MCPFile(servers, nil)))
		}
		return cliagent.Invocation{Args: args, Stdin: []byte(l.Request.Message.Text)}, nil
	},
}

var kiteTools = &toolcall.Table{
	Tools: toolcall.Tools{toolcall.Shell: {"bash"}, toolcall.Write: {"write"}},
	Input: toolcall.Input{Path: "path", Command: "command", Content: "content"},
	MCP:   toolcall.Naming{Prefix: "mcp__", Separator: "__"},
}

// kiteLines has what streamjson.Line leaves to the vendor.
var kiteLines jsonscan.Shape[struct {
	SessionID, Model, Result, IsError jsonscan.Value
	Message                           struct{ Content jsonscan.Value }
	Usage                             struct{ InputTokens, OutputTokens jsonscan.Value }
}]

type kiteParser struct {
	cliagent.OneShot
	streamjson.Flow
	res execution.Result
}

func newKite(execution.Request) cliagent.Parser {
	p := &kiteParser{OneShot: "kite"}
	p.Flow = streamjson.New(p, kiteTools)
	return p
}

// Begin and Keep are what streamjson.Flow asks of a vendor.
func (p *kiteParser) Begin(st *streamjson.Stream, _ streamjson.Kind, s *cliagent.Sink) bool {
	p.StartStep(st, p.Names.Str(p.V.Event.Message.ID), s)
	return true
}

func (p *kiteParser) Keep(*streamjson.Stream, streamjson.Kind, []byte, *cliagent.Sink) bool {
	return true
}

func (p *kiteParser) Line(src process.Stream, line []byte, s *cliagent.Sink) {
	if v, _ := kiteLines.Read(line); src == process.Stderr || !p.Scan(line) || !p.event(v.Message.Content, s) {
		s.Unknown(src, line)
	} else if p.V.Type.IsStr("system") {
		p.res.SessionID, p.res.Model = v.SessionID.Str(), v.Model.Str()
		s.Emit(execution.SessionStart{SessionID: p.res.SessionID, Model: p.res.Model})
		s.Emit(execution.TurnStart{})
	} else if p.V.Type.IsStr("result") {
		p.EndStep(&p.Main, s)
		p.Count("", execution.Usage{Input: v.Usage.InputTokens.Count(), Output: v.Usage.OutputTokens.Count()}.WithTotal(), s)
		p.res.Status, p.res.Output, p.res.Usage = execution.StatusCompleted, &execution.Output{Text: v.Result.Str()}, &p.Total
		end := execution.TurnEnd{Reason: execution.TurnCompleted, Text: v.Result.Str()}
		if v.IsError.IsTrue() {
			p.res.Status, p.res.Error = execution.StatusFailed, (&cliagent.Failure{Code: execution.CodeInternal, Message: v.Result.Str()}).Result()
			end = execution.TurnEnd{Reason: execution.TurnFailed, Error: p.res.Error}
		}
		s.Emit(end)
	}
}

// event reads the pieces of a message, and the tools' results. False means that the line is not known.
func (p *kiteParser) event(content jsonscan.Value, s *cliagent.Sink) bool {
	st := p.Stream()
	switch p.V.Type.Str() + " " + p.V.Event.Type.Str() {
	case "stream_event content_block_delta":
		return p.Delta(st, s)
	case "stream_event content_block_start":
		return p.BlockStart(st, s)
	case "stream_event content_block_stop":
		return p.BlockStop(st, s)
	case "stream_event message_stop":
		p.EndStep(st, s)
	case "user ":
		for _, e := range content.Array {
			var b streamjson.Block
			if streamjson.Blocks.From(e, &b); b.Type.IsStr("tool_result") {
				end := toolcall.End{Output: toolcall.Raw(b.Content, "null"), Failed: b.IsError.IsTrue(), Error: b.Content.Str()}
				p.Calls.End(p.Calls.Expect(p.Names.Str(b.ToolUseID), st.Parent), end, s)
			}
		}
	case "system ", "assistant ", "result ", "stream_event message_start":
	default:
		return false
	}
	return true
}

func (p *kiteParser) Exit(process.Exit, *cliagent.Sink) execution.Result { return p.res }

// It ends here. TestConformance certifies it with the suite; playKite plays the agent.
func TestConformance(t *testing.T) {
	adaptertest.Test(t, adaptertest.StandIn{
		Command: "kite", Descriptor: kite, ScenarioVar: exampleVar, StateVar: exampleState,
		Cannot: map[adaptertest.Scenario]string{adaptertest.Clarify: "it asks nobody", adaptertest.Approval: "it asks nobody"},
	}.Subject(t))
}

// TestExample replays what the agent prints.
func TestExample(t *testing.T) {
	const printed = `{"type":"system","subtype":"init","session_id":"s1","model":"m"}
{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1"}}}
{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}}
{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I look. "}}}
{"type":"stream_event","event":{"type":"content_block_stop","index":0}}
{"type":"stream_event","event":{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"bash"}}}
{"type":"stream_event","event":{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"command\":\"ls\"}"}}}
{"type":"stream_event","event":{"type":"content_block_stop","index":1}}
{"type":"stream_event","event":{"type":"message_stop"}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"a.txt"}]}}
{"type":"result","subtype":"success","is_error":false,"result":"There is a.txt.","usage":{"input_tokens":10,"output_tokens":5}}
`
	events, res := cliagent.Replay(newKite(clitest.Request()), []byte(printed), nil, process.Exit{}, false)
	clitest.CheckOrder(t, events)
	clitest.CheckUsage(t, events, res)
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, string(e.Body.Type()))
	}
	want := "session_start turn_start step_start message_start text_delta message_stop tool_call_start tool_input_delta tool_call_ready step_end tool_result token_usage turn_end"
	if got := strings.Join(kinds, " "); got != want || res.Status != execution.StatusCompleted || res.Output.Text != "There is a.txt." || res.UnknownLines != 0 {
		t.Errorf("got %s\n%+v", got, res)
	}
}
