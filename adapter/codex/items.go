package codex

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// maxReason bounds the end of a failed command's output in its error; the shell events have all of it.
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

// hooked are the tools as hooks and questions name them.
var hooked = &toolcall.Table{
	Tools: toolcall.Tools{toolcall.Shell: {"Bash", toolShell}, toolcall.Edit: {toolPatch}, toolcall.Read: {toolImage}, toolcall.Fetch: {toolSearch}},
	Input: toolcall.Input{Command: "command", Path: "path"},
	MCP:   toolcall.Naming{Prefix: "mcp__", Separator: "__"},
}

// source is the origin of an item's events: the agent itself, or the sub-agent that the tool call parent started.
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

// raw returns a copy of a value as JSON, null for none.
func raw(v jsonscan.Value) json.RawMessage {
	if !v.Exists() {
		return null
	}
	return clone(v.Raw())
}

// clone is bytes.Clone without spare capacity, which would have to be cleared.
func clone(b []byte) []byte {
	c := make([]byte, len(b))
	copy(c, b)
	return c
}

// text returns a copy of a string as JSON, the empty string for none.
func text(v jsonscan.Value) json.RawMessage {
	if v.Kind() != jsonscan.String {
		return json.RawMessage(`""`)
	}
	return clone(v.Raw())
}

// member is a member of an object for object.
type member struct {
	key   string
	value jsonscan.Value
}

// object encodes a JSON object of the existing members.
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

// begin handles the start of a tool call whose input is known.
func (o source) begin(id, tool string, input json.RawMessage) {
	c := o.call(id, tool)
	c.Called(input, o.s)
}

// call handles a tool call whose items are complete at every stage.
func (o source) call(id, tool string) toolcall.Call {
	return toolcall.Call{ID: id, Name: tool, Parent: o.parent}
}

// end handles the end of a tool call. A status other than completed is a failure with the message why.
func (o source) end(id, tool, status, why string, output json.RawMessage, ms int64) bool {
	c := o.call(id, tool)
	if status == "completed" || status == "" {
		c.Done(output, ms, o.s)
		return true
	}
	c.Fail(cmp.Or(why, "the call ended as "+status), o.s)
	return false
}

// message emits a whole text at once.
func (o source) message(id, text string) {
	o.emit(execution.MessageStart{MessageID: id})
	if text != "" {
		o.emit(execution.TextDelta{Delta: text, Accumulated: text})
	}
	o.emit(execution.MessageStop{Text: text})
}

// command handles the end of a command. said is the part of its output that was streamed, rest the part that was not, whole reports that
// it is complete.
func (o source) command(id, status, said, rest string, whole bool, output, exit jsonscan.Value, ms int64) {
	c := o.call(id, toolShell)
	if status == "declined" {
		c.Fail("the command was declined", o.s)
		return
	}
	c.Stdout(rest, o.s)
	code, known := exit.Int()
	if known {
		c.Exit(int(code), ms, o.s)
	}
	if status != "failed" {
		c.Done(text(output), ms, o.s)
		return
	}
	why := "the command failed"
	if known {
		why = "the command ended with exit code " + strconv.FormatInt(code, 10)
	}
	if !whole {
		why += "; its whole output:\n" + output.Str() // its only trace
	} else if said := strings.TrimSpace(cmp.Or(output.Str(), said)); said != "" {
		why += ":\n" + strings.ToValidUTF8(said[max(0, len(said)-maxReason):], "")
	}
	c.Fail(why, o.s)
}

// patch handles the end of a file change.
func (o source) patch(id, status string, changes jsonscan.Value) {
	why := "the patch failed"
	if status == "declined" {
		why = "the patch was declined"
	}
	if !o.end(id, toolPatch, status, why, object(member{"changes", changes}), 0) {
		return
	}
	c := o.call(id, toolPatch)
	for _, change := range changes.Array {
		path, kind, diff := change.Get("path").Str(), change.Get("kind"), change.Get("diff").Str()
		moved := kind.Get("move_path").Str()
		if kind.Kind() == jsonscan.Object {
			kind = kind.Get("type")
		}
		switch {
		case kind.IsStr("add"):
			c.File(execution.FileCreate{Path: path, ByteCount: int64(len(diff))}, o.s)
		case kind.IsStr("delete"):
			c.File(execution.FileDelete{Path: path}, o.s)
		case moved != "":
			c.File(execution.FilePatch{Path: moved, Diff: diff}, o.s)
			c.File(execution.FileDelete{Path: path}, o.s)
		default:
			c.File(execution.FilePatch{Path: path, Diff: diff}, o.s)
		}
	}
}

// mcpEnd handles the end of a call of an MCP server's tool.
func (o source) mcpEnd(id, server, tool, status string, result, fault jsonscan.Value) {
	c := o.call(id, "")
	c.Of(server, tool)
	if status == "completed" {
		c.Done(raw(result), 0, o.s)
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
	c.Fail(why, o.s)
}
