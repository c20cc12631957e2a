package codex

import (
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// turnState is the state of the turns of the agent's own thread.
type turnState struct {
	turns     int    // started
	turn      string // id of the running turn, empty for none
	running   bool   // the turn can be steered and interrupted
	starting  bool   // a turn was requested and has not started
	interrupt bool   // the turn is to be interrupted as soon as possible
	cutShort  bool   // the running turn was interrupted
	last      *cliagent.Outcome
}

// inbox is pending input of the caller.
type inbox struct {
	queue []execution.Say
	deaf  string // a turn that accepts no messages
	ended bool   // no more input
	done  bool
}

// turnStarted handles the start of a turn, the agent's own or a sub-agent's.
func (p *appParser) turnStarted(s *cliagent.Sink) bool {
	id := p.v.Params.Turn.Get("id").Str()
	if id == "" {
		return false
	}
	c := p.of(p.names.Str(p.v.Params.ThreadID))
	c.begin()
	if c != p.main {
		p.agents.again(c.id)
		return true
	}
	p.beginTurn(id, s)
	return true
}

// beginTurn starts a turn of the agent's own.
func (p *appParser) beginTurn(id string, s *cliagent.Sink) {
	p.turn, p.running, p.starting, p.cutShort = id, true, false, false
	p.turns++
	s.Emit(execution.TurnStart{TurnIndex: p.turns - 1})
	p.ensureStep(p.main, s)
	if p.interrupt {
		p.stopTurn(s)
	}
	p.sendNext(s)
}

// unannounced starts an accepted turn at its first sign, if its notification is missing.
func (p *appParser) unannounced(s *cliagent.Sink) {
	if !p.starting || p.running || p.turn == "" || !p.v.Params.TurnID.IsStr(p.turn) || p.of(p.names.Str(p.v.Params.ThreadID)) != p.main {
		return
	}
	s.Emit(execution.Debug{Level: execution.DebugWarn, Message: "codex: the line that begins turn " + p.turn + " is missing; what follows is taken for that turn"})
	p.main.begin()
	p.beginTurn(p.turn, s)
}

var turnShape jsonscan.Shape[struct {
	_          jsonscan.Camel
	ID, Status jsonscan.Value
	Error      faultForm
}]

// turnCompleted handles the end of a turn.
func (p *appParser) turnCompleted(s *cliagent.Sink) bool {
	v, _ := turnShape.Of(p.v.Params.Turn)
	if !v.ID.Exists() {
		return false
	}
	c := p.of(p.names.Str(p.v.Params.ThreadID))
	p.withdraw(c, s)
	if c != p.main && !p.running {
		c.begin() // a sub-agent's later events are not shown
		clear(c.flows)
		return true
	}
	left := c.commandRuns()
	c.closeAll(p.from(c, s))
	text := c.text
	c.text = ""
	var f *cliagent.Failure
	if v.Status.IsStr("failed") || v.Error.Message.Exists() {
		if f = failureOf(v.Error.Message.Str(), v.Error.CodexErrorInfo); f.Message == "" {
			f.Message = "the turn failed"
		}
		if details := v.Error.AdditionalDetails.Str(); details != "" {
			f.Message += ": " + details
		}
	}
	if c != p.main {
		p.endStep(c, s, f == nil)
		if f != nil {
			p.agents.failed(c.id, f.Message, source{s: s})
		} else if v.Status.IsStr("completed") {
			p.agents.result(c.id, text, source{s: s})
		}
		return true
	}
	if p.turn != "" && !v.ID.IsStr(p.turn) {
		return true // the rest of a finished turn
	}
	if p.turn == "" && !p.starting {
		return true
	}
	if p.starting {
		// It failed before it started.
		p.turns++
		s.Emit(execution.TurnStart{TurnIndex: p.turns - 1})
	}
	out := &cliagent.Outcome{Reason: execution.TurnInterrupted, Text: text}
	if !v.Status.IsStr("interrupted") {
		out = newOutcome(p.req, text, f)
	}
	p.endStep(c, s, out.Reason == execution.TurnCompleted)
	out.Report(s)
	s.Emit(out.End(p.turns - 1))
	p.last = out
	p.turn, p.running, p.starting, p.interrupt = "", false, false, false
	clear(p.spawns)
	if out.Reason == execution.TurnInterrupted && left && p.req.Run.Interactive && !p.ended {
		p.ask(s, call{method: methodClean}, cleanParams{p.main.id})
	}
	p.sendNext(s)
	return true
}

// methodClean ends the commands that a turn left running. Codex keeps them after an interrupt.
const methodClean = "thread/backgroundTerminals/clean"

// ensureStep starts a model call at its first sign.
func (p *appParser) ensureStep(c *conversation, s *cliagent.Sink) {
	if c.inStep || !p.running {
		return
	}
	c.inStep = true
	p.from(c, s).emit(execution.StepStart{TurnIndex: max(0, p.turns-1), StepIndex: c.steps, StepType: "model"})
}

// endStep ends a model call. A model call of an aborted turn has no end.
func (p *appParser) endStep(c *conversation, s *cliagent.Sink, whole bool) {
	if c.inStep && whole && p.running {
		p.from(c, s).emit(execution.StepEnd{TurnIndex: max(0, p.turns-1), StepIndex: c.steps})
		c.steps++
	}
	c.inStep = false
}

// usage handles the total of a thread after a model call. The total of an earlier turn is the thread's prior usage.
func (p *appParser) usage(s *cliagent.Sink) bool {
	now, ok := p.v.Params.TokenUsage.Total.usage()
	if !ok {
		return false
	}
	c := p.of(p.names.Str(p.v.Params.ThreadID))
	if c == p.main && (!p.running || !p.v.Params.TurnID.IsStr(p.turn)) {
		if !c.meter.base || p.turns == 0 {
			c.meter.start(now)
		}
		return true
	}
	if !c.meter.base {
		c.meter.start(p.before(c, now))
	}
	if inc := c.meter.update(now); !inc.IsZero() {
		p.ensureStep(c, s) // a call whose tools were all refused has no other trace
		p.from(c, s).emit(inc.CallEvent())
		p.endStep(c, s, true)
	}
	return true
}

// before returns a thread's usage before its first known total: a sub-agent's thread is new, and a fork's total adds
// the last call to what it took over. After an interrupt it is unknown whether there was a call, and none is charged.
func (p *appParser) before(c *conversation, now execution.Usage) execution.Usage {
	if c != p.main {
		return execution.Usage{}
	}
	if p.cutShort {
		return now
	}
	last, ok := p.v.Params.TokenUsage.Last.usage()
	if !ok {
		return now
	}
	return now.Sub(last).WithTotal()
}

// Command handles a command to the running agent.
func (p *appParser) Command(cmd execution.Command, s *cliagent.Sink) error {
	return cliagent.Talk{Agent: name, Closed: p.done || p.ended, Idle: p.done || p.turn == "" && !p.starting,
		End: func() {
			p.ended = true
			p.sendNext(s)
		},
		Say: func(say execution.Say) {
			p.queue = append(p.queue, say)
			p.sendNext(s)
		},
		Answer: func(a execution.Answer) error { return p.answer(a, s) },
		Interrupt: func() {
			if p.interrupt = true; p.running {
				p.stopTurn(s)
			}
		}}.Take(cmd)
}

// stopTurn interrupts the running turn. Codex refuses this for an accepted turn that has not started.
func (p *appParser) stopTurn(s *cliagent.Sink) {
	p.interrupt, p.cutShort = false, true
	p.ask(s, call{method: "turn/interrupt", turn: p.turn}, interruptParams{p.main.id, p.turn})
}

// sendNext sends the next message, and ends the run if nothing runs, waits or may follow. Closing the input during a turn
// would lose the turn.
func (p *appParser) sendNext(s *cliagent.Sink) {
	if !p.ready {
		return
	}
	for len(p.queue) > 0 && !p.starting {
		say := p.queue[0]
		input := []inputItem{{Type: "text", Text: say.Text}}
		switch {
		case p.turn == "":
			p.starting = true
			p.ask(s, call{method: "turn/start", say: say}, turnParams{p.main.id, input, p.req.Run.OutputSchema})
		case p.running && !p.cutShort && say.When != execution.WhenNextTurn && p.deaf != p.turn:
			p.ask(s, call{method: "turn/steer", say: say, turn: p.turn}, steerParams{p.main.id, p.turn, input})
		default:
			return // it waits for the end of the turn
		}
		p.queue = p.queue[1:]
	}
	if p.ended && !p.done && p.turn == "" && !p.starting && len(p.queue) == 0 && !p.waits() {
		p.done = true
		s.Done()
	}
}

// waits reports whether a message was sent and not accepted.
func (p *appParser) waits() bool {
	for c := range p.calls.Waiting() {
		if c.say.ID != "" {
			return true
		}
	}
	return false
}
