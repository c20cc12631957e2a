//go:build unix

package turnruntime

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
)

// lab runs one agent in memory.
type lab struct {
	fake   *adaptertest.Fake
	models []execution.Model
	asked  []execution.Request
}

func (l *lab) agent() *agent.Agent {
	return agent.New(agent.Backend{Name: "fake", Adapter: l.fake, Models: l.models})
}

func (l *lab) Negotiate(_ context.Context, req execution.Request) (execution.Negotiation, error) {
	return l.agent().Negotiate(req, agent.Options{}), nil
}

func (l *lab) Run(ctx context.Context, req execution.Request, o agent.Options) (*agent.Run, error) {
	l.asked = append(l.asked, req)
	return l.agent().Start(ctx, req, o)
}

func employ(script func(*adaptertest.Call) execution.Result) *lab {
	return &lab{fake: &adaptertest.Fake{Script: script, Declared: func() execution.Capabilities {
		c := adaptertest.Capable()
		c.Agent.Budget = true
		return c
	}}}
}

func stage(c *adaptertest.Call, text string) {
	_ = os.WriteFile(c.Request.Run.Env["AGENTXCHAIN_STAGING_PATH"], []byte(text), 0o644)
}

func seat(t *testing.T) Dispatch {
	t.Helper()
	d := scene(t, "")
	d.RuntimeID, d.RoleID = "agent-dev", "dev"
	d.Runtime = protocol.Runtime{Type: protocol.RuntimeAgent, Agent: "fake"}
	return d
}

func (l *lab) carry(t *testing.T, ctx context.Context, d Dispatch, w Watch) Outcome {
	t.Helper()
	rt, err := For(d.Runtime, Deps{Agents: l})
	if err != nil {
		t.Fatal(err)
	}
	o, err := rt.Run(ctx, d, w)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAgentWritesTheResult(t *testing.T) {
	usd := 0.25
	l := employ(func(c *adaptertest.Call) execution.Result {
		c.Emit(execution.SessionStart{SessionID: "s-1", Model: "model-x"}, execution.TurnStart{})
		c.Emit(execution.ToolCallReady{ToolCallID: "1", ToolName: "edit", Input: json.RawMessage(`{}`)})
		c.Emit(execution.TokenUsage{InputTokens: 100, OutputTokens: 20, CachedTokens: 5}, execution.CostEvent{Cost: execution.Cost{TotalUSD: &usd}})
		c.Say("wor", "king")
		stage(c, goodResult)
		return adaptertest.Completed()
	})
	d := seat(t)
	d.Environ = append(d.Environ, "MY_TOKEN=tok-12345678")
	w := &watcher{}
	o := l.carry(t, context.Background(), d, w)
	if !o.Staged || o.Class != "" || o.Session != "" {
		t.Errorf("%+v", o)
	}
	if m := o.Meta; m == nil || m.SessionID != "s-1" || m.Model != "model-x" || m.LatencyMS == nil || m.InputTokens == nil || *m.InputTokens != 105 || *m.OutputTokens != 20 || *m.CostUSD != usd || m.Provider != "fake" {
		t.Errorf("%+v", m)
	}
	if o.Cost == nil || *o.Cost != (protocol.Cost{InputTokens: 105, OutputTokens: 20, USD: usd}) {
		t.Errorf("%+v", o.Cost)
	}
	if len(w.pids) != 1 || len(w.first) != 1 || w.first[0] != "event" || len(w.events) < 8 {
		t.Errorf("%+v", w)
	}
	last := w.events[len(w.events)-1]
	if !last.Terminal() {
		t.Errorf("the last event is %s", last.Body.Type())
	}
	req := l.asked[0]
	text := string(req.Message.Text)
	if !strings.HasPrefix(text, "Do this.\n\n---\n\nKnow that.\n") || !strings.Contains(text, d.StagedPath) || req.Run.Cwd != d.Root || req.Run.ApprovalMode != execution.ApprovalPrompt ||
		req.Run.SessionID != "" || req.Run.TimeoutMs < 50000 || req.Run.TimeoutMs > 60000 || req.Run.InactivityTimeoutMs != 600000 || *req.Run.GracePeriodMs != 10000 || req.Run.OutputSchema != nil {
		t.Errorf("%+v", req)
	}
	events := read(t, filepath.Join(d.BundleDir, "evidence", "events.jsonl"))
	if !strings.Contains(events, `"type":"message_stop"`) || strings.Contains(events, "text_delta") {
		t.Error(events)
	}
}

// objects checks that every line is an object.
func objects(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Errorf("%v: %.100s", err, line)
		}
	}
}

