package streamjson

import (
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
)

// MaxBlocks bounds the content blocks of one message; real ones have a few dozen.
const MaxBlocks = 4096

// firstPiece is the room a streamed text gets at once, so that short ones are not moved while they grow.
const firstPiece = 256

// Stream is one conversation with the model: the agent's own or a sub-agent's. One message is open at a time.
type Stream struct {
	Parent   string // tool call that started the sub-agent
	Message  string // id of the message that is open or was the last
	Streamed bool   // it comes in pieces, and its whole lines repeat them
	Open     bool   // its step has begun and not ended
	Step     int
	Usage    execution.Usage // of its model call, as far as it is known
	Final    bool            // that is all that the call used

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
	begun  bool // its first event is out
	closed bool
	text   strings.Builder // its memory is shared by all Accumulated strings of the block
	call   *toolcall.Call
}

// begin makes the first event of a text or a thought.
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
