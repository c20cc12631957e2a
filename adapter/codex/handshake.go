package codex

import (
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonrpc"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// response handles the reply to a request.
func (p *appParser) response(s *cliagent.Sink) bool {
	id, ok := p.v.ID.Int()
	if !ok || !p.v.Result.Exists() && !p.v.Error.Exists() {
		return false
	}
	c, known := p.calls.Take(id)
	if !known {
		return false
	}
	if fault := p.v.Error; fault.Exists() {
		p.refused(c, fault.Get("message").Str(), s)
		return true
	}
	result := p.v.Result
	switch c.method {
	case "initialize":
		s.Write(jsonrpc.Message{Method: "initialized"}.Line())
		if p.key != "" {
			p.ask(s, call{method: "account/login/start"}, loginParams{"apiKey", p.key})
			break
		}
		p.begin(s)
	case "account/login/start":
		p.begin(s)
	case "thread/start", "thread/resume", "thread/fork":
		return p.threadReady(c.method, result, s)
	case "thread/inject_items":
		p.firstTurn(s)
	case "turn/start":
		p.accepted(c, result, s)
	case "turn/steer":
		s.Emit(execution.InputTaken{ID: c.say.ID, Steered: true})
	case methodClean:
		s.Emit(execution.Debug{Level: execution.DebugInfo, Message: "codex kept the commands of the interrupted turn; they were ended"})
	}
	return true
}

func (p *appParser) begin(s *cliagent.Sink) {
	method, params := thread(p.req)
	p.ask(s, call{method: method}, params)
}

var threadShape jsonscan.Shape[struct {
	_          jsonscan.Camel
	Thread     struct{ ID, ForkedFromID jsonscan.Value }
	Model, Cwd jsonscan.Value
}]

// threadReady handles the thread of the conversation. Developer instructions take effect only at the start of a
// thread; in an existing one they become part of its history.
func (p *appParser) threadReady(method string, result jsonscan.Value, s *cliagent.Sink) bool {
	v, _ := threadShape.Of(result)
	id := v.Thread.ID.Str()
	if id == "" {
		s.Fail(execution.Errorf(execution.CodeInvalidOutput, "codex: %s: the answer names no thread", method))
		return false
	}
	p.main.id = id
	if model := v.Model.Str(); model != "" {
		p.model = model
	}
	start := execution.SessionStart{SessionID: id, Resumed: method == "thread/resume", Model: p.model, Cwd: v.Cwd.Str()}
	if method == "thread/fork" {
		start.ForkedFrom, _ = cliagent.SessionOf(p.req)
		if from := v.Thread.ForkedFromID.Str(); from != "" {
			start.ForkedFrom = from
		}
	}
	s.BeginSession(start)
	p.err.begun(s)
	if method == "thread/start" {
		p.main.meter.start(execution.Usage{})
	} else if _, added := cliagent.Instructions(p.req); added != "" {
		p.ask(s, call{method: "thread/inject_items"}, injectParams{id, []historyItem{{"message", "developer", []historyText{{"input_text", added}}}}})
		return true
	}
	p.firstTurn(s)
	return true
}

func (p *appParser) firstTurn(s *cliagent.Sink) {
	p.ready = true
	p.ask(s, call{method: "turn/start"}, turnParams{p.main.id, p.input, p.req.Run.OutputSchema})
	p.input = nil
}

// accepted records that a turn will start, if it has not already.
func (p *appParser) accepted(c call, result jsonscan.Value, s *cliagent.Sink) {
	if c.say.ID != "" {
		s.Emit(execution.InputTaken{ID: c.say.ID})
	}
	if id := result.Get("turn").Get("id").Str(); p.starting && p.turn == "" {
		p.turn = id
	}
}

// refused handles an error reply to a request.
func (p *appParser) refused(c call, message string, s *cliagent.Sink) {
	f := failureOf(message, jsonscan.Value{})
	switch c.method {
	case "turn/steer":
		// The turn ended meanwhile, or accepts no messages: the message starts the next one.
		p.deaf = c.turn
		p.queue = append([]execution.Say{c.say}, p.queue...)
		p.sendNext(s)
	case "turn/interrupt":
		// The turn probably ended at the same time.
		s.Emit(execution.Debug{Level: execution.DebugWarn, Message: "codex: interrupt: " + message})
	case methodClean:
		s.Emit(execution.Debug{Level: execution.DebugWarn, Message: "codex: a command of the interrupted turn goes on until the run ends: " + message})
	case "turn/start":
		if c.say.ID != "" {
			s.Emit(execution.InputCancelled{ID: c.say.ID, Reason: "codex refused it: " + message})
			p.starting, p.turn = false, ""
			p.sendNext(s)
			return
		}
		s.Fail(startError(f, c.method))
	default:
		s.Fail(startError(f, c.method))
	}
}
