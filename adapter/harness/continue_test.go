package harness

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/modelapi/modelapitest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// stored is a continuation that was saved and read again.
func stored(t *testing.T, res execution.Result) *execution.Continuation {
	t.Helper()
	b, err := json.Marshal(res.Continuation)
	if err != nil || res.Continuation == nil {
		t.Fatalf("the continuation of %s %+v is %s, %v", res.Status, res.Error, b, err)
	}
	var c execution.Continuation
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), plantedKey) {
		t.Errorf("the key is in the continuation %s", b)
	}
	return &c
}

// decide adds a decision in words to a continuation.
func decide(c *execution.Continuation, word string) {
	id, _ := c.State[execution.StateApproval].(string)
	c.Decision = &execution.ContinuationDecision{ApprovalID: id, Approved: word == "approved", By: "ann"}
	if !c.Decision.Approved {
		c.Decision.Reason = "no"
	}
}

func interrupts(req *execution.Request) {
	req.Requirements = &execution.Requirements{ApprovalInterrupts: execution.SupportRequired, ContinuationSupport: execution.SupportRequired}
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// TestApprovalContinues: a turn that waits for a permission is continued by the decision: the call waits with it, calls before it
// keep their results, and those after it follow.
func TestApprovalContinues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		decision      string
		mode          execution.ApprovalMode // of the second run
		waits, writes bool                   // the second run waits again; the file is written
		got           string
	}{
		{"approved", "", false, true, "tool: created one.txt (1 bytes)"},
		{"denied", "", false, false, "tool: denied by ann: no"},
		{"", "", true, false, ""},
		{"", execution.ApprovalYolo, false, true, "tool: created one.txt (1 bytes)"},
	} {
		t.Run(tt.decision+" "+string(tt.mode), func(t *testing.T) {
			t.Parallel()
			m := &model{replies: []reply{calls(`read {"path":"a.txt"}`), calls(`read {"path":"a.txt"}`, `write {"path":"one.txt","content":"1"}`, `list {}`), says("done")}}
			req := request(t, "write it")
			interrupts(&req)
			res, events := modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{})
			if res.Status != execution.StatusAwaitingApproval || res.ApprovalRequest == nil || res.ApprovalRequest.ApprovalKey == "" || exists(req.Run.Cwd, "one.txt") ||
				res.Metadata["stopReason"] != "approval_required" {
				t.Fatalf("%s %+v %v", res.Status, res.ApprovalRequest, res.Metadata)
			}
			if n := len(bodies[execution.ApprovalRequired](events)); n != 1 || m.called() != 2 {
				t.Errorf("%d questions and %d calls", n, m.called())
			}
			c := stored(t, res)
			if c.Kind != execution.ContinuationApproval || c.State["approvalId"] != res.ApprovalRequest.ApprovalKey || c.State["agent"] != "harness" || c.State["model"] != "fake/model-1" ||
				c.State["action"] != "change files" {
				t.Errorf("%s %v", c.Kind, c.State)
			}
			if tt.decision != "" {
				decide(c, tt.decision)
			}
			again := request(t, "here you are")
			again.Run.Cwd, again.Run.Model, again.Run.ApprovalMode, again.Continuation = req.Run.Cwd, "", tt.mode, c
			interrupts(&again)
			res, events = modelapitest.Run(t, m.backend(Limits{}), again, agent.Options{})
			if waits := res.Status == execution.StatusAwaitingApproval; waits != tt.waits || exists(req.Run.Cwd, "one.txt") != tt.writes {
				t.Errorf("%s %+v, written: %v", res.Status, res.Error, exists(req.Run.Cwd, "one.txt"))
			}
			if tt.waits {
				stored(t, res)
				return
			}
			if res.Status != execution.StatusCompleted || m.called() != 3 {
				t.Fatalf("%s %+v after %d calls", res.Status, res.Error, m.called())
			}
			if asked := len(bodies[execution.ApprovalRequired](events)); asked != 0 && tt.decision != "" {
				t.Errorf("a decided question was asked again, %d times", asked)
			}
			want := "user: write it\nassistant:  calls read\ntool: 1\tcontent of a\n\nassistant:  calls read calls write calls list\ntool: 1\tcontent of a\n\n" + tt.got + "\ntool: a.txt"
			if tt.writes {
				want += "\none.txt"
			}
			want += "\nuser: here you are"
			if got := strings.Join(m.said(t, 2)[1:], "\n"); got != want {
				t.Errorf("the model got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestDecisionHoldsOnce: a decision is about one call, and about no other.
func TestDecisionHoldsOnce(t *testing.T) {
	t.Parallel()
	m := &model{replies: []reply{calls(`write {"path":"one.txt","content":"1"}`, `write {"path":"two.txt","content":"2"}`), says("done")}}
	req := request(t, "write them")
	interrupts(&req)
	res, _ := modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{})
	for _, want := range []string{"one.txt", "two.txt"} {
		if res.Status != execution.StatusAwaitingApproval || exists(req.Run.Cwd, want) {
			t.Fatalf("%s: %s %+v", want, res.Status, res.Error)
		}
		req.Continuation = stored(t, res)
		decide(req.Continuation, "approved")
		res, _ = modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{})
		if !exists(req.Run.Cwd, want) {
			t.Errorf("%s was not written", want)
		}
	}
	if res.Status != execution.StatusCompleted || m.called() != 2 {
		t.Errorf("%s %+v after %d calls", res.Status, res.Error, m.called())
	}

	m = &model{replies: m.replies}
	again := request(t, "write them")
	interrupts(&again)
	res, _ = modelapitest.Run(t, m.backend(Limits{}), again, agent.Options{})
	again.Continuation = stored(t, res)
	decide(again.Continuation, "approved")
	again.Continuation.State["toolCallId"] = "call-0-1"
	if res, _ = modelapitest.Run(t, m.backend(Limits{}), again, agent.Options{}); res.Status != execution.StatusAwaitingApproval || exists(again.Run.Cwd, "one.txt") {
		t.Errorf("the decision about another call was used: %s %+v", res.Status, res.Error)
	}
}

// TestClarificationContinues: the message of the next turn answers the question.
func TestClarificationContinues(t *testing.T) {
	t.Parallel()
	m := &model{replies: []reply{calls(`ask {"question":"which repo?"}`, `list {}`), says("done")}}
	req := request(t, "do it")
	res, _ := modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{})
	if res.Status != execution.StatusNeedsClarification || res.Output.Text != "which repo?" || res.Metadata["stopReason"] != "clarification_required" {
		t.Fatalf("%s %+v %v", res.Status, res.Output, res.Metadata)
	}
	c := stored(t, res)
	if c.Kind != execution.ContinuationClarification || c.State["question"] != "which repo?" {
		t.Errorf("%s %v", c.Kind, c.State)
	}
	again := request(t, "the second one")
	again.Continuation = c
	res, events := modelapitest.Run(t, m.backend(Limits{}), again, agent.Options{})
	if res.Status != execution.StatusCompleted || len(bodies[execution.InputRequired](events)) != 0 {
		t.Errorf("%s %+v", res.Status, res.Error)
	}
	want := "user: do it\nassistant:  calls ask calls list\ntool: the second one\ntool: a.txt"
	if got := strings.Join(m.said(t, 1)[1:], "\n"); got != want {
		t.Errorf("the model got\n%s\nwant\n%s", got, want)
	}
}

// TestDeferredContinues: a turn that reached a limit goes on with the results of its calls, which are not made again.
func TestDeferredContinues(t *testing.T) {
	t.Parallel()
	for _, hang := range []bool{false, true} {
		req, again := request(t, "work"), request(t, "go on")
		synctest.Test(t, func(t *testing.T) {
			m := &model{replies: []reply{calls(`write {"path":"f","content":"1"}`), calls(`read {"path":"a.txt"}`), says("done")}}
			limits := Limits{MaxIterations: 2}
			if hang {
				m.replies[1], limits = reply{hang: true}, Limits{}
			}
			req.Run.ApprovalMode, again.Run.ApprovalMode = execution.ApprovalYolo, execution.ApprovalYolo
			res, _ := modelapitest.Run(t, m.backend(limits), req, agent.Options{})
			c := stored(t, res)
			if c.Kind != execution.ContinuationDeferred || c.State["iteration"] != 2.0 {
				t.Errorf("%s %v", c.Kind, c.State["iteration"])
			}
			if at, err := time.Parse(time.RFC3339, c.State["createdAt"].(string)); err != nil || at.IsZero() {
				t.Error(err)
			}
			if n := len(c.State["summary"].([]any)); n == 0 || n > 6 {
				t.Errorf("the summary has %d steps", n)
			}
			again.Run.Cwd, again.Continuation = req.Run.Cwd, c
			m.replies = []reply{says(""), says(""), says("done")}
			res, events := modelapitest.Run(t, m.backend(Limits{}), again, agent.Options{})
			if res.Status != execution.StatusCompleted || len(bodies[execution.ToolCallReady](events)) != 0 {
				t.Errorf("%s %+v", res.Status, res.Error)
			}
			got := strings.Join(m.said(t, 2)[1:], "\n")
			if !strings.HasPrefix(got, "user: work\nassistant:  calls write\ntool: created f (1 bytes)\n") || !strings.HasSuffix(got, "\nuser: go on") {
				t.Errorf("the model got\n%s", got)
			}
		})
	}
}

// TestTokens: two continuations of one turn have different resume tokens, which nobody can guess.
func TestTokens(t *testing.T) {
	t.Parallel()
	seen := map[any]bool{}
	for range 3 {
		m := &model{replies: []reply{calls(`ask {"question":"which?"}`)}}
		res, _ := modelapitest.Run(t, m.backend(Limits{}), request(t, "do it"), agent.Options{})
		token, _ := stored(t, res).State["resumeToken"].(string)
		if len(token) < 32 || seen[token] {
			t.Errorf("the token is %q", token)
		}
		seen[token] = true
	}
}

// TestBadContinuations: a continuation that cannot be continued is refused before anything starts.
func TestBadContinuations(t *testing.T) {
	t.Parallel()
	m := &model{replies: []reply{calls(`write {"path":"x","content":"1"}`)}}
	req := request(t, "do it")
	interrupts(&req)
	res, _ := modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{})
	for name, change := range map[string]func(state map[string]any){
		"no messages":              func(s map[string]any) { delete(s, "messages") },
		"messages of another type": func(s map[string]any) { s["messages"] = "hello" },
		"an unknown part": func(s map[string]any) {
			s["messages"] = []any{map[string]any{"parts": []any{map[string]any{"kind": "song"}}}}
		},
		"a result without a call": func(s map[string]any) {
			s["messages"] = []any{map[string]any{"parts": []any{map[string]any{"kind": "result", "id": "x"}}}}
		},
		"a call without an id": func(s map[string]any) {
			s["messages"] = []any{map[string]any{"model": true, "parts": []any{map[string]any{"kind": "tool_call", "name": "x"}}}}
		},
		"a call that was passed over": func(s map[string]any) {
			s["messages"] = append(s["messages"].([]any), map[string]any{"model": true, "parts": []any{map[string]any{"kind": "text", "text": "x"}}})
		},
		"another agent":          func(s map[string]any) { s["agent"] = "other" },
		"nothing to decide":      func(s map[string]any) { delete(s, "toolCallId") },
		"a sub-agent of nothing": func(s map[string]any) { s["subagents"] = map[string]any{"call": []any{}} },
		"an unknown service":     func(s map[string]any) { s["model"] = "nobody/x" },
	} {
		c := stored(t, res)
		change(c.State)
		if name == "nothing to decide" {
			decide(c, "approved")
		}
		again := request(t, "go on")
		again.Run.Model, again.Continuation = "", c
		before := m.called()
		got, _ := modelapitest.Run(t, m.backend(Limits{}), again, agent.Options{})
		if got.Status != execution.StatusUnsupported || m.called() != before {
			t.Errorf("%s: %s %+v", name, got.Status, got.Error)
		}
		// The adapter itself refuses it as well.
		for e, err := range m.backend(Limits{}).Adapter.Execute(t.Context(), again, &silent{}) {
			if f, ok := e.Body.(execution.Finished); err != nil || ok && f.Result.Status != execution.StatusFailed && name != "another agent" {
				t.Errorf("%s: %v %+v", name, err, f.Result)
			}
			if name == "another agent" {
				break
			}
		}
	}
}

