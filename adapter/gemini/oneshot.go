package gemini

import (
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

type lineForm struct {
	Type, Timestamp, SessionID, Model, Role, Content, ToolName, ToolID, Parameters, Status, Output jsonscan.Value
	Severity, Message, Stats                                                                       jsonscan.Value
	Error                                                                                          struct{ Type, Message jsonscan.Value }
}

var lineShape jsonscan.Shape[lineForm]

var _ cliagent.Parser = (*oneShot)(nil)

// oneShot converts the lines of gemini --output-format stream-json to events. It belongs to one run.
type oneShot struct {
	cliagent.OneShot
	req   execution.Request
	names *jsonscan.Interner
	v     lineForm
	err   stderr

	session string
	model   string
	calls   toolcall.Calls
	said    cliagent.Speech
	text    string // the last complete message
	steps   int
	inStep  bool
	begun   bool
	warned  string // the last error that is not a result
	halted  string // why Gemini stopped the model, which it reports as a success
	usage   execution.Usage
	last    *cliagent.Outcome // nil before Gemini said how the turn ended
}

func newOneShot(req execution.Request) *oneShot {
	names := jsonscan.NewInterner(256)
	p := &oneShot{OneShot: name, req: req, names: names, calls: toolcall.NewCalls(tools, names), model: req.Run.Model}
	p.calls.Cwd = req.Run.Cwd
	return p
}

// Line handles one line of Gemini's output.
func (p *oneShot) Line(src process.Stream, line []byte, s *cliagent.Sink) {
	switch {
	case src == process.Stderr:
		p.err.line(line, s)
	case len(line) == 0:
	case !lineShape.Into(line, &p.v) || !p.event(s):
		if len(strings.TrimSpace(string(line))) > 0 {
			s.Unknown(src, line)
		}
	}
}

// event handles a line. It returns false for an unknown one.
func (p *oneShot) event(s *cliagent.Sink) bool {
	typ, _ := p.v.Type.Plain()
	switch string(typ) {
	case "message":
		return p.message(s)
	case "tool_use":
		return p.toolUse(s)
	case "tool_result":
		return p.toolResult(s)
	case "init":
		return p.init(s)
	case "error":
		return p.complain(s)
	case "result":
		return p.result(s)
	}
	return false
}

func (p *oneShot) init(s *cliagent.Sink) bool {
	id := p.v.SessionID.Str()
	if id == "" || p.begun {
		return false
	}
	p.begun, p.session = true, id
	if model := p.v.Model.Str(); model != "" {
		p.model = model
	}
	s.Begin(p.req, execution.SessionStart{SessionID: id, Model: p.model, Cwd: p.req.Run.Cwd})
	s.Emit(execution.TurnStart{TurnIndex: 0})
	p.ensureStep(s)
	p.err.begun(s)
	return true
}

// ensureStep starts a model call with the turn, or at its first sign.
func (p *oneShot) ensureStep(s *cliagent.Sink) {
	if !p.inStep {
		p.inStep = true
		s.Emit(execution.StepStart{TurnIndex: 0, StepIndex: p.steps, StepType: "model"})
	}
}

func (p *oneShot) endStep(s *cliagent.Sink) {
	p.endMessage(s)
	if p.inStep {
		p.inStep = false
		s.Emit(execution.StepEnd{TurnIndex: 0, StepIndex: p.steps})
		p.steps++
	}
}

// active reports whether a turn is running. Everything else is ignored.
func (p *oneShot) active() bool { return p.begun && p.last == nil }

// message handles a piece of text, or the prompt that Gemini repeats.
func (p *oneShot) message(s *cliagent.Sink) bool {
	content := p.v.Content
	if content.Kind() != jsonscan.String || !p.active() {
		return false
	}
	if p.v.Role.IsStr("user") {
		return true
	}
	if !p.v.Role.IsStr("assistant") {
		return false
	}
	p.ensureStep(s)
	if p.said.Kind == cliagent.SpeechNone {
		p.said.Begin(cliagent.SpeechText, "", s)
	}
	if piece := content.Str(); piece != "" {
		p.said.Add(piece, s)
	}
	return true
}

func (p *oneShot) endMessage(s *cliagent.Sink) {
	if kind, text := p.said.End(s); kind != cliagent.SpeechNone {
		p.text = text
	}
}

// complain handles a warning, or an error that a result follows.
func (p *oneShot) complain(s *cliagent.Sink) bool {
	message := p.v.Message.Str()
	if message == "" || !p.active() {
		return false
	}
	if p.v.Severity.IsStr("error") {
		p.warned = message
	}
	if strings.HasPrefix(message, "Loop detected") {
		p.halted = message
	}
	s.Emit(execution.Debug{Level: execution.DebugWarn, Message: "gemini: " + message})
	return true
}

// result handles the end of the turn and of the conversation.
func (p *oneShot) result(s *cliagent.Sink) bool {
	status := p.v.Status
	if status.Kind() != jsonscan.String || p.last != nil {
		return false
	}
	if !p.begun {
		// It failed before there was a session; Exit reports it.
		p.last = outcomeOf("", p.fault())
		s.Done()
		return true
	}
	var f *cliagent.Failure
	switch {
	case !status.IsStr("success"):
		f = p.fault()
	case strings.HasPrefix(p.warned, "Maximum session turns"):
		f = &cliagent.Failure{Code: execution.CodeTurnLimit}
	case p.halted != "":
		f = &cliagent.Failure{Code: execution.CodeInvalidOutput, Message: p.halted, Final: true}
	}
	if f == nil {
		p.endStep(s)
	} else {
		p.endMessage(s)
	}
	p.count(p.v.Stats, s)
	p.last = outcomeOf(p.text, f)
	p.last.Report(s)
	s.Emit(p.last.End(0))
	s.Done()
	return true
}

// fault returns why the turn failed: the result's error, or the last error before a result without one.
func (p *oneShot) fault() *cliagent.Failure {
	message := p.v.Error.Message.Str()
	if message == "" {
		message = p.warned
	}
	if message == "" {
		message = "gemini failed without saying why"
	}
	return failureOf(p.v.Error.Type.Str(), message)
}

// Exit returns the outcome that Gemini stated. If it is empty, the kit judges by the exit: code 0 after a signal is
// not a success, and a code above 128 may be a model API's status as well as a signal.
func (p *oneShot) Exit(exit process.Exit, s *cliagent.Sink) execution.Result {
	res := execution.Result{Model: p.model, SessionID: p.session, Retries: p.err.retries}
	if !p.usage.IsZero() {
		u := p.usage
		res.Usage = &u
	} else if p.halted != "" {
		// The model was called, and Gemini does not state the call's usage.
		res.Cost = &execution.Cost{Unpriced: true}
	}
	o := p.last
	if o == nil && !exit.Stopped && exit.Signal == "" {
		switch f := p.err.failure(exit.Code); {
		case f != nil:
			if o = outcomeOf("", f); !p.begun {
				o.Report(s)
			}
		case p.begun && exit.Code == 0:
			// Seen with tool output of 5 MB: Gemini exits before a full pipe is read, and its result is lost.
			o = outcomeOf("", &cliagent.Failure{Code: execution.CodeInvalidOutput,
				Message: "gemini ended without a result: it drops the end of a large output that was not read in time"})
		}
	}
	o.Fill(&res)
	return res
}
