package claude

import (
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/streamjson"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var assistantKeys = jsonscan.NewKeySet("message.id", "message.model", "message.content", "message.usage", "error",
	"api_error_status", "timestamp")

var contentKeys = jsonscan.NewKeySet("type", "text", "thinking", "id", "name", "input", "tool_use_id", "content", "is_error")

// assistant is a whole message, or one content block of it: a message comes in as many lines as it has blocks, all with
// its id. Of a streamed message only the tool calls are new.
func (p *parser) assistant(line []byte, s *cliagent.Sink) bool {
	var v [7]jsonscan.Value
	if jsonscan.Fields(line, v[:], assistantKeys) != nil {
		return false
	}
	st := p.Stream()
	if v[1].IsStr("<synthetic>") {
		p.ensureTurn(s)
		p.first = false
		if st.Parent == "" {
			p.synthetic = &notice{text: contentText(v[2]), word: v[4].Str(), status: cliagent.Count(v[5])}
		}
		return true
	}
	if v[2].Kind() != jsonscan.Array {
		return false
	}
	p.spoken(s)
	if id := p.Names.Str(v[0]); id != st.Message || st.Message == "" || !st.Open && !st.Streamed {
		p.endMessage(st, s)
		st.Streamed = false
		p.StartStep(st, id, s)
		p.Count(st.Parent, usageOf(v[3]), s)
	}
	at := cliagent.Moment(v[6])
	known := true
	for _, element := range v[2].Array {
		var c [9]jsonscan.Value
		element.Fields(c[:], contentKeys)
		typ, _ := c[0].Plain()
		switch string(typ) {
		case "text":
			if !st.Streamed {
				p.Text(st, c[1].Str(), s)
			}
		case "thinking":
			if !st.Streamed {
				p.Thinking(st, c[2].Str(), s)
			}
		case "tool_use", "server_tool_use":
			call := p.Calls.Start(p.Names.Str(c[3]), p.Names.Str(c[4]), st.Parent, s)
			call.At = at
			p.Calls.Called(call, c[5], s)
		case "redacted_thinking", "fallback", "container_upload":
		default:
			if !strings.HasSuffix(string(typ), "_tool_result") {
				known = false
				continue
			}
			failed, _ := c[8].Bool()
			p.toolDone(toolEnd{id: p.Names.Str(c[6]), parent: st.Parent, content: c[7], failed: failed, at: at}, s)
		}
	}
	return known
}

var userKeys = jsonscan.NewKeySet("message.content", "tool_use_result", "tool_result_meta", "isReplay", "uuid", "timestamp")

// user is what goes to the model besides its own words: results of tools, and messages that Claude repeats to say that
// it took them.
func (p *parser) user(line []byte, s *cliagent.Sink) bool {
	var v [6]jsonscan.Value
	if jsonscan.Fields(line, v[:], userKeys) != nil || !v[0].Exists() {
		return false
	}
	if replay, _ := v[3].Bool(); replay {
		p.taken(p.Names.Str(v[4]), s)
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
			p.toolDone(toolEnd{id: p.Names.Str(c[6]), parent: p.Stream().Parent, content: c[7], detail: v[1], meta: v[2],
				failed: failed, at: cliagent.Moment(v[5])}, s)
		case "text":
			if p.V[streamjson.Parent].Kind() != jsonscan.String && strings.HasPrefix(c[1].Str(), "[Request interrupted by user") {
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
