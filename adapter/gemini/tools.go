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
const (
	toolShell = "run_shell_command"
	toolSkill = "activate_skill"
)

// exitedWith precedes the exit code of a failed command without output.
const exitedWith = "Command exited with code: "

var tools = &toolcall.Table{
	Tools: toolcall.Tools{toolcall.Shell: {toolShell}, toolcall.Read: {"read_file"}, toolcall.Write: {"write_file"}, toolcall.Edit: {"replace"}, toolcall.Agent: {"invoke_agent"},
		toolcall.Skill: {toolSkill}, toolcall.Search: {"list_directory", "glob", "grep_search", "search_file_content", "read_many_files"},
		toolcall.Fetch: {"web_fetch", "google_web_search"}},
	Input: toolcall.Input{Path: "file_path", Command: "command", Agent: "agent_name", Prompt: "prompt", Content: "content", Old: "old_string", Skill: "name"},
	MCP:   toolcall.Naming{Prefix: "mcp_", Separator: "_"},
}

// toolUse handles a call with its whole input.
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
		p.calls.Run(c, s) // the command starts right after the call
	}
	return true
}

// toolResult handles the end of a call. The model call that made it has ended by then. Whether write_file created the
// file is not shown.
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

// unasked are the tools that need permission. Without a person Gemini hides them from its model, and answers calls
// that they do not exist.
var unasked = []string{toolShell, "write_file", "replace", "web_fetch", "save_memory", toolSkill}

// refused reports whether a call failed for lack of permission.
func (p *oneShot) refused(c *toolcall.Call) bool {
	switch kind, _ := p.v.Error.Type.Plain(); string(kind) {
	case "policy_violation":
		return true
	case "tool_not_registered":
		return mode(p.req.Run) != execution.ApprovalYolo && (slices.Contains(unasked, c.Name) || c.MCP)
	}
	return false
}

// command returns the end of a command. Gemini reports success for every command that ran and shows the exit code
// only of one that printed nothing: other exit codes are unknown.
func (p *oneShot) command(output string) *toolcall.Exit {
	if digits, ok := strings.CutPrefix(output, exitedWith); ok {
		if code, err := strconv.Atoi(strings.TrimSpace(digits)); err == nil {
			return &toolcall.Exit{Code: code, Exited: true}
		}
	}
	// Without any output it was shown in a format that does not reach this stream.
	return &toolcall.Exit{Stdout: output, Exited: output == "" && p.v.Output.Kind() == jsonscan.String}
}
