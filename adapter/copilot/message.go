package copilot

import (
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// firstPiece is the initial capacity of a streamed text, so that short texts are not reallocated.
const firstPiece = 256

// stream is one conversation with the model: the agent's own or a sub-agent's.
type stream struct {
	sub    bool
	parent string // tool call that started the sub-agent
	step   int
	open   bool // the step started and has not ended

	message string // id of the open message
	said    *strings.Builder
	thought *strings.Builder
	mused   bool   // the thinking of this model call was reported
	answer  string // last complete text of a sub-agent
}

// stepStart handles the start of a model call.
func (p *parser) stepStart(s *cliagent.Sink) bool {
	p.ensureTurn(s)
	st := p.stream()
	p.endStep(st, s)
	st.open, st.mused = true, false
	s.EmitFrom(st.parent, execution.StepStart{StepIndex: st.step, StepType: "model"})
	return true
}

// stepEnd handles the end of a model call and of its tools.
func (p *parser) stepEnd(s *cliagent.Sink) bool {
	p.ensureTurn(s)
	p.endStep(p.stream(), s)
	return true
}

func (p *parser) endStep(st *stream, s *cliagent.Sink) {
	p.endThought(st, s)
	p.endMessage(st, "", s)
	if st.open {
		st.open = false
		s.EmitFrom(st.parent, execution.StepEnd{StepIndex: st.step})
		st.step++
	}
}

// messageStart handles the start of a text. An open text was aborted.
func (p *parser) messageStart(s *cliagent.Sink) bool {
	p.spoken(s)
	st := p.stream()
	p.endThought(st, s)
	p.endMessage(st, "", s)
	p.startMessage(st, p.names.Str(p.values.Data.MessageID), s)
	return true
}

func (p *parser) startMessage(st *stream, id string, s *cliagent.Sink) {
	st.message, st.said = id, &strings.Builder{}
	st.said.Grow(firstPiece)
	s.EmitFrom(st.parent, execution.MessageStart{MessageID: id})
}

// delta handles the most frequent line.
func (p *parser) delta(s *cliagent.Sink) bool {
	if p.values.Data.DeltaContent.Kind() != jsonscan.String {
		return false
	}
	st := p.stream()
	if st.said == nil {
		p.spoken(s)
		p.endThought(st, s)
		p.startMessage(st, p.names.Str(p.values.Data.MessageID), s)
	}
	if delta, all := grow(st.said, p.values.Data.DeltaContent); delta != "" {
		s.EmitFrom(st.parent, execution.TextDelta{Delta: delta, Accumulated: all})
	}
	return true
}

// grow appends a piece to a text. Both strings share its memory.
func grow(b *strings.Builder, piece jsonscan.Value) (delta, all string) {
	was := b.Len()
	b.WriteString(piece.Str())
	all = b.String()
	return all[was:], all
}

// endMessage ends the open text; whole is the complete text, empty if not stated.
func (p *parser) endMessage(st *stream, whole string, s *cliagent.Sink) {
	if st.said == nil {
		return
	}
	if whole == "" {
		whole = st.said.String()
	}
	st.said = nil
	if st.sub {
		st.answer = whole
	} else {
		p.lastText = whole
	}
	s.EmitFrom(st.parent, execution.MessageStop{Text: whole})
}

// messageDone handles a whole message. Only the tool calls of a streamed one are new.
func (p *parser) messageDone(s *cliagent.Sink) bool {
	v := &p.values.Data
	if v.Whole.Kind() != jsonscan.Object {
		return false
	}
	p.spoken(s)
	st := p.stream()
	if model := v.Model.Str(); model != "" && !st.sub {
		p.model = model
	}
	p.endThought(st, s)
	if thought := v.ReasoningText.Str(); thought != "" && !st.mused {
		p.wholeThinking(st, thought, s)
	}
	text := v.Content.Str()
	if st.said == nil && text != "" {
		p.startMessage(st, v.MessageID.Str(), s)
		st.said.WriteString(text)
		s.EmitFrom(st.parent, execution.TextDelta{Delta: text, Accumulated: text})
	}
	p.endMessage(st, text, s)
	for _, request := range v.ToolRequests.Array {
		p.toolRequested(st, request, s)
	}
	return true
}

// thought handles a piece of thinking.
func (p *parser) thought(s *cliagent.Sink) bool {
	if p.values.Data.DeltaContent.Kind() != jsonscan.String {
		return false
	}
	p.spoken(s)
	st := p.stream()
	if st.thought == nil {
		st.thought, st.mused = &strings.Builder{}, true
		st.thought.Grow(firstPiece)
		s.EmitFrom(st.parent, execution.ThinkingStart{Effort: p.req.Run.ThinkingEffort})
	}
	if delta, all := grow(st.thought, p.values.Data.DeltaContent); delta != "" {
		s.EmitFrom(st.parent, execution.ThinkingDelta{Delta: delta, Accumulated: all})
	}
	return true
}

// endThought ends the open thinking.
func (p *parser) endThought(st *stream, s *cliagent.Sink) {
	if st.thought != nil {
		s.EmitFrom(st.parent, execution.ThinkingStop{Thinking: st.thought.String()})
		st.thought = nil
	}
}

// wholeThought handles thinking that was already streamed, or reported with its message.
func (p *parser) wholeThought(s *cliagent.Sink) bool {
	text := p.values.Data.Content
	if text.Kind() != jsonscan.String {
		return false
	}
	st := p.stream()
	if !st.mused && text.Str() != "" {
		p.spoken(s)
		p.wholeThinking(st, text.Str(), s)
	}
	return true
}

func (p *parser) wholeThinking(st *stream, text string, s *cliagent.Sink) {
	st.mused = true
	s.EmitFrom(st.parent, execution.ThinkingStart{Effort: p.req.Run.ThinkingEffort})
	s.EmitFrom(st.parent, execution.ThinkingDelta{Delta: text, Accumulated: text})
	s.EmitFrom(st.parent, execution.ThinkingStop{Thinking: text})
}
