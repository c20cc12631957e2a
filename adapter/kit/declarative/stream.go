package declarative

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/streamjson"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

// streamTools are tools by the names that Claude Code and its likes give them.
var streamTools = toolcall.Table{
	Tools: toolcall.Tools{toolcall.Shell: {"Bash", "bash"}, toolcall.Read: {"Read"}, toolcall.Write: {"Write"}, toolcall.Edit: {"Edit"}},
	Input: toolcall.Input{Path: "file_path", OtherPath: "path", Command: "command", Content: "content", Old: "old_string"},
	MCP:   toolcall.Naming{Prefix: "mcp__", Separator: "__"},
}

// streamLines has the members of a line that streamjson.Line leaves to the vendor.
var streamLines jsonscan.Shape[struct {
	SessionID, Model, Result, IsError, Error, Errors, Usage, TotalCostUSD jsonscan.Value
	Message                                                               struct{ ID, Model, Content, Usage jsonscan.Value }
}]

// streamParser reads the stream-json format as its documentation describes it, for programs that print it too. The peculiarities
// of Claude Code are not part of it.
type streamParser struct {
	cliagent.OneShot
	session
	failures
	streamjson.Flow
	over    bool
	answer  string
	failed  *cliagent.Failure
	usd     *float64
	partial execution.Usage // of the streamed message so far
}

func newStream(f *form, one cliagent.OneShot, n session) *streamParser {
	p := &streamParser{OneShot: one, session: n, failures: f.failures()}
	p.Flow = streamjson.New(p, &streamTools)
	return p
}

// Open announces a session whose id is already known.
func (p *streamParser) Open(s *cliagent.Sink) { p.announce(s) }

// Begin starts a model call with the first block of a message.
func (p *streamParser) Begin(st *streamjson.Stream, _ streamjson.Kind, s *cliagent.Sink) bool {
	p.work(s)
	p.StartStep(st, p.Names.Str(p.V.Event.Message.ID), s)
	return true
}

// Keep keeps every piece.
func (p *streamParser) Keep(*streamjson.Stream, streamjson.Kind, []byte, *cliagent.Sink) bool {
	return true
}

// Line handles a line of output.
func (p *streamParser) Line(src process.Stream, line []byte, s *cliagent.Sink) {
	if src == process.Stdout && len(bytes.TrimSpace(line)) == 0 {
		return
	}
	v, ok := streamLines.Read(line)
	if src == process.Stderr || !ok || !p.Scan(line) {
		s.Unknown(src, line)
		return
	}
	known := true
	switch st := p.Stream(); p.V.Type.Str() {
	case "system":
		if p.V.Subtype.IsStr("init") {
			p.begin(v.SessionID.Str(), v.Model.Str(), s)
		}
	case "stream_event":
		known = p.event(st, s)
	case "assistant":
		known = p.assistant(st, v.Message.ID, v.Message.Content, v.Message.Usage, s)
	case "user":
		known = p.results(st, v.Message.Content, s)
	case "result":
		p.begin(v.SessionID.Str(), "", s)
		p.work(s)
		p.EndStep(&p.Main, s)
		p.account(v.Usage, v.TotalCostUSD, s)
		p.over, p.answer = true, v.Result.Str()
		if v.IsError.IsTrue() || strings.HasPrefix(p.V.Subtype.Str(), "error") {
			p.failed = p.failure("", errorText(v.Error, v.Errors, cmp.Or(p.answer, p.V.Subtype.Str())))
		}
	default:
		known = false
	}
	if !known {
		s.Unknown(src, line)
	}
}

// errorText returns the message of a failed result.
func errorText(one, list jsonscan.Value, otherwise string) string {
	var parts []string
	for _, e := range list.Array {
		parts = append(parts, words(e))
	}
	return cmp.Or(one.Str(), strings.Join(parts, "; "), otherwise)
}

// event handles a piece of a message.
func (p *streamParser) event(st *streamjson.Stream, s *cliagent.Sink) bool {
	switch p.V.Event.Type.Str() {
	case "content_block_delta":
		return p.Delta(st, s)
	case "content_block_start":
		return p.BlockStart(st, s)
	case "content_block_stop":
		return p.BlockStop(st, s)
	case "message_start":
		p.work(s)
		p.EndStep(st, s)
		st.Streamed = true
		p.partial = usageOf(p.V.Event.Message.Usage)
		p.StartStep(st, p.Names.Str(p.V.Event.Message.ID), s)
	case "message_delta":
		if u := usageOf(p.V.Event.Usage); !u.IsZero() {
			u.Input, u.Cached, u.CacheWrite = max(u.Input, p.partial.Input), max(u.Cached, p.partial.Cached), max(u.CacheWrite, p.partial.CacheWrite)
			p.partial = u.WithTotal()
		}
	case "message_stop":
		p.CloseBlocks(st, s)
		p.Count(st.Parent, p.partial, s)
		p.partial = execution.Usage{}
		p.EndStep(st, s)
	case "ping", "error":
	default:
		return false
	}
	return true
}

