package claude

import (
	"strings"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var assistantKeys = jsonscan.NewKeySet("message.id", "message.model", "message.content", "message.usage", "error",
	"api_error_status", "timestamp")

var contentKeys = jsonscan.NewKeySet("type", "text", "thinking", "id", "name", "input", "tool_use_id", "content", "is_error")

// assistant is a whole message, or one content block of it: a message comes in as many lines as it has blocks, all with
// its id. Of a streamed message only the tool calls are new.
func (p *parser) assistant(line []byte, s *cliagent.Sink) bool {
	var v [7]jsonscan.Value
	parent := p.values[keyParent]
	if jsonscan.Fields(line, v[:], assistantKeys) != nil {
		return false
	}
	st := p.stream(parent)
	if v[1].IsStr("<synthetic>") {
		p.ensureTurn(s)
		p.first = false
		if st.parent == "" {
			p.synthetic = &notice{text: contentText(v[2]), word: v[4].Str(), status: cliagent.Count(v[5])}
		}
		return true
	}
	if v[2].Kind() != jsonscan.Array {
		return false
	}
	p.spoken(s)
	if id := p.names.Str(v[0]); id != st.message || st.message == "" || !st.open && !st.streamed {
		p.endMessage(st, s)
		st.message, st.streamed = id, false
		p.startStep(st, s)
		p.count(st.parent, usageOf(v[3]), s)
	}
	at := cliagent.Moment(v[6])
	known := true
	for _, element := range v[2].Array {
		var c [9]jsonscan.Value
		element.Fields(c[:], contentKeys)
		typ, _ := c[0].Plain()
		switch string(typ) {
		case "text":
			if !st.streamed {
				p.wholeText(st, c[1].Str(), s)
			}
		case "thinking":
			if text := c[2].Str(); !st.streamed {
				s.EmitFrom(st.parent, execution.ThinkingStart{})
				if text != "" {
					s.EmitFrom(st.parent, execution.ThinkingDelta{Delta: text, Accumulated: text})
				}
				s.EmitFrom(st.parent, execution.ThinkingStop{Thinking: text})
			}
		case "tool_use", "server_tool_use":
			t := p.toolStart(st.parent, p.names.Str(c[3]), p.names.Str(c[4]), s)
			t.at = at
			p.toolReady(t, c[5], s)
		case "redacted_thinking", "fallback", "container_upload":
		default:
			if !strings.HasSuffix(string(typ), "_tool_result") {
				known = false
				continue
			}
			failed, _ := c[8].Bool()
			p.toolDone(toolEnd{id: p.names.Str(c[6]), parent: st.parent, content: c[7], failed: failed, at: at}, s)
		}
	}
	return known
}

// wholeText is a text that was not streamed, as one piece.
func (p *parser) wholeText(st *stream, text string, s *cliagent.Sink) {
	s.EmitFrom(st.parent, execution.MessageStart{MessageID: st.message})
	if text != "" {
		s.EmitFrom(st.parent, execution.TextDelta{Delta: text, Accumulated: text})
	}
	p.saidText(st, text, s)
}

var userKeys = jsonscan.NewKeySet("message.content", "tool_use_result", "tool_result_meta", "isReplay", "uuid", "timestamp")

// user is what goes to the model besides its own words: results of tools, and messages that Claude repeats to say that
// it took them.
func (p *parser) user(line []byte, s *cliagent.Sink) bool {
	var v [6]jsonscan.Value
	parent := p.values[keyParent]
	if jsonscan.Fields(line, v[:], userKeys) != nil || !v[0].Exists() {
		return false
	}
	if replay, _ := v[3].Bool(); replay {
		p.taken(p.names.Str(v[4]), s)
		return true
	}
	if v[0].Kind() != jsonscan.Array {
		return v[0].Kind() == jsonscan.String // a summary, the output of a slash command
	}
	known := true
	for _, element := range v[0].Array {
		var c [9]jsonscan.Value
		element.Fields(c[:], contentKeys)
		typ, _ := c[0].Plain()
		switch string(typ) {
		case "tool_result":
			failed, _ := c[8].Bool()
			p.ensureTurn(s)
			p.toolDone(toolEnd{id: p.names.Str(c[6]), parent: p.stream(parent).parent, content: c[7], detail: v[1], meta: v[2],
				failed: failed, at: cliagent.Moment(v[5])}, s)
		case "text":
			if parent.Kind() != jsonscan.String && strings.HasPrefix(c[1].Str(), "[Request interrupted by user") {
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
		var c [9]jsonscan.Value
		if element.Fields(c[:], contentKeys) && c[0].IsStr("text") {
			parts = append(parts, c[1].Str())
		}
	}
	return strings.Join(parts, "\n")
}
