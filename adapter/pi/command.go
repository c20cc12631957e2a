package pi

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// Ids of commands, by which replies are recognized.
const (
	idState  = "state"
	idPrompt = "prompt"
	idSteer  = "steer-"
	idClear  = "clear"
	idAbort  = "abort"
)

// command is a record for Pi.
type command struct {
	ID      string  `json:"id"`
	Type    string  `json:"type"`
	Message string  `json:"message,omitempty"`
	Images  []image `json:"images,omitempty"`
}

// image is an image of a prompt.
type image struct {
	Type     string `json:"type"`
	Data     []byte `json:"data"` // base64 in JSON
	MimeType string `json:"mimeType"`
}

func send(s *cliagent.Sink, record any) {
	b, err := json.Marshal(record)
	if err != nil {
		panic("encode a record for pi: " + err.Error()) // strings always encode
	}
	s.Write(append(b, '\n'))
}

// inbox is pending input of the caller.
type inbox struct {
	queue     []execution.Say // for later turns
	sent      []steering      // sent into the running turn
	steers    int
	interrupt bool // the first turn is to be interrupted when it starts
	recall    bool // Pi's queue is to be emptied once Pi has confirmed what was sent
	clearing  bool // Pi was asked to empty its queue
	closed    bool // no more input
	finished  bool
}

// steering is a message for the running turn that Pi has not passed on to its model yet.
type steering struct {
	id     string
	say    execution.Say
	queued bool // Pi confirmed it
}

// Command passes on a command to the running agent.
func (p *parser) Command(cmd execution.Command, s *cliagent.Sink) error {
	return cliagent.Talk{Agent: name, Closed: p.finished || p.closed, Idle: p.finished || p.opened && !p.running,
		End: func() {
			p.closed = true
			p.next(s)
		},
		Say: func(say execution.Say) {
			if p.running && !p.aborted && (say.When == execution.WhenNow || say.When == execution.WhenAfterTool) {
				p.steers++
				in := steering{id: idSteer + strconv.Itoa(p.steers), say: say}
				p.sent = append(p.sent, in)
				send(s, command{ID: in.id, Type: "steer", Message: say.Text})
				return
			}
			p.queue = append(p.queue, say)
			p.next(s)
		},
		Answer: func(a execution.Answer) error { return p.answer(a, s) },
		Interrupt: func() {
			if p.interrupt = true; p.running {
				p.abort(s)
			}
		}}.Take(cmd)
}

// abort interrupts the running turn. Pi would go on with its queue, so that is emptied first.
func (p *parser) abort(s *cliagent.Sink) {
	p.interrupt = false
	if p.aborted {
		return
	}
	p.aborted = true
	p.questions.Withdraw("the turn was interrupted", s, nil)
	if len(p.sent) > 0 {
		p.recall = true
		p.empty(s)
		return
	}
	send(s, command{ID: idAbort, Type: "abort"})
}

// empty asks for the messages in Pi's queue, which are complete when Pi has confirmed all of them: it handles commands
// side by side.
func (p *parser) empty(s *cliagent.Sink) {
	if !p.recall || p.clearing || slices.ContainsFunc(p.sent, func(in steering) bool { return !in.queued }) {
		return
	}
	p.recall, p.clearing = false, true
	send(s, command{ID: idClear, Type: "clear_queue"})
	if p.running && p.aborted {
		send(s, command{ID: idAbort, Type: "abort"})
	}
}

// cleared keeps the messages from Pi's queue for the next turn. Any other message has reached the model, in another
// form: Pi expands names of skills and templates.
func (p *parser) cleared(s *cliagent.Sink) {
	p.clearing = false
	for _, e := range p.v.Data.Steering.Array {
		if in, ok := p.take(func(in steering) bool { return in.say.Text == e.Str() }); ok {
			p.queue = append(p.queue, in.say)
		}
	}
	for _, in := range p.sent {
		s.Emit(execution.InputTaken{ID: in.say.ID, Steered: true})
	}
	p.sent = nil
	p.next(s)
}

// confirmed handles the reply to a message for the running turn.
func (p *parser) confirmed(id string, s *cliagent.Sink) {
	if failed := !p.v.Success.IsTrue(); failed || p.handled() {
		if in, ok := p.take(func(in steering) bool { return in.id == id }); ok && failed {
			s.Emit(execution.InputCancelled{ID: in.say.ID, Reason: "pi refused it: " + p.v.Error.Str()})
		} else if ok {
			s.Emit(execution.InputTaken{ID: in.say.ID, Steered: true})
		}
	}
	for i := range p.sent {
		p.sent[i].queued = p.sent[i].queued || p.sent[i].id == id
	}
	p.empty(s)
	p.next(s)
}

// steered records that Pi passed a message on to its model.
func (p *parser) steered(text string, s *cliagent.Sink) {
	if in, ok := p.take(func(in steering) bool { return in.say.Text == text }); ok {
		s.Emit(execution.InputTaken{ID: in.say.ID, Steered: true})
	}
}

func (p *parser) take(which func(steering) bool) (in steering, ok bool) {
	i := slices.IndexFunc(p.sent, which)
	if i < 0 {
		return in, false
	}
	in = p.sent[i]
	p.sent = slices.Delete(p.sent, i, i+1)
	return in, true
}

// next sends the next message, and ends the run if nothing runs, waits or may follow.
func (p *parser) next(s *cliagent.Sink) {
	switch {
	case !p.opened || p.running || p.finished || p.clearing:
	case len(p.sent) > 0:
		p.recall = true
		p.empty(s)
	case len(p.queue) > 0:
		say := p.queue[0]
		p.queue = p.queue[1:]
		p.prompt(&say, s)
	case p.closed:
		p.finished = true
		s.Done()
	}
}
