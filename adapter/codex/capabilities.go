package codex

import (
	"github.com/drawbar/drawbar/settings"
	"slices"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

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
			"approval mode prompt lets commands write inside the working directory without asking; deny runs in a read-only sandbox",
			"where nobody can be asked, what leads out of the sandbox is refused",
			"a system prompt is appended as developer instructions; prepend is carried out as append",
			"the reason of a refusal does not reach the model",
			"prices are not stated by Codex; costs come from the price table",
		},
		Agent: execution.AgentCapabilities{
			CanResume: true, CanFork: true, CanRunEphemeral: true, SupportsMultiTurn: true,
			SessionPersistence: "file",
			TextStreaming:      true,
			ToolCallStreaming:  false,
			ThinkingStreaming:  true,
			NativeTools:        true,
			MCP:                true,
			MCPTransports:      []execution.MCPTransport{execution.MCPStdio, execution.MCPStreamableHTTP},
			ParallelToolCalls:  true,
			// Codex runs everything within its sandbox; only leaving it requires approval.
			RequiresToolApproval: false,
			ApprovalModes:        []execution.ApprovalMode{execution.ApprovalYolo, execution.ApprovalPrompt, execution.ApprovalDeny},
			RuntimeHooks:         cliagent.RuntimeHooks(true), Plugins: true, PluginFormats: []string{settings.PluginDirectory},
			Thinking:          true,
			ThinkingEfforts:   slices.Clone(efforts),
			ThinkingOverrides: []string{"model_reasoning_effort", "model_reasoning_summary", "model_verbosity"},
			JSONMode:          true,
			StructuredOutput:  true,
			StructuredSession: execution.TransportPersistent,
			Skills:            false,
			AgentsMD:          true,
			SubagentDispatch:  true,
			ParallelExecution: true,
			Elsewhere:         true,
			InteractiveMode:   true,
			StdinInjection:    true,
			ImageInput:        true,
			FileAttachments:   true,
			AuthMethods: []execution.AuthMethod{
				{Type: "browser_login", Name: "ChatGPT account", Description: "codex login"},
				{Type: "oauth_device", Name: "ChatGPT account by device code", Description: "codex login --device-auth"},
				{Type: "api_key", Name: "OpenAI API key", Description: "codex login --with-api-key, or CODEX_API_KEY"},
			},
			AuthFiles:         []string{"~/.codex/auth.json"},
			SandboxModes:      []execution.SandboxMode{execution.SandboxReadOnly, execution.SandboxWorkspace, execution.SandboxNone},
			SystemPromptModes: []execution.SystemPromptMode{execution.SystemPromptAppend, execution.SystemPromptReplace},
			Verbs: []execution.Verb{execution.VerbSend, execution.VerbQueue, execution.VerbSteer, execution.VerbContinue, execution.VerbApprove,
				execution.VerbDeny, execution.VerbInterrupt, execution.VerbAbort, execution.VerbPause, execution.VerbResume},
		},
	}
}

// narrow removes what a run lacks: a run whose questions nobody could answer asks none.
func narrow(req execution.Request, c *execution.Capabilities) {
	if !asks(req) {
		c.ApprovalInterrupts = execution.ApprovalsNone
	}
}
