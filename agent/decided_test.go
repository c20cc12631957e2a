package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// caller is a backend whose model makes tool calls, one after the other, each with a permission. Its sessions know no answers.
func caller(said *string, made *[]string, calls ...string) agent.Backend {
	return declaring(func(c *at.Call) execution.Result {
		*said = string(c.Request.Message.Text)
		opened(c)
		for i, input := range calls {
			id := fmt.Sprintf("call-%d", i)
			c.Emit(execution.ToolCallStart{ToolCallID: id, ToolName: "Bash"}, execution.ToolCallReady{ToolCallID: id, ToolName: "Bash", Input: json.RawMessage(input)})
			d, err := c.Ask(execution.ApprovalRequired{ID: execution.QuestionID(fmt.Sprintf("%s-q%d", c.Request.Run.RunID, i)), Action: "run a command", Detail: "what it does",
				ToolName: "Bash", ToolCallID: id, Input: json.RawMessage(`{"other":"words"}`), Use: execution.ToolUse{Kind: execution.ToolShell, Command: input}})
			if err != nil {
				return at.Failed(execution.CodeAborted, err.Error())
			}
			if d.Approve {
				*made = append(*made, input)
				c.Emit(execution.ToolResultEvent{ToolCallID: id, ToolName: "Bash", Output: json.RawMessage(`"ok"`)})
			} else {
				c.Emit(execution.ToolError{ToolCallID: id, ToolName: "Bash", Error: d.Reason})
			}
		}
		c.Say("done")
		ended(c)
		return at.Completed()
	}, func(c *execution.Capabilities) { c.ContinuationSupport = execution.ContinuationsOpaqueResume })
}

// waits runs the first turn, which waits for the permission to make a call, and returns its continuation as it is after it was stored.
func waits(t *testing.T, input string, opts agent.Options) *execution.Continuation {
	t.Helper()
	req := request("do it")
	req.Requirements = &execution.Requirements{ApprovalInterrupts: execution.SupportRequired}
	var said string
	var made []string
	res, _ := run(t, caller(&said, &made, input), req, opts)
	if res.Status != execution.StatusAwaitingApproval || res.Continuation == nil || len(made) != 0 {
		t.Fatalf("%s %+v, made %v", res.Status, res.Error, made)
	}
	text, err := json.Marshal(res.Continuation)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "hunter2") {
		t.Errorf("the continuation has the secret: %s", text)
	}
	var c execution.Continuation
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

