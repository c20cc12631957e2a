package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// sketch puts a stream in one line: the interesting events, and text in quotes.
func sketch(events []execution.Event) string {
	var parts []string
	for _, e := range events {
		s := string(e.Body.Type())
		switch b := e.Body.(type) {
		case execution.TextDelta:
			s = "'" + b.Delta + "'"
		case execution.ThinkingDelta:
			s = "(" + b.Delta + ")"
		case execution.StreamFallback:
			s = "fallback:" + b.Capability
		case execution.TurnEnd:
			s += ":" + string(b.Reason)
		case execution.SessionStart:
			s += ":" + b.SessionID
		}
		if e.Parent != "" {
			s = e.Parent + "." + s
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

func TestOrderIsMade(t *testing.T) {
	t.Parallel()
	delta := func(s string) execution.Body { return execution.TextDelta{Delta: s, Accumulated: s} }
	ready := execution.ToolCallReady{ToolCallID: "t", ToolName: "look", Input: json.RawMessage(`{}`)}
	res := execution.ToolResultEvent{ToolCallID: "t", ToolName: "look"}
	cwd := func(id string) execution.Body { return execution.SessionStart{SessionID: id} }
	tests := []struct {
		name string
		mode execution.StreamMode
		caps func(*execution.Capabilities)
		emit func(*at.Call)
		res  execution.Result
		want string
	}{
		{"nothing but a delta", "", nil, func(c *at.Call) { c.Emit(delta("x")) }, at.Completed(),
			"session_start: turn_start 'x' turn_end:completed session_end finished"},
		{"session repeated and changed", "", nil, func(c *at.Call) {
			c.Emit(cwd("a"), execution.TurnStart{}, execution.TurnEnd{}, cwd("a"), cwd("b"))
		}, at.Completed(),
			"session_start:a turn_start turn_end:completed session_start:b session_end finished"},
		{"its own session end is dropped", "", nil, func(c *at.Call) { c.Emit(cwd("a"), execution.SessionEnd{}, delta("x")) }, at.Completed(),
			"session_start:a turn_start 'x' turn_end:completed session_end finished"},
		{"turn within turn", "", nil, func(c *at.Call) { c.Emit(execution.TurnStart{}, delta("x"), execution.TurnStart{}, delta("y")) }, at.Completed(),
			"session_start: turn_start 'x' turn_end:completed turn_start 'y' turn_end:completed session_end finished"},
		{"what comes before the session", "", nil, func(c *at.Call) {
			c.Emit(execution.PluginLoaded{}, execution.SkillLoaded{}, execution.Debug{}, cwd("a"), delta("x"))
		}, at.Completed(),
			"debug session_start:a plugin_loaded skill_loaded turn_start 'x' turn_end:completed session_end finished"},
		{"before a session that never comes", "", nil, func(c *at.Call) { c.Emit(execution.PluginLoaded{}) }, at.Completed(),
			"session_start: plugin_loaded session_end finished"},
		{"no session at all", "", nil, func(*at.Call) {}, at.Failed(execution.CodeSpawn, "x"), "error finished"},
		{"failure is shown once", "", nil, func(c *at.Call) { c.Emit(delta("x"), execution.Crash{ExitCode: 1}) }, at.Failed(execution.CodeAgentCrash, "x"),
			"session_start: turn_start 'x' turn_end:failed crash session_end finished"},
		{"error, then the turn's end", "", nil, func(c *at.Call) {
			c.Emit(delta("x"), execution.AuthError{}, execution.TokenUsage{InputTokens: 1}, execution.TurnEnd{Reason: execution.TurnFailed})
		}, at.Failed(execution.CodeAuth, "x"),
			"session_start: turn_start 'x' token_usage turn_end:failed auth_error session_end finished"},
		{"any final error", "", nil, func(c *at.Call) {
			c.Emit(delta("x"), execution.ErrorEvent{Code: execution.CodeProvider}, execution.TurnEnd{Reason: execution.TurnFailed})
		}, at.Failed(execution.CodeProvider, "x"),
			"session_start: turn_start 'x' turn_end:failed error session_end finished"},
		{"result said twice", "", nil, func(c *at.Call) { c.Emit(ready, res, res, execution.ToolError{ToolCallID: "t", ToolName: "look"}) }, at.Completed(),
			"session_start: turn_start tool_call_ready tool_result turn_end:completed session_end finished"},
		{"error that was not the last word", "", nil, func(c *at.Call) { c.Emit(delta("x"), execution.AuthError{}, delta("y")) }, at.Completed(),
			"session_start: turn_start 'x' auth_error 'y' turn_end:completed session_end finished"},
		{"two errors", "", nil, func(c *at.Call) { c.Emit(delta("x"), execution.AuthError{}, execution.Crash{}) }, at.Failed(execution.CodeAgentCrash, "x"),
			"session_start: turn_start 'x' auth_error turn_end:failed crash session_end finished"},
		{"the same failure again, after output", "", nil, func(c *at.Call) {
			c.Emit(execution.ErrorEvent{Code: execution.CodeProvider, Recoverable: true}, delta("x"))
		}, at.Failed(execution.CodeProvider, "x"),
			"error session_start: turn_start 'x' turn_end:failed error session_end finished"},
		{"recoverable errors are not held", "", nil, func(c *at.Call) {
			c.Emit(delta("x"), execution.ErrorEvent{Code: execution.CodeParse, Recoverable: true}, delta("y"))
		}, at.Completed(),
			"session_start: turn_start 'x' error 'y' turn_end:completed session_end finished"},
		{"sub-agents have no turns of the run", "", nil, func(c *at.Call) {
			c.Emit(cwd("a"), execution.TurnStart{})
			c.EmitFrom("t", cwd("sub"))
			c.EmitFrom("t", execution.TurnStart{})
			c.EmitFrom("t", delta("s"))
			c.EmitFrom("t", execution.TurnEnd{Reason: execution.TurnCompleted})
			c.Emit(delta("x"))
		}, at.Completed(),
			"session_start:a turn_start t.session_start:sub t.turn_start t.'s' t.turn_end:completed 'x' turn_end:completed session_end finished"},
		{"text in the message's end only", "", nil, func(c *at.Call) { c.Emit(execution.MessageStart{}, execution.MessageStop{Text: "x"}) }, at.Completed(),
			"session_start: turn_start message_start 'x' message_stop turn_end:completed session_end finished"},
		{"text in the result only", "", nil, func(*at.Call) {}, execution.Result{Status: execution.StatusCompleted, Output: &execution.Output{Text: "x"}},
			"session_start: turn_start 'x' turn_end:completed session_end finished"},

		{"off: text", execution.StreamOff, nil, func(c *at.Call) { c.Say("a", "b", "c") }, at.Completed(),
			"session_start: turn_start message_start 'abc' message_stop turn_end:completed session_end finished"},
		{"off: text without an end", execution.StreamOff, nil, func(c *at.Call) {
			c.Emit(delta("a"), delta("b"), execution.TurnEnd{}, execution.TurnStart{}, delta("c"))
		}, at.Completed(),
			"session_start: turn_start 'ab' turn_end:completed turn_start 'c' turn_end:completed session_end finished"},
		{"off: tools after text", execution.StreamOff, nil, func(c *at.Call) {
			c.Emit(execution.MessageStart{}, delta("a"), execution.ToolCallStart{ToolCallID: "t"}, execution.ToolInputDelta{ToolCallID: "t"}, ready, res,
				delta("b"), execution.MessageStop{Text: "ab"})
		}, at.Completed(),
			"session_start: turn_start message_start 'a' tool_call_start tool_call_ready tool_result 'b' message_stop turn_end:completed session_end finished"},
		{"off: thinking", execution.StreamOff, nil, func(c *at.Call) {
			c.Emit(execution.ThinkingStart{}, execution.ThinkingDelta{Delta: "h"}, execution.ThinkingDelta{Delta: "m"}, execution.ThinkingStop{Thinking: "hm"}, delta("a"))
		}, at.Completed(),
			"session_start: turn_start thinking_start (hm) thinking_stop 'a' turn_end:completed session_end finished"},
		{"off: thinking without an end", execution.StreamOff, nil, func(c *at.Call) {
			c.Emit(execution.ThinkingDelta{Delta: "h"}, execution.ThinkingDelta{Delta: "m"}, delta("a"))
		}, at.Completed(),
			"session_start: turn_start (hm) 'a' turn_end:completed session_end finished"},
		{"off: sub-agents, too", execution.StreamOff, nil, func(c *at.Call) {
			c.EmitFrom("t", delta("a"))
			c.Emit(delta("x"))
			c.EmitFrom("t", delta("b"))
			c.EmitFrom("t", execution.MessageStop{Text: "ab"})
		}, at.Completed(),
			"session_start: turn_start t.'ab' t.message_stop 'x' turn_end:completed session_end finished"},
		{"off: no fallback", execution.StreamOff, func(c *execution.Capabilities) { c.Agent.TextStreaming = false }, func(c *at.Call) { c.Say("a") }, at.Completed(),
			"session_start: turn_start message_start 'a' message_stop turn_end:completed session_end finished"},

		{"auto: an agent that cannot stream", execution.StreamAuto, func(c *execution.Capabilities) {
			c.Agent.TextStreaming, c.Agent.ThinkingStreaming, c.Agent.ToolCallStreaming = false, false, false
		}, func(c *at.Call) {
			for range 2 { // said once per kind
				c.Emit(execution.ThinkingStart{}, execution.ThinkingStop{Thinking: "hm"})
				c.Say("a")
			}
			c.Emit(ready, res)
		}, at.Completed(),
			"session_start: turn_start thinking_start fallback:thinking (hm) thinking_stop message_start fallback:text 'a' message_stop" +
				" thinking_start (hm) thinking_stop message_start 'a' message_stop fallback:tool_calls tool_call_ready tool_result turn_end:completed session_end finished"},
		{"on", execution.StreamOn, nil, func(c *at.Call) { c.Say("a", "b") }, at.Completed(),
			"session_start: turn_start message_start 'a' 'b' message_stop turn_end:completed session_end finished"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := declaring(func(c *at.Call) execution.Result { tt.emit(c); return tt.res }, func(c *execution.Capabilities) {
				if tt.caps != nil {
					tt.caps(c)
				}
			})
			req := request("x")
			req.Run.Stream = tt.mode
			res, events := run(t, b, req, agent.Options{})
			if res.SessionID == "sub" {
				t.Error("the result has the session of a sub-agent")
			}
			if got := sketch(events); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestStreamOnNeedsStreaming(t *testing.T) {
	t.Parallel()
	req := request("x")
	req.Run.Stream = execution.StreamOn
	res, _ := run(t, declaring(answer, func(c *execution.Capabilities) { c.Agent.TextStreaming = false }), req, agent.Options{})
	want(t, res, execution.StatusUnsupported, execution.FailureUnsupportedCapability)
}

// TestEarlyEventsAreBounded: a session that never starts does not hold events back for ever.
func TestEarlyEventsAreBounded(t *testing.T) {
	t.Parallel()
	_, events := run(t, backend(func(c *at.Call) execution.Result {
		for range 1000 {
			c.Emit(execution.PluginLoaded{})
		}
		return at.Completed()
	}), request("x"), agent.Options{})
	if n := len(bodies[execution.PluginLoaded](events)); n != 1000 {
		t.Errorf("%d events of 1000", n)
	}
}

func TestResultFromTheTurn(t *testing.T) {
	t.Parallel()
	structured := json.RawMessage(`{"a":1}`)
	res, _ := run(t, backend(func(c *at.Call) execution.Result {
		opened(c)
		c.Say("thinking aloud")
		c.Say("final")
		c.Emit(execution.TurnEnd{Text: "the answer", Structured: structured})
		return at.Completed()
	}), request("x"), agent.Options{})
	if res.Output.Text != "the answer" || string(res.Output.Structured) != string(structured) || res.Text != "thinking aloudfinal" || res.Model != "fake-1" {
		t.Errorf("got %+v %q %s", res.Output, res.Text, res.Model)
	}
}
