package gemini

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// The tools of Gemini CLI that have events of their own.
const (
	toolShell = "run_shell_command"
	toolWrite = "write_file"
	toolEdit  = "replace"
	toolRead  = "read_file"
	toolAgent = "invoke_agent"
)

// mcpPrefix stands in front of the name of a tool of an MCP server: mcp_server_tool.
const mcpPrefix = "mcp_"

// exitedWith stands before the exit code of a command that failed without a word.
const exitedWith = "Command exited with code: "

// maxTools bounds the calls that wait for their result.
const maxTools = 4096

// tool is a call that has no result yet.
type tool struct {
	id, name      string
	server, short string // of an MCP tool
	at            time.Time
	path          string
	command       string
	agent         string
	bytes         int64
	creates       bool
	running       bool // shell_start is out
}

var inputKeys = jsonscan.NewKeySet("file_path", "command", "content", "old_string", "agent_name", "prompt")

// toolUse is a call with its whole input.
func (p *oneShot) toolUse(s *cliagent.Sink) bool {
	id, name := p.v[lineCall].Str(), p.names.Str(p.v[lineTool])
	if id == "" || name == "" || !p.active() || p.tools[id] != nil {
		return false
	}
	if len(p.tools) >= maxTools {
		clear(p.tools)
	}
	p.ensureStep(s)
	p.endMessage(s)
	t := &tool{id: id, name: name, at: cliagent.Moment(p.v[lineTime])}
	t.server, t.short = mcpTool(name, nil)
	p.tools[id] = t
	input := raw(p.v[lineParameters], "{}")
	if t.server != "" {
		s.Emit(execution.MCPToolCallStart{ToolCallID: id, Server: t.server, ToolName: t.short, Input: input})
		return true
	}
	s.Emit(execution.ToolCallStart{ToolCallID: id, ToolName: name})
	s.Emit(execution.ToolCallReady{ToolCallID: id, ToolName: name, Input: input})
	prompt := t.read(p.v[lineParameters])
	switch {
	case name == toolAgent:
		s.Emit(execution.SubagentSpawn{SubagentID: id, AgentName: t.agent, Prompt: prompt})
	case name == toolShell && mode(p.req.Run) == execution.ApprovalYolo:
		p.shellStart(t, s) // nothing stands between the call and the command
	}
	return true
}

// read keeps what the events derived from a call need, and returns the prompt of a sub-agent.
func (t *tool) read(input jsonscan.Value) (prompt string) {
	var v [6]jsonscan.Value
	if !input.Fields(v[:], inputKeys) {
		return ""
	}
	t.path, t.agent = v[0].Str(), v[4].Str()
	switch t.name {
	case toolShell:
		t.command = v[1].Str()
	case toolWrite:
		t.bytes = int64(len(v[2].Str()))
	case toolEdit:
		t.creates = v[3].IsStr("")
	}
	return v[5].Str()
}

// mcpTool splits the name that Gemini gives to a tool of an MCP server. A server that is known goes before the first underscore,
// which Gemini itself takes for the end of a server's name. server is empty for any other tool.
func mcpTool(name string, known []string) (server, short string) {
	rest, ok := strings.CutPrefix(name, mcpPrefix)
	if !ok {
		return "", ""
	}
	for _, k := range known {
		if after, ok := strings.CutPrefix(rest, k+"_"); ok && after != "" && len(k) > len(server) {
			server, short = k, after
		}
	}
	if server != "" {
		return server, short
	}
	server, short, ok = strings.Cut(rest, "_")
	if !ok || server == "" || short == "" {
		return "", ""
	}
	return server, short
}

// toolResult is the end of a call. The model call that made it has ended by then.
func (p *oneShot) toolResult(s *cliagent.Sink) bool {
	t := p.tools[p.v[lineCall].Str()]
	if t == nil || p.v[lineStatus].Kind() != jsonscan.String || !p.active() {
		return false
	}
	delete(p.tools, t.id)
	p.endStep(s)
	output, failed := p.v[lineOutput].Str(), !p.v[lineStatus].IsStr("success")
	if failed {
		p.toolFailed(t, output, s)
		return true
	}
	if t.name == toolShell {
		p.shell(t, output, s)
	}
	if t.server != "" {
		s.Emit(execution.MCPToolResult{ToolCallID: t.id, Server: t.server, ToolName: t.short, Output: text(p.v[lineOutput])})
		return true
	}
	if t.name == toolAgent {
		s.Emit(execution.SubagentResult{SubagentID: t.id, AgentName: t.agent, Summary: output})
	}
	s.Emit(execution.ToolResultEvent{ToolCallID: t.id, ToolName: t.name, Output: text(p.v[lineOutput]), DurationMs: elapsed(t.at, cliagent.Moment(p.v[lineTime]))})
	t.file(s)
	return true
}

