package acpagent

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// beginning is the state before the first prompt.
type beginning struct {
	first   []attachment // of the first message
	cwd     string
	servers []string // names of the MCP servers of the request
	agent   abilities
	known   bool // the agent replied to initialize
	session session
	setup   []call // settings to make before the first prompt
	open    bool   // the session is ready for prompts
	loaded  bool   // the session was loaded, and its history is shown
	settled bool   // all settings are made, and the history may still come
	login   string // the login method that was used
}

// introduced handles the reply to initialize.
func (p *parser) introduced(s *cliagent.Sink) {
	a, ok := abilitiesOf(p.v.Result)
	if !ok {
		s.Fail(p.errorf(execution.CodeInvalidOutput, "%s replied to initialize without a protocol version", p.spec.Name))
		return
	}
	a.prompt.inline, a.prompt.blobs = p.spec.InlineOnly, p.spec.Blobs
	a.prompt.inlineTexts = p.spec.InlineOnly || p.spec.InlineTexts
	p.agent, p.known = a, true
	if a.version != protocolVersion {
		e := p.errorf(execution.CodeCapability, "%s speaks version %d of the Agent Client Protocol, drawbar speaks version %d", p.spec.Name, a.version, protocolVersion)
		e.Capability = "acp"
		s.Fail(e.WithHint("use a version of the agent that speaks version %d", protocolVersion))
		return
	}
	if err := p.check(); err != nil {
		s.Fail(err)
		return
	}
	p.begin(s)
}

func (p *parser) errorf(code execution.ErrorCode, format string, args ...any) *execution.Error {
	e := execution.Errorf(code, format, args...)
	e.Agent = p.spec.Name
	return e
}

// check checks the request against what the agent declares, before opening a session.
func (p *parser) check() *execution.Error {
	refuse := func(capability, hint, format string, args ...any) *execution.Error {
		e := p.errorf(execution.CodeCapability, format, args...)
		e.Capability = capability
		return e.WithHint("%s", hint)
	}
	id, fork := cliagent.ResolveSession(p.req)
	switch {
	case fork && !p.agent.fork:
		return refuse("sessionFork", "resume the session instead: --session "+id, "%s cannot fork a session over the Agent Client Protocol", p.spec.Name)
	case id != "" && !fork && !p.agent.load && !p.agent.resume:
		return refuse("sessionResume", "start a new session: omit --session", "%s cannot load a session over the Agent Client Protocol", p.spec.Name)
	}
	for _, m := range p.sessionServers() {
		if m.Transport == execution.MCPStreamableHTTP && !p.agent.http || m.Transport == execution.MCPSSE && !p.agent.sse {
			what := "MCP server " + m.Name
			if m.Name == cliagent.CallerTools && len(p.req.Tools) > 0 {
				what = "the server of the request's tools"
			}
			return refuse("mcp", "attach MCP servers that are programs (stdio), or use an agent that supports servers over HTTP",
				"%s supports no %s MCP server, which %s is", p.spec.Name, m.Transport, what)
		}
	}
	for _, a := range p.first {
		if _, err := a.block(p.spec.Name, p.agent.prompt); err != nil {
			return err
		}
	}
	return nil
}

// sessionServers returns the MCP servers of the session.
func (p *parser) sessionServers() []execution.MCPServer {
	if p.spec.MCPInArgs {
		return nil
	}
	return p.req.Run.MCPServers
}

// begin opens the session: a new one, or an existing one. Loading one shows its history again, resuming does not.
func (p *parser) begin(s *cliagent.Sink) {
	id, fork := cliagent.ResolveSession(p.req)
	method, doing, code := methodNew, "open a session", execution.CodeAgentCrash
	switch {
	case fork:
		method, doing, code = methodFork, "fork session "+id, execution.CodeSessionNotFound
	case id != "" && p.agent.load:
		method, doing, code = methodLoad, "load session "+id, execution.CodeSessionNotFound
	case id != "":
		method, doing, code = methodResume, "resume session "+id, execution.CodeSessionNotFound
	}
	p.ask(s, call{method: method, params: sessionParams(method, id, p.cwd, p.sessionServers()), doing: doing, code: code})
}

// logIn logs in before repeating c.
func (p *parser) logIn(c call, f *failure, s *cliagent.Sink) {
	if p.spec.Authenticate != nil {
		p.login = p.spec.Authenticate(p.req, p.agent.logins)
	}
	if p.login == "" {
		s.Fail(f.err(p.spec, p.agent, c.doing))
		return
	}
	p.ask(s, call{method: methodAuthenticate, params: authenticateParams(p.login), doing: "log in with " + p.login, code: execution.CodeAuth,
		then: func(s *cliagent.Sink) { p.ask(s, c) }})
}

// opened handles the reply that opens the session.
func (p *parser) opened(method string, s *cliagent.Sink) {
	p.session = sessionOf(p.v.Result)
	from, _ := cliagent.ResolveSession(p.req)
	start := execution.SessionStart{Cwd: p.cwd}
	switch method {
	case methodLoad, methodResume:
		p.session.id, start.Resumed = from, true
	case methodFork:
		start.ForkedFrom = from
	}
	if p.session.id == "" {
		s.Fail(p.errorf(execution.CodeInvalidOutput, "%s: the reply to %s names no session", p.spec.Name, method))
		return
	}
	if p.model == "" {
		p.model = p.session.modelName(p.spec.ModelName)
	}
	p.loaded = method == methodLoad
	p.cost.begin(start.Resumed || start.ForkedFrom != "")
	start.SessionID, start.Model = p.session.id, p.model
	s.BeginSession(start)
	if err := p.plan(); err != nil {
		s.Fail(err)
		return
	}
	p.settle(s)
}

