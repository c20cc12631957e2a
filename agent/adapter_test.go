package agent_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbar/drawbar/adapter"
	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// sequence is an adapter that is nothing but its sequence.
type sequence func(ctx context.Context, yield func(execution.Event, error) bool)

func (sequence) Capabilities() execution.Capabilities { return at.Capable() }

func (s sequence) Execute(ctx context.Context, _ execution.Request, _ adapter.Inbox) iter.Seq2[execution.Event, error] {
	return func(yield func(execution.Event, error) bool) { s(ctx, yield) }
}

func TestBrokenAdapters(t *testing.T) {
	t.Parallel()
	done := func(text string) execution.Event {
		return execution.Event{Body: execution.Finished{Result: execution.Result{Status: execution.StatusCompleted, Text: text}}}
	}
	say := func(s string) execution.Event {
		return execution.Event{Body: execution.TextDelta{Delta: s, Accumulated: s}}
	}
	finished := func(r execution.Result) sequence {
		return func(_ context.Context, yield func(execution.Event, error) bool) {
			yield(execution.Event{Body: execution.Finished{Result: r}}, nil)
		}
	}
	type yieldFunc = func(execution.Event, error) bool
	tests := []struct {
		name   string
		a      sequence
		status execution.Status
		code   execution.FailureCode
		says   string // in the error's message
		text   string
	}{
		{"panics at once", func(context.Context, yieldFunc) { panic("boom") }, "failed", execution.FailureBackendExecution, "boom", ""},
		{"panics midway", func(_ context.Context, y yieldFunc) { y(say("x"), nil); panic("boom") }, "failed", execution.FailureBackendExecution, "boom", "x"},
		{"panics after its result", func(_ context.Context, y yieldFunc) { y(done("x"), nil); panic("boom") }, "completed", "", "", "x"},
		{"yields an error", func(_ context.Context, y yieldFunc) { y(execution.Event{}, errors.New("boom")) }, "failed", execution.FailureBackendExecution, "boom", ""},
		{"yields an error of the contract", func(_ context.Context, y yieldFunc) {
			y(execution.Event{}, execution.Errorf(execution.CodeAuth, "who are you"))
		}, "failed", execution.FailureBackendExecution, "who are you", ""},
		{"yields a capability error", func(_ context.Context, y yieldFunc) {
			y(execution.Event{}, execution.Errorf(execution.CodeCapability, "cannot"))
		}, "unsupported", execution.FailureUnsupportedCapability, "cannot", ""},
		{"yields nothing", func(context.Context, yieldFunc) {}, "failed", execution.FailureInvalidBackendOutput, "without a result", ""},
		{"yields no result", func(_ context.Context, y yieldFunc) { y(say("x"), nil) }, "failed", execution.FailureInvalidBackendOutput, "without a result", "x"},
		{"two results", func(_ context.Context, y yieldFunc) { y(done("first"), nil); y(done("second"), nil) }, "completed", "", "", "first"},
		{"events after its result", func(_ context.Context, y yieldFunc) {
			y(say("x"), nil)
			y(done(""), nil)
			for range 5 {
				y(say("y"), nil) // ignores that its consumer stopped
			}
		}, "completed", "", "", "x"},
		{"an error after its result", func(_ context.Context, y yieldFunc) { y(done("x"), nil); y(execution.Event{}, errors.New("boom")) }, "completed", "", "", "x"},
		{"no body", func(_ context.Context, y yieldFunc) {
			y(execution.Event{}, nil)
			y(execution.Event{}, nil)
			y(say("x"), nil)
			y(done(""), nil)
		}, "completed", "", "", "x"},
		{"stamps events", func(_ context.Context, y yieldFunc) {
			e := say("x")
			e.Seq, e.Turn, e.RunID, e.Agent, e.Time = 77, 7, "other", "other", time.Unix(0, 0)
			y(e, nil)
			y(done(""), nil)
		}, "completed", "", "", "x"},
		{"empty result", finished(execution.Result{}), "failed", execution.FailureInvalidBackendOutput, "without a status", ""},
		{"unknown status", finished(execution.Result{Status: "great"}), "failed", execution.FailureInvalidBackendOutput, `"great"`, ""},
		{"failed without a reason", finished(execution.Result{Status: "failed"}), "failed", execution.FailureBackendExecution, "no reason", ""},
		{"unsupported without a reason", finished(execution.Result{Status: "unsupported"}), "unsupported", execution.FailureUnsupportedCapability, "no reason", ""},
		{"completed with an error", finished(execution.Result{Status: "completed", Error: execution.NewResultError(execution.CodeProvider, "broken")}), "failed", execution.FailureBackendExecution, "broken", ""},
		{"awaiting approval of nothing", finished(execution.Result{Status: "awaiting_approval"}), "failed", execution.FailureInvalidBackendOutput, "without an approval request", ""},
		{"another backend's id", finished(execution.Result{Status: "completed", BackendID: "claude"}), "completed", "", "", ""},
		{"clarification without continuation", finished(execution.Result{Status: "needs_clarification"}), "needs_clarification", "", "", ""},
		{"turn limit as a failure", finished(execution.Result{Status: "failed", ExitReason: execution.ExitTurnLimit, Error: execution.NewResultError(execution.CodeTurnLimit, "x")}), "deferred", "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res, events := run(t, agent.Backend{Name: "broken", Adapter: tt.a}, request("x"), agent.Options{})
			want(t, res, tt.status, tt.code)
			if res.Error != nil && !strings.Contains(res.Error.Message, tt.says) {
				t.Errorf("%q does not say %q", res.Error.Message, tt.says)
			}
			if res.Text != tt.text {
				t.Errorf("text %q, want %q", res.Text, tt.text)
			}
			if res.BackendID != "broken" || events[len(events)-1].Agent != "broken" {
				t.Errorf("got %s, events of %s", res.BackendID, events[len(events)-1].Agent)
			}
			if n := len(bodies[execution.Finished](events)); n != 1 {
				t.Errorf("%d results", n)
			}
			if res.Status == execution.StatusNeedsClarification && (res.Continuation == nil || len(res.Continuation.State) == 0) {
				t.Error("no continuation")
			}
		})
	}
}

