package sessionfile

import (
	"encoding/json"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
)

// follower is a builder that reports what each line changed.
type follower struct {
	builder *Builder
	decoder Decoder
}

// Line decodes a line and returns the changes as events. An invalid line returns none: ReadSession reports it.
func (f *follower) Line(text []byte) []execution.Event {
	if len(strings.TrimSpace(string(text[:min(len(text), 64)]))) == 0 && len(text) < 64 {
		return nil
	}
	f.decoder.Line(text)
	return f.builder.take()
}

// take returns the events of the changes since the last call.
func (b *Builder) take() []execution.Event {
	var out []execution.Event
	add := func(parent string, bodies ...execution.Body) {
		for _, body := range bodies {
			out = append(out, execution.Event{Parent: parent, Body: body})
		}
	}
	for _, t := range b.Main.take() {
		if t.isNew && t.message.Role == history.RoleUser {
			if b.turns > 0 && !b.ended {
				add("", execution.TurnEnd{TurnIndex: b.turns - 1})
			}
			id := execution.InputID(t.message.ID)
			add("", execution.InputQueued{ID: id, Text: t.message.Content, When: execution.WhenNow}, execution.TurnStart{TurnIndex: b.turns},
				execution.InputTaken{ID: id})
			b.turns, b.ended = b.turns+1, false
			continue
		}
		add("", changes(t)...)
	}
	for _, s := range b.subagents {
		c := s.conversation
		for _, t := range c.take() {
			if t.isNew && t.message.Role == history.RoleUser {
				add("", execution.SubagentSpawn{SubagentID: c.parent, AgentName: s.Name, Prompt: t.message.Content})
				continue
			}
			add(c.parent, changes(t)...)
		}
	}
	for _, body := range b.extra {
		add("", body)
	}
	b.extra = b.extra[:0]
	return out
}

func (c *Conversation) take() []touched {
	t := c.touched
	c.touched = nil
	return t
}

// changes returns the events of what was added to a message.
func changes(t touched) []execution.Body {
	var out []execution.Body
	now, was := t.message, t.before
	if more := added(was.Thinking, now.Thinking, t.isNew); more != "" {
		out = append(out, execution.ThinkingStart{}, execution.ThinkingDelta{Delta: more, Accumulated: more}, execution.ThinkingStop{Thinking: more})
	}
	if more := added(was.Content, now.Content, t.isNew); more != "" && now.Role == history.RoleAssistant {
		out = append(out, execution.MessageStart{MessageID: now.ID}, execution.TextDelta{Delta: more, Accumulated: more}, execution.MessageStop{Text: more})
	}
	for _, call := range now.ToolCalls[min(len(was.ToolCalls), len(now.ToolCalls)):] {
		input := call.Input
		if len(input) == 0 {
			input = json.RawMessage("null")
		}
		out = append(out, execution.ToolCallStart{ToolCallID: call.ToolCallID, ToolName: call.ToolName},
			execution.ToolCallReady{ToolCallID: call.ToolCallID, ToolName: call.ToolName, Input: input})
	}
	if r := now.ToolResult; r != nil && was.ToolResult == nil {
		if r.IsError {
			out = append(out, execution.ToolError{ToolCallID: r.ToolCallID, ToolName: r.ToolName, Error: r.Output})
		} else {
			text, _ := json.Marshal(r.Output) // a string always encodes
			out = append(out, execution.ToolResultEvent{ToolCallID: r.ToolCallID, ToolName: r.ToolName, Output: text, DurationMs: r.DurationMs})
		}
	}
	if u := now.TokenUsage; u != nil {
		more := *u
		if was.TokenUsage != nil {
			more = u.Sub(*was.TokenUsage)
		}
		if more.Total > 0 {
			out = append(out, execution.TokenUsage{InputTokens: max(0, more.Input), OutputTokens: max(0, more.Output), ThinkingTokens: max(0, more.Thinking),
				CachedTokens: max(0, more.Cached), CacheWriteTokens: max(0, more.CacheWrite)})
		}
	}
	return out
}

// added returns the text appended to a text. A replaced text, such as a rewritten memory, adds nothing.
func added(was, now string, isNew bool) string {
	if isNew {
		return now
	}
	more, ok := strings.CutPrefix(now, was)
	if !ok {
		return ""
	}
	return strings.TrimPrefix(more, "\n")
}
