package streamjson

import (
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
)

// MaxBlocks bounds the content blocks of one message; real ones have a few dozen.
const MaxBlocks = 4096

// firstPiece is the initial capacity of a streamed text, so that short texts are not reallocated.
const firstPiece = 256

// Stream is one conversation with the model: the agent's own or a sub-agent's. One message is open at a time.
type Stream struct {
	Parent   string // tool call that started the sub-agent
	Message  string // id of the open or last message
	Streamed bool   // it is streamed, and whole lines repeat the pieces
	Open     bool   // its step started and has not ended
	Step     int
	Usage    execution.Usage // usage of its model call so far
	Final    bool            // the usage is complete

	blocks []*contentBlock
}

// Kind is what a content block is.
type Kind uint8

// The kinds of content blocks.
const (
	Other Kind = iota
	Text
	Thinking
	Tool
)

// contentBlock is one content block of a streamed message.
type contentBlock struct {
	kind   Kind
	begun  bool // the first event was emitted
	closed bool
	text   strings.Builder // its memory is shared by all Accumulated strings of the block
	call   *toolcall.Call
}

// begin emits the first event of a text or thinking block.
func (b *contentBlock) begin(st *Stream, s *cliagent.Sink) {
	if b.begun {
		return
	}
	b.begun = true
	switch b.kind {
	case Text:
		s.EmitFrom(st.Parent, execution.MessageStart{MessageID: st.Message})
	case Thinking:
		s.EmitFrom(st.Parent, execution.ThinkingStart{})
	}
}
