package catalog

import (
	"context"
	"io/fs"
	"iter"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mute is an adapter with nothing optional.
type mute struct{ caps execution.Capabilities }

func (m *mute) Capabilities() execution.Capabilities { return m.caps }
func (m *mute) Execute(context.Context, execution.Request, adapter.Inbox) iter.Seq2[execution.Event, error] {
	return func(func(execution.Event, error) bool) {}
}

// prober is an adapter that can be looked for.
type prober struct {
	mute
	probe func(context.Context, adapter.Host) (adapter.Installation, error)
	auth  func(context.Context, adapter.Host) adapter.AuthState
}

func (p *prober) Probe(ctx context.Context, h adapter.Host) (adapter.Installation, error) {
	return p.probe(ctx, h)
}
func (p *prober) DetectAuth(ctx context.Context, h adapter.Host) adapter.AuthState {
	if p.auth == nil {
		return adapter.AuthState{Status: adapter.Authenticated, Method: "api_key"}
	}
	return p.auth(ctx, h)
}

type seq = iter.Seq2[execution.Event, error]

// openFS tells of every file that is opened.
type openFS func()

func (f openFS) Open(name string) (fs.File, error) {
	f()
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// wrapped is a decorator.
type wrapped struct{ adapter.Adapter }

func (w wrapped) Unwrap() adapter.Adapter { return w.Adapter }

func validCapabilities() execution.Capabilities {
	return execution.Capabilities{
		SchemaVersion: execution.SchemaVersion, ToolUse: execution.ToolsNativeIterative,
		ContinuationSupport: execution.ContinuationsOpaqueResume, ApprovalInterrupts: execution.ApprovalsNative,
		TraceDepth: execution.TraceDetailed, MaxContextStrategy: execution.ContextLarge, Notes: []string{},
		Agent: execution.AgentCapabilities{
			SessionPersistence: "file", StructuredSession: execution.TransportPersistent, Platforms: []string{"linux"},
			RuntimeHooks: execution.RuntimeHooks{
				PreToolUse: execution.HookUnsupported, PostToolUse: execution.HookUnsupported, SessionStart: execution.HookUnsupported,
				SessionEnd: execution.HookUnsupported, Stop: execution.HookUnsupported, UserPromptSubmit: execution.HookUnsupported,
			},
		},
	}
}

// describe is a valid descriptor; change alters it.
func describe(name string, change ...func(*adapter.Descriptor)) adapter.Descriptor {
	d := adapter.Descriptor{
		Name: name, DisplayName: "The " + name, Command: name,
		Config: settings.Schema{Agent: name},
		New:    func() adapter.Adapter { return &mute{validCapabilities()} },
	}
	for _, c := range change {
		c(&d)
	}
	return d
}

func alias(names ...string) func(*adapter.Descriptor) {
	return func(d *adapter.Descriptor) { d.Aliases = names }
}

func probing(probe func(context.Context, adapter.Host) (adapter.Installation, error), auth ...func(context.Context, adapter.Host) adapter.AuthState) func(*adapter.Descriptor) {
	return func(d *adapter.Descriptor) {
		p := &prober{mute: mute{validCapabilities()}, probe: probe}
		if len(auth) > 0 {
			p.auth = auth[0]
		}
		d.New = func() adapter.Adapter { return p }
	}
}
