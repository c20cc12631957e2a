package codex

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// maxReason bounds what a failed command's error repeats of the end of its output; the events of the shell have it whole.
const maxReason = 2000

// The names of Codex's tools in events. Tools of MCP servers have their own.
const (
	toolShell    = "shell"
	toolPatch    = "apply_patch"
	toolSearch   = "web_search"
	toolPlan     = "update_plan"
	toolImage    = "view_image"
	toolGenerate = "image_generation"
	toolSleep    = "sleep"
)

// source is who the events of an item come from: the agent itself, or the sub-agent that the tool call parent started.
type source struct {
	s      *cliagent.Sink
	parent string
}

func (o source) emit(b execution.Body) {
	if o.parent == "" {
		o.s.Emit(b)
		return
	}
	o.s.EmitFrom(o.parent, b)
}

var (
	null          = json.RawMessage("null")
	thinkingStart = execution.Body(execution.ThinkingStart{})
)

// raw is a copy of a value as JSON, null for none.
func raw(v jsonscan.Value) json.RawMessage {
	if !v.Exists() {
		return null
	}
	return clone(v.Raw())
}

// clone is bytes.Clone without room behind the copy, which costs what it takes to clear it.
func clone(b []byte) []byte {
	c := make([]byte, len(b))
	copy(c, b)
	return c
}

// text is a copy of a text as JSON; none at all is the empty one.
func text(v jsonscan.Value) json.RawMessage {
	if v.Kind() != jsonscan.String {
		return json.RawMessage(`""`)
	}
	return clone(v.Raw())
}

// member is one member of an object that object writes.
type member struct {
	key   string
	value jsonscan.Value
}

// object writes a JSON object of the members that exist.
func object(members ...member) json.RawMessage {
	size := 2
	for _, m := range members {
		size += len(m.key) + len(m.value.Raw()) + 4
	}
	b := make([]byte, 0, size)
	b = append(b, '{')
	for _, m := range members {
		if !m.value.Exists() {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, m.key...)
		b = append(b, `":`...)
		b = append(b, m.value.Raw()...)
	}
	return append(b, '}')
}

// begin is the start of a tool call whose input is known.
func (o source) begin(id, tool string, input json.RawMessage) {
	o.emit(execution.ToolCallStart{ToolCallID: id, ToolName: tool})
	o.emit(execution.ToolCallReady{ToolCallID: id, ToolName: tool, Input: input})
}

// end is the end of a tool call. A status other than completed is a failure, which why words.
func (o source) end(id, tool, status, why string, output json.RawMessage, ms int64) bool {
	if status == "completed" || status == "" {
		o.emit(execution.ToolResultEvent{ToolCallID: id, ToolName: tool, Output: output, DurationMs: ms})
		return true
	}
	if why == "" {
		why = "the call ended as " + status
	}
	o.emit(execution.ToolError{ToolCallID: id, ToolName: tool, Error: why})
	return false
}

// message is a whole text at once.
func (o source) message(id, text string) {
	o.emit(execution.MessageStart{MessageID: id})
	if text != "" {
		o.emit(execution.TextDelta{Delta: text, Accumulated: text})
	}
	o.emit(execution.MessageStop{Text: text})
}

// thinking is a whole thought at once.
func (o source) thinking(text string) {
	o.emit(thinkingStart)
	if text != "" {
		o.emit(execution.ThinkingDelta{Delta: text, Accumulated: text})
	}
	o.emit(execution.ThinkingStop{Thinking: text})
}

// command is the end of a command. rest is what of its output was not streamed, whole says that all the rest was.
func (o source) command(id, status, rest string, whole bool, output, exit jsonscan.Value, ms int64) {
	if status == "declined" {
		o.emit(execution.ToolError{ToolCallID: id, ToolName: toolShell, Error: "the command was declined"})
		return
	}
	if rest != "" {
		o.emit(execution.ShellStdoutDelta{Delta: rest, ToolCallID: id})
	}
	code, known := exit.Int()
	if known {
		o.emit(execution.ShellExit{ExitCode: int(code), DurationMs: ms, ToolCallID: id})
	}
	if status != "failed" {
		o.emit(execution.ToolResultEvent{ToolCallID: id, ToolName: toolShell, Output: text(output), DurationMs: ms})
		return
	}
	why := "the command failed"
	if known {
		why = "the command ended with exit code " + strconv.FormatInt(code, 10)
	}
	if !whole {
		why += "; its whole output:\n" + output.Str() // nothing else shows it
	} else if said := strings.TrimSpace(rest); said != "" {
		why += ":\n" + strings.ToValidUTF8(said[max(0, len(said)-maxReason):], "")
	}
	o.emit(execution.ToolError{ToolCallID: id, ToolName: toolShell, Error: why})
}

// patch is the end of a change of files. Exec says which files were changed and how, app-server also shows the changes.
func (o source) patch(id, status string, changes jsonscan.Value) {
	why := "the patch failed"
	if status == "declined" {
		why = "the patch was declined"
	}
	if !o.end(id, toolPatch, status, why, object(member{"changes", changes}), 0) {
		return
	}
	for _, c := range changes.Array {
		path, kind, diff := c.Get("path").Str(), c.Get("kind"), c.Get("diff").Str()
		moved := kind.Get("move_path").Str()
		if kind.Kind() == jsonscan.Object {
			kind = kind.Get("type")
		}
		switch {
		case path == "":
		case kind.IsStr("add"):
			o.emit(execution.FileCreate{Path: path, ByteCount: int64(len(diff)), ToolCallID: id})
		case kind.IsStr("delete"):
			o.emit(execution.FileDelete{Path: path, ToolCallID: id})
		case moved != "":
			o.emit(execution.FilePatch{Path: moved, Diff: diff, ToolCallID: id})
			o.emit(execution.FileDelete{Path: path, ToolCallID: id})
		default:
			o.emit(execution.FilePatch{Path: path, Diff: diff, ToolCallID: id})
		}
	}
}

// mcpEnd is the end of a call of an MCP server's tool.
func (o source) mcpEnd(id, server, tool, status string, result, fault jsonscan.Value) {
	if status == "completed" {
		o.emit(execution.MCPToolResult{ToolCallID: id, Server: server, ToolName: tool, Output: raw(result)})
		return
	}
	why := fault.Get("message").Str()
	if why == "" {
		for _, c := range result.Get("content").Array {
			if text := c.Get("text").Str(); text != "" {
				why = text
				break
			}
		}
	}
	if why == "" {
		why = "the call failed"
	}
	if strings.Contains(why, "requires approval, but approval policy is never") {
		o.emit(execution.ApprovalDenied{ID: execution.QuestionID(id + "/denied"), Reason: why, ToolName: tool})
	}
	o.emit(execution.MCPToolError{ToolCallID: id, Server: server, ToolName: tool, Error: why})
}
