package sessionfile

import (
	"time"

	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// Block is an element of a message's content in the form of the Messages API.
type Block struct {
	Type, Text, Thinking, ID, Name, Input, Content jsonscan.Value
	ToolUseID                                      jsonscan.Value `scan:"tool_use_id"`
	IsError                                        jsonscan.Value `scan:"is_error"`
}

// BlockShape reads a Block.
var BlockShape jsonscan.Shape[Block]

// Answer adds an answer of the model in the form of the Messages API; called reports whether it calls a tool.
func (c *Conversation) Answer(id string, content jsonscan.Value, at time.Time) (m *history.Message, called bool) {
	m = c.Message(id, history.RoleAssistant, at)
	if content.Kind() == jsonscan.String {
		m.Content = content.Str()
	}
	for _, e := range content.Array {
		var b Block
		BlockShape.From(e, &b)
		switch b.Type.Str() {
		case "text":
			m.Content = AddText(m.Content, b.Text.Str())
		case "thinking":
			m.Thinking = AddText(m.Thinking, b.Thinking.Str())
		case "tool_use":
			called = true
			c.Call(m, b.ID.Str(), b.Name.Str(), b.Input.Raw())
		}
	}
	return m, called
}

// Results adds the results of tools in a message to the model, whose form is the Messages API's, and returns the message's text.
// output reads the content of a result.
func (c *Conversation) Results(id string, content jsonscan.Value, at time.Time, output func(Block) (text string, failed bool)) (said string) {
	if content.Kind() == jsonscan.String {
		return content.Str()
	}
	for _, e := range content.Array {
		var b Block
		BlockShape.From(e, &b)
		switch b.Type.Str() {
		case "text":
			said = AddText(said, b.Text.Str())
		case "tool_result":
			r := c.Result(id+"/"+b.ToolUseID.Str(), b.ToolUseID.Str(), at)
			if r.ToolName == "" {
				r.ToolName = b.Name.Str()
			}
			r.Output, r.IsError = output(b)
		}
	}
	return said
}