// modelName returns the current model under its usual name: some agents' ids contain more.
func (s *session) modelName(called func(id, name string) string) string {
	for _, m := range s.models {
		if m.id == s.model && called != nil {
			return called(m.id, m.name)
		}
		if m.id == s.model && m.name != "" && strings.Contains(m.id, "|") {
			return m.name
		}
	}
	return s.model
}

// plan lists the settings of the session: its mode, model and thinking effort.
func (p *parser) plan() *execution.Error {
	run, session := p.req.Run, &p.session
	if option := session.option("model"); p.spec.UsableModels && option != nil && len(option.values) == 0 {
		return p.errorf(execution.CodeAuth, "%s offers no model: none of its providers has a login", p.spec.Name).WithHint("%s", loginHint(p.spec, p.agent))
	}
	want := p.spec.Modes[cmp.Or(run.ApprovalMode, execution.ApprovalPrompt)]
	if asking := p.spec.Asking[session.mode]; want == "" && offers(session.modes, asking) && (run.ApprovalMode != execution.ApprovalYolo || session.mode == ByModel) {
		want = asking
	}
	if want != "" {
		set := func(id string) call { return call{method: methodSetMode, params: setModeParams(session.id, id)} }
		if err := p.choose(setting{"mode", session.mode, session.modes, set, execution.CodeCapability, "approvalMode"}, want); err != nil {
			return err
		}
	}
	if run.Model != "" && !p.spec.ModelInArgs {
		set := func(id string) call { return call{method: methodSetModel, params: setModelParams(session.id, id)} }
		if err := p.choose(setting{"model", session.model, session.models, set, execution.CodeModelNotFound, "model"}, run.Model); err != nil {
			return err
		}
	}
	if run.ThinkingEffort != "" && !p.spec.EffortInArgs {
		return p.choose(setting{category: "thought_level", code: execution.CodeCapability, what: "thinking"}, string(run.ThinkingEffort))
	}
	return nil
}

// setting is a session value that a request may choose.
type setting struct {
	category string // of the config option
	current  string
	offered  []choice
	set      func(value string) call // the method for it, nil for none
	code     execution.ErrorCode     // of a value that is not offered
	what     string                  // capability
}

// choose plans a setting: by its method if the agent lists the value, else by the config option of that category. An
// agent that has both may know a value under the option's names only.
func (p *parser) choose(o setting, want string) *execution.Error {
	called := strings.ReplaceAll(o.category, "_", " ")
	if !offers(o.offered, want) {
		if option := p.session.option(o.category); option != nil && (len(o.offered) == 0 || offers(option.values, want)) {
			o.offered, o.current = option.values, option.current
			o.set = func(value string) call {
				return call{method: methodSetConfig, params: setConfigParams(p.session.id, option.id, value)}
			}
		}
	}
	if len(o.offered) == 0 {
		e := p.errorf(execution.CodeCapability, "%s offers no choice of a %s over the Agent Client Protocol, %q was requested", p.spec.Name, called, want)
		e.Capability = o.what
		return e.WithHint("omit it, or set it in the agent's own configuration")
	}
	id, ok := pick(o.offered, want)
	if !ok {
		e := p.errorf(o.code, "%s has no %s %q", p.spec.Name, called, want)
		if o.code == execution.CodeCapability {
			e.Capability = o.what
		}
		return e.WithHint("it offers: %s", names(o.offered))
	}
	if id != o.current {
		c := o.set(id)
		c.doing, c.code = fmt.Sprintf("set the %s to %s", called, want), o.code
		p.setup = append(p.setup, c)
	}
	return nil
}

func offers(all []choice, want string) bool {
	_, ok := pick(all, want)
	return ok
}

// names lists choices for an error.
func names(all []choice) string {
	const most = 12
	var list []string
	for i, c := range all {
		if i == most {
			list = append(list, fmt.Sprintf("and %d more", len(all)-most))
			break
		}
		list = append(list, c.id)
	}
	return strings.Join(list, ", ")
}

// settle makes the settings one after another, then sends the first message.
func (p *parser) settle(s *cliagent.Sink) {
	if len(p.setup) > 0 {
		c := p.setup[0]
		p.setup = p.setup[1:]
		c.then = p.settle
		p.ask(s, c)
		return
	}
	if p.loaded {
		p.settled = true
		s.AlarmIn(replayQuiet)
		return
	}
	p.start(s)
}

// replayQuiet is how long an agent that loaded a session must be silent before the first message is sent. Some show
// the history after the reply to session/load; an immediate message would make the history part of its turn.
const replayQuiet = 200 * time.Millisecond

// start sends the first message.
func (p *parser) start(s *cliagent.Sink) {
	p.open, p.settled = true, false
	s.AlarmIn(0)
	p.prompt(nil, s)
}
