package gemini

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// toolShell is the tool that runs a command.
const toolShell = "run_shell_command"

// exitedWith stands before the exit code of a command that failed without a word.
const exitedWith = "Command exited with code: "

var tools = &toolcall.Table{
	Tools: toolcall.Tools{toolcall.Shell: {toolShell}, toolcall.Read: {"read_file"}, toolcall.Write: {"write_file"}, toolcall.Edit: {"replace"}, toolcall.Agent: {"invoke_agent"}},
	Input: toolcall.Input{Path: "file_path", Command: "command", Agent: "agent_name", Prompt: "prompt", Content: "content", Old: "old_string"},
	MCP:   toolcall.Naming{Prefix: "mcp_", Separator: "_"},
}

// toolUse is a call with its whole input.
func (p *oneShot) toolUse(s *cliagent.Sink) bool {
	id, name := p.v.ToolID.Str(), p.names.Str(p.v.ToolName)
	if id == "" || name == "" || !p.active() || p.calls.Open(id) != nil {
		return false
	}
	p.ensureStep(s)
	p.endMessage(s)
	c := p.calls.Start(id, name, "", s)
	c.At = cliagent.Moment(p.v.Timestamp)
	p.calls.Called(c, p.v.Parameters, s)
	if mode(p.req.Run) == execution.ApprovalYolo {
		p.calls.Run(c, s) // nothing stands between the call and the command
	}
	return true
}

// toolResult is the end of a call. The model call that made it has ended by then. Whether write_file found a file there is not shown.
func (p *oneShot) toolResult(s *cliagent.Sink) bool {
	c := p.calls.Open(p.v.ToolID.Str())
	if c == nil || p.v.Status.Kind() != jsonscan.String || !p.active() {
		return false
	}
	p.endStep(s)
	output := p.v.Output.Str()
	end := toolcall.End{Output: toolcall.Raw(p.v.Output, `""`), Failed: !p.v.Status.IsStr("success"), Summary: output,
		At: cliagent.Moment(p.v.Timestamp)}
	switch {
	case end.Failed:
		end.Error = cmp.Or(p.v.Error.Message.Str(), output, "the call failed")
		if p.refused(c) {
			p.calls.Deny(c, c.Label(), "it needs a permission and nobody is there to give it: "+end.Error, s)
		} else if p.v.Error.Type.IsStr("shell_execute_error") {
			p.calls.Run(c, s)
		}
	case c.Kind == toolcall.Shell:
		end.Command = p.command(output)
	}
	p.calls.End(c, end, s)
	return true
}

// unasked are tools for which Gemini asks a person. Where there is none it takes them away from its model, which calls them
// all the same and is told that they do not exist.
var unasked = []string{toolShell, "write_file", "replace", "web_fetch", "save_memory", "activate_skill"}

// refused reports whether a call that failed did so for want of a permission.
func (p *oneShot) refused(c *toolcall.Call) bool {
	switch kind, _ := p.v.Error.Type.Plain(); string(kind) {
	case "policy_violation":
		return true
	case "tool_not_registered":
		return mode(p.req.Run) != execution.ApprovalYolo && (slices.Contains(unasked, c.Name) || c.MCP)
	}
	return false
}

// command is the end of a command. Gemini says success of every command that ran, whatever its exit code, and shows the code of
// one that printed nothing only: that of any other is not known, and is not made up.
func (p *oneShot) command(output string) *toolcall.Exit {
	if digits, ok := strings.CutPrefix(output, exitedWith); ok {
		if code, err := strconv.Atoi(strings.TrimSpace(digits)); err == nil {
			return &toolcall.Exit{Code: code, Exited: true}
		}
	}
	// Without any output it was shown in a form that does not reach this stream.
	return &toolcall.Exit{Stdout: output, Exited: output == "" && p.v.Output.Kind() == jsonscan.String}
}
