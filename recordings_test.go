package drawbar_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// absent declares what the reference adapter declares and can run nothing.
type absent struct{ adaptertest.Fake }

func (*absent) Execute(context.Context, execution.Request, adapter.Inbox) iter.Seq2[execution.Event, error] {
	panic("the agent was run")
}

// ofFake returns a client whose agents are of one adapter.
func ofFake(t *testing.T, o drawbar.Options, a adapter.Adapter) *drawbar.Client {
	t.Helper()
	o.DefaultAgent = "fake"
	for _, name := range []string{"fake", "other"} {
		o.Agents = append(o.Agents, adapter.Descriptor{Name: name, DisplayName: name, Command: "fake", Config: settings.Schema{Agent: name},
			Models: []execution.Model{{ID: "fake-1"}}, DefaultModel: "fake-1", New: func() adapter.Adapter { return a }})
	}
	if o.StateDir == "" {
		o.NoRecord = true
	}
	c, err := drawbar.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// outcome is what a reader of a run sees, without ids and times.
type outcome struct {
	Types  []string
	Texts  []string
	Result execution.Result
}

// talk runs a request and says what is left to say after each turn. A request that was refused has its error.
func talk(t *testing.T, c *drawbar.Client, req execution.Request, opts drawbar.RunOptions, say ...string) (outcome, error) {
	t.Helper()
	run, err := c.Run(t.Context(), req, opts)
	if err != nil {
		return outcome{}, err
	}
	var o outcome
	for e, err := range run.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		o.Types = append(o.Types, string(e.Body.Type()))
		if b, ok := e.Body.(execution.TextDelta); ok {
			o.Texts = append(o.Texts, b.Delta+"|"+b.Accumulated)
		}
		if _, ended := e.Body.(execution.TurnEnd); !ended || !req.Run.Interactive {
			continue
		}
		if len(say) == 0 {
			run.CloseInput()
			continue
		}
		if _, err := run.Send(say[0], execution.WhenNextTurn); err != nil {
			t.Fatal(err)
		}
		say = say[1:]
	}
	if o.Result, err = run.Result(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := &o.Result
	r.RunID, r.TurnID, r.DurationMs, r.Trace, r.Events = "", "", 0, nil, nil
	return o, nil
}

// played is a run of the reference agent, and how it differs at a replay that is refused or fails.
type played struct {
	name string
	req  execution.Request
	opts drawbar.RunOptions
	say  []string

	status    execution.Status
	other     drawbar.RunOptions // for a replay
	otherSay  []string
	different string // what the replay with these says
}

func playedRuns() []played {
	interactive := adaptertest.PlayRequest(adaptertest.Simple)
	interactive.Run.Interactive = true
	tool := adaptertest.PlayRequest(adaptertest.Tool)
	tool.Tools = []execution.Tool{{Name: "echo", Description: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)}}
	handler := func(answer string) drawbar.RunOptions {
		return drawbar.RunOptions{Options: agent.Options{Tools: func(_ context.Context, call execution.ToolCall) (execution.ToolResult, error) {
			if call.Name != "echo" || !strings.Contains(string(call.Input), "ping") {
				return execution.ToolResult{}, fmt.Errorf("called %+v", call)
			}
			return execution.ToolResult{Output: json.RawMessage(answer)}, nil
		}}}
	}
	approval := adaptertest.PlayRequest(adaptertest.Approval)
	approval.Run.ApprovalMode = execution.ApprovalPrompt
	decide := func(d execution.Decision) drawbar.RunOptions {
		return drawbar.RunOptions{Options: agent.Options{OnApproval: func(context.Context, execution.ApprovalRequired) execution.Decision { return d }}}
	}
	hooked := func(d execution.HookDecision) drawbar.RunOptions {
		o := decide(execution.Decision{Approve: true})
		o.Hooks.PreToolUse = func(_ context.Context, call execution.HookCall) (execution.HookResult, error) {
			if call.Data.ToolName != "write" || call.RunID == "" || call.Time.IsZero() {
				return execution.HookResult{}, fmt.Errorf("called %+v", call)
			}
			return execution.HookResult{Decision: d, Message: "because"}, nil
		}
		return o
	}
	clarify := adaptertest.PlayRequest(adaptertest.Clarify)
	answer := func(text string) drawbar.RunOptions {
		return drawbar.RunOptions{Options: agent.Options{OnInput: func(context.Context, execution.InputRequired) (string, error) { return text, nil }}}
	}
	structured := adaptertest.PlayRequest(adaptertest.Structure)
	structured.Run.OutputSchema = json.RawMessage(`{"type":"object"}`)
	fallback := adaptertest.PlayRequest(adaptertest.Crash)
	retried := adaptertest.PlayRequest(adaptertest.Fail)
	retried.Run.RetryPolicy = &execution.RetryPolicy{MaxAttempts: 2, BaseDelayMs: 1, MaxDelayMs: 1}
	done, failed := execution.StatusCompleted, execution.StatusFailed
	return []played{
		{name: "simple", req: adaptertest.PlayRequest(adaptertest.Simple), status: done},
		{name: "long", req: adaptertest.PlayRequest(adaptertest.Long), status: done},
		{name: "steps", req: adaptertest.PlayRequest(adaptertest.Steps), status: done},
		{name: "think", req: adaptertest.PlayRequest(adaptertest.Think), status: done},
		{name: "attach", req: adaptertest.PlayRequest(adaptertest.Attach), status: done},
		{name: "connect", req: adaptertest.PlayRequest(adaptertest.Connect), status: done},
		{name: "structure", req: structured, status: done},
		{name: "fail", req: adaptertest.PlayRequest(adaptertest.Fail), status: failed},
		{name: "malformed", req: adaptertest.PlayRequest(adaptertest.Malformed), status: failed},
		{name: "retried", req: retried, status: failed},
		{name: "fallback", req: fallback, opts: drawbar.RunOptions{Fallback: []string{"other"}}, status: failed},
		{name: "tool", req: tool, opts: handler(`{"text":"pong"}`), status: done, other: handler(`{"text":"bang"}`),
			different: `the result of tool echo: text: recorded "pong", received "bang"`},
		{name: "approved", req: approval, opts: decide(execution.Decision{Approve: true}), status: done, other: decide(execution.Decision{Reason: "no"}),
			different: `the answer to question ap1: recorded "approve true", received "approve false"`},
		{name: "hooked", req: approval, opts: hooked(execution.HookAllow), status: done, other: hooked(execution.HookDeny),
			different: `the hook's decision on tool write: recorded "allow", received "deny"`},
		{name: "asked", req: clarify, opts: answer("this one"), status: done, other: answer("that one"),
			different: `the answer to question q1: recorded "this one", received "that one"`},
		{name: "conversation", req: interactive, say: []string{"play remember", "play think"}, status: done, otherSay: []string{"play simple"},
			different: `a message: recorded "play remember", received "play simple"`},
	}
}

