package copilot

import (
	"cmp"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var tools = &toolcall.Table{
	Tools: toolcall.Tools{toolcall.Shell: {"bash", "powershell"}, toolcall.Read: {"view"}, toolcall.Write: {"create"}, toolcall.Edit: {"edit", "apply_patch"}, toolcall.Agent: {"task"},
		toolcall.Search: {"glob", "grep"}, toolcall.Fetch: {"web_fetch"}},
	Input: toolcall.Input{Path: "path", Command: "command", Agent: "agent_type", Prompt: "prompt", Content: "file_text"},
	MCP:   toolcall.Naming{Separator: "-", Known: true},
	Apart: true,
}

// identify determines whose tool a call is. The whole call states it; a piece of its input has the name alone.
func (p *parser) identify(c *toolcall.Call, server, tool string) {
	switch {
	case c.MCP:
	case server != "":
		c.Of(server, cmp.Or(tool, strings.TrimPrefix(c.Name, server+tools.MCP.Separator)))
	default:
		p.calls.Identify(c)
	}
}

// toolDelta handles a piece of a call's input.
func (p *parser) toolDelta(s *cliagent.Sink) bool {
	v := &p.values.Data
	if v.ToolCallID.Kind() != jsonscan.String {
		return false
	}
	p.spoken(s)
	st := p.stream()
	p.endThought(st, s)
	c := p.calls.Add(p.names.Str(v.ToolCallID), p.names.Str(v.ToolName), st.parent)
	if p.identify(c, "", ""); c.MCP || c.Ready {
		return true
	}
	c.Start(s)
	delta, all := grow(&c.Input, v.InputDelta)
	c.Piece(delta, all, s)
	return true
}

type requestForm struct {
	_                                                                 jsonscan.Camel
	ToolCallID, Name, Arguments, MCPServerName, MCPToolName, ToolName jsonscan.Value
}

var requestShape jsonscan.Shape[requestForm]

// toolRequested handles a call of a whole message.
func (p *parser) toolRequested(st *stream, request jsonscan.Value, s *cliagent.Sink) {
	var v requestForm
	if requestShape.From(request, &v) && v.ToolCallID.Kind() == jsonscan.String {
		p.toolReady(st, &v, s)
	}
}

// toolStarted handles a call that starts or waits for its permission. Calls of sub-agents and of Copilot itself may
// come without a message before them.
func (p *parser) toolStarted(s *cliagent.Sink) bool {
	v := &p.values.Data.requestForm
	if v.ToolCallID.Kind() != jsonscan.String {
		return false
	}
	p.ensureTurn(s)
	p.toolReady(p.stream(), v, s).At = cliagent.Moment(p.values.Timestamp)
	return true
}

// toolReady handles a call with its whole input; only the first report counts.
func (p *parser) toolReady(st *stream, v *requestForm, s *cliagent.Sink) *toolcall.Call {
	c := p.calls.Add(p.names.Str(v.ToolCallID), cmp.Or(p.names.Str(v.Name), p.names.Str(v.ToolName)), st.parent)
	if !c.Ready {
		c.Name = cmp.Or(c.Name, p.names.Str(v.ToolName))
		p.identify(c, v.MCPServerName.Str(), v.MCPToolName.Str())
		p.calls.Called(c, v.Arguments, s)
	}
	return c
}

// refused are the codes of calls that were not permitted.
var refused = []string{"denied", "rejected"}

// toolDone handles the end of a call.
func (p *parser) toolDone(s *cliagent.Sink) bool {
	v := &p.values.Data
	if v.ToolCallID.Kind() != jsonscan.String {
		return false
	}
	p.ensureTurn(s)
	c := p.calls.Expect(p.names.Str(v.ToolCallID), p.stream().parent)
	content := v.Result.Content.Str()
	code, exited := v.ShellExecution.ExitCode.Int()
	end := toolcall.End{Output: toolcall.Raw(v.Result.Content, "null"), Failed: !v.Success.IsTrue(), Error: content,
		At: cliagent.Moment(p.values.Timestamp)}
	switch {
	case end.Failed:
		end.Error = cmp.Or(v.Error.Message.Str(), content, "copilot does not say why it failed")
		if slices.Contains(refused, v.Error.Code.Str()) {
			why, _, _ := strings.Cut(end.Error, " Retry in an interactive session")
			p.calls.Deny(c, c.Label(), why, s)
		}
	case exited && code != 0:
		end.Failed = true // Copilot reports success for a failed command
	}
	if c.Kind == toolcall.Shell && exited { // a refused command never ran; a background command still runs
		end.Command = &toolcall.Exit{Stdout: written(content), Code: int(code), Exited: true}
	}
	if contents := v.Result.Whole.Get("contents"); c.MCP && contents.Exists() {
		end.Output = toolcall.Raw(contents, "null")
	}
	p.calls.End(c, end, s)
	if c.Kind == toolcall.Read && !end.Failed {
		c.File(execution.FileRead{Path: c.Path}, s)
	}
	files(c, v.FileEdits, v.Result.DetailedContent.Str(), s)
	return true
}

// files emits the events of the files that a call changed; a failed call may have changed some.
func files(c *toolcall.Call, edits jsonscan.Value, diff string, s *cliagent.Sink) {
	n := 0
	for range edits.Array {
		n++
	}
	for _, edit := range edits.Array {
		path := edit.Get("path").Str()
		switch kind, _ := edit.Get("kind").Plain(); string(kind) {
		case "create":
			c.File(execution.FileCreate{Path: path, ByteCount: c.Bytes}, s)
		case "delete":
			c.File(execution.FileDelete{Path: path}, s)
		default:
			patch := execution.FilePatch{Path: path}
			if n == 1 { // a diff of several files is not split
				patch.Diff = strings.TrimPrefix(diff, "\n")
			}
			c.File(patch, s)
		}
	}
}

// subagentDone handles the end of a sub-agent. If its call is open, the call's result reports it with the answer.
func (p *parser) subagentDone(s *cliagent.Sink) bool {
	v := &p.values.Data
	if v.ToolCallID.Kind() != jsonscan.String {
		return false
	}
	p.ensureTurn(s)
	st := p.stream()
	p.endStep(st, s)
	c := p.calls.Expect(v.ToolCallID.Str(), "")
	c.Agent = cmp.Or(c.Agent, v.AgentName.Str())
	switch why := v.Error.Whole.Str(); {
	case why != "":
		c.AgentEnd(true, why, s)
	case v.Cancelled.IsTrue():
		c.AgentEnd(true, "it was cancelled", s)
	default:
		c.AgentEnd(false, st.answer, s)
	}
	return true
}
