package copilot

import (
	"github.com/drawbar/drawbar/settings"
	"slices"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
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
		MaxContextStrategy:  execution.ContextMedium,
		Notes: []string{
			"a run that takes one prompt and asks nobody goes through the JSON output; what it may not do is refused",
			"a conversation, a run that asks, and a session that is resumed go through the Agent Client Protocol, which shows less: no model calls, no sub-agents, and tools of the person's own MCP servers like other tools",
			"over the Agent Client Protocol a person's denial ends the turn, completed, without another model call",
			"over the Agent Client Protocol a path outside the working directory is asked for besides the tool that wants it",
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
			RuntimeHooks:         cliagent.RuntimeHooks(true), Plugins: true, PluginFormats: []string{settings.PluginDirectory},
			Skills: true, SkillsFormat: "directory",
			AgentsMD:          true,
			Thinking:          true,
			ThinkingEfforts:   slices.Clone(efforts),
			StructuredSession: execution.TransportPersistent,
			SubagentDispatch:  true,
			ParallelExecution: true,
			Elsewhere:         true,
			InteractiveMode:   true,
			StdinInjection:    true,
			ImageInput:        true,
			FileAttachments:   true,
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

// narrow removes what a run lacks: one-shot runs ask nobody, and the Agent Client Protocol shows neither model calls
// nor pieces of a tool's input.
func narrow(req execution.Request, c *execution.Capabilities) {
	if twoWay(req) {
		c.TraceDepth, c.Agent.ToolCallStreaming = execution.TraceStandard, false
		return
	}
	c.ApprovalInterrupts = execution.ApprovalsNone
}
