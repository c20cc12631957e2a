package claude

import (
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/streamjson"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// Begin starts a block, whose first event comes at once.
func (p *parser) Begin(_ *streamjson.Stream, _ streamjson.Kind, s *cliagent.Sink) bool {
	p.spoken(s)
	return true
}

// Keep keeps every piece.
func (p *parser) Keep(*streamjson.Stream, streamjson.Kind, []byte, *cliagent.Sink) bool { return true }

// streamEvent handles a piece of a message in the model API's format.
func (p *parser) streamEvent(s *cliagent.Sink) bool {
	st := p.Stream()
	typ, _ := p.V.Event.Type.Plain()
	switch string(typ) {
	case "content_block_delta":
		return p.Delta(st, s)
	case "content_block_start":
		return p.BlockStart(st, s)
	case "content_block_stop":
		return p.BlockStop(st, s)
	case "message_start":
		p.spoken(s)
		p.endMessage(st, s)
		st.Streamed, st.Usage, st.Final = true, usageOf(p.V.Event.Message.Usage), false
		p.StartStep(st, p.Names.Str(p.V.Event.Message.ID), s)
		return true
	case "message_delta":
		st.Usage, st.Final = update(st.Usage, usageOf(p.V.Event.Usage)), true
		return true
	case "message_stop":
		p.endMessage(st, s)
		return true
	case "ping", "error": // a failed call is reported by api_retry or by the result
		return true
	}
	return false
}

// endMessage ends the open message of a stream.
func (p *parser) endMessage(st *streamjson.Stream, s *cliagent.Sink) {
	p.CloseBlocks(st, s)
	if st.Open && st.Streamed && st.Final { // only Claude knows the usage of an interrupted call
		p.Count(st.Parent, st.Usage, s)
		st.Usage = execution.Usage{}
	}
	p.EndStep(st, s)
}

var usageShape jsonscan.Shape[struct {
	InputTokens, OutputTokens, CacheReadInputTokens, CacheCreationInputTokens jsonscan.Value
	OutputTokensDetails                                                       struct{ ThinkingTokens jsonscan.Value }
}]

// usageOf reads a usage object of the model API.
func usageOf(v jsonscan.Value) execution.Usage {
	f, ok := usageShape.Of(v)
	if !ok {
		return execution.Usage{}
	}
	return execution.Usage{Input: cliagent.Count(f.InputTokens), Output: cliagent.Count(f.OutputTokens),
		Cached: cliagent.Count(f.CacheReadInputTokens), CacheWrite: cliagent.Count(f.CacheCreationInputTokens),
		Thinking: cliagent.Count(f.OutputTokensDetails.ThinkingTokens)}.WithTotal()
}

// update overwrites with a later report of the same call: its numbers are running totals.
func update(u, later execution.Usage) execution.Usage {
	for _, f := range []struct{ to, from *int64 }{{&u.Input, &later.Input}, {&u.Output, &later.Output}, {&u.Cached, &later.Cached},
		{&u.CacheWrite, &later.CacheWrite}, {&u.Thinking, &later.Thinking}} {
		if *f.from > 0 {
			*f.to = *f.from
		}
	}
	return u.WithTotal()
}
