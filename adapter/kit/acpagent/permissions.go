package acpagent

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonrpc"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// permission is a permission request that the agent waits for.
type permission struct {
	id      json.RawMessage // of the agent's request, verbatim
	call    *toolCall
	options []option
}

// option is one answer that the agent offers.
type option struct{ id, kind string }

// permit handles a permission request. It returns false if the request is malformed.
func (p *parser) permit(id json.RawMessage, s *cliagent.Sink) bool {
	params := p.v.Params.Whole
	u, ok := toolCallOf(params.Get("toolCall"))
	if !ok {
		return false
	}
	if !p.running || p.cancelled || p.session.id != "" && !p.v.Params.SessionID.IsStr(p.session.id) {
		p.answer(s, id, outcome(""), nil)
		return true
	}
	if p.spec.AsksAgain {
		if known := p.tools[u.ID]; known != nil && known.call.Ready {
			u = &ToolCall{ID: u.ID, Title: u.Title} // the question is about a part of the call
		}
	}
	c := p.call(u, s)
	if c == nil || c.ended {
		p.answer(s, id, outcome(""), nil)
		return true
	}
	p.ready(c, s)
	q := &permission{id: id, call: c}
	for _, o := range params.Get("options").Array {
		q.options = append(q.options, option{o.Get("optionId").Str(), o.Get("kind").Str()})
	}
	if p.ownTool(c) || p.spec.AsksAgain && c.allowed {
		if o, ok := q.find(allowOnce, allowAlways); ok {
			p.answer(s, id, outcome(o.id), nil)
			return true
		}
	}
	action, risk := actionOf(c)
	question := execution.QuestionID(p.session.id + "/" + strings.Trim(string(id), `"`))
	p.questions.Add(question, q)
	s.EmitFrom(c.call.Parent, execution.ApprovalRequired{ID: question, Action: action, Detail: p.detail(c), ToolName: c.call.Label(), ToolCallID: c.ID, Input: p.input(c), Risk: risk, Use: p.use(c)})
	return true
}

// ownTool reports whether a call is of a request's tool that needs no approval: the caller chose it.
func (p *parser) ownTool(c *toolCall) bool {
	return p.spec.MCPTool != nil && c.call.MCP && c.call.Server == cliagent.CallerTools && slices.ContainsFunc(p.req.Tools, func(t execution.Tool) bool {
		return t.Name == c.call.Label() && !t.RequiresApproval
	})
}

// detail returns what a person should know before answering.
func (p *parser) detail(c *toolCall) string {
	read := p.spec.Shell
	if read == nil {
		read = DefaultShell
	}
	if sh, ok := read(&c.ToolCall); ok && !c.call.MCP && sh.Command != "" {
		return sh.Command
	}
	if c.Title != "" {
		return c.Title
	}
	return c.call.Label()
}

// use returns what a call would do. Its files are those that it states: locations, and the changes that it shows.
func (p *parser) use(c *toolCall) execution.ToolUse {
	if c.call.MCP {
		return execution.ToolUse{Kind: execution.ToolMCP, Server: c.call.Server, Tool: c.call.Label()}
	}
	if c.Kind == kindExecute {
		u := execution.ToolUse{Kind: execution.ToolShell, Command: commandOf(p.input(c))}
		if p.spec.Shell != nil && u.Command == "" {
			if sh, ok := p.spec.Shell(&c.ToolCall); ok && sh.Command != c.Title { // a title may be shortened
				u.Command = sh.Command
			}
		}
		return u
	}
	var u execution.ToolUse
	switch c.Kind {
	case kindRead, kindSearch:
		u.Kind = execution.ToolRead
	case kindEdit, kindDelete, kindMove:
		u.Kind = execution.ToolEdit
	case kindFetch:
		return execution.ToolUse{Kind: execution.ToolFetch}
	default:
		if p.spec.Subagent != nil {
			if _, ok := p.spec.Subagent(&c.ToolCall); ok {
				u.Kind = execution.ToolAgent
			}
		}
		return u
	}
	u.Paths = append(u.Paths, c.Locations...)
	for _, part := range c.Content {
		if d := part.Diff; d != nil && !slices.Contains(u.Paths, d.Path) {
			u.Paths = append(u.Paths, d.Path)
		}
	}
	return u
}

