package copilot

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// tool is one tool call.
type tool struct {
	id     string
	name   string // as Copilot calls it
	parent string
	server string // of an MCP tool, whose name there is short
	short  string

	input   strings.Builder // what was streamed of it
	started bool            // tool_call_start is out
	ready   bool            // the input is known
	running bool            // shell_start is out
	heard   bool            // the shell's output came as it was written
	at      time.Time

	path    string // file tools
	command string // bash
	agent   string // task
	bytes   int64  // create
}

// toolOf is a call by its id; one that is not known yet is made.
func (p *parser) toolOf(st *stream, id, name string) *tool {
	if t := p.tools[id]; t != nil {
		return t
	}
	t := &tool{id: id, name: name, parent: st.parent}
	p.tools[id] = t
	return t
}

// mcp notes whose tool a call is. Copilot says so with the whole call; a piece of its input has the name alone, which is
// SERVER-TOOL.
func (p *parser) mcp(t *tool, server, short string) {
	if t.server != "" {
		return
	}
	if server != "" {
		t.server, t.short = server, cmp.Or(short, strings.TrimPrefix(t.name, server+"-"))
		return
	}
	for known := range p.servers {
		if rest, ok := strings.CutPrefix(t.name, known+"-"); ok && known != "" && len(known) > len(t.server) {
			t.server, t.short = known, rest
		}
	}
}

func (p *parser) startTool(t *tool, s *cliagent.Sink) {
	if t.started || t.server != "" {
		return
	}
	t.started = true
	s.EmitFrom(t.parent, execution.ToolCallStart{ToolCallID: t.id, ToolName: t.name})
}

var toolDeltaKeys = jsonscan.NewKeySet("toolCallId", "toolName", "inputDelta")

// toolDelta is a piece of a call's input.
func (p *parser) toolDelta(data jsonscan.Value, s *cliagent.Sink) bool {
	var v [3]jsonscan.Value
	if !data.Fields(v[:], toolDeltaKeys) || v[0].Kind() != jsonscan.String {
		return false
	}
	p.spoken(s)
	st := p.stream()
	p.endThought(st, s)
	t := p.toolOf(st, p.names.Str(v[0]), p.names.Str(v[1]))
	if p.mcp(t, "", ""); t.server != "" || t.ready {
		return true
	}
	p.startTool(t, s)
	if delta, all := grow(&t.input, v[2]); delta != "" {
		s.EmitFrom(t.parent, execution.ToolInputDelta{ToolCallID: t.id, Delta: delta, InputAccumulated: all})
	}
	return true
}

var requestKeys = jsonscan.NewKeySet("toolCallId", "name", "arguments", "mcpServerName", "mcpToolName", "toolName")

// toolRequested is a call of a whole message.
func (p *parser) toolRequested(st *stream, request jsonscan.Value, s *cliagent.Sink) {
	var v [6]jsonscan.Value
	if request.Fields(v[:], requestKeys) && v[0].Kind() == jsonscan.String {
		p.toolReady(st, &v, s)
	}
}

// toolStarted is a call that begins, or waits for its permission. Calls of sub-agents and of Copilot itself may come
// without a message before them.
func (p *parser) toolStarted(data jsonscan.Value, s *cliagent.Sink) bool {
	var v [6]jsonscan.Value
	if !data.Fields(v[:], requestKeys) || v[0].Kind() != jsonscan.String {
		return false
	}
	p.ensureTurn(s)
	p.toolReady(p.stream(), &v, s).at = cliagent.Moment(p.values[keyTime])
	return true
}

// toolReady is a call with its whole input; the first report counts.
func (p *parser) toolReady(st *stream, v *[6]jsonscan.Value, s *cliagent.Sink) *tool {
	t := p.toolOf(st, p.names.Str(v[0]), cmp.Or(p.names.Str(v[1]), p.names.Str(v[5])))
	if t.ready {
		return t
	}
	t.ready = true
	t.name = cmp.Or(t.name, p.names.Str(v[5]))
	p.mcp(t, v[3].Str(), v[4].Str())
	input := json.RawMessage("{}")
	if v[2].Exists() && v[2].Kind() != jsonscan.Null {
		input = bytes.Clone(v[2].Raw())
	}
	if t.server != "" {
		s.EmitFrom(t.parent, execution.MCPToolCallStart{ToolCallID: t.id, Server: t.server, ToolName: t.short, Input: input})
		return t
	}
	p.startTool(t, s)
	s.EmitFrom(t.parent, execution.ToolCallReady{ToolCallID: t.id, ToolName: t.name, Input: input})
	p.readInput(t, v[2], s)
	return t
}

var inputKeys = jsonscan.NewKeySet("path", "file_text", "command", "agent_type", "prompt")

// readInput keeps what the events derived from a call need.
func (p *parser) readInput(t *tool, input jsonscan.Value, s *cliagent.Sink) {
	var v [5]jsonscan.Value
	if !input.Fields(v[:], inputKeys) {
		return
	}
	t.path, t.bytes = v[0].Str(), int64(len(v[1].Str()))
	if t.isShell() {
		t.command = v[2].Str()
	}
	if t.name == "task" {
		t.agent = v[3].Str()
		s.EmitFrom(t.parent, execution.SubagentSpawn{SubagentID: t.id, AgentName: t.agent, Prompt: v[4].Str()})
	}
}