// toolFailed is the end of a call that failed or was refused.
func (p *oneShot) toolFailed(t *tool, output string, s *cliagent.Sink) {
	why := p.v[lineErrorMessage].Str()
	if why == "" {
		why = output
	}
	if why == "" {
		why = "the call failed"
	}
	if p.refused(t) {
		s.Emit(execution.ApprovalDenied{ID: execution.QuestionID(t.id), ToolName: t.label(),
			Reason: "it needs a permission and nobody is there to give it: " + why})
	} else if t.name == toolShell && p.v[lineErrorType].IsStr("shell_execute_error") {
		p.shellStart(t, s)
	}
	switch {
	case t.server != "":
		s.Emit(execution.MCPToolError{ToolCallID: t.id, Server: t.server, ToolName: t.short, Error: why})
		return
	case t.name == toolAgent:
		s.Emit(execution.SubagentError{SubagentID: t.id, AgentName: t.agent, Error: why})
	}
	s.Emit(execution.ToolError{ToolCallID: t.id, ToolName: t.name, Error: why})
}

// unasked are tools for which Gemini asks a person. Where there is none it takes them away from its model, which calls them
// all the same and is told that they do not exist.
var unasked = map[string]bool{toolShell: true, toolWrite: true, toolEdit: true, "web_fetch": true, "save_memory": true, "activate_skill": true}

// refused reports whether a call that failed did so for want of a permission.
func (p *oneShot) refused(t *tool) bool {
	switch kind, _ := p.v[lineErrorType].Plain(); string(kind) {
	case "policy_violation":
		return true
	case "tool_not_registered":
		return mode(p.req.Run) != execution.ApprovalYolo && (unasked[t.name] || t.server != "")
	}
	return false
}

func (t *tool) label() string {
	if t.server != "" {
		return t.short
	}
	return t.name
}

func (p *oneShot) shellStart(t *tool, s *cliagent.Sink) {
	if !t.running {
		t.running = true
		s.Emit(execution.ShellStart{Command: t.command, Cwd: p.req.Run.Cwd, ToolCallID: t.id})
	}
}

// shell is the end of a command. Gemini says success of every command that ran, whatever its exit code, and shows the code of
// one that printed nothing only: that of any other is not known, and is not made up.
func (p *oneShot) shell(t *tool, output string, s *cliagent.Sink) {
	p.shellStart(t, s)
	ms := elapsed(t.at, cliagent.Moment(p.v[lineTime]))
	if digits, ok := strings.CutPrefix(output, exitedWith); ok {
		if code, err := strconv.Atoi(strings.TrimSpace(digits)); err == nil {
			s.Emit(execution.ShellExit{ExitCode: code, DurationMs: ms, ToolCallID: t.id})
			return
		}
	}
	if output == "" {
		if p.v[lineOutput].Kind() != jsonscan.String {
			return // it was shown in a form that does not reach this stream
		}
		s.Emit(execution.ShellExit{ExitCode: 0, DurationMs: ms, ToolCallID: t.id})
		return
	}
	s.Emit(execution.ShellStdoutDelta{Delta: output, ToolCallID: t.id})
}

// file is the event of the file that a call read or changed. Whether write_file found a file there is not shown.
func (t *tool) file(s *cliagent.Sink) {
	switch {
	case t.path == "":
	case t.name == toolRead:
		s.Emit(execution.FileRead{Path: t.path, ToolCallID: t.id})
	case t.name == toolWrite:
		s.Emit(execution.FileWrite{Path: t.path, ByteCount: t.bytes, ToolCallID: t.id})
	case t.name == toolEdit && t.creates:
		s.Emit(execution.FileCreate{Path: t.path, ToolCallID: t.id})
	case t.name == toolEdit:
		s.Emit(execution.FilePatch{Path: t.path, ToolCallID: t.id})
	}
}

// raw is a copy of a value as JSON, or what stands for none.
func raw(v jsonscan.Value, none string) json.RawMessage {
	if !v.Exists() {
		return json.RawMessage(none)
	}
	return bytes.Clone(v.Raw())
}

// text is a copy of a text as JSON; none at all is the empty one.
func text(v jsonscan.Value) json.RawMessage { return raw(v, `""`) }

func elapsed(from, to time.Time) int64 {
	if from.IsZero() || to.IsZero() {
		return 0
	}
	return max(0, to.Sub(from).Milliseconds())
}