func TestAgentThatSaysMuch(t *testing.T) {
	d := seat(t)
	employ(func(c *adaptertest.Call) execution.Result {
		for range 200 {
			c.Say(strings.Repeat("y", 40<<10))
		}
		c.Say(strings.Repeat("y", 100<<10))
		stage(c, goodResult)
		return adaptertest.Completed()
	}).carry(t, context.Background(), d, &watcher{})
	events := read(t, filepath.Join(d.BundleDir, "evidence", "events.jsonl"))
	if len(events) > transcriptHead+transcriptTail+8<<10 || !strings.Contains(events, "omitted here") || !strings.Contains(events, "an event of 10") {
		t.Errorf("%d bytes", len(events))
	}
	objects(t, events)
}

func TestAgentOptions(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Dispatch)
		holds  func(execution.RunOptions) bool
	}{
		"model":           {func(d *Dispatch) { d.Runtime.Model = "m-1" }, func(o execution.RunOptions) bool { return o.Model == "m-1" }},
		"approve":         {func(d *Dispatch) { d.Runtime.Approve = "deny" }, func(o execution.RunOptions) bool { return o.ApprovalMode == "deny" }},
		"idle_timeout_ms": {func(d *Dispatch) { d.Runtime.IdleTimeoutMS = new(7000) }, func(o execution.RunOptions) bool { return o.InactivityTimeoutMs == 7000 }},
		"stale_turn_threshold_ms": {func(d *Dispatch) { d.Loop.StaleTurnThresholdMS = new(8000) },
			func(o execution.RunOptions) bool { return o.InactivityTimeoutMs == 8000 }},
		"timeout_ms": {func(d *Dispatch) { d.Timeout, d.Runtime.TimeoutMS = 0, new(9000) },
			func(o execution.RunOptions) bool { return o.TimeoutMs > 8000 && o.TimeoutMs <= 9000 }},
		"session of a role":    {func(d *Dispatch) { d.Runtime.Session, d.Session = "role", "s-0" }, func(o execution.RunOptions) bool { return o.SessionID == "s-0" }},
		"no session of a turn": {func(d *Dispatch) { d.Runtime.Session, d.Session = "turn", "s-0" }, func(o execution.RunOptions) bool { return o.SessionID == "" }},
		"nothing said of it":   {func(d *Dispatch) { d.Session = "s-0" }, func(o execution.RunOptions) bool { return o.SessionID == "" }},
		"budget_usd":           {func(d *Dispatch) { d.Runtime.BudgetUSD = new(1.5) }, func(o execution.RunOptions) bool { return *o.MaxBudgetUSD == 1.5 }},
		"the turn's budget":    {func(d *Dispatch) { d.BudgetUSD = new(2.5) }, func(o execution.RunOptions) bool { return *o.MaxBudgetUSD == 2.5 }},
		"the smaller budget":   {func(d *Dispatch) { d.Runtime.BudgetUSD, d.BudgetUSD = new(1.5), new(0.5) }, func(o execution.RunOptions) bool { return *o.MaxBudgetUSD == 0.5 }},
		"the smaller one, too": {func(d *Dispatch) { d.Runtime.BudgetUSD, d.BudgetUSD = new(0.5), new(1.5) }, func(o execution.RunOptions) bool { return *o.MaxBudgetUSD == 0.5 }},
		"worktree":             {func(d *Dispatch) { d.WorkDir = filepath.Join(d.Root, "wt") }, func(o execution.RunOptions) bool { return filepath.Base(o.Cwd) == "wt" }},
		"structured":           {func(d *Dispatch) { d.Runtime.ResultMode = "structured" }, func(o execution.RunOptions) bool { return len(o.OutputSchema) > 100 }},
		"the first edition":    {func(d *Dispatch) { d.Role.Adapter = "agent" }, func(o execution.RunOptions) bool { return *o.GracePeriodMs == 5000 }},
		"where the bundle is": {func(*Dispatch) {}, func(o execution.RunOptions) bool {
			return strings.HasSuffix(o.Env["AGENTXCHAIN_DISPATCH_DIR"], "turn_1")
		}},
		"thinking": {func(d *Dispatch) { d.Runtime.Thinking = "high" }, func(o execution.RunOptions) bool { return o.ThinkingEffort == execution.EffortHigh }},
		"sandbox":  {func(d *Dispatch) { d.Runtime.Sandbox = "read-only" }, func(o execution.RunOptions) bool { return o.Sandbox == execution.SandboxReadOnly }},
		"env": {func(d *Dispatch) {
			d.Environ = append(d.Environ, "WORD=heron")
			d.Runtime.Env.Set("BIRD", "a ${WORD}")
			d.Runtime.Env.Set("AGENTXCHAIN_TURN_ID", "mine")
		}, func(o execution.RunOptions) bool {
			return o.Env["BIRD"] == "a heron" && o.Env["AGENTXCHAIN_TURN_ID"] == "turn_1"
		}},
		"which turn it is":      {func(*Dispatch) {}, func(o execution.RunOptions) bool { return o.Env["AGENTXCHAIN_TURN_ID"] == "turn_1" }},
		"who it is, for a list": {func(*Dispatch) {}, func(o execution.RunOptions) bool { return strings.Contains(strings.Join(o.Tags, " "), "role:dev") }},
	} {
		t.Run(name, func(t *testing.T) {
			l := employ(func(c *adaptertest.Call) execution.Result {
				stage(c, goodResult)
				return adaptertest.Completed()
			})
			d := seat(t)
			tt.change(&d)
			if o := l.carry(t, context.Background(), d, &watcher{}); !o.Staged && name != "structured" {
				t.Errorf("%+v", o)
			}
			if !tt.holds(l.asked[0].Run) {
				t.Errorf("%+v", l.asked[0].Run)
			}
		})
	}
}

