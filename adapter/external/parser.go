package external

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/execution/deltas"
	"github.com/drawbar/drawbar/transport/jsonrpc"
	"github.com/drawbar/drawbar/transport/process"
)

const (
	// startLimit is how long a program may take to answer initialize and negotiate.
	startLimit = 15 * time.Second
	// interruptLimit is how long a program may take to end an interrupted turn.
	interruptLimit = 15 * time.Second
)

var (
	_ cliagent.Parser  = (*parser)(nil)
	_ cliagent.Alarmed = (*parser)(nil)
)

// parser is the conversation of one run.
type parser struct {
	name    string
	says    string // the name that the program gives the agent
	remote  *Remote
	verbs   execution.AgentCapabilities
	req     execution.Request
	skipped greeting
	calls   jsonrpc.Calls[call]
	started bool // it was told to execute
	known   bool // it sent a message of the protocol
	waits   bool // an interrupted turn has not ended
	held    []func()
	texts   deltas.Accumulator // a program need not repeat a text with each piece
	result  execution.Result
}

// call is a request that waits for its reply.
type call struct {
	method string
	say    execution.InputID
}

// Open starts the handshake.
func (p *parser) Open(s *cliagent.Sink) {
	s.AlarmIn(p.remote.limit(startLimit))
	s.Write(initialize(p.calls.Add(call{method: methodInitialize}), false))
}

func (p *parser) ask(s *cliagent.Sink, c call, params any) {
	s.Write(jsonrpc.Message{Version: jsonrpc.Version, ID: p.calls.Add(c), Method: c.method, Params: params}.Line())
}

// say carries out what a person said, once the program executes.
func (p *parser) say(do func()) {
	if !p.started {
		p.held = append(p.held, do)
		return
	}
	do()
}

// Line handles one line of the program.
func (p *parser) Line(src process.Stream, line []byte, s *cliagent.Sink) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	if src == process.Stderr {
		if s.Debug() {
			s.Emit(execution.Log{Source: execution.LogStderr, Line: string(bytes.ToValidUTF8(line, []byte("\uFFFD")))})
		}
		return
	}
	m, ok := p.remote.read(line, p.known)
	switch {
	case !ok && !p.known && p.remote != nil && p.skipped.more(line):
		if s.Debug() {
			s.Emit(execution.Log{Source: execution.LogStdout, Line: string(bytes.ToValidUTF8(line, []byte("\uFFFD")))})
		}
	case !ok && !p.known:
		s.Fail(p.errorf(execution.CodeInvalidOutput, "%s", noise(line)).WithHint("%s", noiseHint))
	case !ok:
		s.Unknown(src, line)
	case m.replies():
		p.reply(m, src, line, s)
	case len(m.ID) > 0:
		s.Write(jsonrpc.Message{Version: jsonrpc.Version, ID: m.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound,
			Message: fmt.Sprintf("Drawbar has no method %.60q", m.Method)}}.Line())
	case m.Method == methodEvent && p.started && p.result.Status == "":
		p.event(m.Params, s)
	default:
		s.Unknown(src, line)
	}
	p.known = p.known || ok
}

const noiseHint = "standard output is for messages of the protocol; print everything else on standard error"

// noise describes a line that is not a message of the protocol.
func noise(line []byte) string {
	text := bytes.ToValidUTF8(line, []byte("\uFFFD"))
	if len(text) > 120 {
		text = append(bytes.ToValidUTF8(text[:120:120], nil), "..."...)
	}
	return "it printed " + strconv.Quote(string(text)) + " before it answered initialize"
}

func (p *parser) errorf(code execution.ErrorCode, format string, args ...any) *execution.Error {
	e := execution.Errorf(code, "%s: "+format, append([]any{p.remote.label(p.name)}, args...)...)
	e.Agent = p.name
	return e
}

// event emits an event of the program.
func (p *parser) event(params json.RawMessage, s *cliagent.Sink) {
	e, err := readEvent(params)
	if err != nil && bytes.Contains(params, []byte(`"interactionId"`)) { // the program would wait for an answer that cannot come
		s.Fail(p.errorf(execution.CodeInvalidOutput, "a question cannot be read: %w", err))
		return
	}
	if err != nil {
		s.Emit(execution.ErrorEvent{Code: execution.CodeParse, Recoverable: true,
			Message: p.errorf(execution.CodeParse, "an event is left out: %w", err).Message})
		return
	}
	e = p.texts.Rebuild(e)
	if _, ended := e.Body.(execution.TurnEnd); ended && e.Parent == "" && p.waits {
		p.waits = false
		s.AlarmIn(0)
	}
	if e.Parent != "" {
		s.EmitFrom(e.Parent, e.Body)
		return
	}
	s.Emit(e.Body)
}

// reply handles the reply to a request.
func (p *parser) reply(m message, src process.Stream, line []byte, s *cliagent.Sink) {
	id, err := strconv.ParseInt(string(m.ID), 10, 64)
	c, ok := p.calls.Take(id)
	if err != nil || !ok {
		s.Unknown(src, line)
		return
	}
	switch {
	case c.method == methodInitialize:
		p.introduced(m, s)
	case c.method == methodNegotiate:
		p.negotiated(m, s)
	case c.method == methodExecute:
		p.ended(m, s)
	case m.Error == nil:
	case c.say != "":
		s.Emit(execution.InputCancelled{ID: c.say, Reason: cmp.Or(m.Error.Message, "the adapter refused the message")})
	default:
		s.Emit(execution.ErrorEvent{Code: m.Error.code(), Recoverable: true,
			Message: p.errorf(m.Error.code(), "%s: %s", c.method, m.Error.Message).Message})
	}
}

