package agent_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// outline is sketch without what no test here is about.
func outline(events []execution.Event) string {
	var parts []string
	for _, e := range events {
		switch e.Body.(type) {
		case execution.SessionStart, execution.TurnStart, execution.SessionEnd, execution.Finished, execution.StreamFallback, execution.Debug:
			continue
		}
		parts = append(parts, sketch([]execution.Event{e}))
	}
	return strings.Join(parts, " ")
}

// TestOpenToolsAreEnded holds every end of a turn and of a run: no tool is shown as running behind it.
func TestOpenToolsAreEnded(t *testing.T) {
	t.Parallel()
	ready := func(id string) execution.Body {
		return execution.ToolCallReady{ToolCallID: id, ToolName: "shell", Input: json.RawMessage(`{}`)}
	}
	shell := func(id string) execution.Body { return execution.ShellStart{Command: "sleep 9", ToolCallID: id} }
	mcp := execution.MCPToolCallStart{ToolCallID: "m", Server: "s", ToolName: "t", Input: json.RawMessage(`{}`)}
	tests := []struct {
		name string
		emit func(*at.Call)
		res  execution.Result
		want string
		why  string
	}{
		{"completed run", func(c *at.Call) { c.Emit(ready("a"), shell("a"), execution.TurnEnd{}) }, at.Completed(),
			"tool_call_ready shell_start shell_exit tool_error turn_end:completed", "ended with the run"},
		{"killed run", func(c *at.Call) { c.Emit(ready("a"), shell("a"), mcp) }, at.Failed(execution.CodeAgentCrash, "killed"),
			"tool_call_ready shell_start mcp_tool_call_start shell_exit tool_error mcp_tool_error turn_end:failed crash", "ended with the run"},
		{"a command that had ended", func(c *at.Call) {
			c.Emit(ready("a"), shell("a"), execution.ShellExit{ToolCallID: "a"}, execution.TurnEnd{})
		}, at.Completed(),
			"tool_call_ready shell_start shell_exit tool_error turn_end:completed", "ended with the run"},
		{"what comes late", func(c *at.Call) {
			c.Emit(ready("a"), execution.TurnEnd{}, execution.ToolResultEvent{ToolCallID: "a", ToolName: "shell"})
		}, at.Completed(), "tool_call_ready tool_error turn_end:completed", "ended with the run"},
		{"a sub-agent", func(c *at.Call) {
			c.Emit(ready("a"), execution.SubagentSpawn{SubagentID: "a", AgentName: "helper"}, execution.TurnEnd{})
		}, at.Completed(), "tool_call_ready subagent_spawn subagent_error tool_error turn_end:completed", "ended with the run"},
		{"all answered", func(c *at.Call) {
			c.Emit(ready("a"), execution.ToolResultEvent{ToolCallID: "a", ToolName: "shell"}, execution.TurnEnd{})
		}, at.Completed(), "tool_call_ready tool_result turn_end:completed", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res, events := run(t, backend(func(c *at.Call) execution.Result { tt.emit(c); return tt.res }), request("x"), agent.Options{})
			if got := outline(events); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			for _, e := range events {
				if b, ok := e.Body.(execution.ToolError); ok && !strings.HasPrefix(b.Error, tt.why) {
					t.Errorf("the call ended with %q", b.Error)
				}
				if b, ok := e.Body.(execution.ShellExit); ok && tt.name == "completed run" && b.ExitCode != -1 {
					t.Errorf("the exit code %d was made up", b.ExitCode)
				}
			}
			if res.Trace.Summary.ToolCallCount == 0 {
				t.Error("the call was not counted")
			}
		})
	}
}

func TestLateSessionStart(t *testing.T) {
	t.Parallel()
	res, events := run(t, backend(func(c *at.Call) execution.Result {
		c.Emit(execution.TextDelta{Delta: "x", Accumulated: "x"}, execution.SessionStart{SessionID: "late", Model: "m"}, execution.TurnEnd{})
		return at.Completed()
	}), request("x"), agent.Options{})
	starts := 0
	for _, e := range events {
		if e.Body.Type() == "session_start" {
			starts++
		}
	}
	if starts != 1 || res.SessionID != "late" || res.Model != "m" {
		t.Errorf("%d starts, session %q, model %q", starts, res.SessionID, res.Model)
	}
}

// TestDenialWithoutQuestion: a denial of a rule or a hook is shown with what it denied, and nobody waits for it.
func TestDenialWithoutQuestion(t *testing.T) {
	t.Parallel()
	res, events := run(t, backend(func(c *at.Call) execution.Result {
		c.Emit(execution.ApprovalDenied{ID: "q", ToolName: "shell", Reason: "not here"})
		return at.Completed()
	}), request("x"), agent.Options{})
	if got := outline(events); got != "approval_request approval_denied turn_end:completed" {
		t.Error(got)
	}
	for _, e := range res.Trace.Events {
		if e.Type == execution.TraceApprovalWait {
			t.Error("the trace shows a wait")
		}
	}
}