func TestAgentSession(t *testing.T) {
	script := func(c *adaptertest.Call) execution.Result {
		if c.Request.Run.SessionID == "gone" {
			return adaptertest.Failed(execution.CodeSessionNotFound, "no such session")
		}
		c.Emit(execution.SessionStart{SessionID: "s-2"})
		stage(c, goodResult)
		return adaptertest.Completed()
	}
	l := employ(script)
	d := seat(t)
	d.Runtime.Session = "role"
	if o := l.carry(t, context.Background(), d, &watcher{}); o.Session != "s-2" {
		t.Errorf("%+v", o)
	}
	l = employ(script)
	d.Session = "gone"
	var said []string
	d.Out = func(s string) { said = append(said, s) }
	if o := l.carry(t, context.Background(), d, &watcher{}); !o.Staged || o.Session != "s-2" || len(l.asked) != 2 || !strings.Contains(strings.Join(said, ""), "gone") {
		t.Errorf("%+v %q", o, said)
	}
}

func TestAgentAnswersWithTheResult(t *testing.T) {
	for name, tt := range map[string]struct {
		script    func(*adaptertest.Call) execution.Result
		staged    bool
		class     string
		transient bool
	}{
		"structured": {func(*adaptertest.Call) execution.Result {
			return execution.Result{Status: execution.StatusCompleted, Output: &execution.Output{Text: "done", Structured: json.RawMessage(goodResult)}}
		}, true, "", false},
		"as its last message": {func(*adaptertest.Call) execution.Result {
			return execution.Result{Status: execution.StatusCompleted, Output: &execution.Output{Text: goodResult}}
		}, true, "", false},
		"words": {func(*adaptertest.Call) execution.Result {
			return execution.Result{Status: execution.StatusCompleted, Output: &execution.Output{Text: "I am done."}}
		}, false, ClassExtraction, true},
		"said, and not as its form has it": {func(c *adaptertest.Call) execution.Result {
			c.Say("Wait.")
			c.Say(goodResult)
			return adaptertest.Failed(execution.CodeInvalidOutput, "no structured output")
		}, true, "", false},
		"not said, and not as its form has it": {func(c *adaptertest.Call) execution.Result {
			c.Say("Wait.")
			return adaptertest.Failed(execution.CodeInvalidOutput, "no structured output")
		}, false, ClassExtraction, true},
		"in a fence and words": {func(*adaptertest.Call) execution.Result {
			return execution.Result{Status: execution.StatusCompleted, Output: &execution.Output{Text: "Here it is:\n```json\n" + goodResult + "\n```"}}
		}, true, "", false},
		"another object": {func(*adaptertest.Call) execution.Result {
			return execution.Result{Status: execution.StatusCompleted, Output: &execution.Output{Text: `{"ok":true,"run_id":"run_1"}`}}
		}, false, ClassExtraction, true},
		"nothing": {func(*adaptertest.Call) execution.Result { return adaptertest.Completed() }, false, ClassExtraction, true},
		"failed": {func(*adaptertest.Call) execution.Result {
			return adaptertest.Failed(execution.CodeAuth, "log in")
		}, false, "auth_failure", false},
		"the file after all": {func(c *adaptertest.Call) execution.Result {
			stage(c, goodResult)
			return adaptertest.Completed()
		}, true, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			d := seat(t)
			d.Runtime.ResultMode = "structured"
			o := employ(tt.script).carry(t, context.Background(), d, &watcher{})
			if o.Staged != tt.staged || o.Class != tt.class || o.Transient != tt.transient {
				t.Errorf("%+v", o)
			}
			if tt.staged {
				var r protocol.TurnResult
				if err := json.Unmarshal([]byte(read(t, d.StagedPath)), &r); err != nil || r.TurnID != "turn_1" {
					t.Errorf("%+v %v", r, err)
				}
				left, _ := filepath.Glob(filepath.Join(filepath.Dir(d.StagedPath), ".turn-result-*"))
				if len(left) > 0 {
					t.Errorf("left over: %q", left)
				}
			}
		})
	}
}

func TestAgentFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		result    execution.Result
		before    execution.Body
		class     string
		transient bool
		after     time.Duration
	}{
		"auth":           {adaptertest.Failed(execution.CodeAuth, "log in"), nil, "auth_failure", false, 0},
		"rate limit":     {adaptertest.Failed(execution.CodeRateLimited, "slow down"), nil, "rate_limited", true, 0},
		"soon over":      {adaptertest.Failed(execution.CodeRateLimited, "slow down"), execution.RateLimitError{RetryAfterMs: 5000}, "rate_limited", true, 5 * time.Second},
		"over in hours":  {adaptertest.Failed(execution.CodeRateLimited, "used up"), execution.RateLimited{ResetsAt: time.Now().Add(2 * time.Hour).UnixMilli()}, "rate_limited", false, 2 * time.Hour},
		"overloaded":     {adaptertest.Failed(execution.CodeProvider, "overloaded"), nil, "provider_overloaded", true, 0},
		"a crash":        {adaptertest.Failed(execution.CodeAgentCrash, "crashed"), nil, ClassSubprocess, true, 0},
		"context":        {adaptertest.Failed(execution.CodeContextExceeded, "too long"), nil, "context_overflow", false, 0},
		"budget":         {adaptertest.Failed(execution.CodeBudgetExceeded, "no money"), nil, "budget_exceeded", false, 0},
		"not installed":  {adaptertest.Failed(execution.CodeAgentNotInstalled, "where is it"), nil, ClassSpawn, false, 0},
		"stalled":        {adaptertest.Failed(execution.CodeInactivityTimeout, "silence"), nil, ClassStalled, false, 0},
		"no result":      {execution.Result{Status: execution.StatusCompleted, Output: &execution.Output{Text: "All done, rate limited."}}, nil, ClassNoResult, false, 0},
		"it asks":        {execution.Result{Status: execution.StatusNeedsClarification}, nil, "needs_clarification", false, 0},
		"the turn limit": {execution.Result{Status: execution.StatusDeferred, ExitReason: execution.ExitTurnLimit}, nil, "turn_limit", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := seat(t)
			o := employ(func(c *adaptertest.Call) execution.Result {
				if tt.before != nil {
					c.Emit(tt.before)
				}
				return tt.result
			}).carry(t, context.Background(), d, &watcher{})
			if o.Staged || o.Class != tt.class || o.Transient != tt.transient || o.Hint == "" || o.Detail == "" {
				t.Errorf("%+v", o)
			}
			if off := o.RetryAfter - tt.after; off > time.Second || off < -time.Minute {
				t.Errorf("retry after %v", o.RetryAfter)
			}
		})
	}
}

