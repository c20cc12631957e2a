package clitest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

// order is what is open at a point in the events of a run.
type order struct {
	session, turn bool
	steps         map[string]bool             // by parent
	thoughts      map[string]bool             // by parent
	texts         map[string]*strings.Builder // by parent
	calls, ended  map[string]bool
	shells        map[string]bool
	asked         map[execution.QuestionID]bool
}

// CheckOrder checks the order of events that every adapter guarantees: what starts also ends, except in a failed
// turn; nothing is reported outside of it; and accumulated text is the sum of its parts.
func CheckOrder(t testing.TB, events []execution.Event) {
	t.Helper()
	o := order{steps: map[string]bool{}, thoughts: map[string]bool{}, texts: map[string]*strings.Builder{}, calls: map[string]bool{},
		ended: map[string]bool{}, shells: map[string]bool{}, asked: map[execution.QuestionID]bool{}}
	for i, e := range events {
		for _, check := range []func(execution.Event) string{o.turns, o.flow, o.tools} {
			if bad := check(e); bad != "" {
				t.Errorf("event %d %s: %s", i, e.Body.Type(), bad)
			}
		}
	}
}

// turns checks the session, turns and steps.
func (o *order) turns(e execution.Event) string {
	switch b := e.Body.(type) {
	case execution.SessionStart:
		o.session = true
	case execution.TurnStart:
		if o.turn || !o.session {
			return "a turn starts within a turn or before the session"
		}
		o.turn = true
	case execution.TurnEnd:
		middle := b.Reason == execution.TurnCompleted && (o.steps[""] || o.texts[""] != nil || o.thoughts[""])
		if !o.turn || middle {
			return "a turn ends that never started, or completes with something open"
		}
		o.turn = false
		clear(o.steps)
		clear(o.texts)
		clear(o.thoughts)
	case execution.StepStart:
		if o.steps[e.Parent] {
			return "a step starts within a step"
		}
		o.steps[e.Parent] = true
	case execution.StepEnd:
		if !o.steps[e.Parent] {
			return "a step ends that never started"
		}
		o.steps[e.Parent] = false
	case execution.TokenUsage:
		if b.InputTokens < 0 || b.OutputTokens < 0 || b.CachedTokens < 0 {
			return "tokens decrease"
		}
	default:
		switch group := execution.EventGroup(e.Body.Type()); group {
		case "text", "thinking", "tool", "file", "shell", "mcp", "subagent":
			if !o.turn {
				return "it is outside any turn"
			}
		}
	}
	return ""
}

// flow checks texts and thinking.
func (o *order) flow(e execution.Event) string {
	text := o.texts[e.Parent]
	switch b := e.Body.(type) {
	case execution.MessageStart:
		if text != nil {
			return "a text starts within a text"
		}
		o.texts[e.Parent] = &strings.Builder{}
	case execution.TextDelta:
		if text == nil {
			return "text without a message_start"
		}
		if text.WriteString(b.Delta); text.String() != b.Accumulated {
			return "accumulated is not the sum of the deltas"
		}
	case execution.MessageStop:
		if text == nil || text.String() != b.Text {
			return "the text of the end differs from the deltas"
		}
		o.texts[e.Parent] = nil
	case execution.ThinkingStart:
		if text != nil || o.thoughts[e.Parent] {
			return "thinking starts within a text or thinking"
		}
		o.thoughts[e.Parent] = true
	case execution.ThinkingStop:
		if !o.thoughts[e.Parent] {
			return "thinking ends that never started"
		}
		o.thoughts[e.Parent] = false
	}
	return ""
}

// tools checks calls and their events.
func (o *order) tools(e execution.Event) string {
	switch b := e.Body.(type) {
	case execution.ToolCallReady:
		if !json.Valid(b.Input) {
			return "the input is not JSON"
		}
		return o.begin(b.ToolCallID)
	case execution.MCPToolCallStart:
		return o.begin(b.ToolCallID)
	case execution.ToolResultEvent:
		if !json.Valid(b.Output) {
			return "the output is not JSON"
		}
		return o.end(b.ToolCallID)
	case execution.ToolError:
		return o.end(b.ToolCallID)
	case execution.MCPToolResult:
		return o.end(b.ToolCallID)
	case execution.MCPToolError:
		return o.end(b.ToolCallID)
	case execution.ShellStart:
		if !o.calls[b.ToolCallID] || o.ended[b.ToolCallID] {
			return "a command outside its call"
		}
		o.shells[b.ToolCallID] = true
	case execution.ShellStdoutDelta:
		return o.inShell(b.ToolCallID)
	case execution.ShellExit:
		return o.inShell(b.ToolCallID)
	case execution.FileCreate:
		return o.behind(b.ToolCallID)
	case execution.FilePatch:
		return o.behind(b.ToolCallID)
	case execution.FileDelete:
		return o.behind(b.ToolCallID)
	case execution.ApprovalRequired:
		return o.ask(b.ID)
	case execution.InputRequired:
		return o.ask(b.ID)
	}
	return ""
}

func (o *order) begin(id string) string {
	if o.calls[id] {
		return "a call starts twice"
	}
	o.calls[id] = true
	return ""
}

func (o *order) end(id string) string {
	if !o.calls[id] || o.ended[id] {
		return "a call ends that is not open"
	}
	o.ended[id] = true
	return ""
}

func (o *order) inShell(id string) string {
	if !o.shells[id] || o.ended[id] {
		return "output or exit outside its command"
	}
	return ""
}

func (o *order) behind(id string) string {
	if !o.ended[id] {
		return "a file before the end of its call"
	}
	return ""
}

func (o *order) ask(id execution.QuestionID) string {
	if o.asked[id] {
		return "asked twice"
	}
	o.asked[id] = true
	return ""
}

// CheckUsage checks that the increments add up to the totals of the result.
func CheckUsage(t testing.TB, events []execution.Event, res execution.Result) {
	t.Helper()
	var u execution.Usage
	usd := 0.0
	for _, e := range events {
		switch b := e.Body.(type) {
		case execution.TokenUsage:
			u = u.Add(execution.Usage{Input: b.InputTokens, Output: b.OutputTokens, Thinking: b.ThinkingTokens, Cached: b.CachedTokens,
				CacheWrite: b.CacheWriteTokens, Total: b.InputTokens + b.OutputTokens + b.CachedTokens + b.CacheWriteTokens})
		case execution.CostEvent:
			if b.Cost.Source == execution.CostFromAgent { // costs from prices are added by the kit, not by the parser
				usd += *b.Cost.TotalUSD
			}
		}
	}
	want := execution.Usage{}
	if res.Usage != nil {
		want = *res.Usage
	}
	if u != want {
		t.Errorf("the increments are %+v, the result says %+v", u, want)
	}
	stated := 0.0
	if res.Cost != nil && res.Cost.TotalUSD != nil {
		stated = *res.Cost.TotalUSD
	}
	if diff := usd - stated; diff > 1e-12 || diff < -1e-12 {
		t.Errorf("the increments cost %v, the result says %v", usd, stated)
	}
}