// mute panics whenever it is asked for its capabilities.
type mute struct{ sequence }

func (mute) Capabilities() execution.Capabilities { panic("no capabilities") }

func TestPanickingCapabilities(t *testing.T) {
	t.Parallel()
	b := agent.Backend{Name: "mute", Adapter: mute{}}
	res, _ := run(t, b, request("x"), agent.Options{Fallback: []agent.Backend{{Name: "mute", Adapter: mute{}}}})
	want(t, res, execution.StatusUnsupported, execution.FailureUnsupportedCapability)
	if n := agent.New(b).Negotiate(request("x"), agent.Options{}); n.Supported || len(n.Reasons) != 1 {
		t.Errorf("got %+v", n)
	}
}

func TestGoexitOfAnAdapter(t *testing.T) {
	t.Parallel()
	a := sequence(func(_ context.Context, yield func(execution.Event, error) bool) { runtime.Goexit() })
	res, _ := run(t, agent.Backend{Name: "gone", Adapter: a}, request("x"), agent.Options{})
	want(t, res, execution.StatusFailed, execution.FailureOther)
}

// TestDeafAdapter does not return when it is stopped: the run ends all the same, and later what it yields is dropped.
func TestDeafAdapter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		grace := int64(1000)
		a := sequence(func(_ context.Context, yield func(execution.Event, error) bool) {
			yield(execution.Event{Body: execution.TextDelta{Delta: "x", Accumulated: "x"}}, nil)
			time.Sleep(time.Hour)
			yield(execution.Event{Body: execution.TextDelta{Delta: "y", Accumulated: "y"}}, nil)
			yield(execution.Event{Body: approvalOf("q")}, nil)
			yield(execution.Event{Body: execution.Finished{Result: at.Completed()}}, nil)
		})
		req := conversation()
		req.Run.GracePeriodMs = &grace
		begun := time.Now()
		r := start(t, agent.Backend{Name: "deaf", Adapter: a}, req, agent.Options{MaxElapsed: time.Minute})
		res, events := finish(t, r)
		want(t, res, execution.StatusFailed, execution.FailureTimeout)
		if took := time.Since(begun); took != time.Minute+31*time.Second {
			t.Errorf("took %v", took)
		}
		time.Sleep(2 * time.Hour)
		if again := collect(t, r); len(again) != len(events) || len(r.Pending()) != 0 {
			t.Errorf("%d events became %d", len(events), len(again))
		}
	})
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	f := &at.Fake{Script: answer}
	a := agent.New(agent.Backend{Name: "fake", Adapter: f})
	bad := request(" ")
	bad.SchemaVersion = "2.0"
	bad.Run.MaxTurns = -1
	_, err := a.Start(t.Context(), bad, agent.Options{})
	var e *execution.Error
	if !errors.As(err, &e) || e.Code != execution.CodeValidation || len(e.Fields) != 3 {
		t.Errorf("got %v", err)
	}
	if _, err := a.Execute(t.Context(), bad, agent.Options{}); execution.CodeOf(err) != execution.CodeValidation {
		t.Errorf("got %v", err)
	}
	if _, err := a.Start(t.Context(), request("x"), agent.Options{NewRunID: func() execution.RunID { return "../../etc" }}); execution.CodeOf(err) != execution.CodeInternal {
		t.Errorf("a run id that is none: %v", err)
	}
	if f.Starts() != 0 {
		t.Error("the backend was started")
	}
	req := request("x")
	req.Run.RunID = agent.NewRunID()
	r := start(t, agent.Backend{Name: "fake", Adapter: f}, req, agent.Options{})
	finish(t, r)
	if r.ID() != req.Run.RunID || r.Request().SchemaVersion != execution.SchemaVersion || r.Request().Run.Agent != "fake" || req.SchemaVersion != "" {
		t.Errorf("got %s %+v", r.ID(), r.Request())
	}
	defer func() {
		if recover() == nil {
			t.Error("a backend without adapter is accepted")
		}
	}()
	agent.New(agent.Backend{Name: "x"})
}

