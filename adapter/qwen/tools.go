package qwen

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// The tools of Qwen Code that mean something here.
const (
	toolShell     = "run_shell_command"
	toolWrite     = "write_file"
	toolEdit      = "edit"
	toolRead      = "read_file"
	toolAgent     = "agent"
	toolOldAgent  = "task"
	toolDeferred  = "tool_call" // calls another tool by its name
	toolStructure = "structured_output"
)

// tool is one tool call.
type tool struct {
	id     string
	name   string // as Qwen calls it
	parent string
	server string // of an MCP tool, whose name there is short
	short  string

	begun bool // its first event is out
	ready bool // the input is known
	async bool // a sub-agent that works on after its call returned

	path    string // file tools
	command string // the shell
	agent   string // sub-agents
	failure string // of a sub-agent, when it is known before the result
	bytes   int64  // write_file
}

// toolStart is the begin of a call. A call that is known already is returned as it is.
func (p *parser) toolStart(parent, id, name string, s *cliagent.Sink) *tool {
	if t := p.tools[id]; t != nil {
		return t
	}
	t := &tool{id: id, parent: parent}
	p.tools[id] = t
	t.name = name
	if name != toolDeferred {
		p.toolNamed(t, name, s)
	}
	return t
}

// toolNamed is when it is known which tool is called: at once, or, for one that is called through another, with the input.
func (p *parser) toolNamed(t *tool, name string, s *cliagent.Sink) {
	t.begun, t.name = true, name
	if t.server, t.short = p.mcpTool(name); t.server == "" {
		s.EmitFrom(t.parent, execution.ToolCallStart{ToolCallID: t.id, ToolName: name})
	}
}

// mcpTool splits the name Qwen gives to a tool of an MCP server, mcp__server__tool. Either part may hold underscores,
// so a server that is known goes before the first cut. server is empty for any other tool.
func (p *parser) mcpTool(name string) (server, short string) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return "", ""
	}
	for known := range p.servers {
		if after, ok := strings.CutPrefix(rest, known+"__"); ok && len(known) > len(server) {
			server, short = known, after
		}
	}
	if server != "" {
		return server, short
	}
	server, short, ok = strings.Cut(rest, "__")
	if !ok || server == "" {
		return "", ""
	}
	return server, short
}

var deferredKeys = jsonscan.NewKeySet("name", "arguments")

// toolReady is a call with its whole input; the first report counts.
func (p *parser) toolReady(t *tool, input jsonscan.Value, s *cliagent.Sink) {
	if t.ready {
		return
	}
	t.ready = true
	if !t.begun {
		name := t.name
		var v [2]jsonscan.Value
		if input.Fields(v[:], deferredKeys) && v[0].Kind() == jsonscan.String && v[1].Kind() == jsonscan.Object {
			name, input = p.names.Str(v[0]), v[1]
		}
		p.toolNamed(t, name, s)
	}
	raw := json.RawMessage("{}")
	if input.Exists() {
		raw = bytes.Clone(input.Raw())
	}
	if t.server != "" {
		s.EmitFrom(t.parent, execution.MCPToolCallStart{ToolCallID: t.id, Server: t.server, ToolName: t.short, Input: raw})
		return
	}
	s.EmitFrom(t.parent, execution.ToolCallReady{ToolCallID: t.id, ToolName: t.name, Input: raw})
	prompt := p.readInput(t, input)
	if t.isAgent() {
		s.EmitFrom(t.parent, execution.SubagentSpawn{SubagentID: t.id, AgentName: t.agent, Prompt: prompt})
	}
}

var inputKeys = jsonscan.NewKeySet("file_path", "command", "subagent_type", "prompt", "content")

// readInput keeps what the events derived from a call need, and returns the prompt of a sub-agent.
func (p *parser) readInput(t *tool, input jsonscan.Value) (prompt string) {
	var v [5]jsonscan.Value
	if !input.Fields(v[:], inputKeys) {
		return ""
	}
	t.path = v[0].Str()
	switch {
	case t.name == toolShell:
		t.command = v[1].Str()
	case t.isAgent():
		t.agent = cmp.Or(v[2].Str(), "general-purpose")
		return v[3].Str()
	case t.name == toolWrite:
		p.scratch = v[4].StrBytes(p.scratch[:0])
		t.bytes = int64(len(p.scratch))
	}
	return ""
}

func (t *tool) isAgent() bool { return t.name == toolAgent || t.name == toolOldAgent }

