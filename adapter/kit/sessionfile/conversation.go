package sessionfile

import (
	"encoding/json"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
)

// Conversation collects the messages of a session's main conversation or of one sub-agent.
type Conversation struct {
	builder *Builder
	parent  string // the tool call or sub-agent that events belong to; empty for the main conversation
	list    []*history.Message
	byID    map[string]*history.Message
	calls   map[string]string // tool names by call
	tree    tree

	live    bool
	touched []touched
}

// touched is a message as it was before the current line.
type touched struct {
	message *history.Message
	before  history.Message
	isNew   bool
}

func newConversation(b *Builder, parent string) *Conversation {
	return &Conversation{builder: b, parent: parent, byID: map[string]*history.Message{}, calls: map[string]string{}}
}

// Message returns the message with an id, appending it if it is new. An empty id always creates a message.
func (c *Conversation) Message(id string, role history.Role, at time.Time) *history.Message {
	if m := c.Find(id); m != nil {
		return m
	}
	m := &history.Message{ID: id, Role: role, Timestamp: at}
	c.list = append(c.list, m)
	if id != "" {
		c.byID[id] = m
	}
	if c.live {
		c.touched = append(c.touched, touched{message: m, isNew: true})
	}
	return m
}

// Find returns the message with an id, nil for none.
func (c *Conversation) Find(id string) *history.Message {
	if id == "" {
		return nil
	}
	m := c.byID[id]
	if m != nil && c.live {
		for _, t := range c.touched {
			if t.message == m {
				return m
			}
		}
		c.touched = append(c.touched, touched{message: m, before: *m})
	}
	return m
}

// Each calls f for every message, in order.
func (c *Conversation) Each(f func(*history.Message)) {
	for _, m := range c.list {
		f(m)
	}
}

// Prompt adds a user message.
func (c *Conversation) Prompt(id, text string, at time.Time) *history.Message {
	m := c.Message(id, history.RoleUser, at)
	m.Content = text
	if c.parent == "" {
		c.builder.Title(TitleFromPrompt, text)
	}
	return m
}

// Note adds an agent's note about the conversation.
func (c *Conversation) Note(id, text string, at time.Time) *history.Message {
	m := c.Message(id, history.RoleSystem, at)
	m.Content = text
	return m
}

// Result adds the result of a tool call, under the name of the call's tool.
func (c *Conversation) Result(id, call string, at time.Time) *history.ToolResult {
	m := c.Message(id, history.RoleTool, at)
	if m.ToolResult == nil {
		m.ToolResult = &history.ToolResult{ToolCallID: call, ToolName: c.calls[call]}
	}
	return m.ToolResult
}

// Call adds a tool call to a message unless it is present.
func (c *Conversation) Call(m *history.Message, id, name string, input []byte) {
	if id != "" {
		if _, ok := c.calls[id]; ok {
			return
		}
		c.calls[id] = name
	}
	m.ToolCalls = append(m.ToolCalls, history.ToolCall{ToolCallID: id, ToolName: name, Input: json.RawMessage(append([]byte(nil), input...))})
}

// Input returns the input of a tool call that an agent keeps as text: JSON as it is, anything else as a JSON string.
func Input(text string) []byte {
	if json.Valid([]byte(text)) {
		return []byte(text)
	}
	b, _ := json.Marshal(text) // a string always encodes
	return b
}

// AddText adds a block of text to a message, on a new line.
func AddText(have, more string) string {
	switch {
	case more == "":
		return have
	case have == "":
		return more
	}
	return have + "\n" + more
}

// messages returns copies of the collected messages.
func (c *Conversation) messages() []history.Message {
	out := make([]history.Message, len(c.list))
	for i, m := range c.list {
		out[i] = *m
	}
	return out
}

// totals counts the active conversation; usage counts everything, including abandoned branches.
func (c *Conversation) totals() (turns, messages int, usage execution.Usage) {
	for _, m := range c.list {
		if m.TokenUsage != nil {
			usage = usage.Add(*m.TokenUsage)
		}
		if m.Inactive {
			continue
		}
		messages++
		if m.Role == history.RoleUser {
			turns++
		}
	}
	return turns, messages, usage
}
