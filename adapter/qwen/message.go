package qwen

import (
	"bytes"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/streamjson"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

type messageForm struct {
	Message struct{ ID, Content, Usage jsonscan.Value }
}

var messageShape jsonscan.Shape[messageForm]

// assistant handles a whole message: blocks of one kind. Only the tokens and tool calls of a streamed message are
// new.
func (p *parser) assistant(line []byte, s *cliagent.Sink) bool {
	var v messageForm
	st := p.Stream()
	if !messageShape.Into(line, &v) || v.Message.Content.Kind() != jsonscan.Array {
		return false
	}
	if st.Final && !st.Streamed {
		p.endStep(st, s)
	}
	p.startStep(st, p.Names.Str(v.Message.ID), s)
	if st.Streamed {
		p.CloseBlocks(st, s)
	}
	used := usageOf(v.Message.Usage)
	known := true
	for _, element := range v.Message.Content.Array {
		var c streamjson.Block
		streamjson.Blocks.From(element, &c)
		typ, _ := c.Type.Plain()
		switch string(typ) {
		case "text":
			if !st.Streamed {
				p.wholeText(st, c.Text.Str(), used.IsZero(), s)
			}
		case "thinking":
			if text := c.Thinking.Str(); !st.Streamed && text != "" {
				p.spoken(s)
				p.Thinking(st, text, s)
			}
		case "tool_use":
			p.spoken(s)
			p.Calls.Called(p.Calls.Start(p.Names.Str(c.ID), p.Names.Str(c.Name), st.Parent, s), c.Input, s)
		default:
			known = false
		}
	}
	if !used.IsZero() {
		st.Final = true
		if st == &p.Main {
			p.flush(s) // a paid model has answered
		}
	}
	p.Count(st.Parent, used, s)
	return known
}

// wholeText handles a text that was not streamed. Only one without tokens can be a notice; the model's text may
// precede it.
func (p *parser) wholeText(st *streamjson.Stream, text string, free bool, s *cliagent.Sink) {
	said := text
	if i := strings.Index(text, noticeMark); i >= 0 && free && st.Parent == "" {
		p.hold(st, text[i:], s)
		said = text[:i]
	}
	if said == "" {
		return
	}
	held := p.notice
	p.notice = nil
	p.spoken(s)
	p.Text(st, said, s)
	p.notice = held
}

var usageShape jsonscan.Shape[struct{ InputTokens, OutputTokens, CacheReadInputTokens, TotalTokens jsonscan.Value }]

// usageOf reads Qwen's usage. Despite their name, input tokens include cached ones. Some model APIs count thinking
// separately; then only the total includes it.
func usageOf(v jsonscan.Value) execution.Usage {
	f, ok := usageShape.Of(v)
	if !ok {
		return execution.Usage{}
	}
	u := execution.Usage{Input: cliagent.Count(f.InputTokens), Output: cliagent.Count(f.OutputTokens)}
	u.Cached = min(cliagent.Count(f.CacheReadInputTokens), u.Input)
	if thinking := cliagent.Count(f.TotalTokens) - u.Input - u.Output; thinking > 0 && u.Input > 0 {
		u.Thinking, u.Output = thinking, u.Output+thinking
	}
	u.Input -= u.Cached
	return u.WithTotal()
}

// user handles other input of the model: results of tools, the prompt of a sub-agent, notes about background tasks.
func (p *parser) user(line []byte, s *cliagent.Sink) bool {
	var v messageForm
	st := p.Stream()
	if !messageShape.Into(line, &v) || v.Message.Content.Kind() != jsonscan.Array {
		return false
	}
	known := true
	for _, element := range v.Message.Content.Array {
		var c streamjson.Block
		streamjson.Blocks.From(element, &c)
		typ, _ := c.Type.Plain()
		switch string(typ) {
		case "tool_result":
			p.ensureTurn(s)
			p.endStep(st, s) // tools run after the model's message is complete
			failed, _ := c.IsError.Bool()
			p.toolDone(p.Names.Str(c.ToolUseID), st.Parent, c.Content, failed, s)
		case "text":
			p.note = c.Text.Str()
		default:
			known = false
		}
	}
	return known
}

// noticeMark starts the notice of a failed call of the model API.
const noticeMark = "[API Error: "

// notice is a notice of the program.
type notice struct {
	text string
	st   *streamjson.Stream
}

// isNotice reports whether a streamed piece may be a notice, which comes as one piece.
func isNotice(piece []byte) bool {
	return bytes.HasPrefix(piece, []byte(noticeMark)) && bytes.IndexByte(piece, ']') > 0
}

// hold keeps a notice until the result classifies it.
func (p *parser) hold(st *streamjson.Stream, text string, s *cliagent.Sink) {
	p.flush(s)
	p.ensureTurn(s)
	p.notice = &notice{text: text, st: st}
}

// flush emits a notice after which the turn continued: it was text of the model.
func (p *parser) flush(s *cliagent.Sink) {
	n := p.notice
	if n == nil {
		return
	}
	p.notice = nil
	p.Put(n.st, n.text, s)
}