// TestRecordAndReplay: of every kind of run a replay has the same events, texts and result, and runs no agent.
func TestRecordAndReplay(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "runs.jsonl")
	c := ofFake(t, drawbar.Options{Record: file}, &adaptertest.Fake{})
	want := map[string]outcome{}
	runs := playedRuns()
	for _, tt := range runs {
		o, err := talk(t, c, tt.req, tt.opts, tt.say...)
		if err != nil || o.Result.Status != tt.status {
			t.Fatalf("%s: %+v, %v", tt.name, o.Result, err)
		}
		want[tt.name] = o
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a recorded run is replayed as often as it is asked for
		p := ofFake(t, drawbar.Options{Replay: file}, &absent{})
		for i := range runs {
			tt := runs[len(runs)-1-i] // in any order
			got, err := talk(t, p, tt.req, tt.opts, tt.say...)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if diff := cmp.Diff(want[tt.name], got); diff != "" {
				t.Errorf("%s: %s", tt.name, diff)
			}
		}
	}
	for _, tt := range runs {
		if tt.different == "" {
			continue
		}
		p := ofFake(t, drawbar.Options{Replay: file}, &absent{})
		got, err := talk(t, p, tt.req, tt.other, tt.otherSay...)
		if err != nil || got.Result.Status != execution.StatusFailed || got.Result.Error.ErrorCode() != execution.CodeValidation || !strings.Contains(got.Result.Error.Message, tt.different) {
			t.Errorf("%s, otherwise: %+v %+v, %v, want %s", tt.name, got.Result.Status, got.Result.Error, err, tt.different)
		}
	}
	p := ofFake(t, drawbar.Options{Replay: file}, &absent{})
	for _, tt := range runs {
		if tt.name == "tool" {
			if got, err := talk(t, p, tt.req, drawbar.RunOptions{}); err != nil || got.Result.Status == execution.StatusCompleted {
				t.Errorf("without a handler of tools: %+v, %v", got.Result, err)
			}
		}
		if tt.name == "fallback" {
			if _, err := talk(t, p, tt.req, drawbar.RunOptions{}); err == nil || !strings.Contains(err.Error(), `run.fallback: recorded "[\"other\"]", received nothing`) {
				t.Errorf("without the other agent: %v", err)
			}
		}
		if tt.name == "conversation" {
			if got, err := talk(t, p, tt.req, drawbar.RunOptions{}, "play remember"); err != nil || got.Result.Status != execution.StatusFailed || !strings.Contains(got.Result.Error.Message, `recorded "play think": it did not come`) {
				t.Errorf("a conversation that ends earlier: %+v, %v", got.Result, err)
			}
		}
	}
}

