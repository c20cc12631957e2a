package adaptertest

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

var (
	_ adapter.Adapter   = (*Fake)(nil)
	_ adapter.Prober    = (*Fake)(nil)
	_ adapter.AuthGuide = (*Fake)(nil)
)

// Fake is an adapter in memory whose backend is a function. The zero value is the reference adapter: it declares
// Capable and plays the scenarios of the suite. It is safe for concurrent use; do not copy it after first use.
type Fake struct {
	// Declared returns the capabilities as a fresh copy. Nil is Capable.
	Declared func() execution.Capabilities
	// Script is the backend: it handles one execution and returns its result, which Fake yields as the last event.
	// Nil is Play.
	Script func(*Call) execution.Result

	starts  atomic.Int64
	running atomic.Int64
	memory  memory
}

// Capabilities implements adapter.Adapter.
func (f *Fake) Capabilities() execution.Capabilities {
	if f.Declared != nil {
		return f.Declared()
	}
	return Capable()
}

// Starts returns the number of executions started so far.
func (f *Fake) Starts() int { return int(f.starts.Load()) }

// Running returns the number of executions that have not returned.
func (f *Fake) Running() int { return int(f.running.Load()) }

// Execute implements adapter.Adapter.
func (f *Fake) Execute(ctx context.Context, req execution.Request, in adapter.Inbox) iter.Seq2[execution.Event, error] {
	return func(yield func(execution.Event, error) bool) {
		f.running.Add(1)
		defer f.running.Add(-1)
		c := &Call{Ctx: ctx, Request: req, Number: int(f.starts.Add(1)), fake: f, yield: yield, wake: make(chan struct{}, 1)}
		c.tools, _ = in.(adapter.ToolHost)
		c.hooks, _ = in.(adapter.HookHost)
		reading, stop := context.WithCancel(ctx)
		var reader sync.WaitGroup
		reader.Go(func() { c.listen(reading, in) })
		defer reader.Wait()
		defer stop()
		defer func() {
			if p := recover(); p != nil && p != any(errStopped) {
				panic(p)
			}
		}()
		script := f.Script
		if script == nil {
			script = Play
		}
		res := script(c)
		if !c.silent {
			c.Emit(execution.Finished{Result: res})
		}
	}
}

// Probe implements adapter.Prober: the reference agent is always installed.
func (f *Fake) Probe(ctx context.Context, _ adapter.Host) (adapter.Installation, error) {
	if err := ctx.Err(); err != nil {
		return adapter.Installation{}, err
	}
	return adapter.Installation{Installed: true, Version: "1.0.0", Notes: "in memory"}, nil
}

// DetectAuth implements adapter.Prober.
func (f *Fake) DetectAuth(context.Context, adapter.Host) adapter.AuthState {
	return adapter.AuthState{Status: adapter.Authenticated, Method: "none"}
}

// AuthGuidance implements adapter.AuthGuide.
func (f *Fake) AuthGuidance() adapter.AuthGuidance {
	return adapter.AuthGuidance{Provider: "adaptertest", Steps: []adapter.AuthStep{{Description: "nothing to do: the reference agent needs no login"}}}
}

// Capable declares everything that the reference adapter plays. Turn and budget limits are not native, so package
// agent enforces them from the stream.
func Capable() execution.Capabilities {
	return execution.Capabilities{
		ToolUse: execution.ToolsNativeIterative, StructuredToolCalls: true,
		ContinuationSupport: execution.ContinuationsStructured, ApprovalInterrupts: execution.ApprovalsNative,
		TraceDepth: execution.TraceDetailed, Attachments: true, MaxContextStrategy: execution.ContextLarge, Notes: []string{"in memory"},
		Agent: execution.AgentCapabilities{
			CanResume: true, CanFork: true, CanRunEphemeral: true, SupportsMultiTurn: true, SessionPersistence: "file",
			TextStreaming: true, ToolCallStreaming: true, ThinkingStreaming: true, NativeTools: true, MCP: true,
			MCPTransports:     []execution.MCPTransport{execution.MCPStdio, execution.MCPStreamableHTTP},
			ParallelToolCalls: true, ApprovalModes: []execution.ApprovalMode{execution.ApprovalYolo, execution.ApprovalPrompt, execution.ApprovalDeny},
			RuntimeHooks: allHooks(), Thinking: true,
			ThinkingEfforts:      []execution.ThinkingEffort{execution.EffortLow, execution.EffortHigh},
			ThinkingBudgetTokens: true, JSONMode: true, StructuredOutput: true, StructuredSession: execution.TransportPersistent,
			Elsewhere: true, InteractiveMode: true, StdinInjection: true, ImageInput: true, FileAttachments: true,
			AuthMethods:       []execution.AuthMethod{{Type: "none", Name: "no login"}},
			SandboxModes:      []execution.SandboxMode{execution.SandboxReadOnly, execution.SandboxWorkspace, execution.SandboxNone},
			SystemPromptModes: []execution.SystemPromptMode{execution.SystemPromptPrepend, execution.SystemPromptAppend, execution.SystemPromptReplace},
			CostReported:      true,
			Verbs: []execution.Verb{execution.VerbSend, execution.VerbQueue, execution.VerbSteer, execution.VerbContinue, execution.VerbApprove,
				execution.VerbDeny, execution.VerbInterrupt, execution.VerbAbort, execution.VerbPause, execution.VerbResume},
		},
	}
}

// Bare declares a backend that can only answer.
func Bare() execution.Capabilities {
	return execution.Capabilities{Agent: execution.AgentCapabilities{Verbs: []execution.Verb{execution.VerbAbort}}}.Stated()
}

func allHooks() execution.RuntimeHooks {
	const told = execution.HookNonblocking
	return execution.RuntimeHooks{PreToolUse: execution.HookBlocking, ModifyToolInput: true, UserPromptSubmit: execution.HookBlocking,
		PostToolUse: told, SessionStart: told, SessionEnd: told, Stop: told}
}
