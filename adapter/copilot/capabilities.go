package copilot

import (
	"slices"

	"github.com/drawbar/drawbar/execution"
)

// capabilities are a fresh copy each time.
func capabilities() execution.Capabilities {
	return execution.Capabilities{
		SchemaVersion:       execution.SchemaVersion,
		ToolUse:             execution.ToolsNativeIterative,
		StructuredToolCalls: true,
		ContinuationSupport: execution.ContinuationsOpaqueResume,
		ApprovalInterrupts:  execution.ApprovalsNative,
		TraceDepth:          execution.TraceDetailed,
		Attachments:         true,
		MaxContextStrategy:  execution.ContextMedium,
		Notes: []string{
			"a run that takes one prompt and asks nobody goes through the JSON output; what it may not do is refused",
			"a conversation, a run that asks, and a session that is resumed go through the Agent Client Protocol, which shows less: no exit codes, no model calls, no retries",
			"a system prompt is appended as an instruction file; prepend is carried out as append",
			"what a run used is known when it ends, not before; Copilot counts credits and states no price",
		},
		Agent: execution.AgentCapabilities{
			CanResume:            true,
			SupportsMultiTurn:    true,
			SessionPersistence:   "file",
			TextStreaming:        true,
			ToolCallStreaming:    true,
			ThinkingStreaming:    true,
			NativeTools:          true,
			MCP:                  true,
			MCPTransports:        []execution.MCPTransport{execution.MCPStdio, execution.MCPSSE, execution.MCPStreamableHTTP},
			ParallelToolCalls:    true,
			RequiresToolApproval: true,
			ApprovalModes:        []execution.ApprovalMode{execution.ApprovalYolo, execution.ApprovalPrompt, execution.ApprovalDeny},
			RuntimeHooks: execution.RuntimeHooks{PreToolUse: execution.HookUnsupported, PostToolUse: execution.HookUnsupported,
				SessionStart: execution.HookUnsupported, SessionEnd: execution.HookUnsupported, Stop: execution.HookUnsupported,
				UserPromptSubmit: execution.HookUnsupported},
			Thinking:          true,
			ThinkingEfforts:   slices.Clone(efforts),
			StructuredSession: execution.TransportPersistent,
			SubagentDispatch:  true,
			ParallelExecution: true,
			InteractiveMode:   true,
			StdinInjection:    true,
			ImageInput:        true,
			FileAttachments:   true,
			Platforms:         []string{"darwin", "linux", "windows"},
			AuthMethods: []execution.AuthMethod{
				{Type: "browser_login", Name: "GitHub account", Description: "copilot login"},
				{Type: "oauth_device", Name: "GitHub account by device code", Description: "copilot login --device-code"},
				{Type: "github_token", Name: "GitHub token", Description: "COPILOT_GITHUB_TOKEN, GH_TOKEN or GITHUB_TOKEN"},
				{Type: "api_key", Name: "Model provider of one's own", Description: "COPILOT_PROVIDER_BASE_URL and COPILOT_PROVIDER_API_KEY"},
			},
			AuthFiles:         []string{"~/.copilot/config.json"},
			SystemPromptModes: []execution.SystemPromptMode{execution.SystemPromptAppend},
			Verbs: []execution.Verb{execution.VerbSend, execution.VerbQueue, execution.VerbContinue, execution.VerbApprove,
				execution.VerbDeny, execution.VerbInterrupt, execution.VerbAbort, execution.VerbPause, execution.VerbResume},
		},
	}
}
