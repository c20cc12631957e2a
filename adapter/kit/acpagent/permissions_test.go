package acpagent_test

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

const (
	write  = `{"toolCallId":"c1","title":"Writing to a.txt","kind":"edit","rawInput":{"path":"/a.txt"}}`
	touch  = `{"toolCallId":"c2","title":"touch it","kind":"execute","rawInput":{"command":"touch it"}}`
	all    = `[{"optionId":"for-ever","kind":"allow_always","name":"Always"},{"optionId":"yes","kind":"allow_once","name":"Yes"},{"optionId":"yes-2","kind":"allow_once","name":"Yes, too"},{"optionId":"never","kind":"reject_always","name":"Never"},{"optionId":"no","kind":"reject_once","name":"No"}]`
	always = `[{"optionId":"for-ever","kind":"allow_always","name":"Always"},{"optionId":"never","kind":"reject_always","name":"Never"}]`
)

func TestPermissions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		options  string
		decision execution.Decision
		want     string
		refused  bool // the call failed
		event    execution.EventType
	}{
		{name: "allow", options: all, decision: execution.Decision{Approve: true}, want: "yes"},
		{name: "deny", options: all, decision: execution.Decision{}, want: "no", refused: true},
		{name: "deny with a reason", options: all, decision: execution.Decision{Reason: "too early"}, want: "no", refused: true},
		{name: "allow for good by kind", options: all, decision: execution.Decision{Approve: true, Text: "allow_always"}, want: "for-ever"},
		{name: "allow by id", options: all, decision: execution.Decision{Approve: true, Text: "yes-2"}, want: "yes-2"},
		{name: "deny for good by kind", options: all, decision: execution.Decision{Text: "reject_always"}, want: "never", refused: true},
		{name: "a text that contradicts", options: all, decision: execution.Decision{Text: "yes"}, want: "no", refused: true},
		{name: "a text that allows against the decision", options: all, decision: execution.Decision{Approve: true, Text: "never"}, want: "yes"},
		{name: "a text nobody offers", options: all, decision: execution.Decision{Approve: true, Text: "hello"}, want: "yes"},
		{name: "allow where only for good is offered", options: always, decision: execution.Decision{Approve: true}, want: "for-ever", event: "debug"},
		{name: "deny where only for good is offered", options: always, decision: execution.Decision{}, want: "never", refused: true},
		{name: "allow where nothing allows", options: `[{"optionId":"no","kind":"reject_once"}]`, decision: execution.Decision{Approve: true}, want: "cancelled", refused: true, event: "error"},
		{name: "deny where nothing denies", options: `[{"optionId":"yes","kind":"allow_once"}]`, decision: execution.Decision{}, want: "cancelled", refused: true},
		{name: "no options", options: `[]`, decision: execution.Decision{Approve: true}, want: "cancelled", refused: true, event: "error"},
		{name: "another input", options: all, decision: execution.Decision{Approve: true, Input: []byte(`{"path":"/b.txt"}`)}, want: "no", refused: true, event: "error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := opened(t, acpagent.Spec{}, newRequest("hi"))
			id := k.ask(touch, tt.options)
			q := one[execution.ApprovalRequired](k)
			if q.ID != "s1/q0" || q.Action != "run a command" || q.Detail != "touch it" || q.ToolCallID != "c2" || q.Risk != execution.RiskHigh || string(q.Input) != `{"command":"touch it"}` {
				t.Errorf("question %+v", q)
			}
			if one[execution.ToolCallReady](k).ToolCallID != "c2" || len(bodies[execution.ShellStart](k)) != 0 {
				t.Error("the call is not ready before the question, or it runs already")
			}
			k.must(execution.Answer{ID: q.ID, Decision: tt.decision})
			if got := k.option(id); got != tt.want {
				t.Errorf("answered %q, want %q", got, tt.want)
			}
			if failed := len(bodies[execution.ToolError](k)) == 1; failed != tt.refused {
				t.Errorf("the call failed %v, want %v", failed, tt.refused)
			}
			if runs := len(bodies[execution.ShellStart](k)) == 1; runs == tt.refused {
				t.Errorf("the command runs %v", runs)
			}
			if tt.refused && tt.decision.Reason != "" && one[execution.ToolError](k).Error != tt.decision.Reason {
				t.Errorf("%+v", one[execution.ToolError](k))
			}
			if tt.event != "" && count(k, tt.event) != 1 {
				t.Errorf("there is no %s", tt.event)
			}
			if err := k.command(execution.Answer{ID: q.ID, Decision: tt.decision}); execution.CodeOf(err) != execution.CodeInteractionNotFound {
				t.Errorf("a second answer: %v", err)
			}
		})
	}
}

