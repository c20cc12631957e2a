package qwen

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

// stream is one conversation with the model: the agent's own or a sub-agent's. A model call is a step; it begins with what the
// model says first and ends with the result of its first tool, with the call after it, or with the turn.
type stream struct {
	parent   string // tool call that started the sub-agent
	message  string // id of the model call as Qwen states it first
	streamed bool   // its messages come in pieces, and their whole lines repeat them
	open     bool   // its step has begun and not ended
	paid     bool   // the tokens of its step are known, which come with its last message
	step     int
	blocks   []*block
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
	begun  bool // its first event is out
	closed bool
	text   strings.Builder // its memory is shared by all Accumulated strings of the block
	tool   *tool
}

var blockKeys = jsonscan.NewKeySet("type", "id", "name", "text", "thinking")

// streamEvent is one piece of a message. What a sub-agent says comes in one go, so that its whole lines suffice.
func (p *parser) streamEvent(s *cliagent.Sink) bool {
	st := p.stream(p.values[keyParent])
	typ, _ := p.values[keyEventType].Plain()
	switch string(typ) {
	case "goal_state", "tool_progress": // the state of a feature that nobody asked for; signs of life
		return true
	case "content_block_delta", "content_block_start", "content_block_stop", "message_start", "message_stop":
	default:
		return false
	}
	if st != &p.main {
		return true
	}
	switch string(typ) {
	case "content_block_delta":
		return p.delta(st, s)
	case "content_block_start":
		return p.blockStart(st, s)
	case "content_block_stop":
		i, ok := p.index()
		if ok && i < len(st.blocks) && st.blocks[i] != nil {
			p.closeBlock(st, st.blocks[i], s)
		}
		return ok
	case "message_start":
		p.endStep(st, s)
		st.streamed = true
		p.startStep(st, p.names.Str(p.values[keyMessageID]), s)
	case "message_stop":
		p.closeBlocks(st, s)
		st.streamed = false
	}
	return true
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
	default:
		return false
	}
	if i >= len(st.blocks) || st.blocks[i] == nil || st.blocks[i].closed {
		if kind == toolBlock {
			return false // a call without a name or an id
		}
		p.startBlock(st, i, kind, s)
	}
	b := st.blocks[i]
	if b.kind != kind {
		return false
	}
	if plain, ok := piece.Plain(); ok {
		p.grow(st, b, plain, s)
	} else {
		p.scratch = piece.StrBytes(p.scratch[:0])
		p.grow(st, b, p.scratch, s)
	}
	return true
}

// grow adds a piece to a block.
func (p *parser) grow(st *stream, b *block, piece []byte, s *cliagent.Sink) {
	if len(piece) == 0 {
		return
	}
	if b.kind == textBlock && isNotice(piece) {
		p.hold(st, string(piece), s)
		return
	}
	p.spoken(s)
	p.begin(st, b, s)
	was := b.text.Len()
	b.text.Write(piece)
	all := b.text.String()
	switch b.kind {
	case textBlock:
		s.EmitFrom(st.parent, execution.TextDelta{Delta: all[was:], Accumulated: all})
	case thinkingBlock:
		s.EmitFrom(st.parent, execution.ThinkingDelta{Delta: all[was:], Accumulated: all})
	case toolBlock:
		if b.tool.begun && b.tool.server == "" {
			s.EmitFrom(st.parent, execution.ToolInputDelta{ToolCallID: b.tool.id, Delta: all[was:], InputAccumulated: all})
		}
	}
}

// begin makes the first event of a text or a thought. One that turns out to be a notice has none.
func (p *parser) begin(st *stream, b *block, s *cliagent.Sink) {
	if b.begun {
		return
	}
	b.begun = true
	switch b.kind {
	case textBlock:
		s.EmitFrom(st.parent, execution.MessageStart{MessageID: st.message})
	case thinkingBlock:
		s.EmitFrom(st.parent, execution.ThinkingStart{})
	}
}

func (p *parser) blockStart(st *stream, s *cliagent.Sink) bool {
	i, ok := p.index()
	if !ok {
		return false
	}
	var v [5]jsonscan.Value
	p.values[keyBlock].Fields(v[:], blockKeys)
	typ, _ := v[0].Plain()
	switch string(typ) {
	case "text":
		p.grow(st, p.startBlock(st, i, textBlock, s), []byte(v[3].Str()), s)
	case "thinking":
		p.grow(st, p.startBlock(st, i, thinkingBlock, s), []byte(v[4].Str()), s)
	case "tool_use":
		p.spoken(s)
		b := p.startBlock(st, i, toolBlock, s)
		b.tool = p.toolStart(st.parent, p.names.Str(v[1]), p.names.Str(v[2]), s)
	case "":
		return false
	default:
		p.startBlock(st, i, otherBlock, s)
		return false
	}
	return true
}

// startBlock makes a block. The indices begin anew with each message of a model call.
func (p *parser) startBlock(st *stream, i int, kind blockKind, s *cliagent.Sink) *block {
	p.startStep(st, "", s)
	for len(st.blocks) <= i {
		st.blocks = append(st.blocks, nil)
	}
	if old := st.blocks[i]; old != nil {
		p.closeBlock(st, old, s)
	}
	b := &block{kind: kind}
	b.text.Grow(firstPiece)
	st.blocks[i] = b
	return b
}

func (p *parser) closeBlock(st *stream, b *block, s *cliagent.Sink) {
	if b.closed {
		return
	}
	b.closed = true
	switch b.kind {
	case textBlock:
		if b.begun {
			p.saidText(st, b.text.String(), s)
		}
	case thinkingBlock:
		if b.begun {
			s.EmitFrom(st.parent, execution.ThinkingStop{Thinking: b.text.String()})
		}
	case toolBlock:
		input := b.text.String()
		if input == "" {
			input = "{}"
		}
		if v, err := jsonscan.Parse([]byte(input)); err == nil && json.Valid([]byte(input)) {
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

// startStep begins a model call unless one is under way.
func (p *parser) startStep(st *stream, message string, s *cliagent.Sink) {
	if st.open {
		return
	}
	p.ensureTurn(s)
	st.open, st.message = true, message
	s.EmitFrom(st.parent, execution.StepStart{StepIndex: st.step, StepType: "model"})
}

func (p *parser) closeBlocks(st *stream, s *cliagent.Sink) {
	for _, b := range st.blocks {
		if b != nil {
			p.closeBlock(st, b, s)
		}
	}
	clear(st.blocks)
	st.blocks = st.blocks[:0]
}

// endStep ends the model call of a stream, however far it came.
func (p *parser) endStep(st *stream, s *cliagent.Sink) {
	p.closeBlocks(st, s)
	if !st.open {
		return
	}
	st.open, st.streamed, st.paid = false, false, false
	s.EmitFrom(st.parent, execution.StepEnd{StepIndex: st.step})
	st.step++
}
