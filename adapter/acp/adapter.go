package acp

import (
	"context"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

const name = "acp"

func init() { adapter.Register(Descriptor) }

// Descriptor describes the adapter. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor {
	return adapter.Descriptor{
		Name:        name,
		DisplayName: "ACP agent",
		Install: []adapter.InstallMethod{{Platform: "all", Type: "manual",
			Notes: "install the agent you want to run, and name its ACP command behind --: drawbar run acp \"what to do\" -- gemini --acp"}},
		Docs: "https://agentclientprotocol.com",
		New:  func() adapter.Adapter { return New(cliagent.Options{}) },
	}
}

// Adapter runs any ACP agent. It is stateless and safe for concurrent use.
type Adapter struct{ cliagent.Embedded }

var (
	_ adapter.Prober    = Adapter{}
	_ adapter.AuthGuide = Adapter{}
)

// New returns the adapter; zero options are for a normal program.
func New(opts cliagent.Options) Adapter {
	return Adapter{cliagent.Embedded{Adapter: cliagent.New(acpagent.Join(cliagent.Spec{
		Name:         name,
		Capabilities: capabilities,
		Linger:       time.Second, // some agents never exit by themselves
		InstallHint:  "is it installed, and on the PATH? Behind -- stands the program and its arguments",
	}, acpagent.Spec{Name: name, Spawn: spawn, ToolName: toolName, FailedText: failedText}, nil), opts)}}
}

// spawn returns the request's command line.
func spawn(l *cliagent.Launch) (cliagent.Invocation, error) {
	command := l.Request.Run.Command
	if len(command) == 0 {
		e := execution.Errorf(execution.CodeValidation, "run.command: no program is named")
		e.Agent = name
		return cliagent.Invocation{}, e.WithHint("drawbar run acp \"what to do\" -- COMMAND [ARGS...]")
	}
	return cliagent.Invocation{Command: command[0], Args: command[1:]}, nil
}

// Probe finds nothing, because every run names its program.
func (Adapter) Probe(context.Context, adapter.Host) (adapter.Installation, error) {
	return adapter.Installation{Installed: true, Notes: "runs the program that is named behind --: drawbar run acp \"what to do\" -- COMMAND [ARGS...]"}, nil
}

// DetectAuth reports unknown: the agent states whether it requires a login.
func (Adapter) DetectAuth(context.Context, adapter.Host) adapter.AuthState {
	return adapter.AuthState{Status: adapter.AuthUnknown, Details: "the agent that runs knows"}
}

// AuthGuidance returns what holds for every agent.
func (Adapter) AuthGuidance() adapter.AuthGuidance {
	return adapter.AuthGuidance{Provider: "the agent's own", Documentation: []string{"https://agentclientprotocol.com"},
		Steps: []adapter.AuthStep{{Description: "log in with the agent's own command"},
			{Description: "or set the key that it reads from its environment", Command: "drawbar run acp --env NAME ... -- COMMAND"},
			{Description: "an agent that wants a login says so, and the error of the run names the ways it offers"}}}
}

func capabilities() execution.Capabilities {
	return execution.Capabilities{
		ToolUse:             execution.ToolsNativeIterative,
		StructuredToolCalls: true,
		ContinuationSupport: execution.ContinuationsOpaqueResume,
		ApprovalInterrupts:  execution.ApprovalsNative,
		TraceDepth:          execution.TraceStandard,
		Attachments:         true,
		Notes: []string{
			"what depends on the agent is known when it has started; a request that needs more is refused then, before anything is said to a model",
			"resuming a session needs an agent that loads sessions, tools of the caller one that takes MCP servers over HTTP, images one that takes images",
			"a model is set in the session and must be one that the agent offers; an agent may need it as an argument instead, behind --",
			"whether it asks for permission is the agent's business; approval mode yolo and deny answer what it asks",
			"instructions stand in front of the first message, as the protocol has no system prompt",
			"a message sent during a turn makes the next turn: the protocol has no steering",
			"a tool of the caller is allowed when the agent asks for it as for any other of its tools: by the approval mode, or by whoever answers",
			"prices are counted where the agent states them",
		},
		Agent: execution.AgentCapabilities{
			TakesCommand: true,
			CanResume:    true, SupportsMultiTurn: true,
			SessionPersistence: "file",
			TextStreaming:      true,
			ThinkingStreaming:  true,
			NativeTools:        true,
			MCP:                true,
			MCPTransports:      []execution.MCPTransport{execution.MCPStdio, execution.MCPSSE, execution.MCPStreamableHTTP},
			ParallelToolCalls:  true,
			ApprovalModes:      []execution.ApprovalMode{execution.ApprovalYolo, execution.ApprovalPrompt, execution.ApprovalDeny},
			StructuredSession:  execution.TransportPersistent,
			ParallelExecution:  true,
			InteractiveMode:    true,
			StdinInjection:     true,
			ImageInput:         true,
			FileAttachments:    true,
			AuthMethods:        []execution.AuthMethod{{Type: "config_file", Name: "the agent's own login"}},
			Verbs:              acpagent.Verbs(),
		},
	}
}