func TestAgentTimes(t *testing.T) {
	t.Parallel()
	d := seat(t)
	d.Timeout = 300 * time.Millisecond
	sleep := func(c *adaptertest.Call) execution.Result {
		c.Emit(execution.SessionStart{SessionID: "s"})
		_ = c.Sleep(time.Minute)
		return adaptertest.Failed(execution.CodeAborted, "stopped")
	}
	if o := employ(sleep).carry(t, context.Background(), d, &watcher{}); o.Class != ClassTimeout || o.Transient || !strings.Contains(o.Hint, "--timeout") {
		t.Errorf("%+v", o)
	}
	d = seat(t)
	d.Runtime.StartupWatchdogMS = new(200)
	silent := func(c *adaptertest.Call) execution.Result {
		_ = c.Sleep(time.Minute)
		return adaptertest.Failed(execution.CodeAborted, "stopped")
	}
	if o := employ(silent).carry(t, context.Background(), d, &watcher{}); o.Class != ClassNoOutput || o.Transient {
		t.Errorf("%+v", o)
	}
	if events := read(t, filepath.Join(d.BundleDir, "evidence", "events.jsonl")); !strings.Contains(events, "no sign of life") {
		t.Error("why it was stopped is not in the events: " + events)
	} else {
		objects(t, events)
	}
	d = seat(t)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if o := employ(sleep).carry(t, ctx, d, &watcher{}); !o.Cancelled {
		t.Errorf("%+v", o)
	}
	d = seat(t)
	d.Timeout, d.Runtime.LivenessHeartbeatMS = 600*time.Millisecond, new(50)
	d.Runtime.StartupHeartbeatMS = new(50)
	w := &watcher{}
	employ(sleep).carry(t, context.Background(), d, w)
	if len(w.progress) < 6 {
		t.Errorf("%d reports", len(w.progress))
	}
}

func TestAgentIsAskedWhatItMayDo(t *testing.T) {
	d := seat(t) // without approve: prompt
	var asked []string
	d.Approve = func(_ context.Context, q execution.ApprovalRequired) execution.Decision {
		asked = append(asked, q.Action)
		return execution.Decision{Approve: true}
	}
	o := employ(func(c *adaptertest.Call) execution.Result {
		answer, err := c.Ask(execution.ApprovalRequired{ID: "q1", Action: "write a file", Risk: "low"})
		if err != nil || !answer.Approve {
			return adaptertest.Failed(execution.CodeInternal, "not allowed")
		}
		stage(c, goodResult)
		return adaptertest.Completed()
	}).carry(t, context.Background(), d, &watcher{})
	if !o.Staged || len(asked) != 1 {
		t.Errorf("%+v, asked %q", o, asked)
	}
}

// An agent that asks where nobody is there has done nothing that it was not allowed, and whoever comes reads what it asked for.
func TestAgentAsksAndNobodyIsThere(t *testing.T) {
	asks := func(c *adaptertest.Call) execution.Result {
		answer, err := c.Ask(execution.ApprovalRequired{ID: "q1", Action: "write", ToolName: "Write", Detail: "made.txt", Risk: "low"})
		if err == nil && answer.Approve {
			stage(c, goodResult)
		}
		return adaptertest.Completed()
	}
	d := seat(t)
	o := employ(asks).carry(t, context.Background(), d, &watcher{})
	if o.Staged || o.Class != string(execution.StatusAwaitingApproval) || o.Transient {
		t.Errorf("%+v", o)
	}
	for _, want := range []string{"fake asks for permission and nobody can answer: Write made.txt", "drawbar govern step --resume",
		"drawbar govern config set runtimes.agent-dev.approve yolo"} {
		if !strings.Contains(o.Detail, want) {
			t.Errorf("%q is not in %q", want, o.Detail)
		}
	}
	for mode, staged := range map[string]bool{"yolo": true, "deny": false} {
		d := seat(t)
		d.Runtime.Approve = mode
		if o := employ(asks).carry(t, context.Background(), d, &watcher{}); o.Staged != staged || o.Class == string(execution.StatusAwaitingApproval) {
			t.Errorf("%s: %+v", mode, o)
		}
	}
	// One that asks nothing needs nobody.
	if o := employ(func(c *adaptertest.Call) execution.Result { stage(c, goodResult); return adaptertest.Completed() }).carry(t, context.Background(), seat(t), &watcher{}); !o.Staged {
		t.Errorf("%+v", o)
	}
}

