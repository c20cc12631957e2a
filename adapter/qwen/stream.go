package qwen

import (
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/streamjson"
)

// Begin starts a block. A text or thinking block shows nothing before its first piece, which may be a notice.
func (p *parser) Begin(st *streamjson.Stream, kind streamjson.Kind, s *cliagent.Sink) bool {
	if kind == streamjson.Tool {
		p.spoken(s)
	}
	p.startStep(st, "", s)
	return false
}

// Keep keeps every piece except a notice.
func (p *parser) Keep(st *streamjson.Stream, kind streamjson.Kind, piece []byte, s *cliagent.Sink) bool {
	if kind == streamjson.Text && isNotice(piece) {
		p.hold(st, string(piece), s)
		return false
	}
	p.spoken(s)
	return true
}

// streamEvent handles a piece of a message. Sub-agents do not stream, so their whole lines suffice.
func (p *parser) streamEvent(s *cliagent.Sink) bool {
	st := p.Stream()
	typ, _ := p.V.Event.Type.Plain()
	switch string(typ) {
	case "goal_state", "tool_progress": // the state of an unused feature; keep-alive lines
		return true
	case "content_block_delta", "content_block_start", "content_block_stop", "message_start", "message_stop":
	default:
		return false
	}
	if st != &p.Main {
		return true
	}
	switch string(typ) {
	case "content_block_delta":
		return p.Delta(st, s)
	case "content_block_start":
		return p.BlockStart(st, s)
	case "content_block_stop":
		return p.BlockStop(st, s)
	case "message_start":
		p.endStep(st, s)
		st.Streamed = true
		p.startStep(st, p.Names.Str(p.V.Event.Message.ID), s)
	case "message_stop":
		p.CloseBlocks(st, s)
		st.Streamed = false
	}
	return true
}

// startStep starts a model call unless one is running. It starts with the model's first output and ends with the
// result of its first tool, the next call, or the turn.
func (p *parser) startStep(st *streamjson.Stream, message string, s *cliagent.Sink) {
	if !st.Open {
		p.ensureTurn(s)
		p.StartStep(st, message, s)
	}
}

// endStep ends the model call of a stream.
func (p *parser) endStep(st *streamjson.Stream, s *cliagent.Sink) {
	p.CloseBlocks(st, s)
	if st.Open {
		st.Streamed, st.Final = false, false
		p.EndStep(st, s)
	}
}