func (p *parser) introduced(m message, s *cliagent.Sink) {
	if m.Error != nil {
		s.Fail(p.errorf(m.Error.code(), "%s", cmp.Or(m.Error.Message, "it refused initialize")))
		return
	}
	in, err := readIntroduction(m.Result, false)
	switch {
	case err != nil:
		s.Fail(p.errorf(execution.CodeInvalidOutput, "%w", err))
	case in.Agent.Name != p.says:
		s.Fail(p.errorf(execution.CodeInvalidOutput, "it says that it is %s", in.Agent.Name))
	default:
		p.ask(s, call{method: methodNegotiate}, requestParams{p.req})
	}
}

// negotiated starts the work unless the program has a blocking reason; its other reasons become debug events.
func (p *parser) negotiated(m message, s *cliagent.Sink) {
	var reply reasonsReply
	if m.Error != nil && m.Error.Data.Code.Valid() {
		s.Fail(p.errorf(m.Error.code(), "%s", m.Error.Message).WithHint("%s", cmp.Or(m.Error.Data.Hint, p.remote.correct())))
		return
	}
	if m.Error == nil {
		if err := json.Unmarshal(m.Result, &reply); err != nil {
			s.Fail(p.errorf(execution.CodeInvalidOutput, "its reply to negotiate cannot be read: %v", err))
			return
		}
	}
	for _, r := range reply.Reasons {
		if err := r.Validate(); err != nil {
			s.Fail(p.errorf(execution.CodeInvalidOutput, "its reply to negotiate has an %w", err))
			return
		}
		if r.Severity == execution.SeverityBlocking {
			e := p.errorf(execution.CodeCapability, "%s", cmp.Or(r.Message, string(r.Code)))
			e.Capability = r.Capability
			s.Fail(e)
			return
		}
		s.Emit(execution.Debug{Level: execution.DebugWarn, Message: p.errorf("", "%s", cmp.Or(r.Message, string(r.Code))).Message})
	}
	s.AlarmIn(0)
	if reply.Capabilities != nil {
		p.verbs = reply.Capabilities.Agent
	}
	p.started = true
	p.ask(s, call{method: methodExecute}, requestParams{p.req})
	for _, do := range p.held {
		do()
	}
	p.held = nil
}

// ended handles the reply to execute.
func (p *parser) ended(m message, s *cliagent.Sink) {
	var err error
	if m.Error != nil {
		p.result = execution.Result{Status: execution.StatusFailed,
			Error: execution.NewResultError(m.Error.code(), cmp.Or(m.Error.Message, p.name+" failed"))}
	} else if p.result, err = readResult(m.Result); err != nil {
		e := p.errorf(execution.CodeInvalidOutput, "%w", err)
		p.result = execution.Result{Status: execution.StatusFailed, Error: execution.NewResultError(e.Code, e.Message)}
	}
	p.remote.mark(&p.result, p.says)
	s.AlarmIn(0)
	s.Done()
}

// Command passes on what a person says to the running program.
func (p *parser) Command(cmd execution.Command, s *cliagent.Sink) error {
	if p.result.Status != "" {
		return p.errorf(execution.CodeRunNotActive, "the run is over")
	}
	switch c := cmd.(type) {
	case execution.EndInput:
		if p.req.Run.Interactive {
			p.say(func() { s.Write(jsonrpc.Message{Version: jsonrpc.Version, Method: methodEndInput}.Line()) })
		}
	case execution.Say:
		p.say(func() { p.ask(s, call{method: methodMessage, say: c.ID}, messageParams(c)) })
	case execution.Answer:
		p.ask(s, call{method: methodAnswer}, answerParams(c))
	case execution.Interrupt:
		if !p.verbs.Has(execution.VerbInterrupt) {
			return p.errorf(execution.CodeStdinNotAvailable, "it does not take interrupts")
		}
		p.say(func() {
			p.waits = true
			s.AlarmIn(interruptLimit)
			s.Write(jsonrpc.Message{Version: jsonrpc.Version, Method: methodInterrupt}.Line())
		})
	default:
		return p.errorf(execution.CodeInternal, "it has no command %T", cmd)
	}
	return nil
}

// Alarm handles the end of the time for a reply.
func (p *parser) Alarm(s *cliagent.Sink) {
	if !p.started {
		s.Fail(p.errorf(execution.CodeTimeout, "it did not answer within %v", p.remote.limit(startLimit)).
			WithHint("run it by hand and type: %s", bytes.TrimSpace(initialize(1, false))))
		return
	}
	s.Emit(execution.Debug{Level: execution.DebugWarn,
		Message: fmt.Sprintf("%s did not end the interrupted turn within %v: it is stopped", p.name, interruptLimit)})
	p.result = execution.Result{Status: execution.StatusFailed, ExitReason: execution.ExitInterrupted,
		Error: execution.NewResultError(execution.CodeInterrupted, "the turn was interrupted")}
	s.Done()
}

// Exit returns the program's result. Messages that it never confirmed are reported.
func (p *parser) Exit(exit process.Exit, s *cliagent.Sink) execution.Result {
	if p.result.Status == "" && p.remote != nil && !exit.Stopped {
		e := p.remote.broken(p.started, s.SessionID(), exit.Code, exit.StderrTail)
		failure := &cliagent.Failure{Code: e.Code, Message: e.Message, Hint: e.Hint}
		s.Emit(failure.Event())
		p.result = execution.Result{Status: execution.StatusFailed, Error: failure.Result(), ExitReason: execution.ExitCrash}
		p.result.Error.Stderr = exit.StderrTail
		p.remote.mark(&p.result, p.says)
	}
	for c := range p.calls.Waiting() {
		if c.say != "" {
			s.Emit(execution.InputCancelled{ID: c.say, Reason: "the agent ended before it accepted the message"})
		}
	}
	return p.result
}