// FuzzContinuation: no state breaks the reading.
func FuzzContinuation(f *testing.F) {
	f.Add(`{"messages":[{"parts":[{"kind":"text","text":"hi"}]},{"model":true,"parts":[{"kind":"tool_call","id":"1","name":"ask","input":"{\"question\":\"q\"}"}]}],"toolCallId":"1"}`, "clarification")
	f.Add(`{"messages":[{"parts":[{"kind":"result","id":"1"}]}],"decision":"approved"}`, "approval")
	f.Fuzz(func(t *testing.T, state, kind string) {
		var s map[string]any
		if json.Unmarshal([]byte(state), &s) != nil {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			m := &model{replies: []reply{says("hi")}}
			req := execution.Request{SchemaVersion: execution.SchemaVersion, AssistantID: "a", TurnID: "t", Message: execution.Message{ID: "m", Text: "hi", ReceivedAt: time.Unix(1, 0)},
				Run: execution.RunOptions{Model: "fake", Cwd: os.TempDir(), Sandbox: execution.SandboxReadOnly}, Continuation: &execution.Continuation{Kind: kind, State: s}}
			modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{})
		})
	})
}

// TestSubagentContinues: a sub-agent that waits for a permission goes on where it stood: its task and its calls are not begun again, and its
// answer is the result of the agent's call.
func TestSubagentContinues(t *testing.T) {
	t.Parallel()
	for decision, want := range map[string]struct {
		got    string
		writes bool
	}{"approved": {"tool: created s.txt (1 bytes)", true}, "denied": {"tool: denied by ann: no", false}, "": {"", false}} {
		t.Run(decision, func(t *testing.T) {
			t.Parallel()
			m := &model{replies: []reply{calls(`agent {"prompt":"write s.txt"}`), calls(`read {"path":"a.txt"}`), calls(`write {"path":"s.txt","content":"s"}`, `list {}`),
				says("the sub-agent is done"), says("done")}}
			req := request(t, "let it be written")
			interrupts(&req)
			res, _ := modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{})
			if res.Status != execution.StatusAwaitingApproval || m.called() != 3 || exists(req.Run.Cwd, "s.txt") {
				t.Fatalf("%s %+v after %d calls", res.Status, res.Error, m.called())
			}
			again := request(t, "go on")
			again.Run.Cwd, again.Run.Model, again.Continuation = req.Run.Cwd, "", stored(t, res)
			interrupts(&again)
			if decision != "" {
				decide(again.Continuation, decision)
			}
			res, events := modelapitest.Run(t, m.backend(Limits{}), again, agent.Options{})
			asked := bodies[execution.ApprovalRequired](events)
			if decision == "" {
				if res.Status != execution.StatusAwaitingApproval || len(asked) != 1 || m.called() != 3 {
					t.Errorf("%s %+v after %d calls, asked %+v", res.Status, res.Error, m.called(), asked)
				}
				if c := stored(t, res); c.State["toolCallId"] != asked[0].ToolCallID || len(c.State["subagents"].(map[string]any)) != 1 {
					t.Errorf("it cannot be continued once more: %v", c.State)
				}
				return
			}
			if res.Status != execution.StatusCompleted || res.Output.Text != "done" || m.called() != 5 || len(asked) != 0 || exists(req.Run.Cwd, "s.txt") != want.writes {
				t.Fatalf("%s %+v after %d calls, asked %+v", res.Status, res.Error, m.called(), asked)
			}
			said := strings.Join(m.said(t, 3)[1:], "\n")
			if end := "user: write s.txt\nassistant:  calls read\ntool: 1\tcontent of a\n\nassistant:  calls write calls list\n" + want.got + "\ntool: a.txt"; !strings.HasPrefix(said, end) {
				t.Errorf("the sub-agent's model got\n%s\nwant\n%s", said, end)
			}
			if said := strings.Join(m.said(t, 4)[1:], "\n"); said != "user: let it be written\nassistant:  calls agent\ntool: the sub-agent is done\nuser: go on" {
				t.Errorf("the agent's model got\n%s", said)
			}
			starts := bodies[execution.SubagentSpawn](events)
			if len(starts) != 1 {
				t.Errorf("%d sub-agents were shown", len(starts))
			}
		})
	}
}