// TestDecisionOfAnEarlierTurn: a decision is about exactly the call that was asked for, and an approval holds once.
func TestDecisionOfAnEarlierTurn(t *testing.T) {
	t.Parallel()
	const asked = `{"command":"rm a","description":"remove it"}`
	for _, tt := range []struct {
		name     string
		approved bool
		change   func(*execution.Request)
		calls    []string
		made     int
		status   execution.Status
		told     string
	}{
		{"the same call", true, nil, []string{asked}, 1, execution.StatusCompleted, "is given (run a command: what it does), approved by ann: be quick. Make exactly this call again, once"},
		{"the same call in other words", true, nil, []string{`{"description":"clean up", "command":"rm a"}`}, 1, execution.StatusCompleted, ""},
		{"another call", true, nil, []string{`{"command":"rm b","description":"remove it"}`}, 0, execution.StatusAwaitingApproval, ""},
		{"with one more option", true, nil, []string{`{"command":"rm a","sandbox":false}`}, 0, execution.StatusAwaitingApproval, ""},
		{"twice", true, nil, []string{asked, asked}, 1, execution.StatusAwaitingApproval, ""},
		{"denied", false, nil, []string{asked, asked}, 0, execution.StatusCompleted, "is refused (run a command: what it does), denied by ann: be quick. Do not try it again"},
		{"denied, and another", false, nil, []string{`{"command":"rm b"}`}, 0, execution.StatusAwaitingApproval, ""},
		{"approved, and a rule denies it", true, func(r *execution.Request) { r.Run.DenyTools = []string{"Bash"} }, []string{asked}, 0, execution.StatusCompleted, ""},
		{"denied, and everything else is allowed", false, func(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalYolo }, []string{asked, `{"command":"ls"}`}, 1, execution.StatusCompleted, ""},
		{"the call was changed in the state", true, func(r *execution.Request) { r.Continuation.State["callHash"] = "0" }, []string{asked}, 0, execution.StatusAwaitingApproval, ""},
		{"the call is missing in the state", true, func(r *execution.Request) { delete(r.Continuation.State, "callHash") }, []string{asked}, 0, execution.StatusAwaitingApproval, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := request("go on")
			req.Continuation = waits(t, asked, agent.Options{})
			id, _ := req.Continuation.State[execution.StateApproval].(string)
			req.Continuation.Decision = &execution.ContinuationDecision{ApprovalID: id, Approved: tt.approved, By: "ann", Reason: "be quick"}
			if tt.change != nil {
				tt.change(&req)
			}
			var said string
			var made []string
			res, events := run(t, caller(&said, &made, tt.calls...), req, agent.Options{})
			if res.Status != tt.status || len(made) != tt.made {
				t.Errorf("%s %+v, made %v", res.Status, res.Error, made)
			}
			if !strings.Contains(said, tt.told) || !strings.HasSuffix(said, "\n\ngo on") {
				t.Errorf("the agent was told %q", said)
			}
			if used, ok := res.Metadata["approvedCallMade"]; ok != tt.approved || ok && used != (tt.made > 0) {
				t.Errorf("metadata %v", res.Metadata)
			}
			if granted := bodies[execution.ApprovalGranted](events); tt.approved && tt.made > 0 && (len(granted) != 1 || granted[0].Detail != "approved by ann: be quick") {
				t.Errorf("granted %+v", granted)
			}
		})
	}
}

// TestDecisionKnowsSecrets: calls that differ in a secret only are different calls, and the secret is in no continuation.
func TestDecisionKnowsSecrets(t *testing.T) {
	t.Parallel()
	opts := agent.Options{Secrets: []string{"hunter2-hunter2", "hunter2-hunter3"}}
	for input, want := range map[string]int{`{"command":"login hunter2-hunter2"}`: 1, `{"command":"login hunter2-hunter3"}`: 0} {
		req := request("go on")
		req.Continuation = waits(t, `{"command":"login hunter2-hunter2"}`, opts)
		id, _ := req.Continuation.State[execution.StateApproval].(string)
		req.Continuation.Decision = &execution.ContinuationDecision{ApprovalID: id, Approved: true}
		var said string
		var made []string
		run(t, caller(&said, &made, input), req, opts)
		if len(made) != want {
			t.Errorf("%s: made %v", input, made)
		}
	}
}

// TestForgedDecision: a decision about something that nobody asked for is refused before anything starts.
func TestForgedDecision(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string]func(*execution.Continuation){
		"another approval": func(c *execution.Continuation) { c.Decision.ApprovalID = "x" },
		"no approval":      func(c *execution.Continuation) { c.Decision.ApprovalID = "" },
		"another kind":     func(c *execution.Continuation) { c.Kind = execution.ContinuationClarification },
		"nothing waits":    func(c *execution.Continuation) { delete(c.State, execution.StateApproval) },
	} {
		req := request("go on")
		req.Continuation = waits(t, `{"command":"rm a"}`, agent.Options{})
		id, _ := req.Continuation.State[execution.StateApproval].(string)
		req.Continuation.Decision = &execution.ContinuationDecision{ApprovalID: id, Approved: true}
		forge(req.Continuation)
		var e *execution.Error
		if _, err := agent.New(backend(answer)).Start(t.Context(), req, agent.Options{}); !errors.As(err, &e) || e.Code != execution.CodeValidation {
			t.Errorf("%s: %v", name, err)
		}
	}
}
