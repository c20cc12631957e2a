package adaptertest_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter"
	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// twisted is the reference adapter with single rules broken.
type twisted struct {
	*at.Fake
	negotiate func(execution.Request) []execution.Reason
	execute   func(inner adapter.Adapter, ctx context.Context, req execution.Request, in adapter.Inbox) iter.Seq2[execution.Event, error]
	probe     func() (adapter.Installation, error)
	auth      adapter.AuthStatus
	guide     *adapter.AuthGuidance
}

func (w *twisted) Negotiate(req execution.Request) []execution.Reason {
	if w.negotiate == nil {
		return nil
	}
	return w.negotiate(req)
}

func (w *twisted) Execute(ctx context.Context, req execution.Request, in adapter.Inbox) iter.Seq2[execution.Event, error] {
	if w.execute == nil {
		return w.Fake.Execute(ctx, req, in)
	}
	return w.execute(w.Fake, ctx, req, in)
}

func (w *twisted) Probe(ctx context.Context, h adapter.Host) (adapter.Installation, error) {
	if w.probe == nil {
		return w.Fake.Probe(ctx, h)
	}
	return w.probe()
}

func (w *twisted) DetectAuth(ctx context.Context, h adapter.Host) adapter.AuthState {
	if w.auth == "" {
		return w.Fake.DetectAuth(ctx, h)
	}
	return adapter.AuthState{Status: w.auth}
}

func (w *twisted) AuthGuidance() adapter.AuthGuidance {
	if w.guide == nil {
		return w.Fake.AuthGuidance()
	}
	return *w.guide
}

// broken is a reference adapter to break, with its subject.
type broken struct {
	*twisted
	s at.Subject
}

func newBroken() *broken {
	f := &at.Fake{}
	b := &broken{twisted: &twisted{Fake: f}, s: at.FakeSubject(f)}
	b.s.Backend = func() agent.Backend {
		return agent.Backend{Name: "fake", Adapter: b.twisted, DefaultModel: "fake-1", Models: []execution.Model{{ID: "fake-1"}}}
	}
	return b
}

// edit changes or drops (nil body) the events of the reference adapter.
func (b *broken) edit(change func(execution.Body) []execution.Body) {
	b.execute = func(inner adapter.Adapter, ctx context.Context, req execution.Request, in adapter.Inbox) iter.Seq2[execution.Event, error] {
		return func(yield func(execution.Event, error) bool) {
			for e, err := range inner.Execute(ctx, req, in) {
				for _, body := range change(e.Body) {
					e.Body = body
					if !yield(e, err) {
						return
					}
				}
			}
		}
	}
}

// drop leaves events of one type out.
func drop[T execution.Body](b execution.Body) []execution.Body {
	if _, ok := b.(T); ok {
		return nil
	}
	return []execution.Body{b}
}

// result changes the result of the reference adapter.
func result(change func(*execution.Result)) func(execution.Body) []execution.Body {
	return func(b execution.Body) []execution.Body {
		if f, ok := b.(execution.Finished); ok {
			change(&f.Result)
			return []execution.Body{f}
		}
		return []execution.Body{b}
	}
}

// plays is the scenario that a call asks for.
func plays(c *at.Call) at.Scenario {
	return at.Scenario(strings.TrimPrefix(string(c.Request.Message.Text), "play "))
}

// instead plays a scenario in place of another one.
func instead(of, sc at.Scenario) func(*at.Call) execution.Result {
	return func(c *at.Call) execution.Result {
		if plays(c) == of {
			c.Request.Message.Text = at.PlayRequest(sc).Message.Text
		}
		return at.Play(c)
	}
}

// deaf works on although its context is done.
func deaf(c *at.Call) execution.Result {
	c.Emit(execution.SessionStart{SessionID: "s"}, execution.TurnStart{})
	time.Sleep(400 * time.Millisecond)
	return at.Failed(execution.CodeAborted, "at last")
}

func declare(change func(*execution.Capabilities)) func() execution.Capabilities {
	return func() execution.Capabilities {
		c := at.Capable()
		change(&c)
		return c
	}
}

func blocking(execution.Request) []execution.Reason {
	return []execution.Reason{{Code: execution.ReasonOther, Severity: execution.SeverityBlocking, Capability: "mood", Message: "not today"}}
}

func panicking(execution.Request) []execution.Reason { panic("negotiate") }

// closed is an inbox with nothing in it.
type closed struct{}

func (closed) Receive(context.Context) (execution.Command, error) {
	return nil, errors.New("closed")
}

// restless is an inbox that keeps pauses back.
type restless struct{ adapter.Inbox }

func (r restless) Receive(ctx context.Context) (execution.Command, error) {
	for {
		cmd, err := r.Inbox.Receive(ctx)
		if _, pause := cmd.(execution.Pause); !pause {
			return cmd, err
		}
	}
}

// unasked is an inbox that hides the caller's hook.
type unasked struct{ adapter.Inbox }

// heedless is an inbox that asks the caller's hook and allows whatever it says.
type heedless struct{ adapter.Inbox }

func (d heedless) DecideTool(ctx context.Context, call execution.HookCall) execution.HookResult {
	if host, ok := d.Inbox.(adapter.HookHost); ok {
		host.DecideTool(ctx, call)
	}
	return execution.HookResult{Decision: execution.HookAllow}
}

// wordless is an inbox whose hook calls do not say what the tool would do.
type wordless struct{ adapter.Inbox }

func (d wordless) DecideTool(ctx context.Context, call execution.HookCall) execution.HookResult {
	call.Use = execution.ToolUse{}
	if host, ok := d.Inbox.(adapter.HookHost); ok {
		return host.DecideTool(ctx, call)
	}
	return execution.HookResult{Decision: execution.HookAllow}
}

// through gives the reference adapter another inbox.
func (b *broken) through(in func(adapter.Inbox) adapter.Inbox) {
	b.execute = func(inner adapter.Adapter, ctx context.Context, req execution.Request, inbox adapter.Inbox) iter.Seq2[execution.Event, error] {
		return inner.Execute(ctx, req, in(inbox))
	}
}

// startsByItself counts every look at the capabilities as a start of the backend.
func (b *broken) startsByItself() {
	declared := b.Declared
	if declared == nil {
		declared = at.Capable
	}
	var n atomic.Int64
	b.Declared = func() execution.Capabilities { n.Add(1); return declared() }
	b.s.Starts = func() int { return int(n.Load()) }
}

// grabby uses the tool whatever it is told.
func grabby(c *at.Call) execution.Result {
	if plays(c) != at.Approval {
		return at.Play(c)
	}
	c.Emit(execution.SessionStart{SessionID: "s"}, execution.TurnStart{},
		execution.ToolCallReady{ToolCallID: "w", ToolName: "write", Input: json.RawMessage(`{}`)},
		execution.ToolResultEvent{ToolCallID: "w", ToolName: "write", Output: json.RawMessage(`""`)})
	c.Say("hi")
	c.Emit(execution.TurnEnd{})
	return at.Completed()
}

// noStart has tool results without calls.
func noStart(c *at.Call) execution.Result {
	c.Emit(execution.ToolResultEvent{ToolCallID: "w", ToolName: "write", Output: json.RawMessage(`""`)})
	c.Say("hi")
	return at.Completed()
}

// refusesMessages takes no message after the first.
func refusesMessages(_ *testing.T, b *broken) {
	b.Script = func(c *at.Call) execution.Result {
		c.Request.Run.Interactive = false
		return at.Play(c)
	}
}

// module writes a module example.org/x and returns its folder.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example.org/x\n\ngo 1.26\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
