package cliagent

import (
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// SpeechKind is what a model says.
type SpeechKind int

// What a model says; SpeechNone is nothing.
const (
	SpeechNone SpeechKind = iota
	SpeechText
	SpeechThinking
)

// Speech is the text or the thinking that an agent streams in pieces, one at a time. The zero Speech is the agent's own and is silent.
// It belongs to one run, as the parser does.
type Speech struct {
	Parent string // tool call that started the sub-agent that speaks
	Kind   SpeechKind
	said   strings.Builder
}

// Said returns what was streamed since Begin.
func (f *Speech) Said() string { return f.said.String() }

// Begin starts a text, whose message may have an id, or thinking, and ends what was before.
func (f *Speech) Begin(kind SpeechKind, message string, s *Sink) {
	f.End(s)
	f.Kind = kind
	if kind == SpeechText {
		s.EmitFrom(f.Parent, execution.MessageStart{MessageID: message})
	} else {
		s.EmitFrom(f.Parent, execution.ThinkingStart{})
	}
}

// Add streams a piece of what has begun.
func (f *Speech) Add(piece string, s *Sink) {
	f.said.WriteString(piece)
	if f.Kind == SpeechText {
		s.EmitFrom(f.Parent, execution.TextDelta{Delta: piece, Accumulated: f.said.String()})
	} else {
		s.EmitFrom(f.Parent, execution.ThinkingDelta{Delta: piece, Accumulated: f.said.String()})
	}
}

// End ends what has begun, and returns its kind and all of it; nothing has to have begun.
func (f *Speech) End(s *Sink) (SpeechKind, string) {
	kind, said := f.Kind, f.said.String()
	switch kind {
	case SpeechText:
		s.EmitFrom(f.Parent, execution.MessageStop{Text: said})
	case SpeechThinking:
		s.EmitFrom(f.Parent, execution.ThinkingStop{Thinking: said})
	}
	f.Kind, f.said = SpeechNone, strings.Builder{}
	return kind, said
}
