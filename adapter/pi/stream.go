package pi

import (
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/pifile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// pieceForm is a piece of a message.
type pieceForm struct {
	_                                                          jsonscan.Camel
	Type, ContentIndex, Delta, Content, ID, ToolName, ToolCall jsonscan.Value
}

type callForm struct{ ID, Name, Arguments jsonscan.Value }

var callShape jsonscan.Shape[callForm]

// block is the text or thinking being streamed. Tool calls are streamed beside it.
type block struct {
	cliagent.Speech
	index int64
	done  map[int64]bool // blocks of the message that were reported
	input map[int64]*input
}

// input is the streamed input of a tool call.
type input struct {
	id   string
	said strings.Builder
}

// piece handles a piece of the model's message. Blocks may end late: a block ends when the next one begins.
func (p *parser) piece(s *cliagent.Sink) bool {
	if !p.running {
		return true
	}
	v := &p.v.AssistantMessageEvent
	index := v.ContentIndex.Count()
	typ, _ := v.Type.Plain()
	switch string(typ) {
	case "text_start", "thinking_start", "start", "done", "error":
	case "text_delta":
		p.add(cliagent.SpeechText, index, v.Delta.Str(), s)
	case "thinking_delta":
		p.add(cliagent.SpeechThinking, index, v.Delta.Str(), s)
	case "text_end":
		p.whole(cliagent.SpeechText, index, v.Content.Str(), s)
	case "thinking_end":
		p.whole(cliagent.SpeechThinking, index, v.Content.Str(), s)
	case "toolcall_start":
		p.ensureStep(s)
		p.closeBlock(s)
		id := p.names.Str(v.ID)
		p.calls.Start(id, p.names.Str(v.ToolName), "", s)
		p.block.inputs()[index] = &input{id: id}
	case "toolcall_delta":
		if in := p.block.input[index]; in != nil {
			if c := p.calls.Open(in.id); c != nil && !c.Ready {
				piece := v.Delta.Str()
				in.said.WriteString(piece)
				c.Piece(piece, in.said.String(), s)
			}
		}
	case "toolcall_end":
		p.called(v.ToolCall, s)
	default:
		return false
	}
	return true
}

func (b *block) inputs() map[int64]*input {
	if b.input == nil {
		b.input = map[int64]*input{}
	}
	return b.input
}

// add adds a piece to a block and begins it if necessary.
func (p *parser) add(kind cliagent.SpeechKind, index int64, piece string, s *cliagent.Sink) {
	b := &p.block
	if piece == "" || b.done[index] {
		return
	}
	p.ensureStep(s)
	if b.Kind != kind || b.index != index {
		p.closeBlock(s)
		b.index = index
		b.Begin(kind, "", s)
	}
	b.Add(piece, s)
}

// whole ends a block, which is new if it was not streamed.
func (p *parser) whole(kind cliagent.SpeechKind, index int64, text string, s *cliagent.Sink) {
	if p.block.Kind != kind || p.block.index != index {
		p.add(kind, index, text, s)
	}
	p.closeBlock(s)
}

// closeBlock ends the open block.
func (p *parser) closeBlock(s *cliagent.Sink) {
	b := &p.block
	kind, text := b.End(s)
	if kind == cliagent.SpeechNone {
		return
	}
	if kind == cliagent.SpeechText {
		p.text = text
	}
	if b.done == nil {
		b.done = map[int64]bool{}
	}
	b.done[b.index] = true
}

// called reports a tool call with its input.
func (p *parser) called(call jsonscan.Value, s *cliagent.Sink) {
	var v callForm
	if callShape.From(call, &v) && v.ID.Str() != "" {
		p.ensureStep(s)
		p.closeBlock(s)
		c := p.calls.Start(p.names.Str(v.ID), p.names.Str(v.Name), "", s)
		if !p.hooked { // else it is ready when the hook is asked, by which the kit knows that the hook works
			p.calls.Called(c, v.Arguments, s)
		}
	}
}

type messageForm struct {
	_                                                     jsonscan.Camel
	Role, Content, Model, Usage, StopReason, ErrorMessage jsonscan.Value
}

var messageShape jsonscan.Shape[messageForm]

// The reasons for the end of a model call, besides those of package pifile.
const (
	stopDone   = "stop"
	stopLength = "length"
)

// stop is how the last model call ended.
type stop struct{ reason, message string }

// message handles the start or the end of a message. The end repeats the streamed blocks: it counts for those that
// were not streamed, and for tokens and the reason of the end.
func (p *parser) message(end bool, s *cliagent.Sink) bool {
	var v messageForm
	if !messageShape.From(p.v.Message, &v) {
		return false
	}
	switch role, _ := v.Role.Plain(); string(role) {
	case "user":
		if end {
			p.steered(pifile.PlainText(v.Content), s)
		}
		return true
	case "assistant":
	case "system", "toolResult", "bashExecution", "custom", "branchSummary", "compactionSummary":
		return true
	default:
		return false
	}
	if !p.running {
		return true
	}
	p.ensureStep(s)
	if !end {
		p.closeBlock(s)
		p.block = block{}
		return true
	}
	for i, e := range v.Content.Array {
		var c pifile.Content
		pifile.ContentShape.From(e, &c)
		switch kind, _ := c.Type.Plain(); string(kind) {
		case "text":
			p.add(cliagent.SpeechText, int64(i), unsaid(&p.block, cliagent.SpeechText, int64(i), c.Text.Str()), s)
		case "thinking":
			p.add(cliagent.SpeechThinking, int64(i), unsaid(&p.block, cliagent.SpeechThinking, int64(i), c.Thinking.Str()), s)
		case "toolCall":
			p.called(e, s)
		}
	}
	p.closeBlock(s)
	p.block = block{}
	if model := v.Model.Str(); model != "" {
		p.model = model
	}
	p.stop = stop{v.StopReason.Str(), v.ErrorMessage.Str()}
	p.count(pifile.SpentOf(v.Usage), s)
	p.endStep(s)
	return true
}

// unsaid returns the part of a block that was not streamed.
func unsaid(b *block, kind cliagent.SpeechKind, index int64, text string) string {
	if b.Kind != kind || b.index != index {
		return text
	}
	rest, _ := strings.CutPrefix(text, b.Said())
	if rest == text && b.Said() != "" {
		return ""
	}
	return rest
}

// count reports what a model call used.
func (p *parser) count(u pifile.Spent, s *cliagent.Sink) {
	if u.IsZero() {
		return
	}
	p.total, p.usd = p.total.Add(u.Usage), p.usd+u.USD
	s.Emit(u.Event())
	if cost := p.cost(u.Usage, u.USD); cost != nil {
		s.Emit(execution.CostEvent{Cost: *cost})
	} else if p.req.Run.MaxBudgetUSD != nil {
		err := execution.Errorf(execution.CodeCapability, "pi states no price for the model %s, so the budget cannot be kept: it was stopped", p.model).
			WithHint("name a model that has a price in pi's catalog or in its models.json")
		err.Agent, err.Capability = name, "budget"
		s.Fail(err)
	}
}

// cost returns the price that Pi states. Zero means that Pi knows no price, which is not the same as free.
func (*parser) cost(u execution.Usage, usd float64) *execution.Cost {
	if usd <= 0 {
		return nil
	}
	c := execution.CostOf(u, &usd, execution.CostFromAgent)
	return &c
}
