package qwen

import (
	"slices"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// capabilities returns a fresh copy each time.
func capabilities() execution.Capabilities {
	return execution.Capabilities{
		ToolUse:             execution.ToolsNativeIterative,
		StructuredToolCalls: true,
		ContinuationSupport: execution.ContinuationsOpaqueResume,
		ApprovalInterrupts:  execution.ApprovalsNative,
		TraceDepth:          execution.TraceDetailed,
		Attachments:         true,
		MaxContextStrategy:  execution.ContextLarge,
		Notes: []string{
			"a run that takes one prompt and asks nobody is one shot: what needs a permission is refused, with yolo everything is allowed",
			"every other run, also one with images or a thinking effort, speaks the Agent Client Protocol; it has no structured output, and a person's denial ends its turn, completed, without another model call",
			"a system prompt is an argument, which other users of the machine can see; prepend is carried out as append",
			"a prompt that begins with a slash is a command of qwen, and a path behind an @ in it is read by qwen",
			"a thinking effort is taken for models that its settings list with a provider; images reach models only that it knows to see",
			"failed requests are tried again for minutes without a sign of it; state a timeout",
			"prices are not stated by qwen; costs come from the price table",
		},
		Agent: execution.AgentCapabilities{
			CanResume: true, CanFork: true, CanRunEphemeral: true,
			SupportsMultiTurn: true, SessionPersistence: "file",
			TextStreaming: true, ToolCallStreaming: false, ThinkingStreaming: true,
			NativeTools: true, MCP: true,
			MCPTransports:     []execution.MCPTransport{execution.MCPStdio, execution.MCPSSE, execution.MCPStreamableHTTP},
			ParallelToolCalls: true, RequiresToolApproval: true,
			ApprovalModes: []execution.ApprovalMode{execution.ApprovalYolo, execution.ApprovalPrompt, execution.ApprovalDeny},
			RuntimeHooks:  cliagent.RuntimeHooks(false), Plugins: true, PluginFormats: []string{settings.PluginExtension},
			Thinking: true, ThinkingEfforts: slices.Clone(tiers),
			JSONMode: true, StructuredOutput: true, StructuredSession: execution.TransportPersistent,
			SubagentDispatch: true, ParallelExecution: true, Elsewhere: true,
			InteractiveMode: true, StdinInjection: true,
			ImageInput: true, FileAttachments: true,
			AuthMethods: []execution.AuthMethod{
				{Type: "api_key", Name: "key of a model API", Description: "OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL, or those of Anthropic or Gemini"},
				{Type: "config_file", Name: "stored provider", Description: "/auth in qwen"},
			},
			AuthFiles:         []string{"~/.qwen/settings.json"},
			AgentsMD:          true,
			SystemPromptModes: []execution.SystemPromptMode{execution.SystemPromptAppend, execution.SystemPromptReplace},
			MaxTurns:          true, OutputTokenLimit: true,
			Verbs: acpagent.Verbs(),
		},
	}
}

// narrow removes what a run lacks: a one-shot run asks nobody.
func narrow(req execution.Request, c *execution.Capabilities) {
	if !twoWay(req) {
		c.ApprovalInterrupts = execution.ApprovalsNone
	}
}
