package gemini

import (
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
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
			"a run that takes one prompt and asks nobody goes through stream-json; every other run, and one with MCP servers, tools or attachments, goes through the Agent Client Protocol",
			"thoughts are shown over the Agent Client Protocol only; tokens read from the cache, model calls, and retries while they happen are shown by stream-json only",
			"without a person Gemini takes every tool that needs a permission away from its model; a call of one is refused with a warning",
			"a system prompt replaces Gemini's own, or goes in front of the message: Gemini has no place behind its own",
			"the exit code of a command that printed something is not shown by Gemini",
			"what a run used is stated at its end, so a budget cannot be kept",
			"a hook that is asked before tool calls is asked by way of permissions: it sees what a permission shows of the input and cannot change it; what would need no permission is approved when the hook allows it; the reason of a denial does not reach the model, because the protocol has no place for it",
			"prices are not stated by Gemini; costs come from the price table, which has none for models whose price depends on the prompt",
		},
		Agent: execution.AgentCapabilities{
			CanResume: true, SupportsMultiTurn: true, SessionPersistence: "file",
			TextStreaming: true, ThinkingStreaming: true,
			NativeTools: true, MCP: true,
			MCPTransports:     []execution.MCPTransport{execution.MCPStdio, execution.MCPSSE, execution.MCPStreamableHTTP},
			ParallelToolCalls: true, RequiresToolApproval: true,
			ApprovalModes: []execution.ApprovalMode{execution.ApprovalYolo, execution.ApprovalPrompt, execution.ApprovalDeny},
			RuntimeHooks:  cliagent.RuntimeHooks(false), Plugins: true, PluginFormats: []string{settings.PluginExtension},
			ThinkingEfforts:   []execution.ThinkingEffort{}, // the thinking effort is a setting of Gemini's
			JSONMode:          true,
			StructuredSession: execution.TransportPersistent,
			SubagentDispatch:  true, ParallelExecution: true,
			Elsewhere:       true,
			InteractiveMode: true, StdinInjection: true,
			ImageInput: true, FileAttachments: true,
			AuthMethods: []execution.AuthMethod{
				{Type: "api_key", Name: "Gemini API key", Description: "GEMINI_API_KEY"},
				{Type: "browser_login", Name: "Google account", Description: "run gemini and choose it"},
				{Type: "config_file", Name: "Vertex AI", Description: "GOOGLE_GENAI_USE_VERTEXAI=true with GOOGLE_API_KEY, or with a project, a location and Google Cloud credentials"},
			},
			AuthFiles:         []string{"~/.gemini/oauth_creds.json"},
			AgentsMD:          true,
			SystemPromptModes: []execution.SystemPromptMode{execution.SystemPromptReplace},
			Verbs:             acpagent.Verbs(),
		},
	}
}

// narrow removes what a run lacks: stream-json asks nobody, and the Agent Client Protocol shows no model calls.
func narrow(req execution.Request, c *execution.Capabilities) {
	if twoWay(req) {
		c.TraceDepth = execution.TraceStandard
		return
	}
	c.ApprovalInterrupts = execution.ApprovalsNone
}
