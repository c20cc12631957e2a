package claude

import (
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/streamjson"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var assistantShape jsonscan.Shape[struct {
	Error, APIErrorStatus, Timestamp jsonscan.Value
	Message                          struct{ ID, Model, Content, Usage jsonscan.Value }
}]

// assistant handles a whole message, or one of its content blocks: a message has a line per block, all with its id.
// Only the tool calls of a streamed message are new.
func (p *parser) assistant(line []byte, s *cliagent.Sink) bool {
	v, ok := assistantShape.Read(line)
	if !ok {
		return false
	}
	st := p.Stream()
	if v.Message.Model.IsStr("<synthetic>") {
		p.ensureTurn(s)
		p.first = false
		if st.Parent == "" {
			p.synthetic = &notice{text: contentText(v.Message.Content), word: v.Error.Str(), status: cliagent.Count(v.APIErrorStatus)}
		}
		return true
	}
	if v.Message.Content.Kind() != jsonscan.Array {
		return false
	}
	p.spoken(s)
	if id := p.Names.Str(v.Message.ID); id != st.Message || st.Message == "" || !st.Open && !st.Streamed {
		p.endMessage(st, s)
		st.Streamed = false
		p.StartStep(st, id, s)
		p.Count(st.Parent, usageOf(v.Message.Usage), s)
	}
	at := cliagent.Moment(v.Timestamp)
	known := true
	for _, element := range v.Message.Content.Array {
		var c streamjson.Block
		streamjson.Blocks.From(element, &c)
		typ, _ := c.Type.Plain()
		switch string(typ) {
		case "text":
			if !st.Streamed {
				p.Text(st, c.Text.Str(), s)
			}
		case "thinking":
			if !st.Streamed {
				p.Thinking(st, c.Thinking.Str(), s)
			}
		case "tool_use", "server_tool_use":
			call := p.Calls.Start(p.Names.Str(c.ID), p.Names.Str(c.Name), st.Parent, s)
			call.At = at
			p.Calls.Called(call, c.Input, s)
		case "redacted_thinking", "fallback", "container_upload":
		default:
			if !strings.HasSuffix(string(typ), "_tool_result") {
				known = false
				continue
			}
			failed, _ := c.IsError.Bool()
			p.toolDone(toolEnd{id: p.Names.Str(c.ToolUseID), parent: st.Parent, content: c.Content, failed: failed, at: at}, s)
		}
	}
	return known
}

var userShape jsonscan.Shape[struct {
	ToolUseResult, ToolResultMeta, UUID, Timestamp jsonscan.Value
	IsReplay                                       jsonscan.Value `scan:"isReplay"`
	Message                                        struct{ Content jsonscan.Value }
}]

// user handles other input of the model: results of tools, and messages that Claude repeats as acknowledgement.
func (p *parser) user(line []byte, s *cliagent.Sink) bool {
	v, ok := userShape.Read(line)
	if !ok || !v.Message.Content.Exists() {
		return false
	}
	if replay, _ := v.IsReplay.Bool(); replay {
		p.taken(p.Names.Str(v.UUID), s)
		return true
	}
	if v.Message.Content.Kind() != jsonscan.Array {
		return v.Message.Content.Kind() == jsonscan.String // a summary, the output of a slash command
	}
	known := true
	for _, element := range v.Message.Content.Array {
		var c streamjson.Block
		streamjson.Blocks.From(element, &c)
		typ, _ := c.Type.Plain()
		switch string(typ) {
		case "tool_result":
			failed, _ := c.IsError.Bool()
			p.ensureTurn(s)
			p.toolDone(toolEnd{id: p.Names.Str(c.ToolUseID), parent: p.Stream().Parent, content: c.Content, detail: v.ToolUseResult,
				meta:   v.ToolResultMeta,
				failed: failed, at: cliagent.Moment(v.Timestamp)}, s)
		case "text":
			if p.V.ParentToolUseID.Kind() != jsonscan.String && strings.HasPrefix(c.Text.Str(), "[Request interrupted by user") {
				p.stopped = true
			}
		case "image", "document": // the prompt of a sub-agent, notes of Claude to its model, attachments
		default:
			known = false
		}
	}
	return known
}

// contentText joins the texts of a content value: a string, or blocks.
func contentText(v jsonscan.Value) string {
	if v.Kind() == jsonscan.String {
		return v.Str()
	}
	var parts []string
	for _, element := range v.Array {
		var c streamjson.Block
		if streamjson.Blocks.From(element, &c) && c.Type.IsStr("text") {
			parts = append(parts, c.Text.Str())
		}
	}
	return strings.Join(parts, "\n")
}
