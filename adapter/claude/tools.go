package claude

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// tool is one tool call.
type tool struct {
	id     string
	name   string // as Claude calls it
	parent string
	server string // of an MCP tool, whose name there is short
	short  string

	ready   bool // the input is known
	running bool // shell_start is out
	async   bool // a sub-agent that works on after its call returned
	at      time.Time

	path    string // file tools
	command string // Bash
	agent   string // Task, Agent
	bytes   int64  // Write
}

// toolStart is the begin of a call. A call that is known already is returned as it is.
func (p *parser) toolStart(parent, id, name string, s *cliagent.Sink) *tool {
	if t := p.tools[id]; t != nil {
		return t
	}
	t := &tool{id: id, name: name, parent: parent}
	t.server, t.short = p.mcpTool(name)
	p.tools[id] = t
	if t.server == "" {
		s.EmitFrom(parent, execution.ToolCallStart{ToolCallID: id, ToolName: name})
	}
	return t
}

// mcpTool splits the name Claude gives to a tool of an MCP server, mcp__server__tool. Either part may hold underscores,
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

var inputKeys = jsonscan.NewKeySet("file_path", "notebook_path", "command", "subagent_type", "prompt", "content")

// toolReady is a call with its whole input; the first report counts.
func (p *parser) toolReady(t *tool, input jsonscan.Value, s *cliagent.Sink) {
	if t.ready {
		return
	}
	t.ready = true
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

// readInput keeps what the events derived from a call need, and returns the prompt of a sub-agent.
func (p *parser) readInput(t *tool, input jsonscan.Value) (prompt string) {
	var v [6]jsonscan.Value
	if !input.Fields(v[:], inputKeys) {
		return ""
	}
	t.path = cmp.Or(v[0].Str(), v[1].Str())
	if t.name == "Bash" {
		t.command = v[2].Str()
	}
	if t.isAgent() {
		t.agent = cmp.Or(v[3].Str(), "general-purpose")
		prompt = v[4].Str()
	}
	if t.name == "Write" {
		p.scratch = v[5].StrBytes(p.scratch[:0])
		t.bytes = int64(len(p.scratch))
	}
	return prompt
}

func (t *tool) isAgent() bool { return t.name == "Task" || t.name == "Agent" }

// toolEnd is what a line says of the end of a call.
type toolEnd struct {
	id, parent string
	content    jsonscan.Value // what the model is told
	detail     jsonscan.Value // what Claude's own display is told: an object, or a text
	meta       jsonscan.Value
	failed     bool
	at         time.Time
}

var metaKeys = jsonscan.NewKeySet("id", "non_execution_kind")

// refused reports that the tool never ran.
func (e toolEnd) refused() bool {
	for _, element := range e.meta.Array {
		var v [2]jsonscan.Value
		if element.Fields(v[:], metaKeys) && v[0].IsStr(e.id) && v[1].Kind() == jsonscan.String {
			return true
		}
	}
	return false
}

func (p *parser) toolDone(e toolEnd, s *cliagent.Sink) {
	t := p.tools[e.id]
	if t == nil {
		t = &tool{id: e.id, parent: e.parent}
	}
	text := contentText(e.content)
	if t.name == "Bash" {
		p.shell(t, e, text, s)
	} else if t.isAgent() {
		p.subagent(t, e, text, s)
	}
	if !t.async {
		delete(p.tools, e.id)
	}
	output := json.RawMessage("null")
	if e.content.Exists() {
		output = bytes.Clone(e.content.Raw())
	}
	switch {
	case e.failed && t.server != "":
		s.EmitFrom(t.parent, execution.MCPToolError{ToolCallID: t.id, Server: t.server, ToolName: t.short, Error: plainError(text)})
	case e.failed:
		s.EmitFrom(t.parent, execution.ToolError{ToolCallID: t.id, ToolName: t.name, Error: plainError(text)})
	case t.server != "":
		s.EmitFrom(t.parent, execution.MCPToolResult{ToolCallID: t.id, Server: t.server, ToolName: t.short, Output: output})
	default:
		s.EmitFrom(t.parent, execution.ToolResultEvent{ToolCallID: t.id, ToolName: t.name, Output: output, DurationMs: elapsed(t.at, e.at)})
		p.file(t, e, text, s)
	}
}

func plainError(text string) string {
	text = strings.TrimPrefix(text, "<tool_use_error>")
	return strings.TrimSuffix(text, "</tool_use_error>")
}

// file makes the event of the file that a call read or changed.
func (p *parser) file(t *tool, e toolEnd, text string, s *cliagent.Sink) {
	switch t.name {
	case "Read":
		s.EmitFrom(t.parent, execution.FileRead{Path: t.path, ToolCallID: t.id})
	case "Write":
		p.written(t, e, text, s)
	case "Edit", "MultiEdit", "NotebookEdit":
		s.EmitFrom(t.parent, execution.FilePatch{Path: t.path, Diff: unified(e.detail.Get("structuredPatch")), ToolCallID: t.id})
	}
}

// written tells a new file from one that was there. Lines of a sub-agent have no detail, only the text for its model.
func (p *parser) written(t *tool, e toolEnd, text string, s *cliagent.Sink) {
	kind := e.detail.Get("type")
	if kind.IsStr("create") || !kind.Exists() && strings.HasPrefix(text, "File created") {
		s.EmitFrom(t.parent, execution.FileCreate{Path: t.path, ByteCount: t.bytes, ToolCallID: t.id})
		return
	}
	s.EmitFrom(t.parent, execution.FileWrite{Path: t.path, ByteCount: t.bytes, ToolCallID: t.id})
}

var shellKeys = jsonscan.NewKeySet("stdout", "stderr", "backgroundTaskId")

// shell is the end of a command. Claude states no exit code of its own: success means 0, and a failure begins with
// "Exit code N". Both streams arrive as one, except where it keeps them apart.
func (p *parser) shell(t *tool, e toolEnd, text string, s *cliagent.Sink) {
	code, rest, exited := exitCode(text)
	switch {
	case !e.failed:
		code = 0
	case e.refused() || !exited && !t.running:
		return
	case !exited:
		code, rest = -1, plainError(text)
	}
	p.shellStart(t, s)
	var v [3]jsonscan.Value
	stdout, stderr := rest, ""
	if e.detail.Fields(v[:], shellKeys) {
		stdout, stderr = v[0].Str(), v[1].Str()
	} else if !e.failed {
		stdout = text
	}
	if stdout != "" {
		s.EmitFrom(t.parent, execution.ShellStdoutDelta{Delta: stdout, ToolCallID: t.id})
	}
	if stderr != "" {
		s.EmitFrom(t.parent, execution.ShellStderrDelta{Delta: stderr, ToolCallID: t.id})
	}
	if v[2].Kind() == jsonscan.String {
		return // it runs on in the background
	}
	s.EmitFrom(t.parent, execution.ShellExit{ExitCode: code, DurationMs: elapsed(t.at, e.at), ToolCallID: t.id})
}

// shellStart says that a command runs, once.
func (p *parser) shellStart(t *tool, s *cliagent.Sink) {
	if t.running || t.name != "Bash" {
		return
	}
	t.running = true
	s.EmitFrom(t.parent, execution.ShellStart{Command: t.command, Cwd: p.cwd, ToolCallID: t.id})
}

func exitCode(text string) (code int, rest string, ok bool) {
	after, ok := strings.CutPrefix(text, "Exit code ")
	if !ok {
		return 0, "", false
	}
	digits, rest, _ := strings.Cut(after, "\n")
	code, err := strconv.Atoi(strings.TrimSpace(digits))
	return code, rest, err == nil
}

// subagent is the end of the call that started a sub-agent; one in the background has then only begun.
func (p *parser) subagent(t *tool, e toolEnd, text string, s *cliagent.Sink) {
	if st := p.subs[t.id]; st != nil && !t.async {
		p.endMessage(st, s)
	}
	status := e.detail.Get("status")
	switch {
	case e.failed:
		s.EmitFrom(t.parent, execution.SubagentError{SubagentID: t.id, AgentName: t.agent, Error: plainError(text)})
	case status.IsStr("async_launched") || status.IsStr("remote_launched"):
		t.async = true
	default:
		s.EmitFrom(t.parent, execution.SubagentResult{SubagentID: t.id, AgentName: t.agent,
			Summary: summary(cmp.Or(contentText(e.detail.Get("content")), text))})
	}
}

// summary is a sub-agent's answer without what Claude puts in front of it for its model.
func summary(text string) string {
	const end = "</tools-used-before-summary>"
	if i := strings.LastIndex(text, end); i >= 0 {
		text = text[i+len(end):]
	}
	return strings.TrimSpace(text)
}

var patchKeys = jsonscan.NewKeySet("oldStart", "oldLines", "newStart", "newLines", "lines")

// unified writes Claude's hunks as a unified diff without file names.
func unified(patch jsonscan.Value) string {
	var b strings.Builder
	for _, hunk := range patch.Array {
		var v [5]jsonscan.Value
		if !hunk.Fields(v[:], patchKeys) {
			continue
		}
		b.WriteString("@@ -" + strconv.FormatInt(cliagent.Count(v[0]), 10) + "," + strconv.FormatInt(cliagent.Count(v[1]), 10) +
			" +" + strconv.FormatInt(cliagent.Count(v[2]), 10) + "," + strconv.FormatInt(cliagent.Count(v[3]), 10) + " @@\n")
		for _, l := range v[4].Array {
			b.WriteString(l.Str())
			b.WriteByte('\n')
		}
	}
	return b.String()
}

var progressKeys = jsonscan.NewKeySet("tool_use_id")

// toolProgress is a sign of life of a tool that takes its time.
func (p *parser) toolProgress(line []byte, s *cliagent.Sink) bool {
	var v [1]jsonscan.Value
	if jsonscan.Fields(line, v[:], progressKeys) != nil {
		return false
	}
	if t := p.tools[v[0].Str()]; t != nil && t.ready {
		p.shellStart(t, s)
	}
	return true
}
