package streamjson

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// Line has the members that determine a line's type, and those that a streamed piece needs.
type Line struct {
	Type, Subtype, ParentToolUseID jsonscan.Value
	Event                          struct {
		Type, Index, ContentBlock, Usage jsonscan.Value
		Delta                            struct{ Type, Text, Thinking, PartialJSON jsonscan.Value }
		Message                          struct{ ID, Usage jsonscan.Value }
	}
}

var lineShape jsonscan.Shape[Line]

// Vendor is the agent-specific part: the parser that embeds the Flow.
type Vendor interface {
	// Begin is called before a block starts. A text or thinking block whose first event waits for its first piece
	// starts later.
	Begin(st *Stream, kind Kind, s *cliagent.Sink) (atOnce bool)
	// Keep is called with each piece. A piece that it does not keep is left to the vendor.
	Keep(st *Stream, kind Kind, piece []byte, s *cliagent.Sink) bool
}

// Flow is the state of a stream. It belongs to one run.
type Flow struct {
	V     Line // being read
	Names *jsonscan.Interner
	Calls toolcall.Calls
	Main  Stream
	Turn  int    // index of the turn in events
	Last  string // last complete text of the agent itself

	Counted execution.Usage // reported by Count since the vendor reset it
	Total   execution.Usage // reported by Count

	vendor  Vendor
	subs    map[string]*Stream // sub-agents by the tool call that started them
	scratch []byte
}

// New returns the flow of a run.
func New(v Vendor, t *toolcall.Table) Flow {
	names := jsonscan.NewInterner(256)
	return Flow{Names: names, Calls: toolcall.NewCalls(t, names), vendor: v, subs: map[string]*Stream{}}
}

// Scan parses a line. It returns false if it is not a JSON object.
func (f *Flow) Scan(line []byte) bool { return lineShape.Into(line, &f.V) }

// Stream returns the conversation of the line: the agent's own or a sub-agent's.
func (f *Flow) Stream() *Stream {
	id := ""
	if f.V.ParentToolUseID.Kind() == jsonscan.String {
		id = f.Names.Str(f.V.ParentToolUseID)
	}
	if id == "" {
		return &f.Main
	}
	st := f.subs[id]
	if st == nil {
		st = &Stream{Parent: id}
		f.subs[id] = st
	}
	return st
}

// Sub returns the stream of the sub-agent that a call started, nil if it printed nothing.
func (f *Flow) Sub(call string) *Stream { return f.subs[call] }

// Subs returns the streams of sub-agents, ordered by call id.
func (f *Flow) Subs() []*Stream {
	all := make([]*Stream, 0, len(f.subs))
	for _, id := range slices.Sorted(maps.Keys(f.subs)) {
		all = append(all, f.subs[id])
	}
	return all
}

// Drop forgets the stream of a sub-agent.
func (f *Flow) Drop(st *Stream) { delete(f.subs, st.Parent) }

func (f *Flow) index() (int, bool) {
	i, ok := f.V.Event.Index.Int()
	return int(i), ok && i >= 0 && i < MaxBlocks
}

// Delta reads a piece, the most frequent line. It returns false for an unknown type.
func (f *Flow) Delta(st *Stream, s *cliagent.Sink) bool {
	i, ok := f.index()
	if !ok {
		return false
	}
	typ, _ := f.V.Event.Delta.Type.Plain()
	var piece jsonscan.Value
	var kind Kind
	switch string(typ) {
	case "text_delta":
		kind, piece = Text, f.V.Event.Delta.Text
	case "input_json_delta":
		kind, piece = Tool, f.V.Event.Delta.PartialJSON
	case "thinking_delta":
		kind, piece = Thinking, f.V.Event.Delta.Thinking
	case "signature_delta", "citations_delta":
		return true
	default:
		return false
	}
	if i >= len(st.blocks) || st.blocks[i] == nil || st.blocks[i].closed && kind != Tool {
		if kind == Tool {
			return false // a call without a name or an id
		}
		f.start(st, i, kind, nil, s)
	}
	b := st.blocks[i]
	if b.kind != kind || b.closed {
		return b.kind == Other
	}
	if plain, ok := piece.Plain(); ok {
		f.add(st, b, plain, s)
	} else {
		f.scratch = piece.StrBytes(f.scratch[:0])
		f.add(st, b, f.scratch, s)
	}
	return true
}

// add adds a piece to a block.
func (f *Flow) add(st *Stream, b *contentBlock, piece []byte, s *cliagent.Sink) {
	if len(piece) == 0 || !f.vendor.Keep(st, b.kind, piece, s) {
		return
	}
	was := b.text.Len()
	b.text.Write(piece)
	f.show(st, b, was, s)
}

// show emits a block's text from index was on.
func (f *Flow) show(st *Stream, b *contentBlock, was int, s *cliagent.Sink) {
	b.begin(st, s)
	all := b.text.String()
	switch b.kind {
	case Text:
		s.EmitFrom(st.Parent, execution.TextDelta{Delta: all[was:], Accumulated: all})
	case Thinking:
		s.EmitFrom(st.Parent, execution.ThinkingDelta{Delta: all[was:], Accumulated: all})
	case Tool:
		b.call.Piece(all[was:], all, s)
	}
}

// Block is a content block of a message. No type of block has all members.
type Block struct{ Type, Text, Thinking, ID, Name, Input, ToolUseID, Content, IsError jsonscan.Value }

// Blocks reads the content blocks of whole messages.
var Blocks jsonscan.Shape[Block]

