package sessionfile

import (
	"encoding/json"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// Conversation collects the messages of the main conversation of a session, or of one sub-agent.
type Conversation struct {
	builder *Builder
	parent  string // the tool call or sub-agent that events are about; empty for the main one
	list    []*adapter.SessionMessage
	byID    map[string]*adapter.SessionMessage
	calls   map[string]string // names of tools by call
	tree    tree

	live    bool
	touched []touched
}

// touched is a message as it was before the line that is being decoded.
type touched struct {
	message *adapter.SessionMessage
	before  adapter.SessionMessage
	isNew   bool
}

func newConversation(b *Builder, parent string) *Conversation {
	return &Conversation{builder: b, parent: parent, byID: map[string]*adapter.SessionMessage{}, calls: map[string]string{}}
}

// Message gives the message with an id to be filled or added to; it is appended when it is not there. With an empty id
// it is always a new one.
func (c *Conversation) Message(id string, role adapter.MessageRole, at time.Time) *adapter.SessionMessage {
	if m := c.Find(id); m != nil {
		return m
	}
	m := &adapter.SessionMessage{ID: id, Role: role, Timestamp: at}
	c.list = append(c.list, m)
	if id != "" {
		c.byID[id] = m
	}
	if c.live {
		c.touched = append(c.touched, touched{message: m, isNew: true})
	}
	return m
}

// Find gives the message with an id, nil when there is none, so that it can be added to.
func (c *Conversation) Find(id string) *adapter.SessionMessage {
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
func (c *Conversation) Each(f func(*adapter.SessionMessage)) {
	for _, m := range c.list {
		f(m)
	}
}

// Prompt adds what the user said.
func (c *Conversation) Prompt(id, text string, at time.Time) *adapter.SessionMessage {
	m := c.Message(id, adapter.RoleUser, at)
	m.Content = text
	if c.parent == "" {
		c.builder.Title(TitleFromPrompt, text)
	}
	return m
}

// Note adds what the agent notes about the conversation.
func (c *Conversation) Note(id, text string, at time.Time) *adapter.SessionMessage {
	m := c.Message(id, adapter.RoleSystem, at)
	m.Content = text
	return m
}

// Result adds the result of a tool call; the name of the tool is that of the call.
func (c *Conversation) Result(id, call string, at time.Time) *adapter.SessionToolResult {
	m := c.Message(id, adapter.RoleTool, at)
	if m.ToolResult == nil {
		m.ToolResult = &adapter.SessionToolResult{ToolCallID: call, ToolName: c.calls[call]}
	}
	return m.ToolResult
}

// Call adds a tool call to a message unless it has it already.
func (c *Conversation) Call(m *adapter.SessionMessage, id, name string, input []byte) {
	if id != "" {
		if _, ok := c.calls[id]; ok {
			return
		}
		c.calls[id] = name
	}
	m.ToolCalls = append(m.ToolCalls, adapter.SessionToolCall{ToolCallID: id, ToolName: name, Input: json.RawMessage(append([]byte(nil), input...))})
}

// AddText adds a block of text to what a message says, on a line of its own.
func AddText(have, more string) string {
	switch {
	case more == "":
		return have
	case have == "":
		return more
	}
	return have + "\n" + more
}

// messages are the collected ones, as values.
func (c *Conversation) messages() []adapter.SessionMessage {
	out := make([]adapter.SessionMessage, len(c.list))
	for i, m := range c.list {
		out[i] = *m
	}
	return out
}

// totals counts the conversation as far as it is active; usage counts everything, since everything was used.
func (c *Conversation) totals() (turns, messages int, usage execution.Usage) {
	for _, m := range c.list {
		if m.TokenUsage != nil {
			usage = usage.Add(*m.TokenUsage)
		}
		if m.Inactive {
			continue
		}
		messages++
		if m.Role == adapter.RoleUser {
			turns++
		}
	}
	return turns, messages, usage
}
