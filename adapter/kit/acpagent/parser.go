package acpagent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonrpc"
	"github.com/drawbar/drawbar/transport/process"
)

const (
	defaultStartup    = 60 * time.Second
	defaultCancelWait = 15 * time.Second
	// behindWait is how long an agent with a background command may be silent after a piece of its message.
	behindWait = 5 * time.Second
)

var (
	_ cliagent.Parser  = (*parser)(nil)
	_ cliagent.Alarmed = (*parser)(nil)
	_ cliagent.Noisy   = (*parser)(nil)
)

// parser converts a conversation with an agent to events. It belongs to one run.
type parser struct {
	spec  Spec
	req   execution.Request
	v     lineForm
	calls jsonrpc.Calls[call]

	beginning
	turnState
	inbox
	background
	spending
	reports

	ahead     overtaking
	flow      flow
	subs      map[string]*flow // of sub-agents, by the call that started them
	text      string           // the last message of the turn
	tools     map[string]*toolCall
	questions cliagent.Questions[*permission]
	plans     int
	failed    *failure // failure that the program reported, unless the turn continues
	retries   int
	model     string
}

// call is a request to the agent.
type call struct {
	method string
	params any
	doing  string               // for the error if it is refused
	code   execution.ErrorCode  // of a refusal without a more precise code
	then   func(*cliagent.Sink) // after the reply
	say    *execution.Say       // of a prompt; nil for the request's own message
}

func newParser(spec Spec, req execution.Request) *parser {
	var servers []string
	for _, m := range req.Run.MCPServers {
		servers = append(servers, m.Name)
	}
	return &parser{spec: spec, req: req, model: req.Run.Model, tools: map[string]*toolCall{}, subs: map[string]*flow{},
		beginning: beginning{servers: servers}, background: background{behind: map[string]*toolCall{}}}
}

// Open starts the handshake.
func (p *parser) Open(s *cliagent.Sink) {
	var err error
	if p.first, err = readAttachments(p.spec.Name, p.req.Message.Attachments); err != nil {
		s.Fail(execution.Errorf(execution.CodeOf(err), "%w", err))
		return
	}
	if p.cwd = p.req.Run.Cwd; p.cwd == "" {
		if p.cwd, err = os.Getwd(); err != nil {
			s.Fail(execution.Errorf(execution.CodeSpawn, "find the working directory for the session of %s: %w", p.spec.Name, err))
			return
		}
	}
	s.AlarmIn(cmp.Or(p.spec.Startup, defaultStartup))
	p.ask(s, call{method: methodInitialize, params: initializeParams(), doing: "begin a conversation", code: execution.CodeInvalidOutput})
}

// ask sends a request.
func (p *parser) ask(s *cliagent.Sink, c call) {
	id := p.calls.Add(c)
	s.Write(jsonrpc.Message{Version: jsonrpc.Version, ID: id, Method: c.method, Params: c.params}.Line())
}

// answer replies to a request of the agent.
func (p *parser) answer(s *cliagent.Sink, id json.RawMessage, result any, fault *jsonrpc.Error) {
	s.Write(jsonrpc.Message{Version: jsonrpc.Version, ID: id, Result: result, Error: fault}.Line())
}

// Line handles one line of the agent's output.
func (p *parser) Line(src process.Stream, line []byte, s *cliagent.Sink) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	if src == process.Stderr {
		p.stderr(line, s)
		return
	}
	if !lineShape.Into(line, &p.v) {
		s.Unknown(src, line)
	} else if !p.overtakes(line, s) && !p.message(s) {
		s.Unknown(src, line)
	}
}

func (p *parser) stderr(line []byte, s *cliagent.Sink) {
	if p.report(line, s) {
		return
	}
	if p.spec.Stderr != nil {
		if !p.spec.Stderr(line, s) {
			s.Unknown(process.Stderr, line)
		}
		return
	}
	if s.Debug() {
		s.Emit(execution.Log{Source: execution.LogStderr, Line: string(bytes.ToValidUTF8(line, []byte("\uFFFD")))})
	}
}

// message dispatches a line. It returns false for an unknown one.
func (p *parser) message(s *cliagent.Sink) bool {
	if !p.v.Method.Exists() {
		return p.response(s)
	}
	if p.v.ID.Exists() {
		return p.request(s)
	}
	if p.v.Method.IsStr(methodUpdate) {
		return p.update(s)
	}
	method := p.v.Method.Str()
	if method == methodGiveUp {
		return p.giveUp(p.v.Params.Whole.Get("requestId"), s)
	}
	return p.quiet(method)
}

// quiet reports whether a method is irrelevant to a run: those the adapter lists, and extensions, whose names start
// with an underscore.
func (p *parser) quiet(method string) bool {
	return strings.HasPrefix(method, "_") || slices.Contains(p.spec.Quiet, method)
}

