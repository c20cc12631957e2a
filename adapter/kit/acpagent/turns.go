package acpagent

import (
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonrpc"

	"cmp"
)

// turnState is the state of the turns.
type turnState struct {
	turns     int  // started
	running   bool // a prompt waits for its reply
	cancelled bool // the running turn has been cancelled
	interrupt bool // the first turn is to be cancelled when it starts
	inStep    bool
	steps     int
	last      *turnOutcome
}

// inbox is pending input of the caller.
type inbox struct {
	queue []execution.Say
	ended bool // no more input
	done  bool
}

// background is work that continues after the calls that started it.
type background struct {
	behind    map[string]*toolCall // calls whose sub-agents continue
	behindRun bool                 // a command was started that continues after its call
	behindDue bool                 // and nothing has followed the agent's message
}

// prompt starts a turn with the request's message, or a later one.
func (p *parser) prompt(say *execution.Say, s *cliagent.Sink) {
	var blocks []block
	if say != nil {
		blocks = []block{{kind: blockText, text: say.Text}}
		s.Emit(execution.InputTaken{ID: say.ID})
	} else {
		blocks = p.opening()
	}
	p.running, p.cancelled, p.counted = true, false, false
	p.flow, p.text, p.inStep, p.steps, p.failed, p.fault, p.vague, p.unasked = flow{}, "", false, 0, nil, nil, nil, nil
	clear(p.tools)
	p.turns++
	p.before, p.lastCall = p.spent, execution.Usage{}
	s.Emit(execution.TurnStart{TurnIndex: p.turns - 1})
	p.ensureStep(s)
	p.ask(s, call{method: methodPrompt, params: promptParams(p.session.id, blocks), doing: "answer", say: say})
	if p.interrupt {
		p.cancel(s)
	}
}

// opening returns the request's message: the instructions, if the agent has no other place for them, then the text,
// then the attachments.
func (p *parser) opening() []block {
	var blocks []block
	if !p.spec.InstructionsInArgs {
		replace, added := cliagent.Instructions(p.req)
		for _, text := range []string{replace, added} {
			if text != "" {
				blocks = append(blocks, block{kind: blockText, text: text})
			}
		}
	}
	blocks = append(blocks, block{kind: blockText, text: string(p.req.Message.Text)})
	for _, a := range p.first {
		if b, err := a.block(p.spec.Name, p.agent.prompt); err == nil { // content that cannot be sent was refused before the session
			blocks = append(blocks, b)
		}
	}
	p.first = nil
	return blocks
}

// turnEnded handles the reply to a prompt.
func (p *parser) turnEnded(c call, s *cliagent.Sink) {
	if !p.running {
		return
	}
	result := p.v.Result
	p.closeFlow(s)
	p.countTurn(result, s)
	stop := result.Get("stopReason").Str()
	out := &turnOutcome{stop: stop, Outcome: cliagent.Outcome{Reason: execution.TurnCompleted, Text: p.text}}
	switch {
	case stop == stopCancelled && !p.cancelled && p.spec.TurnLimit && p.req.Run.MaxTurns > 0:
		out.Reason, p.unasked = execution.TurnInterrupted, out
		if s.AlarmIn(limitWait); p.limited {
			p.endUnasked(s)
		}
		return
	case p.cancelled && stop == stopEnd: // it was interrupted at its last word
	case stop == stopCancelled || p.cancelled:
		out.Reason = execution.TurnInterrupted
	case p.failed != nil || p.fault != nil:
		out.fail(cmp.Or(p.failed, p.fault))
	case stop == stopRefusal:
		out.fail(&failure{Failure: cliagent.Failure{Code: execution.CodeInvalidRequest, Message: cmp.Or(p.text, "the model refused to continue")}})
		out.Text = p.text
	case limits[stop] != "":
		out.Reason, out.Cut = execution.TurnLimitReached, stop == stopTokens
	case p.spec.FailedText != nil:
		if code, failed := p.spec.FailedText(p.text, p.spent.Sub(p.before).Add(p.lastCall)); failed {
			out.fail(&failure{Failure: cliagent.Failure{Code: code, Message: p.text}})
		}
	}
	p.endStep(s, out.Failure == nil && out.Reason != execution.TurnInterrupted)
	p.finishTurn(out, s)
	p.goOn(s)
}

