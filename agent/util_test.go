package agent_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type script = func(*at.Call) execution.Result

func request(text string) execution.Request {
	return execution.Request{AssistantID: "a1", TurnID: "t1", Message: execution.Message{ID: "m1", Text: execution.Prompt(text)},
		Instructions: execution.Instructions{SystemPrompt: "s"}}
}

// conversation is a request that keeps its input open.
func conversation() execution.Request {
	req := request("hello")
	req.Run.Interactive = true
	return req
}

func backend(s script) agent.Backend {
	return agent.Backend{Name: "fake", Adapter: &at.Fake{Script: s}, DefaultModel: "fake-1"}
}

func declaring(s script, change func(*execution.Capabilities)) agent.Backend {
	b := backend(s)
	b.Adapter.(*at.Fake).Declared = func() execution.Capabilities {
		c := at.Capable()
		change(&c)
		return c
	}
	return b
}

func start(t *testing.T, b agent.Backend, req execution.Request, opts agent.Options) *agent.Run {
	t.Helper()
	r, err := agent.New(b).Start(t.Context(), req, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// collect reads every event of a run.
func collect(t *testing.T, r *agent.Run) (events []execution.Event) {
	t.Helper()
	for e, err := range r.Events(context.WithoutCancel(t.Context()), 0) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// finish waits for the end of a run and holds its stream against the ordering contract.
func finish(t *testing.T, r *agent.Run) (execution.Result, []execution.Event) {
	t.Helper()
	events := collect(t, r)
	res, err := r.Result(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if err := at.CheckOrder(events, res); err != nil {
		t.Errorf("order: %v", err)
		for _, e := range events {
			t.Logf("  %d %T %+v", e.Seq, e.Body, e.Body)
		}
	}
	if err := res.Validate(); err != nil {
		t.Errorf("result: %v", err)
	}
	if s := r.State(); !s.Terminal() {
		t.Errorf("the finished run is %s", s)
	}
	return res, events
}

func run(t *testing.T, b agent.Backend, req execution.Request, opts agent.Options) (execution.Result, []execution.Event) {
	t.Helper()
	return finish(t, start(t, b, req, opts))
}

func want(t *testing.T, res execution.Result, status execution.Status, code execution.FailureCode) {
	t.Helper()
	var got execution.FailureCode
	if res.Error != nil {
		got = res.Error.Code
	}
	if res.Status != status || got != code {
		t.Errorf("got %s %s (%+v), want %s %s", res.Status, got, res.Error, status, code)
	}
}

// bodies are the bodies of type T in order.
func bodies[T execution.Body](events []execution.Event) (found []T) {
	for _, e := range events {
		if b, ok := e.Body.(T); ok {
			found = append(found, b)
		}
	}
	return found
}

func types(events []execution.Event) (list []execution.EventType) {
	for _, e := range events {
		list = append(list, e.Body.Type())
	}
	return list
}

// opened emits what every conversation begins with.
func opened(c *at.Call) {
	c.Emit(execution.SessionStart{SessionID: "s-1", Model: "fake-1"}, execution.TurnStart{})
}

func ended(c *at.Call) { c.Emit(execution.TurnEnd{Reason: execution.TurnCompleted}) }

// answer is the simplest backend.
func answer(c *at.Call) execution.Result {
	opened(c)
	c.Say("h", "i")
	ended(c)
	return at.Completed()
}

// hang works until it is stopped.
func hang(c *at.Call) execution.Result {
	opened(c)
	c.Say("working")
	<-c.Ctx.Done()
	return at.Failed(execution.CodeAborted, "stopped")
}

// chat answers every message of a conversation.
func chat(c *at.Call) execution.Result {
	opened(c)
	c.Say("first")
	ended(c)
	for {
		cmd, err := c.Next()
		if err != nil {
			return at.Completed()
		}
		switch cmd := cmd.(type) {
		case execution.Say:
			c.Emit(execution.InputTaken{ID: cmd.ID}, execution.TurnStart{})
			c.Say("you said ", cmd.Text)
			ended(c)
		case execution.EndInput:
			return at.Completed()
		}
	}
}

// on runs fn for the first event of type T, before any reader sees it.
func on[T execution.Body](r **agent.Run, ready chan struct{}, fn func(*agent.Run, T)) agent.Handler {
	once := false
	return agent.On(func(_ execution.Event, b T) {
		if !once {
			once = true
			<-ready
			fn(*r, b)
		}
	})
}

// begin starts a run whose handlers use its handle.
func begin(t *testing.T, b agent.Backend, req execution.Request, opts agent.Options, handlers func(r **agent.Run, ready chan struct{}) []agent.Handler) *agent.Run {
	t.Helper()
	var r *agent.Run
	ready := make(chan struct{})
	opts.Handlers = append(opts.Handlers, handlers(&r, ready)...)
	r = start(t, b, req, opts)
	close(ready)
	return r
}