// request handles a request of the agent. An unknown request gets an error reply, because the agent waits.
func (p *parser) request(s *cliagent.Sink) bool {
	id := bytes.Clone(p.v.ID.Raw())
	if p.v.Method.IsStr(methodPermission) {
		if p.permit(id, s) {
			return true
		}
		p.answer(s, id, nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the permission request names no tool call"})
		return false
	}
	method := p.v.Method.Str()
	p.answer(s, id, nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client does not handle " + method})
	return p.quiet(method)
}

// response handles the reply to a request.
func (p *parser) response(s *cliagent.Sink) bool {
	id, ok := p.v.ID.Int()
	if !ok || !p.v.Result.Exists() && !p.v.Error.Exists() {
		return false
	}
	c, ok := p.calls.Take(id)
	if !ok {
		return false
	}
	if p.v.Error.Exists() {
		p.refused(c, failureOf(p.spec, p.v.Error), s)
		return true
	}
	switch c.method {
	case methodInitialize:
		p.introduced(s)
	case methodNew, methodLoad, methodResume, methodFork:
		p.opened(c.method, s)
	case methodPrompt:
		p.turnEnded(c, s)
	}
	if c.then != nil {
		c.then(s)
	}
	return true
}

// refused handles an error reply to a request.
func (p *parser) refused(c call, f *failure, s *cliagent.Sink) {
	switch {
	case c.method == methodPrompt:
		p.turnFailed(f, s)
	case f.login && c.method != methodAuthenticate && p.login == "":
		p.logIn(c, f, s)
	default:
		if f.Code == execution.CodeInternal {
			f.Code = c.code
		}
		s.Fail(f.err(p.spec, p.agent, c.doing))
	}
}

// Alarm handles the end of the time for a reply.
func (p *parser) Alarm(s *cliagent.Sink) {
	switch {
	case len(p.ahead.lines) > 0:
		p.catchUp(s)
	case p.settled:
		p.start(s)
	case !p.open:
		waits := "its session"
		for c := range p.calls.Waiting() {
			waits = c.method
		}
		limit := cmp.Or(p.spec.Startup, defaultStartup)
		e := execution.Errorf(execution.CodeTimeout, "%s did not answer %s within %v", p.spec.Name, waits, limit)
		e.Agent = p.spec.Name
		if !p.known {
			e = e.WithHint("is it an agent that speaks the Agent Client Protocol on its standard input and output? Run it by hand to check")
		}
		s.Fail(e)
	case p.vague != nil:
		p.turnFailed(p.vague, s)
	case p.unasked != nil:
		p.endUnasked(s)
	case p.behindDue && p.running && !p.cancelled:
		p.behindRun, p.behindDue = false, false // reported once
		s.Emit(execution.Debug{Level: execution.DebugWarn, Message: p.spec.Name + " has answered and may be waiting for a command that still runs; interrupt the run, or give it a --timeout"})
	case p.cancelled:
		s.Emit(execution.Debug{Level: execution.DebugWarn, Message: p.spec.Name + " did not end the interrupted turn within " +
			cmp.Or(p.spec.CancelWait, defaultCancelWait).String() + ": it is stopped"})
		p.finishTurn(&turnOutcome{Outcome: cliagent.Outcome{Reason: execution.TurnInterrupted}}, s)
		p.dropQueue("the agent is stopped, because it did not answer an interrupt", s)
		p.finish(s)
	}
}

// Exit returns the outcome. A turn that has not ended has none: the kit then judges by the exit.
func (p *parser) Exit(_ process.Exit, s *cliagent.Sink) execution.Result {
	p.catchUp(s)
	p.dropQueue("the agent ended before it accepted the message", s)
	res := execution.Result{Model: p.model, SessionID: p.session.id, Retries: p.retries}
	if !p.spent.IsZero() {
		u := p.spent
		res.Usage = &u
	}
	if meta := p.agent.metadata(); meta != nil {
		res.Metadata = meta
	}
	if !p.running {
		p.last.fill(&res)
	}
	return res
}

func (p *parser) dropQueue(why string, s *cliagent.Sink) {
	for _, say := range p.queue {
		s.Emit(execution.InputCancelled{ID: say.ID, Reason: why})
	}
	p.queue = nil
}

// finish closes the agent's input: it has nothing more to do.
func (p *parser) finish(s *cliagent.Sink) {
	if !p.done {
		p.done = true
		s.AlarmIn(0)
		s.Done()
	}
}

func (a abilities) metadata() map[string]any {
	m := map[string]any{}
	if name := strings.TrimSpace(cmp.Or(a.title, a.name) + " " + a.build); name != "" {
		m["acpAgent"] = name
	}
	if a.version != 0 {
		m["acpProtocol"] = a.version
	}
	if len(m) == 0 {
		return nil
	}
	return m
}
