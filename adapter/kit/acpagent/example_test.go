package acpagent_test

import (
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// A whole adapter for an agent that speaks the Agent Client Protocol begins here. An init function of its package would register
// the descriptor: adapter.Register(tern).

func tern() adapter.Descriptor {
	return adapter.Descriptor{Name: "tern", Command: "tern", New: func() adapter.Adapter {
		return cliagent.New(acpagent.Join(cliagent.Spec{Name: "tern", Command: "tern", Capabilities: ternCapabilities},
			acpagent.Spec{Name: "tern", Spawn: func(*cliagent.Launch) (cliagent.Invocation, error) {
				return cliagent.Invocation{Args: []string{"--acp"}}, nil
			}}, nil), cliagent.Options{})
	}}
}

func ternCapabilities() execution.Capabilities {
	return execution.Capabilities{
		ToolUse: execution.ToolsNativeIterative, StructuredToolCalls: true, ContinuationSupport: execution.ContinuationsOpaqueResume,
		ApprovalInterrupts: execution.ApprovalsNative, TraceDepth: execution.TraceStandard, Attachments: true,
		Agent: execution.AgentCapabilities{
			CanResume: true, SupportsMultiTurn: true, SessionPersistence: "file", TextStreaming: true, ThinkingStreaming: true,
			NativeTools: true, MCP: true, MCPTransports: []execution.MCPTransport{execution.MCPStdio, execution.MCPStreamableHTTP},
			ApprovalModes:     []execution.ApprovalMode{execution.ApprovalYolo, execution.ApprovalPrompt, execution.ApprovalDeny},
			StructuredSession: execution.TransportPersistent, InteractiveMode: true, StdinInjection: true, ImageInput: true, FileAttachments: true,
			Verbs: acpagent.Verbs(),
		},
	}
}

// It ends here. TestExample certifies it with the suite; acptest.Agent plays the agent, see TestMain.
func TestExample(t *testing.T) {
	adaptertest.Test(t, adaptertest.StandIn{
		Command: "tern", Descriptor: tern, ScenarioVar: exampleVar, StateVar: exampleState,
		Cannot: map[adaptertest.Scenario]string{adaptertest.Clarify: "the Agent Client Protocol has no questions but permissions"},
	}.Subject(t))
}
