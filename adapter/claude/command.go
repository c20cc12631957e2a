package claude

import (
	"strconv"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// input is a message that was sent to the conversation.
type input struct {
	uuid  string // Claude drops a message whose uuid it has seen, so each has its own
	id    execution.InputID
	guess bool // it may have caused the turn that started next
}

// Command passes on a command to the running agent.
func (p *parser) Command(cmd execution.Command, s *cliagent.Sink) error {
	end := func() {
		p.ended = true
		p.finish(s)
	}
	if _, ends := cmd.(execution.EndInput); !p.duplex && !ends {
		return cliagent.OneShot(name).Command(cmd, s)
	}
	return cliagent.Talk{Agent: name, Closed: p.done || p.ended, Idle: p.done || !p.open && !p.first && len(p.pending) == 0, End: end,
		Say: func(say execution.Say) {
			uuid := cliagent.NewUUID()
			s.Write(userLine(uuid, textContent(say.Text), say.When))
			p.pending = append(p.pending, input{uuid: uuid, id: say.ID})
		},
		Answer: func(a execution.Answer) error { return p.answer(a, s) },
		Interrupt: func() {
			p.sent++
			s.Write(controlLine(interruptID+strconv.Itoa(p.sent), map[string]any{"subtype": "interrupt"}))
		}}.Take(cmd)
}

// finish ends the run if nothing runs, waits or may follow.
func (p *parser) finish(s *cliagent.Sink) {
	if p.ended && !p.done && !p.open && !p.first && len(p.pending) == 0 && len(p.questions) == 0 {
		p.done = true
		s.Done()
	}
}

var lifecycleShape jsonscan.Shape[struct{ CommandUUID, State jsonscan.Value }]

// lifecycle handles the state of a message. Versions that report it do so for every message.
func (p *parser) lifecycle(line []byte, s *cliagent.Sink) bool {
	v, ok := lifecycleShape.Read(line)
	if !ok || !v.CommandUUID.Exists() {
		return false
	}
	p.acknowledges = true
	uuid := p.Names.Str(v.CommandUUID)
	switch state, _ := v.State.Plain(); string(state) {
	case "queued":
	case "started":
		p.taken(uuid, s)
	case "completed":
		// A message that completed without having started made no turn.
		p.taken(uuid, s)
		p.finish(s)
	case "cancelled", "discarded", "refused":
		if in, ok := p.take(uuid); ok {
			s.Emit(execution.InputCancelled{ID: in.id, Reason: "claude dropped it: " + string(state)})
			p.finish(s)
		}
	default:
		return false
	}
	return true
}

// taken records that a message reached the conversation. Some versions report it twice; older ones report it after
// the message's turn started.
func (p *parser) taken(uuid string, s *cliagent.Sink) {
	if in, ok := p.take(uuid); ok {
		s.Emit(execution.InputTaken{ID: in.id, Steered: p.open && !p.fresh && !in.guess})
	}
}

func (p *parser) take(uuid string) (input, bool) {
	for i, in := range p.pending {
		if in.uuid == uuid {
			p.pending = append(p.pending[:i:i], p.pending[i+1:]...)
			return in, true
		}
	}
	return input{}, false
}

// guess records which message may have caused a turn, for versions that acknowledge only what their model sees: a
// slash command makes a turn and is never repeated.
func (p *parser) guess() {
	if p.acknowledges || !p.fresh {
		return
	}
	for i := range p.pending {
		if !p.pending[i].guess {
			p.pending[i].guess = true
			return
		}
	}
}

// confirmGuesses resolves the guess about a turn that ended.
func (p *parser) confirmGuesses(s *cliagent.Sink) {
	for i := 0; i < len(p.pending); i++ {
		if in := p.pending[i]; in.guess {
			p.pending = append(p.pending[:i:i], p.pending[i+1:]...)
			s.Emit(execution.InputTaken{ID: in.id})
			i--
		}
	}
}