func (t *tool) isShell() bool { return t.name == "bash" || t.name == "powershell" }

// refused are the codes of calls that never ran because nobody allowed them.
var refused = map[string]bool{"denied": true, "rejected": true}

var doneKeys = jsonscan.NewKeySet("toolCallId", "success", "result.content", "result.detailedContent", "error.message", "error.code", "shellExecution.exitCode",
	"fileEdits", "result")

// toolDone is the end of a call.
func (p *parser) toolDone(data jsonscan.Value, s *cliagent.Sink) bool {
	var v [9]jsonscan.Value
	if !data.Fields(v[:], doneKeys) || v[0].Kind() != jsonscan.String {
		return false
	}
	p.ensureTurn(s)
	t := p.toolOf(p.stream(), p.names.Str(v[0]), "")
	content, failed := v[2].Str(), !isTrue(v[1])
	code, exited := v[6].Int()
	text := content
	switch {
	case failed:
		text = cmp.Or(v[4].Str(), content, "copilot does not say why it failed")
		if refused[v[5].Str()] {
			why, _, _ := strings.Cut(text, " Retry in an interactive session")
			s.EmitFrom(t.parent, execution.ApprovalDenied{ID: execution.QuestionID(t.id), Reason: why, ToolName: cmp.Or(t.short, t.name)})
		}
	case exited && code != 0:
		failed = true // for Copilot a command that failed is a tool that worked
	}
	if t.isShell() {
		p.shellDone(t, content, code, exited, s)
	}
	delete(p.tools, t.id)
	output := json.RawMessage("null")
	if v[2].Exists() {
		output = bytes.Clone(v[2].Raw())
	}
	switch {
	case failed && t.server != "":
		s.EmitFrom(t.parent, execution.MCPToolError{ToolCallID: t.id, Server: t.server, ToolName: t.short, Error: text})
	case failed:
		s.EmitFrom(t.parent, execution.ToolError{ToolCallID: t.id, ToolName: t.name, Error: text})
	case t.server != "":
		if contents := v[8].Get("contents"); contents.Exists() {
			output = bytes.Clone(contents.Raw())
		}
		s.EmitFrom(t.parent, execution.MCPToolResult{ToolCallID: t.id, Server: t.server, ToolName: t.short, Output: output})
	default:
		s.EmitFrom(t.parent, execution.ToolResultEvent{ToolCallID: t.id, ToolName: t.name, Output: output, DurationMs: p.elapsed(t)})
	}
	p.files(t, v[7], v[3].Str(), failed, s)
	return true
}

// elapsed is the time since the call began in milliseconds, 0 when it is not known.
func (p *parser) elapsed(t *tool) int64 {
	now := cliagent.Moment(p.values[keyTime])
	if t.at.IsZero() || now.Before(t.at) {
		return 0
	}
	return now.Sub(t.at).Milliseconds()
}

// files makes the events of the files that a call read or changed; also one that failed may have changed some.
func (p *parser) files(t *tool, edits jsonscan.Value, diff string, failed bool, s *cliagent.Sink) {
	if t.name == "view" && !failed && t.path != "" {
		s.EmitFrom(t.parent, execution.FileRead{Path: t.path, ToolCallID: t.id})
	}
	n := 0
	for range edits.Array {
		n++
	}
	for _, edit := range edits.Array {
		path := edit.Get("path").Str()
		switch kind, _ := edit.Get("kind").Plain(); string(kind) {
		case "create":
			s.EmitFrom(t.parent, execution.FileCreate{Path: path, ByteCount: t.bytes, ToolCallID: t.id})
		case "delete":
			s.EmitFrom(t.parent, execution.FileDelete{Path: path, ToolCallID: t.id})
		default:
			patch := execution.FilePatch{Path: path, ToolCallID: t.id}
			if n == 1 { // the diff of several files is not taken apart
				patch.Diff = strings.TrimPrefix(diff, "\n")
			}
			s.EmitFrom(t.parent, patch)
		}
	}
}

var subagentKeys = jsonscan.NewKeySet("toolCallId", "agentName", "error", "cancelled")

// subagentDone is the end of a sub-agent. One whose call is still open is told by the call's result, which has its answer.
func (p *parser) subagentDone(data jsonscan.Value, s *cliagent.Sink) bool {
	var v [4]jsonscan.Value
	if !data.Fields(v[:], subagentKeys) || v[0].Kind() != jsonscan.String {
		return false
	}
	p.ensureTurn(s)
	st := p.stream()
	p.endStep(st, s)
	id, agent := v[0].Str(), v[1].Str()
	parent := ""
	if t := p.tools[id]; t != nil {
		agent, parent = cmp.Or(t.agent, agent), t.parent
	}
	switch {
	case v[2].Str() != "":
		s.EmitFrom(parent, execution.SubagentError{SubagentID: id, AgentName: agent, Error: v[2].Str()})
	case isTrue(v[3]):
		s.EmitFrom(parent, execution.SubagentError{SubagentID: id, AgentName: agent, Error: "it was cancelled"})
	default:
		s.EmitFrom(parent, execution.SubagentResult{SubagentID: id, AgentName: agent, Summary: st.answer})
	}
	return true
}