func TestTools(t *testing.T) {
	t.Parallel()
	call := func(name string) script {
		return func(c *at.Call) execution.Result {
			opened(c)
			_, _ = c.Tool(name, `{"text":"ping"}`)
			c.Say("ok")
			ended(c)
			return at.Completed()
		}
	}
	req := request("x")
	req.Tools = []execution.Tool{{Name: "echo"}}
	tests := []struct {
		name    string
		calls   string
		handler agent.ToolHandler
		want    execution.EventType
		says    string
	}{
		{"works", "echo", func(_ context.Context, c execution.ToolCall) (execution.ToolResult, error) {
			return execution.ToolResult{Output: c.Input}, nil
		}, "tool_result", "ping"},
		{"fails", "echo", func(context.Context, execution.ToolCall) (execution.ToolResult, error) {
			return execution.ToolResult{Error: "no disk"}, nil
		}, "tool_error", "no disk"},
		{"is broken", "echo", func(context.Context, execution.ToolCall) (execution.ToolResult, error) {
			return execution.ToolResult{}, errors.New("unreachable")
		}, "tool_error", "unreachable"},
		{"panics", "echo", func(context.Context, execution.ToolCall) (execution.ToolResult, error) { panic("boom") }, "tool_error", "boom"},
		{"unknown tool", "rm", func(context.Context, execution.ToolCall) (execution.ToolResult, error) {
			t.Error("a tool was called that the request does not bring")
			return execution.ToolResult{}, nil
		}, "tool_error", "no tool"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res, events := run(t, backend(call(tt.calls)), req, agent.Options{Tools: tt.handler})
			want(t, res, execution.StatusCompleted, "")
			said := ""
			for _, e := range events {
				switch b := e.Body.(type) {
				case execution.ToolResultEvent:
					said = string(b.Type()) + string(b.Output)
				case execution.ToolError:
					said = string(b.Type()) + b.Error
				}
			}
			if !strings.HasPrefix(said, string(tt.want)) || !strings.Contains(said, tt.says) {
				t.Errorf("got %q", said)
			}
		})
	}
	t.Run("ends with the run", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			// The adapter passes a context of its own; the handler is told all the same.
			detached := script(func(c *at.Call) execution.Result { //nolint:unconvert // the conversion names the kind
				c.Ctx = context.WithoutCancel(c.Ctx)
				return call("echo")(c)
			})
			r := start(t, backend(detached), req, agent.Options{Tools: func(ctx context.Context, _ execution.ToolCall) (execution.ToolResult, error) {
				<-ctx.Done()
				return execution.ToolResult{}, context.Cause(ctx)
			}})
			synctest.Wait()
			r.Abort(nil)
			res, _ := finish(t, r)
			want(t, res, execution.StatusFailed, execution.FailureCancelled)
		})
	})
}

func TestBackendOf(t *testing.T) {
	t.Parallel()
	f := &at.Fake{Script: answer}
	b := agent.BackendOf(adapter.Descriptor{Name: "mine", DefaultModel: "m", Models: []execution.Model{{ID: "m"}}, New: func() adapter.Adapter { return f }})
	res, _ := run(t, b, request("x"), agent.Options{})
	if res.BackendID != "mine" || b.DefaultModel != "m" || len(b.Models) != 1 {
		t.Errorf("got %s of %+v", res.BackendID, b)
	}
}