// BlockStart starts a content block. It returns false for an unknown type.
func (f *Flow) BlockStart(st *Stream, s *cliagent.Sink) bool {
	i, ok := f.index()
	if !ok {
		return false
	}
	var v Block
	Blocks.From(f.V.Event.ContentBlock, &v)
	typ, _ := v.Type.Plain()
	switch string(typ) {
	case "text":
		f.startWith(st, i, Text, v.Text, s)
	case "thinking":
		f.startWith(st, i, Thinking, v.Thinking, s)
	case "tool_use", "server_tool_use":
		f.start(st, i, Tool, &call{id: f.Names.Str(v.ID), name: f.Names.Str(v.Name)}, s)
	case "":
		return false
	default: // redacted thinking, results of the provider's own tools: complete in the whole line
		f.start(st, i, Other, nil, s)
	}
	return true
}

// BlockStop ends a content block. It returns false for an unknown type.
func (f *Flow) BlockStop(st *Stream, s *cliagent.Sink) bool {
	i, ok := f.index()
	if ok && i < len(st.blocks) && st.blocks[i] != nil {
		f.close(st, st.blocks[i], s)
	}
	return ok
}

func (f *Flow) startWith(st *Stream, i int, kind Kind, text jsonscan.Value, s *cliagent.Sink) {
	f.add(st, f.start(st, i, kind, nil, s), []byte(text.Str()), s)
}

// call returns the id and the name of a tool call.
type call struct{ id, name string }

// start creates a block. Indices restart with each message.
func (f *Flow) start(st *Stream, i int, kind Kind, c *call, s *cliagent.Sink) *contentBlock {
	atOnce := f.vendor.Begin(st, kind, s)
	for len(st.blocks) <= i {
		st.blocks = append(st.blocks, nil)
	}
	if old := st.blocks[i]; old != nil {
		f.close(st, old, s)
	}
	b := &contentBlock{kind: kind}
	if kind != Other {
		b.text.Grow(firstPiece)
	}
	st.blocks[i] = b
	if c != nil {
		b.call = f.Calls.Start(c.id, c.name, st.Parent, s)
	} else if atOnce {
		b.begin(st, s)
	}
	return b
}

// close ends a block.
func (f *Flow) close(st *Stream, b *contentBlock, s *cliagent.Sink) {
	if b.closed {
		return
	}
	b.closed = true
	switch {
	case b.kind == Text && b.begun:
		f.said(st, b.text.String(), s)
	case b.kind == Thinking && b.begun:
		s.EmitFrom(st.Parent, execution.ThinkingStop{Thinking: b.text.String()})
	case b.kind == Tool && !b.call.Ready:
		// The whole line may come first, with the final input. This handles a message without one.
		input := []byte(b.text.String())
		if len(input) == 0 {
			input = []byte("{}")
		}
		if v, err := jsonscan.Parse(input); err == nil && json.Valid(input) {
			f.Calls.Called(b.call, v, s)
		}
	}
}

// CloseBlocks ends the open blocks of a stream's message.
func (f *Flow) CloseBlocks(st *Stream, s *cliagent.Sink) {
	for _, b := range st.blocks {
		if b != nil {
			f.close(st, b, s)
		}
	}
	clear(st.blocks)
	st.blocks = st.blocks[:0]
}

// said ends a text.
func (f *Flow) said(st *Stream, text string, s *cliagent.Sink) {
	if st.Parent == "" {
		f.Last = text
	}
	s.EmitFrom(st.Parent, execution.MessageStop{Text: text})
}

// Text emits a text that was not streamed as one piece.
func (f *Flow) Text(st *Stream, text string, s *cliagent.Sink) {
	s.EmitFrom(st.Parent, execution.MessageStart{MessageID: st.Message})
	if text != "" {
		s.EmitFrom(st.Parent, execution.TextDelta{Delta: text, Accumulated: text})
	}
	f.said(st, text, s)
}

// Thinking emits thinking that was not streamed as one piece.
func (f *Flow) Thinking(st *Stream, text string, s *cliagent.Sink) {
	s.EmitFrom(st.Parent, execution.ThinkingStart{})
	if text != "" {
		s.EmitFrom(st.Parent, execution.ThinkingDelta{Delta: text, Accumulated: text})
	}
	s.EmitFrom(st.Parent, execution.ThinkingStop{Thinking: text})
}

// Put adds a piece that was not kept to the open text of a stream, or starts a text with it.
func (f *Flow) Put(st *Stream, text string, s *cliagent.Sink) {
	for _, b := range st.blocks {
		if b != nil && b.kind == Text && !b.closed {
			was := b.text.Len()
			b.text.WriteString(text)
			f.show(st, b, was, s)
			return
		}
	}
	f.Text(st, text, s)
}

// StartStep starts a model call unless one is open.
func (f *Flow) StartStep(st *Stream, message string, s *cliagent.Sink) {
	if st.Open {
		return
	}
	st.Open, st.Message = true, message
	s.EmitFrom(st.Parent, execution.StepStart{TurnIndex: f.Turn, StepIndex: st.Step, StepType: "model"})
}

// EndStep ends the model call of a stream.
func (f *Flow) EndStep(st *Stream, s *cliagent.Sink) {
	f.CloseBlocks(st, s)
	if st.Open {
		st.Open = false
		s.EmitFrom(st.Parent, execution.StepEnd{TurnIndex: f.Turn, StepIndex: st.Step})
		st.Step++
	}
}

// Count reports the tokens of a model call.
func (f *Flow) Count(parent string, u execution.Usage, s *cliagent.Sink) {
	if u.IsZero() {
		return
	}
	f.Counted, f.Total = f.Counted.Add(u), f.Total.Add(u)
	s.EmitFrom(parent, u.Event())
}
