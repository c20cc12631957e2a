package run

import (
	"cmp"
	"encoding/json"
	"io"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/internal/agentdata/session"
	"github.com/drawbar/drawbar/sessions"
)

// document is the conversation of a run, made from its events.
type document struct {
	history.Session
	sent map[execution.InputID]string // messages that have not reached the conversation
}

func newDocument(req execution.Request) *document {
	d := &document{sent: map[execution.InputID]string{}}
	d.Cwd = req.Run.Cwd
	d.say(history.RoleUser, string(req.Message.Text))
	return d
}

func (d *document) say(role history.Role, text string) {
	d.Messages = append(d.Messages, history.Message{Role: role, Content: text})
}

// add adds what an event says. Sub-agents are left out.
func (d *document) add(e execution.Event) {
	if e.Parent != "" {
		return
	}
	switch b := e.Body.(type) {
	case execution.MessageStop:
		if b.Text != "" {
			d.say(history.RoleAssistant, b.Text)
		}
	case execution.InputQueued:
		d.sent[b.ID] = b.Text
	case execution.InputTaken:
		if text := d.sent[b.ID]; text != "" {
			d.say(history.RoleUser, text)
		}
		delete(d.sent, b.ID)
	case execution.ToolCallReady:
		d.call(b.ToolCallID, b.ToolName, b.Input)
	case execution.MCPToolCallStart:
		d.call(b.ToolCallID, b.Server+"/"+b.ToolName, b.Input)
	case execution.ToolResultEvent:
		d.returned(b.ToolName, said(b.Output), false)
	case execution.MCPToolResult:
		d.returned(b.Server+"/"+b.ToolName, said(b.Output), false)
	case execution.ToolError:
		d.returned(b.ToolName, b.Error, true)
	case execution.MCPToolError:
		d.returned(b.Server+"/"+b.ToolName, b.Error, true)
	}
}

// call adds a tool call to the message before it.
func (d *document) call(id, name string, input json.RawMessage) {
	if n := len(d.Messages); d.Messages[n-1].Role != history.RoleAssistant {
		d.say(history.RoleAssistant, "")
	}
	m := &d.Messages[len(d.Messages)-1]
	m.ToolCalls = append(m.ToolCalls, history.ToolCall{ToolCallID: id, ToolName: name, Input: input})
}

func (d *document) returned(name, output string, failed bool) {
	d.Messages = append(d.Messages, history.Message{Role: history.RoleTool, ToolResult: &history.ToolResult{ToolName: name, Output: output, IsError: failed}})
}

// said returns a tool's output: a JSON string's text, or the JSON.
func said(output json.RawMessage) string {
	var s string
	if json.Unmarshal(output, &s) == nil {
		return s
	}
	return string(output)
}

// write writes the conversation as Markdown.
func (d *document) write(w io.Writer, res execution.Result) error {
	d.Agent, d.Model, d.SessionID, d.Usage, d.Cost = res.Agent, res.Model, res.SessionID, res.Usage, res.Cost
	if res.SessionID != "" {
		d.UnifiedID = execution.UnifiedSession(res.Agent, res.SessionID)
	}
	d.Title = cmp.Or(d.UnifiedID, "run "+string(res.RunID))
	if out := res.Output; len(d.Messages) == 1 && out != nil && text(out) != "" { // the answer came without a message event
		d.say(history.RoleAssistant, text(out))
	}
	return session.Export(w, d.Session, sessions.Markdown)
}
