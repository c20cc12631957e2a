package claude

import (
	"encoding/json"
	"strings"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// maxBlocks bounds the content blocks of one message; real ones have a few dozen.
const maxBlocks = 4096

// firstPiece is the room a streamed text gets at once, so that short ones are not moved while they grow.
const firstPiece = 256

// stream is one conversation with the model: the agent's own or a sub-agent's. One message is open at a time.
type stream struct {
	parent   string // tool call that started the sub-agent
	message  string // id of the message that is open or was the last
	streamed bool   // it comes in pieces, and its whole lines repeat them
	open     bool   // its step has begun and not ended
	step     int
	blocks   []*block
	usage    execution.Usage
	final    bool // usage is what the call cost in the end
}

type blockKind uint8

const (
	otherBlock blockKind = iota
	textBlock
	thinkingBlock
	toolBlock
)

// block is one content block of a streamed message.
type block struct {
	kind   blockKind
	closed bool
	text   strings.Builder // its memory is shared by all Accumulated strings of the block
	tool   *tool
}

var blockKeys = jsonscan.NewKeySet("type", "id", "name", "text", "thinking")

// streamEvent is one piece of a message as the model API sends it.
func (p *parser) streamEvent(s *cliagent.Sink) bool {
	st := p.stream(p.values[keyParent])
	typ, _ := p.values[keyEventType].Plain()
	switch string(typ) {
	case "content_block_delta":
		return p.delta(st, s)
	case "content_block_start":
		return p.blockStart(st, s)
	case "content_block_stop":
		if i, ok := p.index(); ok {
			if i < len(st.blocks) && st.blocks[i] != nil {
				p.closeBlock(st, st.blocks[i], s)
			}
			return true
		}
		return false
	case "message_start":
		p.spoken(s)
		p.endMessage(st, s)
		st.message, st.streamed = p.names.Str(p.values[keyMessageID]), true
		st.usage, st.final = usageOf(p.values[keyStartUsage]), false
		p.startStep(st, s)
		return true
	case "message_delta":
		st.usage, st.final = update(st.usage, usageOf(p.values[keyDeltaUsage])), true
		return true
	case "message_stop":
		p.endMessage(st, s)
		return true
	case "ping", "error": // a failed call is reported by api_retry or by the result
		return true
	}
	return false
}

func (p *parser) index() (int, bool) {
	i, ok := p.values[keyIndex].Int()
	return int(i), ok && i >= 0 && i < maxBlocks
}

// delta is the most frequent line of all.
func (p *parser) delta(st *stream, s *cliagent.Sink) bool {
	i, ok := p.index()
	if !ok {
		return false
	}
	typ, _ := p.values[keyDeltaType].Plain()
	var piece jsonscan.Value
	var kind blockKind
	switch string(typ) {
	case "text_delta":
		kind, piece = textBlock, p.values[keyDeltaText]
	case "input_json_delta":
		kind, piece = toolBlock, p.values[keyDeltaJSON]
	case "thinking_delta":
		kind, piece = thinkingBlock, p.values[keyDeltaThinking]
	case "signature_delta", "citations_delta":
		return true
	default:
		return false
	}
	if i >= len(st.blocks) || st.blocks[i] == nil {
		if kind == toolBlock {
			return false // a call without a name or an id
		}
		p.startBlock(st, i, kind, s)
	}
	b := st.blocks[i]
	if b.kind != kind || b.closed {
		return b.kind == otherBlock
	}
	was := b.text.Len()
	if plain, ok := piece.Plain(); ok {
		b.text.Write(plain)
	} else {
		p.scratch = piece.StrBytes(p.scratch[:0])
		b.text.Write(p.scratch)
	}
	all := b.text.String()
	if len(all) == was {
		return true
	}
	switch kind {
	case textBlock:
		s.EmitFrom(st.parent, execution.TextDelta{Delta: all[was:], Accumulated: all})
	case thinkingBlock:
		s.EmitFrom(st.parent, execution.ThinkingDelta{Delta: all[was:], Accumulated: all})
	default:
		if b.tool.server == "" {
			s.EmitFrom(st.parent, execution.ToolInputDelta{ToolCallID: b.tool.id, Delta: all[was:], InputAccumulated: all})
		}
	}
	return true
}

func (p *parser) blockStart(st *stream, s *cliagent.Sink) bool {
	i, ok := p.index()
	if !ok {
		return false
	}
	p.spoken(s)
	var v [5]jsonscan.Value
	p.values[keyBlock].Fields(v[:], blockKeys)
	typ, _ := v[0].Plain()
	switch string(typ) {
	case "text":
		b := p.startBlock(st, i, textBlock, s)
		if text := v[3].Str(); text != "" {
			b.text.WriteString(text)
			s.EmitFrom(st.parent, execution.TextDelta{Delta: text, Accumulated: b.text.String()})
		}
	case "thinking":
		b := p.startBlock(st, i, thinkingBlock, s)
		if text := v[4].Str(); text != "" {
			b.text.WriteString(text)
			s.EmitFrom(st.parent, execution.ThinkingDelta{Delta: text, Accumulated: b.text.String()})
		}
	case "tool_use", "server_tool_use":
		b := p.startBlock(st, i, toolBlock, s)
		b.tool = p.toolStart(st.parent, p.names.Str(v[1]), p.names.Str(v[2]), s)
	case "":
		return false
	default: // redacted thinking, results of the provider's own tools: the whole line tells what there is to tell
		p.startBlock(st, i, otherBlock, s)
	}
	return true
}

func (p *parser) startBlock(st *stream, i int, kind blockKind, s *cliagent.Sink) *block {
	for len(st.blocks) <= i {
		st.blocks = append(st.blocks, nil)
	}
	if old := st.blocks[i]; old != nil {
		p.closeBlock(st, old, s)
	}
	b := &block{kind: kind}
	st.blocks[i] = b
	switch kind {
	case textBlock:
		b.text.Grow(firstPiece)
		s.EmitFrom(st.parent, execution.MessageStart{MessageID: st.message})
	case thinkingBlock:
		b.text.Grow(firstPiece)
		s.EmitFrom(st.parent, execution.ThinkingStart{})
	case toolBlock:
		b.text.Grow(firstPiece)
	}
	return b
}

func (p *parser) closeBlock(st *stream, b *block, s *cliagent.Sink) {
	if b.closed {
		return
	}
	b.closed = true
	switch b.kind {
	case textBlock:
		p.saidText(st, b.text.String(), s)
	case thinkingBlock:
		s.EmitFrom(st.parent, execution.ThinkingStop{Thinking: b.text.String()})
	case toolBlock:
		// The whole line comes first and has the input as Claude will use it. This is for a message without one.
		input := b.text.String()
		if input == "" {
			input = "{}"
		}
		if !b.tool.ready && json.Valid([]byte(input)) {
			v, _ := jsonscan.Parse([]byte(input))
			p.toolReady(b.tool, v, s)
		}
	}
}

// saidText ends a text.
func (p *parser) saidText(st *stream, text string, s *cliagent.Sink) {
	if st.parent == "" {
		p.lastText = text
	}
	s.EmitFrom(st.parent, execution.MessageStop{Text: text})
}

func (p *parser) startStep(st *stream, s *cliagent.Sink) {
	st.open = true
	s.EmitFrom(st.parent, execution.StepStart{TurnIndex: p.turn, StepIndex: st.step, StepType: "model"})
}

// endMessage ends the open message of a stream, however far it came.
func (p *parser) endMessage(st *stream, s *cliagent.Sink) {
	for _, b := range st.blocks {
		if b != nil {
			p.closeBlock(st, b, s)
		}
	}
	clear(st.blocks)
	st.blocks = st.blocks[:0]
	if !st.open {
		return
	}
	st.open = false
	if st.streamed && st.final { // of a call that broke off Claude alone knows what it counts for
		p.count(st.parent, st.usage, s)
		st.usage = execution.Usage{}
	}
	s.EmitFrom(st.parent, execution.StepEnd{TurnIndex: p.turn, StepIndex: st.step})
	st.step++
}

// count reports the tokens of a model call.
func (p *parser) count(parent string, u execution.Usage, s *cliagent.Sink) {
	if u.IsZero() {
		return
	}
	p.counted, p.total = p.counted.Add(u), p.total.Add(u)
	s.EmitFrom(parent, execution.TokenUsage{InputTokens: u.Input, OutputTokens: u.Output, ThinkingTokens: u.Thinking,
		CachedTokens: u.Cached, CacheWriteTokens: u.CacheWrite})
}

var usageKeys = jsonscan.NewKeySet("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
	"output_tokens_details.thinking_tokens")

// usageOf reads a usage object of the model API.
func usageOf(v jsonscan.Value) execution.Usage {
	var f [5]jsonscan.Value
	if !v.Fields(f[:], usageKeys) {
		return execution.Usage{}
	}
	return sum(execution.Usage{Input: cliagent.Count(f[0]), Output: cliagent.Count(f[1]), Cached: cliagent.Count(f[2]), CacheWrite: cliagent.Count(f[3]), Thinking: cliagent.Count(f[4])})
}

// sum fills in the total.
func sum(u execution.Usage) execution.Usage {
	u.Total = u.Input + u.Output + u.Cached + u.CacheWrite
	return u
}

// update replaces what a later report of the same call states again: its numbers are running totals.
func update(u, later execution.Usage) execution.Usage {
	for _, f := range []struct{ to, from *int64 }{{&u.Input, &later.Input}, {&u.Output, &later.Output}, {&u.Cached, &later.Cached},
		{&u.CacheWrite, &later.CacheWrite}, {&u.Thinking, &later.Thinking}} {
		if *f.from > 0 {
			*f.to = *f.from
		}
	}
	return sum(u)
}