// turnFailed handles an error reply to a prompt.
func (p *parser) turnFailed(f *failure, s *cliagent.Sink) {
	if !p.running {
		return
	}
	switch {
	case p.fault != nil && !f.login:
		f = p.fault
	case p.reporting && p.vague == nil && f.Code == execution.CodeInternal && !p.cancelled:
		p.vague = f
		s.AlarmIn(reportWait)
		return
	}
	p.vague = nil
	out := &turnOutcome{Outcome: cliagent.Outcome{Reason: execution.TurnFailed, Text: p.text, Failure: &f.Failure}}
	if p.cancelled {
		// Some agents report the cancelled model request as an error.
		out.Reason, out.Failure = execution.TurnInterrupted, nil
	}
	p.finishTurn(out, s)
	p.goOn(s)
}

// finishTurn ends the running turn and everything open in it.
func (p *parser) finishTurn(out *turnOutcome, s *cliagent.Sink) {
	p.closeFlow(s)
	p.endSubs(s)
	if out.Failure == nil { // the turn may state no text
		out.Text = cmp.Or(out.Text, p.text)
	}
	p.withdraw("the turn is over", s)
	p.endTools(out.Reason == execution.TurnInterrupted, s)
	p.inStep = false
	p.running, p.interrupt, p.cancelled = false, false, false
	s.AlarmIn(0)
	out.end(p.spec, p.agent, p.turns-1, s)
	p.last = out
}

// ensureStep starts a model call at its first sign, if the agent reports the ends of model calls.
func (p *parser) ensureStep(s *cliagent.Sink) {
	if !p.spec.Steps || p.inStep || !p.running {
		return
	}
	p.inStep = true
	s.Emit(execution.StepStart{TurnIndex: p.turns - 1, StepIndex: p.steps, StepType: "model"})
}

// endStep ends a model call. A model call of an aborted turn has no end.
func (p *parser) endStep(s *cliagent.Sink, whole bool) {
	if p.inStep && whole {
		s.Emit(execution.StepEnd{TurnIndex: p.turns - 1, StepIndex: p.steps})
		p.steps++
	}
	p.inStep = false
}

// Command handles a command to the running agent.
func (p *parser) Command(cmd execution.Command, s *cliagent.Sink) error {
	return cliagent.Talk{Agent: p.spec.Name, Closed: p.done || p.ended, Idle: p.done || p.open && !p.running,
		End: func() {
			p.ended = true
			p.goOn(s)
		},
		Say: func(say execution.Say) {
			p.queue = append(p.queue, say)
			p.goOn(s)
		},
		Answer: func(a execution.Answer) error { return p.decide(a, s) },
		Interrupt: func() {
			if p.interrupt = true; p.running {
				p.cancel(s)
			}
		}}.Take(cmd)
}

// cancel interrupts the running turn. Its open requests get the outcome cancelled, as the protocol demands.
func (p *parser) cancel(s *cliagent.Sink) {
	p.interrupt = false
	if p.cancelled {
		return
	}
	p.catchUp(s)
	p.cancelled = true
	if p.vague != nil { // it has ended
		p.turnFailed(p.vague, s)
		return
	}
	if p.unasked != nil {
		p.endUnasked(s)
		return
	}
	s.Write(jsonrpc.Message{Version: jsonrpc.Version, Method: methodCancel, Params: cancelParams(p.session.id)}.Line())
	p.withdraw("the turn was interrupted", s)
	s.AlarmIn(cmp.Or(p.spec.CancelWait, defaultCancelWait))
}

// goOn sends the next message, and ends the run if nothing runs, waits or may follow. The protocol has no prompt
// during a turn, so any message waits for the end of the turn.
func (p *parser) goOn(s *cliagent.Sink) {
	if !p.open || p.running || p.done {
		return
	}
	if len(p.queue) > 0 {
		say := p.queue[0]
		p.queue = p.queue[1:]
		p.prompt(&say, s)
		return
	}
	if p.ended {
		p.finish(s)
	}
}