func TestAgentIsNegotiatedFirst(t *testing.T) {
	bare := &lab{fake: &adaptertest.Fake{Declared: adaptertest.Bare, Script: func(*adaptertest.Call) execution.Result {
		return execution.Result{Status: execution.StatusCompleted, Output: &execution.Output{Text: goodResult}}
	}}}
	for name, tt := range map[string]struct {
		change func(*Dispatch)
		says   string
		code   execution.ErrorCode
	}{
		"no agent":          {func(d *Dispatch) { d.Runtime.Agent = "" }, "agent is missing", execution.CodeConfig},
		"result":            {func(d *Dispatch) { d.Runtime.ResultMode = "by post" }, "by post", execution.CodeConfig},
		"session":           {func(d *Dispatch) { d.Runtime.Session = "always" }, "always", execution.CodeConfig},
		"approve":           {func(d *Dispatch) { d.Runtime.Approve = "maybe" }, "maybe", execution.CodeConfig},
		"it never asks":     {func(d *Dispatch) { d.Runtime.Approve = "prompt" }, "approval mode prompt", execution.CodeCapability},
		"an approval mode":  {func(d *Dispatch) { d.Runtime.Approve = "deny" }, "approval mode", execution.CodeCapability},
		"a budget of its":   {func(d *Dispatch) { d.Runtime.BudgetUSD = new(1.0) }, "budget", execution.CodeCapability},
		"resuming":          {func(d *Dispatch) { d.Runtime.Session, d.Session = "role", "s" }, "resuming", execution.CodeCapability},
		"what it cannot do": {func(*Dispatch) {}, "approval mode", execution.CodeCapability},
	} {
		d := seat(t)
		tt.change(&d)
		rt, err := For(d.Runtime, Deps{Agents: bare})
		if err != nil {
			t.Fatal(err)
		}
		err = rt.Check(d)
		if err == nil || !strings.Contains(err.Error(), tt.says) || execution.CodeOf(err) != tt.code {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := rt.Run(context.Background(), d, &watcher{}); err == nil {
			t.Errorf("%s: it ran all the same", name)
		}
	}
	if bare.fake.Starts() != 0 {
		t.Error("the agent was started")
	}

	// What has a second way is no refusal.
	plain := func() execution.Capabilities {
		c := adaptertest.Bare()
		c.Agent.ApprovalModes = []execution.ApprovalMode{execution.ApprovalYolo}
		return c
	}
	l := &lab{fake: &adaptertest.Fake{Declared: plain, Script: bare.fake.Script}}
	d := seat(t)
	d.Runtime.Approve, d.Runtime.ResultMode, d.BudgetUSD = "yolo", "structured", new(2.0)
	var said []string
	d.Out = func(s string) { said = append(said, s) }
	o := l.carry(t, context.Background(), d, &watcher{})
	if !o.Staged || l.asked[0].Run.OutputSchema != nil || l.asked[0].Run.MaxBudgetUSD != nil || len(said) < 2 {
		t.Errorf("%+v, said %q", o, said)
	}
	if _, err := For(d.Runtime, Deps{}); err == nil {
		t.Error("a runtime of nobody")
	}
}

func TestResultSchema(t *testing.T) {
	var check func(path string, v any)
	check = func(path string, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		if m["type"] == "object" {
			props, required := m["properties"].(map[string]any), m["required"].([]any)
			if len(props) != len(required) || m["additionalProperties"] != false {
				t.Errorf("%s: %d properties, %d required", path, len(props), len(required))
			}
			for _, r := range required {
				if props[r.(string)] == nil {
					t.Errorf("%s.%v is required and not described", path, r)
				}
			}
		}
		for k, sub := range m {
			check(path+"."+k, sub)
		}
	}
	for authority, proposes := range map[protocol.Authority]bool{protocol.Authoritative: false, protocol.ReviewOnly: false, protocol.Proposed: true} {
		text := ResultSchema(authority)
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		check("", v)
		want := `"proposed_changes":{"items":{"additionalProperties":false,"properties":{"action":{"description":"create, modify or delete","type":"string"},"content":{"type":["string","null"]},"path":{"type":"string"}},"required":["path","action","content"],"type":"object"},"type":"array"}`
		if strings.Contains(string(text), want) != proposes || strings.Contains(string(text), "proposed_changes") != proposes {
			t.Errorf("%s: %s", authority, text)
		}
	}
}