func TestTraceHasEveryModelCall(t *testing.T) {
	t.Parallel()
	count := func(res execution.Result, kind execution.TraceEventType) (n int) {
		for _, e := range res.Trace.Events {
			if e.Type == kind {
				n++
			}
		}
		return n
	}
	silent := func(c *at.Call) execution.Result {
		text := execution.TextDelta{Delta: "x", Accumulated: "x"}
		c.Emit(execution.StepStart{}, execution.StepEnd{}, execution.StepStart{StepIndex: 1}, execution.MessageStart{}, text,
			execution.MessageStop{Text: "x"}, execution.StepEnd{StepIndex: 1}, execution.TurnEnd{})
		return at.Completed()
	}
	res, _ := run(t, backend(silent), request("x"), agent.Options{})
	if s, e := count(res, execution.TraceModelStarted), count(res, execution.TraceModelCompleted); s != 2 || e != 2 {
		t.Errorf("%d started, %d completed", s, e)
	}
	if n := res.Trace.Summary.StepCount; n == nil || *n != 2 {
		t.Errorf("steps %v", n)
	}
	res, _ = run(t, backend(func(c *at.Call) execution.Result { c.Say("x"); return at.Completed() }), request("x"), agent.Options{})
	if res.Trace.Summary.StepCount != nil && *res.Trace.Summary.StepCount == 0 {
		t.Error("0 stands for an unknown number")
	}
	b, err := json.Marshal(execution.Retry{Reason: "x"})
	if err != nil || string(b) != `{"reason":"x"}` {
		t.Errorf("%s %v", b, err)
	}
}

func TestTimeoutSaysWhatWasRetried(t *testing.T) {
	t.Parallel()
	retry := execution.Retry{Attempt: 3, Reason: "the model API answered 500", Code: execution.CodeProvider}
	for _, went := range []bool{false, true} {
		req := request("x")
		req.Run.TimeoutMs = 50
		res, _ := run(t, backend(func(c *at.Call) execution.Result {
			c.Emit(retry)
			if went {
				c.Emit(execution.TextDelta{Delta: "x", Accumulated: "x"})
			}
			<-c.Ctx.Done()
			return at.Failed(execution.CodeAborted, "stopped")
		}), req, agent.Options{})
		if says := strings.Contains(res.Error.Message, retry.Reason); res.Error.ErrorCode() != execution.CodeTimeout || says == went {
			t.Errorf("went on %v: %s", went, res.Error.Message)
		}
	}
}

// TestRefusedLoginEndsTheRun: an agent would repeat a call with a wrong key for minutes.
func TestRefusedLoginEndsTheRun(t *testing.T) {
	t.Parallel()
	refusal := execution.Retry{Attempt: 1, Reason: "invalid x-api-key", Code: execution.CodeAuth}
	for _, tt := range []struct {
		name   string
		keep   bool
		script func(*at.Call)
		ends   bool
	}{
		{"twice", false, func(c *at.Call) { c.Emit(refusal, refusal) }, true},
		{"once: a login is renewed", false, func(c *at.Call) { c.Emit(refusal) }, false},
		{"progress between", false, func(c *at.Call) {
			c.Emit(refusal, execution.TextDelta{Delta: "x", Accumulated: "x"}, refusal)
		}, false},
		{"the caller wants it", true, func(c *at.Call) { c.Emit(refusal, refusal, refusal) }, false},
		{"another failure", false, func(c *at.Call) {
			other := execution.Retry{Reason: "overloaded", Code: execution.CodeProvider}
			c.Emit(other, other, other)
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := request("x")
			req.Run.KeepRetrying = tt.keep
			res, _ := run(t, backend(func(c *at.Call) execution.Result {
				tt.script(c)
				if tt.ends {
					select {
					case <-c.Ctx.Done():
					case <-time.After(time.Minute):
					}
				}
				c.Emit(execution.TurnEnd{})
				return at.Completed()
			}), req, agent.Options{})
			if got := res.Error.ErrorCode() == execution.CodeAuth; got != tt.ends {
				t.Errorf("%s %+v", res.Status, res.Error)
			}
			if tt.ends && (res.ExitReason != execution.ExitCompleted || res.Error.Message != refusal.Reason || res.Error.Metadata["hint"] == nil) {
				t.Errorf("%s %+v", res.ExitReason, res.Error)
			}
		})
	}
}

// varying is an adapter whose runs have less than it declares.
type varying struct{ *at.Fake }

func (v varying) CapabilitiesFor(execution.Request) execution.Capabilities {
	c := at.Capable()
	c.Agent.TextStreaming = false
	return c
}

// TestFallbackPerRun: what counts is what this run has.
func TestFallbackPerRun(t *testing.T) {
	t.Parallel()
	b := agent.Backend{Name: "fake", Adapter: varying{&at.Fake{Script: func(c *at.Call) execution.Result { c.Say("x"); return at.Completed() }}}}
	_, events := run(t, b, request("x"), agent.Options{})
	n := 0
	for _, e := range events {
		if f, ok := e.Body.(execution.StreamFallback); ok && f.Capability == "text" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d fallbacks", n)
	}
}

// TestRefusedLoginFallsBack: the end of one execution is not the end of the run, which may have another backend.
func TestRefusedLoginFallsBack(t *testing.T) {
	t.Parallel()
	refusal := execution.Retry{Attempt: 1, Reason: "invalid x-api-key", Code: execution.CodeAuth}
	first := backend(func(c *at.Call) execution.Result {
		c.Emit(refusal, refusal)
		<-c.Ctx.Done()
		return at.Failed(execution.CodeAborted, "stopped")
	})
	second := backend(func(c *at.Call) execution.Result { c.Say("from the other"); return at.Completed() })
	second.Name = "other"
	res, _ := run(t, first, request("x"), agent.Options{Fallback: []agent.Backend{second}})
	if res.Status != execution.StatusCompleted || res.Agent != "other" || res.Text != "from the other" {
		t.Errorf("%s %s %q %+v", res.Status, res.Agent, res.Text, res.Error)
	}
}