func usageOf(v jsonscan.Value) execution.Usage {
	if cost := cliagent.AssembleCost(v.Raw()); cost != nil {
		return cost.Usage()
	}
	return execution.Usage{}
}

// beyond returns the part of a total that was not counted before.
func beyond(total, counted execution.Usage) execution.Usage {
	return execution.Usage{Input: max(0, total.Input-counted.Input), Output: max(0, total.Output-counted.Output),
		Thinking: max(0, total.Thinking-counted.Thinking), Cached: max(0, total.Cached-counted.Cached),
		CacheWrite: max(0, total.CacheWrite-counted.CacheWrite)}.WithTotal()
}

// assistant handles a whole message. Only the tool calls of a streamed message are new.
func (p *streamParser) assistant(st *streamjson.Stream, id, content, usage jsonscan.Value, s *cliagent.Sink) bool {
	if content.Kind() != jsonscan.Array {
		return false
	}
	p.work(s)
	if name := p.Names.Str(id); !st.Streamed && (!st.Open || name == "" || name != st.Message) {
		p.EndStep(st, s)
		p.StartStep(st, name, s)
		p.Count(st.Parent, usageOf(usage), s)
	}
	known := true
	for _, element := range content.Array {
		var c streamjson.Block
		streamjson.Blocks.From(element, &c)
		switch c.Type.Str() {
		case "text":
			if !st.Streamed {
				p.Text(st, c.Text.Str(), s)
			}
		case "thinking":
			if !st.Streamed {
				p.Thinking(st, c.Thinking.Str(), s)
			}
		case "tool_use", "server_tool_use":
			p.Calls.Called(p.Calls.Start(p.Names.Str(c.ID), p.Names.Str(c.Name), st.Parent, s), c.Input, s)
		case "redacted_thinking":
		default:
			known = false
		}
	}
	return known
}

// results handles the results of tools.
func (p *streamParser) results(st *streamjson.Stream, content jsonscan.Value, s *cliagent.Sink) bool {
	known := true
	for _, element := range content.Array {
		var c streamjson.Block
		streamjson.Blocks.From(element, &c)
		switch c.Type.Str() {
		case "tool_result":
			call := p.Calls.Open(p.Names.Str(c.ToolUseID))
			if call == nil {
				known = false
				continue
			}
			p.EndStep(st, s)
			p.Calls.End(call, toolcall.End{Output: toolcall.Raw(c.Content, "null"), Failed: c.IsError.IsTrue(), Error: c.Content.Str()}, s)
		case "text", "image", "document":
		default:
			known = false
		}
	}
	return known
}

// account counts the tokens of the run that its messages did not state, and its price.
func (p *streamParser) account(usage, usd jsonscan.Value, s *cliagent.Sink) {
	if total := usageOf(usage); !total.IsZero() {
		p.Count("", beyond(total, p.Total), s)
	}
	if v, ok := usd.Float(); ok && v >= 0 {
		p.usd = &v
	}
	if !p.Total.IsZero() {
		s.Emit(execution.CostEvent{Cost: execution.CostOf(p.Total, p.usd, execution.CostFromAgent)})
	}
}

// Exit returns the outcome that the result states.
func (p *streamParser) Exit(exit process.Exit, s *cliagent.Sink) execution.Result {
	res := execution.Result{SessionID: p.id, Model: p.model}
	if !p.Total.IsZero() {
		cost := execution.CostOf(p.Total, p.usd, execution.CostFromAgent)
		res.Usage, res.Cost = &p.Total, &cost
	}
	if !p.over {
		p.failed = p.judge(exit, p.Last)
	}
	if !p.over && p.failed == nil {
		return res
	}
	p.EndStep(&p.Main, s)
	text := cmp.Or(p.answer, p.Last)
	if p.failed == nil && p.Last == "" && text != "" {
		p.Text(&p.Main, text, s) // its message is missing
	}
	p.end(&res, text, p.failed, s)
	return res
}