// TestSeveralPermissions are open at the same time and answered in any order.
func TestSeveralPermissions(t *testing.T) {
	t.Parallel()
	k := opened(t, acpagent.Spec{}, newRequest("hi"))
	first, second := k.ask(write, all), k.ask(touch, all)
	k.must(execution.Answer{ID: "s1/q1", Decision: execution.Decision{}})
	k.must(execution.Answer{ID: "s1/q0", Decision: execution.Decision{Approve: true}})
	if k.option(first) != "yes" || k.option(second) != "no" {
		t.Errorf("answered %s and %s", k.option(first), k.option(second))
	}
}

// TestPermissionsEnd without an answer: the agent is told, because it waits, and nobody can answer any more.
func TestPermissionsEnd(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (*talk, string, string) {
		k := opened(t, acpagent.Spec{}, newRequest("hi"))
		return k, k.ask(write, all), k.ask(touch, all)
	}
	withdrawn := func(t *testing.T, k *talk, want ...string) {
		t.Helper()
		var got []string
		for _, w := range bodies[execution.QuestionWithdrawn](k) {
			got = append(got, string(w.ID))
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("withdrawn %v, want %v", got, want)
		}
		for _, id := range want {
			if err := k.command(execution.Answer{ID: execution.QuestionID(id), Decision: execution.Decision{Approve: true}}); execution.CodeOf(err) != execution.CodeInteractionNotFound {
				t.Errorf("an answer to %s: %v", id, err)
			}
		}
	}
	t.Run("by an interrupt", func(t *testing.T) {
		t.Parallel()
		k, a, b := begin(t)
		k.must(execution.Interrupt{})
		if k.option(a) != "cancelled" || k.option(b) != "cancelled" {
			t.Error("the requests were not cancelled")
		}
		withdrawn(t, k, "s1/q0", "s1/q1")
		late := k.ask(touch, all) // it had not heard yet
		if k.option(late) != "cancelled" || len(bodies[execution.ApprovalRequired](k)) != 2 {
			t.Error("a question behind the interrupt was asked")
		}
	})
	t.Run("by the end of the turn", func(t *testing.T) {
		t.Parallel()
		k, a, b := begin(t)
		prompt := written{ID: float64(3)}
		k.line(`{"jsonrpc":"2.0","id":%v,"result":{"stopReason":"end_turn"}}`, prompt.ID)
		if k.option(a) != "cancelled" || k.option(b) != "cancelled" {
			t.Error("the requests were not cancelled")
		}
		withdrawn(t, k, "s1/q0", "s1/q1")
		late := k.ask(touch, all)
		if k.option(late) != "cancelled" || len(bodies[execution.ApprovalRequired](k)) != 2 {
			t.Error("a question outside a turn was asked")
		}
	})
	t.Run("by the agent", func(t *testing.T) {
		t.Parallel()
		k, a, b := begin(t)
		k.line(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%q}}`, a)
		if w := k.answerTo(a); w.Error == nil || w.Error.Code != -32800 {
			t.Errorf("%+v", w)
		}
		withdrawn(t, k, "s1/q0")
		k.must(execution.Answer{ID: "s1/q1", Decision: execution.Decision{Approve: true}})
		if k.option(b) != "yes" || k.sink.UnknownLines() != 0 {
			t.Errorf("%s, %d unknown lines", k.option(b), k.sink.UnknownLines())
		}
	})
	t.Run("of another session", func(t *testing.T) {
		t.Parallel()
		k := opened(t, acpagent.Spec{}, newRequest("hi"))
		k.line(`{"jsonrpc":"2.0","id":"x","method":"session/request_permission","params":{"sessionId":"s2","toolCall":%s,"options":%s}}`, touch, all)
		if k.option("x") != "cancelled" || len(bodies[execution.ApprovalRequired](k)) != 0 {
			t.Error("a question of another session was asked")
		}
	})
}

// TestCallersTools are allowed unasked where the adapter knows them, unless they want an approval.
func TestCallersTools(t *testing.T) {
	t.Parallel()
	req := newRequest("hi")
	req.Tools = []execution.Tool{{Name: "echo"}, {Name: "delete", RequiresApproval: true}}
	req.Run.MCPServers = []execution.MCPServer{{Name: cliagent.CallerTools, Transport: execution.MCPStreamableHTTP, URL: "http://127.0.0.1:1/"}}
	call := func(tool string) string {
		return `{"toolCallId":"` + tool + `","title":"` + tool + ` (drawbar MCP Server)","kind":"other","rawInput":{"x":1}}`
	}
	own := acpagent.Spec{MCPTool: acpagent.DefaultMCPTool}
	k := opened(t, own, req)
	if id := k.ask(call("echo"), all); k.option(id) != "yes" || len(bodies[execution.ApprovalRequired](k)) != 0 {
		t.Error("the caller's tool needed an approval")
	}
	k.ask(call("delete"), all)
	if q := one[execution.ApprovalRequired](k); q.ToolName != "delete" || q.Action != "call a tool of MCP server drawbar" {
		t.Errorf("%+v", q)
	}
	k.ask(call("other"), all)
	if n := len(bodies[execution.ApprovalRequired](k)); n != 2 {
		t.Errorf("a tool that is none of the caller's was allowed unasked: %d questions", n)
	}
	k = opened(t, acpagent.Spec{}, req)
	k.ask(call("echo"), all)
	if n := len(bodies[execution.ApprovalRequired](k)); n != 1 {
		t.Errorf("a title alone allowed a call: %d questions", n)
	}
	// A command that calls itself like the tool is none.
	k = opened(t, own, req)
	k.ask(`{"toolCallId":"x","title":"echo (drawbar MCP Server)","kind":"execute"}`, all)
	if n := len(bodies[execution.ApprovalRequired](k)); n != 1 {
		t.Errorf("a title alone allowed a command: %d questions", n)
	}
}

// TestAsksAgain: a person is asked once about a call, with the input of the call, by an agent that asks several times.
func TestAsksAgain(t *testing.T) {
	t.Parallel()
	const folder = `{"toolCallId":"c1","title":"/else","kind":"other","rawInput":{"folder":"/else"}}`
	for _, tc := range []struct {
		again   bool
		approve bool
		asked   int
		input   string
	}{{true, true, 1, `{"path":"/a.txt"}`}, {false, true, 2, `{"folder":"/else"}`}, {true, false, 1, `{"path":"/a.txt"}`}} {
		k := opened(t, acpagent.Spec{AsksAgain: tc.again}, newRequest("hi"))
		k.update(`{"sessionUpdate":"tool_call","status":"in_progress",` + write[1:])
		first := k.ask(folder, all)
		q := one[execution.ApprovalRequired](k)
		if string(q.Input) != tc.input {
			t.Errorf("asked about %s, want %s", q.Input, tc.input)
		}
		k.must(execution.Answer{ID: q.ID, Decision: execution.Decision{Approve: tc.approve}})
		second := k.ask(write, all)
		if n := len(bodies[execution.ApprovalRequired](k)); n != tc.asked {
			t.Errorf("%+v: asked %d times", tc, n)
		}
		if want := map[bool]string{true: "yes", false: "no"}[tc.approve]; k.option(first) != want {
			t.Errorf("%+v: answered %s", tc, k.option(first))
		}
		if tc.again {
			if want := map[bool]string{true: "yes", false: "cancelled"}[tc.approve]; k.option(second) != want {
				t.Errorf("%+v: the second question was answered %s", tc, k.option(second))
			}
		}
	}
}

// TestRanThoughRefused is said when an agent does not keep to an answer.
func TestRanThoughRefused(t *testing.T) {
	t.Parallel()
	k := opened(t, acpagent.Spec{}, newRequest("hi"))
	k.ask(touch, all)
	k.must(execution.Answer{ID: "s1/q0"})
	k.update(`{"sessionUpdate":"tool_call_update","toolCallId":"c2","status":"completed"}`)
	if d := one[execution.Debug](k); !strings.Contains(d.Message, "which was refused") || len(bodies[execution.ToolResultEvent](k)) != 0 {
		t.Errorf("%+v", d)
	}
}