// TestReplayRefuses: a request that nobody recorded is an error that says what differs, and nothing is run or written.
func TestReplayRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, state := filepath.Join(dir, "runs.jsonl"), filepath.Join(dir, "state")
	here, elsewhere := t.TempDir(), t.TempDir()
	base := func() execution.Request {
		r := adaptertest.PlayRequest(adaptertest.Simple)
		r.Run.Agent, r.Run.Cwd, r.Instructions.SystemPrompt = "fake", here, "be brief in "+here
		return r
	}
	c := ofFake(t, drawbar.Options{Record: file}, &adaptertest.Fake{})
	if _, err := talk(t, c, base(), drawbar.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	p := ofFake(t, drawbar.Options{Replay: file, StateDir: state}, &absent{})
	for name, tt := range map[string]struct {
		change func(*execution.Request)
		want   string
	}{
		"agent":   {func(r *execution.Request) { r.Run.Agent = "other" }, `run.agent: recorded "fake", received "other"`},
		"prompt":  {func(r *execution.Request) { r.Message.Text += "r" }, `message.text: recorded "play simple", received "play simpler"`},
		"system":  {func(r *execution.Request) { r.Instructions.SystemPrompt = "be long" }, "instructions.systemPrompt: recorded"},
		"option":  {func(r *execution.Request) { r.Run.Model = "fake-1" }, `run.model: recorded nothing, received "fake-1"`},
		"session": {func(r *execution.Request) { r.Run.SessionID = "s1" }, `run.sessionId: recorded nothing, received "s1"`},
		"attachment": {func(r *execution.Request) {
			r.Message.Attachments = adaptertest.PlayRequest(adaptertest.Attach).Message.Attachments
		},
			"message.attachments: recorded nothing"},
		"noise": {func(r *execution.Request) {
			r.AssistantID, r.TurnID, r.SessionID, r.UserID, r.Message.ID, r.Metadata = "a", "t", "s", "u", "m", map[string]any{"a": 1}
			r.Run.RunID, r.Run.Tags, r.Run.Env, r.Run.Debug, r.Run.ProjectID = agent.NewRunID(), []string{"t"}, map[string]string{"A": "b"}, true, "p"
		}, ""},
		"directory": {func(r *execution.Request) {
			r.Run.Cwd, r.Instructions.SystemPrompt = elsewhere, "be brief in "+elsewhere
		}, ""},
	} {
		req := base()
		tt.change(&req)
		got, err := talk(t, p, req, drawbar.RunOptions{})
		var typed *execution.Error
		switch {
		case tt.want == "" && (err != nil || got.Result.Text != "hi"):
			t.Errorf("%s: %+v, %v", name, got.Result, err)
		case tt.want != "" && (!errors.As(err, &typed) || typed.Code != execution.CodeValidation || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "line 2 of "+file)):
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
	if _, err := os.Stat(state); err == nil {
		t.Error("replayed runs are in the record of runs")
	}
	if _, err := drawbar.New(drawbar.Options{Record: "a", Replay: "b"}); err == nil {
		t.Error("Record and Replay are accepted together")
	}
	again := ofFake(t, drawbar.Options{Record: file}, &adaptertest.Fake{})
	if _, err := talk(t, again, base(), drawbar.RunOptions{}); err == nil || !strings.Contains(err.Error(), "has a recording of this run, which begins in line 2") {
		t.Errorf("recorded again: %v", err)
	}
}

// TestNotRecorded: what no replay could repeat is not written, and the file stays as it was.
func TestNotRecorded(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "runs.jsonl")
	c := ofFake(t, drawbar.Options{Record: file}, &adaptertest.Fake{})
	late := adaptertest.PlayRequest(adaptertest.Hang)
	late.Run.TimeoutMs = 20
	for _, req := range []execution.Request{late, adaptertest.PlayRequest(adaptertest.Missing)} {
		if o, err := talk(t, c, req, drawbar.RunOptions{}); err != nil || o.Result.Status != execution.StatusFailed {
			t.Errorf("%+v, %v", o.Result, err)
		}
	}
	run, err := c.Run(t.Context(), adaptertest.PlayRequest(adaptertest.Hang), drawbar.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	run.Abort(errors.New("enough"))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = ofFake(t, drawbar.Options{Record: file}, &adaptertest.Fake{Script: func(c *adaptertest.Call) execution.Result {
		c.NoResult()
		return execution.Result{}
	}})
	if o, err := talk(t, c, adaptertest.PlayRequest(adaptertest.Simple), drawbar.RunOptions{}); err != nil || o.Result.Status != execution.StatusFailed {
		t.Errorf("%+v, %v", o.Result, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(file); string(text) != `{"recording":1}`+"\n" {
		t.Errorf("recorded %s", text)
	}
}

// TestTheSameRunTwice: its recordings are replayed in their order, and then the last one.
func TestTheSameRunTwice(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "runs.jsonl")
	c := ofFake(t, drawbar.Options{Record: file}, &adaptertest.Fake{Script: func(c *adaptertest.Call) execution.Result {
		c.Say(fmt.Sprint("answer ", c.Number))
		return adaptertest.Completed()
	}})
	req := adaptertest.PlayRequest(adaptertest.Simple)
	for range 2 {
		if _, err := talk(t, c, req, drawbar.RunOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	p := ofFake(t, drawbar.Options{Replay: file}, &absent{})
	for _, want := range []string{"answer 1", "answer 2", "answer 2"} {
		if got, err := talk(t, p, req, drawbar.RunOptions{}); err != nil || got.Result.Text != want {
			t.Errorf("%q, %v, want %q", got.Result.Text, err, want)
		}
	}
}

// TestSessionUsageIsReplayed: tokens that only the agent's own files state are those of the recording.
func TestSessionUsageIsReplayed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "runs.jsonl")
	c := ofFake(t, drawbar.Options{Record: file}, &adaptertest.Fake{})
	used := execution.Usage{Input: 7, Output: 3, Total: 10}
	req := adaptertest.PlayRequest(adaptertest.Simple)
	want, err := talk(t, c, req, drawbar.RunOptions{Options: agent.Options{SessionUsage: func(string, string) execution.Usage { return used }}})
	if err != nil || want.Result.Usage == nil || want.Result.Usage.Input != 7 {
		t.Fatalf("%+v, %v", want.Result.Usage, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := talk(t, ofFake(t, drawbar.Options{Replay: file}, &absent{}), req, drawbar.RunOptions{})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}