// toolDone is the end of a call.
func (p *parser) toolDone(id, parent string, content jsonscan.Value, failed bool, s *cliagent.Sink) {
	t := p.tools[id]
	if t == nil {
		t = &tool{id: id, parent: parent}
	}
	text := contentText(content)
	refused := failed && isRefusal(text)
	if refused {
		p.deny(id, t.name, text, s)
	}
	switch {
	case t.name == toolShell && !refused:
		p.shell(t, text, failed, s)
	case t.isAgent():
		p.subagent(t, text, failed, s)
	}
	if !t.async {
		delete(p.tools, id)
	}
	output := json.RawMessage("null")
	if content.Exists() {
		output = bytes.Clone(content.Raw())
	}
	switch {
	case failed && t.server != "":
		s.EmitFrom(t.parent, execution.MCPToolError{ToolCallID: t.id, Server: t.server, ToolName: t.short, Error: text})
	case failed:
		s.EmitFrom(t.parent, execution.ToolError{ToolCallID: t.id, ToolName: t.name, Error: text})
	case t.server != "":
		s.EmitFrom(t.parent, execution.MCPToolResult{ToolCallID: t.id, Server: t.server, ToolName: t.short, Output: output})
	default:
		s.EmitFrom(t.parent, execution.ToolResultEvent{ToolCallID: t.id, ToolName: t.name, Output: output})
		p.file(t, text, s)
	}
}

// contentText is the text of a tool's result: a string, or blocks.
func contentText(v jsonscan.Value) string {
	if v.Kind() == jsonscan.String {
		return v.Str()
	}
	var parts []string
	for _, element := range v.Array {
		if text := element.Get("text").Str(); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n")
}

// isRefusal reports whether a failed call is one that Qwen did not carry out for want of a permission.
func isRefusal(text string) bool {
	return strings.HasPrefix(text, "Qwen Code requires permission to use") && strings.Contains(text, "declined")
}

// deny reports the refusal of a tool call once. Its question never was one, so the id of the call stands for it.
func (p *parser) deny(id, name, why string, s *cliagent.Sink) {
	if id == "" || p.denied[id] {
		return
	}
	p.denied[id] = true
	parent := ""
	if t := p.tools[id]; t != nil {
		parent = t.parent
	}
	s.EmitFrom(parent, execution.ApprovalDenied{ID: execution.QuestionID(id), Reason: why, ToolName: name})
}

// file makes the event of the file that a call read or changed.
func (p *parser) file(t *tool, text string, s *cliagent.Sink) {
	switch t.name {
	case toolRead:
		s.EmitFrom(t.parent, execution.FileRead{Path: t.path, ToolCallID: t.id})
	case toolWrite:
		if strings.HasPrefix(text, "Successfully created") {
			s.EmitFrom(t.parent, execution.FileCreate{Path: t.path, ByteCount: t.bytes, ToolCallID: t.id})
			return
		}
		s.EmitFrom(t.parent, execution.FileWrite{Path: t.path, ByteCount: t.bytes, ToolCallID: t.id})
	case toolEdit:
		s.EmitFrom(t.parent, execution.FilePatch{Path: t.path, ToolCallID: t.id})
	}
}

// shell is the end of a command. That it runs is never said, so its begin comes with its end. A command that succeeds
// shows its output alone; one that fails has an account with its exit code. Old versions tell no failure, and then the
// exit code is unknown, which is -1.
func (p *parser) shell(t *tool, text string, failed bool, s *cliagent.Sink) {
	code, output := 0, text
	switch c, out, ok := account(text); {
	case ok:
		code, output = c, out
	case failed && !strings.HasPrefix(text, "[Operation Cancelled]"):
		return // it was refused, by a permission or a hook: no shell has run
	case failed || !p.tellsExitCodes():
		code = -1
	}
	s.EmitFrom(t.parent, execution.ShellStart{Command: t.command, Cwd: p.cwd, ToolCallID: t.id})
	if output != "" {
		s.EmitFrom(t.parent, execution.ShellStdoutDelta{Delta: output, ToolCallID: t.id})
	}
	s.EmitFrom(t.parent, execution.ShellExit{ExitCode: code, ToolCallID: t.id})
}

// account reads Qwen's account of a command: members by line, of which the output may have several.
func account(text string) (code int, output string, ok bool) {
	if !strings.HasPrefix(text, "Command: ") {
		return 0, "", false
	}
	i := strings.LastIndex(text, "\nExit Code: ")
	if i < 0 {
		return 0, "", false
	}
	digits, _, _ := strings.Cut(text[i+len("\nExit Code: "):], "\n")
	code, err := strconv.Atoi(strings.TrimSpace(digits))
	if err != nil {
		code = -1 // ended by a signal
	}
	if _, rest, found := strings.Cut(text[:i], "\nOutput: "); found {
		output = rest
		if end := strings.LastIndex(rest, "\nError: "); end >= 0 {
			output = rest[:end]
		}
		if output == "(empty)" {
			output = ""
		}
	}
	return code, output, true
}

// subagent is the end of the call that started a sub-agent; one in the background has then only begun.
func (p *parser) subagent(t *tool, text string, failed bool, s *cliagent.Sink) {
	if st := p.subs[t.id]; st != nil {
		p.endStep(st, s)
	}
	switch {
	case failed || t.failure != "":
		s.EmitFrom(t.parent, execution.SubagentError{SubagentID: t.id, AgentName: t.agent, Error: cmp.Or(t.failure, text)})
	case t.async:
	default:
		s.EmitFrom(t.parent, execution.SubagentResult{SubagentID: t.id, AgentName: t.agent, Summary: text})
	}
}
