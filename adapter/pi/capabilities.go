package pi

import (
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

func capabilities() execution.Capabilities {
	return execution.Capabilities{
		ToolUse:             execution.ToolsNativeIterative,
		ContinuationSupport: execution.ContinuationsOpaqueResume,
		ApprovalInterrupts:  execution.ApprovalsNative,
		TraceDepth:          execution.TraceDetailed,
		Attachments:         true,
		MaxContextStrategy:  execution.ContextLarge,
		Notes: []string{
			"every run goes through RPC mode",
			"pi asks no permission: an extension of the run does, which pi loads besides the user's; approval mode deny leaves the tools read, grep, find and ls",
			"MCP servers of a run and tools of the caller need pi 1.0 or later; a server of a run must not have the name of one in mcp.json",
			"pi reads settings, extensions and skills of a project in folders that the user trusts only",
			"a command's output and its errors come as one text",
			"an unknown model is used as it is: the model API refuses it",
			"prices are pi's own, from its model catalog; a model without prices there is unpriced",
		},
		Agent: execution.AgentCapabilities{
			CanResume: true, CanFork: true, CanRunEphemeral: true, SupportsMultiTurn: true, SessionPersistence: "file",
			TextStreaming: true, ToolCallStreaming: true, ThinkingStreaming: true,
			NativeTools: true, ParallelToolCalls: true,
			ApprovalModes:     []execution.ApprovalMode{execution.ApprovalYolo, execution.ApprovalPrompt, execution.ApprovalDeny},
			RuntimeHooks:      cliagent.RuntimeHooks(false),
			Thinking:          true,
			ThinkingEfforts:   []execution.ThinkingEffort{execution.EffortLow, execution.EffortMedium, execution.EffortHigh, execution.EffortMax},
			StructuredSession: execution.TransportPersistent,
			MCP:               true, MCPTransports: []execution.MCPTransport{execution.MCPStdio, execution.MCPStreamableHTTP},
			Skills: true, SkillsFormat: "directory",
			AgentsMD:          true,
			ParallelExecution: true, Elsewhere: true, InteractiveMode: true, StdinInjection: true,
			ImageInput: true, FileAttachments: true, Plugins: true, PluginFormats: []string{pluginFormat},
			AuthMethods: []execution.AuthMethod{
				{Type: "api_key", Name: "a provider's API key", Description: "the provider's variable, such as ANTHROPIC_API_KEY"},
				{Type: "oauth", Name: "a provider's account", Description: "type /login in pi"},
				{Type: "config_file", Name: "a provider of one's own", Description: "~/.pi/agent/models.json"},
			},
			AuthFiles:         []string{"~/.pi/agent/auth.json"},
			SystemPromptModes: []execution.SystemPromptMode{execution.SystemPromptAppend, execution.SystemPromptReplace},
			CostReported:      true,
			Verbs: []execution.Verb{execution.VerbSend, execution.VerbQueue, execution.VerbSteer, execution.VerbContinue, execution.VerbApprove,
				execution.VerbDeny, execution.VerbInterrupt, execution.VerbAbort, execution.VerbPause, execution.VerbResume},
		},
	}
}

// takes are the attachments that Pi accepts.
const takes = "PNG, JPEG, GIF and WebP images and text"

// negotiate refuses attachments that Pi does not accept.
func negotiate(req execution.Request) []execution.Reason {
	reasons := cliagent.NewReasons(req)
	reasons.Attachments(name, takes, req.Message.Attachments, func(kind cliagent.Media, _ string) bool {
		return kind == cliagent.MediaOther || kind == cliagent.MediaPDF
	})
	return reasons
}
