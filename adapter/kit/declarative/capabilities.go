package declarative

import (
	"slices"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/execution"
)

// claim is a capability that an entry may state: those that the rest of the entry cannot deliver are faults.
type claim struct {
	name, doc string
	need      string // what the entry needs to deliver it
	can       func(*Entry) bool
	unstated  bool // applies if the entry can deliver it and does not state it
	set       func(*execution.Capabilities)
}

func anyEntry(*Entry) bool { return true }

func isFormat(formats ...string) func(*Entry) bool {
	return func(e *Entry) bool { return slices.Contains(formats, e.Output.Format) }
}

func claims() []claim {
	return []claim{
		{name: "textStreaming", doc: "the answer comes in pieces", need: "a rule for text", unstated: true,
			can: func(e *Entry) bool { return e.Output.Format != formatLines || e.tells(eventText) },
			set: func(c *execution.Capabilities) { c.Agent.TextStreaming = true }},
		{name: "thinkingStreaming", doc: "thinking comes in pieces", need: "a rule for thinking, stream-json or acp", unstated: true,
			can: func(e *Entry) bool { return isFormat(formatStream, formatACP)(e) || e.tells(eventThinking) },
			set: func(c *execution.Capabilities) { c.Agent.ThinkingStreaming = true }},
		{name: "toolCalls", doc: "tool calls are shown with their inputs and results", need: "rules for tool-start and tool-end, stream-json or acp",
			unstated: true,
			can: func(e *Entry) bool {
				return isFormat(formatStream, formatACP)(e) || e.tells(eventToolStart) && e.tells(eventToolEnd)
			},
			set: func(c *execution.Capabilities) {
				c.ToolUse, c.StructuredToolCalls = execution.ToolsNativeIterative, true
			}},
		{name: "turnLimit", doc: "model calls are shown, so that a turn limit can be enforced", need: "a rule for step, or stream-json", unstated: true,
			can: func(e *Entry) bool { return isFormat(formatStream)(e) || e.tells(eventStep) },
			set: func(c *execution.Capabilities) { c.TraceDepth = execution.TraceStandard }},
		{name: "cost", doc: "the program states its own prices", need: "a rule with usage, or stream-json",
			can: func(e *Entry) bool {
				return isFormat(formatStream)(e) || slices.ContainsFunc(e.Output.Events, func(r Rule) bool { return r.Usage != "" })
			},
			set: func(c *execution.Capabilities) { c.Agent.CostReported = true }},
		{name: "attachments", doc: "images and files can be attached", need: "acp", unstated: true, can: isFormat(formatACP),
			set: func(c *execution.Capabilities) {
				c.Attachments, c.Agent.ImageInput, c.Agent.FileAttachments = true, true, true
			}},
		{name: "conversation", doc: "several messages reach one process", need: "acp", unstated: true, can: isFormat(formatACP),
			set: func(c *execution.Capabilities) {
				a := &c.Agent
				a.SupportsMultiTurn, a.InteractiveMode, a.StdinInjection = true, true, true
				a.StructuredSession, a.Verbs = execution.TransportPersistent, acpagent.Verbs()
			}},
		{name: "nativeTools", doc: "the program uses tools of its own, such as a shell", unstated: true, can: anyEntry,
			set: func(c *execution.Capabilities) { c.Agent.NativeTools = true }},
		{name: "parallelRuns", doc: "several runs may work at the same time", unstated: true, can: anyEntry,
			set: func(c *execution.Capabilities) { c.Agent.ParallelExecution = true }},
		{name: "requiresGit", doc: "the program works in git repositories only", can: anyEntry,
			set: func(c *execution.Capabilities) { c.Agent.RequiresGitRepo = true }},
	}
}

// has reports whether a claim applies.
func (c claim) has(e *Entry) bool {
	stated, ok := e.Capabilities[c.name]
	return c.can(e) && (ok && stated || !ok && c.unstated)
}

// capabilities returns what the entry's agent can do.
func (e *Entry) capabilities() execution.Capabilities {
	caps := execution.Capabilities{Notes: slices.Clone(e.Notes)}
	a := &caps.Agent
	a.Verbs, a.AgentsMD, a.Elsewhere = []execution.Verb{execution.VerbAbort}, true, true
	for _, c := range claims() {
		if c.has(e) {
			c.set(&caps)
		}
	}
	o := e.Options
	if e.Output.Format == formatACP {
		caps.ApprovalInterrupts, caps.TraceDepth = execution.ApprovalsNative, execution.TraceStandard
		caps.ContinuationSupport, a.CanResume, a.SessionPersistence = execution.ContinuationsOpaqueResume, true, "file"
		a.MCP, a.MCPTransports = true, []execution.MCPTransport{execution.MCPStdio, execution.MCPSSE, execution.MCPStreamableHTTP}
		a.ApprovalModes = []execution.ApprovalMode{execution.ApprovalYolo, execution.ApprovalPrompt, execution.ApprovalDeny}
		caps.Notes = append(caps.Notes, "what depends on the agent is known when it has started; a request that needs more is refused then")
	} else {
		for _, m := range []execution.ApprovalMode{execution.ApprovalYolo, execution.ApprovalDeny} {
			if _, ok := o.Approval[string(m)]; ok {
				a.ApprovalModes = append(a.ApprovalModes, m)
			}
		}
		a.CanResume, a.CanFork, a.CanRunEphemeral = o.Resume != nil, o.Fork != nil, o.Ephemeral != nil
		if a.CanResume {
			a.SessionPersistence, a.SupportsMultiTurn, a.StructuredSession = "file", true, execution.TransportRestartPerTurn
		}
		if a.CanResume && e.namesSession() {
			caps.ContinuationSupport = execution.ContinuationsOpaqueResume
		}
		a.MCP = o.MCP != nil
		for _, t := range o.MCPTransports {
			a.MCPTransports = append(a.MCPTransports, execution.MCPTransport(t))
		}
		if a.MCP && len(a.MCPTransports) == 0 {
			a.MCPTransports = []execution.MCPTransport{execution.MCPStdio}
		}
	}
	for _, level := range efforts {
		if _, ok := o.Efforts[string(level)]; ok {
			a.Thinking, a.ThinkingEfforts = true, append(a.ThinkingEfforts, level)
		}
	}
	if o.SystemPrompt != nil {
		a.SystemPromptModes = append(a.SystemPromptModes, execution.SystemPromptAppend)
	} else {
		caps.Notes = append(caps.Notes, "instructions precede the prompt")
	}
	if o.ReplaceSystemPrompt != nil {
		a.SystemPromptModes = append(a.SystemPromptModes, execution.SystemPromptReplace)
	}
	a.AuthMethods = e.authMethods()
	return caps
}

// namesSession reports whether the session of a run is known: the program states it, or Drawbar chooses its id.
func (e *Entry) namesSession() bool {
	return e.Output.Format == formatStream || e.tells(eventSession) || e.Options.NewSession != nil
}
