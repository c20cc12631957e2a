//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/product/continuation"
	"github.com/drawbar/drawbar/product/continuation/delivery"
	"github.com/drawbar/drawbar/product/policy"
	"github.com/drawbar/drawbar/product/turncontext"
)

// TestPipeline is the integration suite of the BYOH specification over real agents: context to request to result; a result to a continuation, its
// resume and the answer's delivery; degraded, blocked, tools, and the time limit.
func TestPipeline(t *testing.T) {
	t.Parallel()
	for _, k := range kits {
		if k.name == "claude" || k.name == "codex" || k.name == "harness" { // the packages for products know no agents; three stand for all
			forAgent(t, k.name, func(t *testing.T) { pipeline(t, k) })
		}
	}
}

func pipeline(t *testing.T, k kit) {
	l := newLab(t, k, `{"turns":[{"text":"x"}]}`)
	path := filepath.Join(l.outside(), "deployed.txt")
	call := escalated(k, path)
	again := fmt.Sprintf(`{"match":{"contains":"The permission that you asked for"},"tools":[%s]},`, call)
	if k.inside {
		again = ""
	}
	l = relab(t, l, fmt.Sprintf(`{"turns":[{"match":{"contains":"deploy"},"tools":[%s]},%s{"match":{"contains":"hang"},"hang":true,"repeat":true},{"match":{"contains":"shade"},"tools":[%s]},{"text":"done","repeat":true}]}`,
		call, again, k.mcp("drawbar", "shade", `{"of":"sky"}`)))
	assemble := func(text string) execution.Request {
		a, err := turncontext.Assembler{}.Assemble(t.Context(), turncontext.Input{AssistantID: "bot", TurnID: "turn-" + text[:4], SessionID: "chat", UserID: "ann",
			Identity: turncontext.Identity{SystemPrompt: "You deploy."}, Memory: &[]turncontext.Memory{{ID: "m", Text: "Ann likes Mondays."}}})
		if err != nil {
			t.Fatal(err)
		}
		return a.Request(execution.Message{ID: "m-" + text, Text: execution.Prompt(text), ReceivedAt: time.Now()}, turncontext.With{})
	}
	gate, err := policy.New(policy.Options{Audit: func(context.Context, policy.Event) error { return nil }}, policy.Rule{ID: "no-money", Evaluate: func(_ context.Context, a policy.Action, _ policy.Risk) (*policy.Decision, error) {
		if strings.Contains(a.Description, "transfer") {
			return &policy.Decision{Verdict: policy.Deny, Reason: "no money is moved"}, nil
		}
		return &policy.Decision{Verdict: policy.Allow}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	run := func(req execution.Request, opts drawbar.RunOptions) execution.Result {
		req.Requirements = &execution.Requirements{ApprovalInterrupts: execution.SupportRequired, ContinuationSupport: execution.SupportPreferred}
		return l.talk(req, opts).result()
	}

	// Blocked: by the policy before anything starts, by what the agent cannot do without a model call.
	var refused *policy.Refused
	if err := gate.Check(t.Context(), policy.Action{Type: "turn", Description: "transfer 5"}); !errors.As(err, &refused) {
		t.Errorf("the policy: %v", err)
	}
	before := l.turns()
	blocked := assemble("blocked")
	blocked.Requirements = &execution.Requirements{ToolUse: execution.ToolUseForbidden}
	blocked.Tools = []execution.Tool{{Name: "x"}}
	if res := l.talk(blocked, drawbar.RunOptions{}).result(); res.Status != execution.StatusUnsupported || l.turns() != before {
		t.Errorf("blocked: %s after %d model calls", res.Status, l.turns()-before)
	}

	// Context to result, and its ids on the way; a result that waits becomes a continuation.
	req := assemble("deploy it")
	if err := gate.Check(t.Context(), policy.Action{Type: "turn", Description: "deploy it"}); err != nil {
		t.Fatal(err)
	}
	first := run(req, drawbar.RunOptions{})
	if first.Status != execution.StatusAwaitingApproval || first.AssistantID != "bot" || first.TurnID != "turn-depl" || first.CorrelationID != "chat" {
		t.Fatalf("%s %+v %+v", first.Status, first.Error, first.Correlation)
	}
	if native := k.can(t).ContinuationSupport == execution.ContinuationsStructured; native == (len(first.Degradation) > 0) {
		t.Errorf("degradation %+v", first.Degradation) // a session that is resumed is less than a structured continuation, and says so
	}
	store, err := continuation.OpenSQLite(t.Context(), filepath.Join(l.root, "waiting.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	answers := filepath.Join(l.root, "answers")
	rt := continuation.New(continuation.Options{Store: store, Deliver: delivery.Ways{}.Deliver, Run: func(_ context.Context, turn continuation.Turn) (execution.Result, error) {
		return run(turn.Request(), drawbar.RunOptions{}), nil
	}})
	create := continuation.FromResult(req, first)
	create.Surfaces = []string{"file:" + answers}
	record, err := rt.Create(t.Context(), create)
	if err != nil {
		t.Fatal(err)
	}
	yes := continuation.Trigger{Kind: continuation.ApprovalResolution, SessionID: "chat", ApprovalID: record.WaitFor.ApprovalID, Decision: continuation.Approved, By: "ann"}
	after, res, err := rt.Resume(t.Context(), record.ID, yes)
	if _, made := os.Stat(path); err != nil || made != nil || after.Status != continuation.Completed || after.Delivery.Status != continuation.Delivered {
		t.Fatalf("%+v %s %+v %v, made %v", after, res.Status, res.Error, err, made)
	}
	var note delivery.Note
	if b, err := os.ReadFile(filepath.Join(answers, record.ID+".json")); err != nil || json.Unmarshal(b, &note) != nil || note.Text != "done" || note.UserID != "ann" || note.SessionID != "chat" {
		t.Errorf("%+v %v", note, err)
	}
	if _, _, err := rt.Resume(t.Context(), record.ID, yes); !errors.Is(err, continuation.ErrFinal) {
		t.Errorf("a second answer: %v", err)
	}

	// Tools of the product, and the time limit.
	tools := assemble("shade of the sky")
	tools.Tools = []execution.Tool{{Name: "shade", Description: "the shade of a thing", InputSchema: json.RawMessage(`{"type":"object","properties":{"of":{"type":"string"}}}`)}}
	called := 0
	handled := drawbar.RunOptions{}
	handled.Tools = func(context.Context, execution.ToolCall) (execution.ToolResult, error) {
		called++
		return execution.ToolResult{Output: json.RawMessage(`"blue"`)}, nil
	}
	tools.Run.ApprovalMode = execution.ApprovalYolo
	if res := l.talk(tools, handled).result(); res.Status != execution.StatusCompleted || called != 1 || res.Trace.Summary.ToolCallCount != 1 {
		t.Errorf("tools: %s %+v, called %d times", res.Status, res.Error, called)
	}
	slow := assemble("hang on")
	slow.Requirements = &execution.Requirements{MaxElapsedMs: 3000}
	if res := l.talk(slow, drawbar.RunOptions{}).result(); res.Status != execution.StatusFailed || res.Error.Code != execution.FailureTimeout || len(l.processes()) > 0 {
		t.Errorf("time limit: %s %+v, left %v", res.Status, res.Error, l.processes())
	}
}