// actionOf returns what a call does, and its risk.
func actionOf(c *toolCall) (action string, risk execution.RiskLevel) {
	switch {
	case c.call.MCP:
		return "call a tool of MCP server " + c.call.Server, execution.RiskMedium
	case c.Kind == kindExecute:
		return "run a command", execution.RiskHigh
	case c.Kind == kindDelete:
		return "delete files", execution.RiskHigh
	case c.Kind == kindEdit || c.Kind == kindMove:
		return "change files", execution.RiskMedium
	case c.Kind == kindFetch:
		return "reach the network", execution.RiskMedium
	case c.Kind == kindRead || c.Kind == kindSearch:
		return "read files", execution.RiskLow
	case c.Kind == kindThink || c.Kind == kindSwitch:
		return "go on", execution.RiskLow
	}
	return "use the tool " + c.call.Label(), execution.RiskMedium
}

// find returns the first offered option of the kinds, in their order.
func (q *permission) find(kinds ...string) (option, bool) {
	for _, kind := range kinds {
		if i := slices.IndexFunc(q.options, func(o option) bool { return o.kind == kind && o.id != "" }); i >= 0 {
			return q.options[i], true
		}
	}
	return option{}, false
}

// choose returns the option for a decision. A decision whose text is an option's id or kind selects that option, if
// both allow or both deny; any other selects this one time only, if that is offered.
func (q *permission) choose(d execution.Decision) (option, bool) {
	once, always := rejectOnce, rejectAlways
	if d.Approve {
		once, always = allowOnce, allowAlways
	}
	for _, o := range q.options {
		if d.Text != "" && (o.id == d.Text || o.kind == d.Text) && (o.kind == once || o.kind == always) {
			return o, true
		}
	}
	return q.find(once, always)
}

// decide sends a decision to the agent.
func (p *parser) decide(a execution.Answer, s *cliagent.Sink) error {
	q, err := p.questions.Find(a.ID)
	if err != nil {
		return err
	}
	p.questions.Remove(a.ID)
	d := a.Decision
	if len(d.Input) > 0 {
		// Approval would run the original input, not the approved one.
		d.Approve = false
		s.Emit(execution.ErrorEvent{Code: execution.CodeCapability, Recoverable: true, Message: p.spec.Name +
			" runs a tool with its own input only: the call was refused, because it was approved with another input"})
	}
	o, ok := q.choose(d)
	switch {
	case !ok && d.Approve:
		s.Emit(execution.ErrorEvent{Code: execution.CodeInvalidOutput, Recoverable: true, Message: p.spec.Name +
			" offers no way to allow the call: it was refused"})
	case ok && d.Approve && o.kind == allowAlways && d.Text == "":
		s.Emit(execution.Debug{Level: execution.DebugWarn, Message: p.spec.Name + " offers no permission for one time only: it now has permanent permission"})
	}
	p.answer(s, q.id, outcome(o.id), nil)
	switch c := q.call; {
	case c.ended:
	case d.Approve && ok:
		c.allowed = true
		p.runShell(c, s)
	default:
		// Some agents do not report the end of a refused call.
		c.refused = true
		p.failTool(c, cmp.Or(d.Reason, "the permission was refused"), s)
	}
	return nil
}

// giveUp handles the agent's withdrawal of a request.
func (p *parser) giveUp(id jsonscan.Value, s *cliagent.Sink) bool {
	p.questions.Withdraw(p.spec.Name+" no longer waits for an answer", s, func(q *permission) bool {
		named := string(q.id) == string(id.Raw())
		if named {
			p.answer(s, q.id, nil, &jsonrpc.Error{Code: codeCancelled, Message: "request cancelled"})
		}
		return named
	})
	return id.Exists()
}

// withdraw withdraws the agent's questions and replies to them, because it may wait.
func (p *parser) withdraw(why string, s *cliagent.Sink) {
	p.questions.Withdraw(why, s, func(q *permission) bool {
		p.answer(s, q.id, outcome(""), nil)
		return true
	})
}
