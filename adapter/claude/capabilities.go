package claude

import (
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
			"a run does not ask whether you trust the directory: servers of .mcp.json and hooks of the project's settings run",
			"a system prompt cannot go before Claude's own; prepend is carried out as append",
			"without a conversation nothing runs in the background and AskUserQuestion is off",
			"the exit code of a failed command is known, its output streams are not kept apart",
		},
		Agent: execution.AgentCapabilities{
			CanResume: true, CanFork: true, CanRunEphemeral: true,
			SupportsMultiTurn: true, SessionPersistence: "file",
			TextStreaming: true, ToolCallStreaming: true, ThinkingStreaming: true,
			NativeTools: true, MCP: true,
			MCPTransports:     []execution.MCPTransport{execution.MCPStdio, execution.MCPSSE, execution.MCPStreamableHTTP},
			ParallelToolCalls: true, RequiresToolApproval: true,
			ApprovalModes: []execution.ApprovalMode{execution.ApprovalYolo, execution.ApprovalPrompt, execution.ApprovalDeny},
			RuntimeHooks:  cliagent.RuntimeHooks(true), Plugins: true, PluginFormats: []string{settings.PluginDirectory},
			Skills: true, SkillsFormat: "directory",
			AgentsMD: true,
			Thinking: true, ThinkingEfforts: append([]execution.ThinkingEffort(nil), efforts...), ThinkingBudgetTokens: true,
			JSONMode: true, StructuredOutput: true, StructuredSession: execution.TransportPersistent,
			SubagentDispatch: true, ParallelExecution: true,
			Elsewhere:       true,
			InteractiveMode: true, StdinInjection: true,
			ImageInput: true, FileAttachments: true,
			AuthMethods: []execution.AuthMethod{
				{Type: "api_key", Name: "Anthropic API key", Description: "ANTHROPIC_API_KEY"},
				{Type: "browser_login", Name: "Claude account", Description: "claude auth login"},
				{Type: "oauth", Name: "Long-lived token", Description: "claude setup-token, then CLAUDE_CODE_OAUTH_TOKEN"},
			},
			AuthFiles:         []string{"~/.claude/.credentials.json"},
			SystemPromptModes: []execution.SystemPromptMode{execution.SystemPromptAppend, execution.SystemPromptReplace},
			MaxTurns:          true, Budget: true, CostReported: true, OutputTokenLimit: true,
			Verbs: []execution.Verb{execution.VerbSend, execution.VerbQueue, execution.VerbSteer, execution.VerbContinue, execution.VerbApprove,
				execution.VerbDeny, execution.VerbInterrupt, execution.VerbAbort, execution.VerbPause, execution.VerbResume},
		},
	}
}

// narrow removes what a run lacks: a one-shot run asks nobody.
func narrow(req execution.Request, c *execution.Capabilities) {
	if !twoWay(req) {
		c.ApprovalInterrupts = execution.ApprovalsNone
	}
}
