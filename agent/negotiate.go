package agent

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// Situation is what negotiation needs besides capabilities and request.
type Situation struct {
	Agent        string
	ToolHandler  bool // somebody runs the request's tools
	ToolHook     bool // somebody decides on each tool call
	Models       []execution.Model
	DefaultModel string
	Price        func(model string) *execution.Price
}

// negotiation collects reasons without duplicates.
type negotiation struct{ execution.Negotiation }

func (n *negotiation) add(severity execution.Severity, code execution.ReasonCode, capability, format string, args ...any) {
	r := execution.Reason{Code: code, Severity: severity, Capability: capability, Message: fmt.Sprintf(format, args...)}
	for _, have := range n.Reasons {
		if have.Code == r.Code && have.Severity == r.Severity && have.Capability == r.Capability {
			return
		}
	}
	n.Reasons = append(n.Reasons, r)
}

// with adds an adapter's own reasons.
func (n *negotiation) with(reasons []execution.Reason) *negotiation {
	for _, r := range reasons {
		if r.Validate() != nil { // an unknown meaning, so the request is refused
			r.Code, r.Severity = execution.ReasonOther, execution.SeverityBlocking
		}
		n.add(r.Severity, r.Code, r.Capability, "%s", r.Message)
	}
	return n.conclude()
}

// warn makes what refuses a request for a capability's sake a warning.
func (n *negotiation) warn(capability string) {
	for i := range n.Reasons {
		if r := &n.Reasons[i]; r.Capability == capability && r.Severity == execution.SeverityBlocking {
			r.Severity = execution.SeverityWarning
		}
	}
	n.conclude()
}

func (n *negotiation) conclude() *negotiation {
	n.Supported, n.Degraded = true, false
	for _, r := range n.Reasons {
		if r.Severity == execution.SeverityBlocking {
			n.Supported = false
		} else {
			n.Degraded = true
		}
	}
	return n
}

// Negotiate compares a request with capabilities. It is pure: equal arguments give equal answers, and nothing
// is started, read or changed. Supported means that no reason blocks; degraded means that some reason does not
// block.
//
// It applies the table of the BYOH specification and closes its gaps: a contradiction is one reason, forbidden
// features that are present block, tools that need approval block on a backend that cannot ask, unknown enum
// values block, a message that is too large is reported, and the effective capabilities are what this request
// will really get. It includes the capability gating of the agent-mux specification.
func Negotiate(caps execution.Capabilities, req execution.Request, s Situation) execution.Negotiation {
	return negotiate(caps.Stated(), req, s).Negotiation
}

func negotiate(caps execution.Capabilities, req execution.Request, s Situation) *negotiation {
	n := &negotiation{execution.Negotiation{SchemaVersion: execution.SchemaVersion, Reasons: []execution.Reason{}, EffectiveCapabilities: caps}}
	if err := req.Validate(); err != nil {
		n.add(execution.SeverityBlocking, execution.ReasonOther, "request", "%v", err)
	}
	n.requirements(caps, req, s)
	n.options(caps, req, s)
	n.limits(caps, req, s)
	n.model(req, s)
	n.effective(req)
	return n.conclude()
}

const (
	block = execution.SeverityBlocking
	warn  = execution.SeverityWarning
	info  = execution.SeverityInfo
)

// requirements applies the table of the BYOH specification.
func (n *negotiation) requirements(caps execution.Capabilities, req execution.Request, s Situation) {
	q := execution.Requirements{}
	if req.Requirements != nil {
		q = *req.Requirements
	}
	noTools := caps.ToolUse == execution.ToolsNone
	switch {
	case len(req.Tools) > 0 && q.ToolUse == execution.ToolUseForbidden:
		n.add(block, execution.ReasonToolUseUnsupported, "tools", "the request has tools and forbids their use")
	case len(req.Tools) > 0 && noTools:
		n.add(block, execution.ReasonToolUseUnsupported, "tools", "%s does not use tools, the request has %d", s.Agent, len(req.Tools))
	case len(req.Tools) > 0 && !s.ToolHandler:
		n.add(block, execution.ReasonToolUseUnsupported, "tools", "the request has %d tools and nothing handles their calls", len(req.Tools))
	case q.ToolUse == execution.ToolUseRequired && noTools:
		n.add(block, execution.ReasonToolUseUnsupported, "toolUse", "%s does not use tools, which are required", s.Agent)
	}
	if q.ToolUse == execution.ToolUseForbidden && len(req.Tools) == 0 && caps.Agent.NativeTools {
		n.add(block, execution.ReasonToolUseUnsupported, "toolUse", "%s uses tools of its own, which the request forbids", s.Agent)
	}
	if !caps.StructuredToolCalls {
		switch q.StructuredToolCalls {
		case execution.PreferencePreferred:
			n.add(warn, execution.ReasonStructuredToolCallsUnsupported, "structuredToolCalls", "%s has no structured tool calls", s.Agent)
		case execution.PreferenceRequired:
			n.add(block, execution.ReasonStructuredToolCallsUnsupported, "structuredToolCalls", "%s has no structured tool calls, which are required", s.Agent)
		}
	} else if q.StructuredToolCalls == execution.PreferenceForbidden && (len(req.Tools) > 0 || q.ToolUse == execution.ToolUseRequired) {
		n.add(block, execution.ReasonStructuredToolCallsUnsupported, "structuredToolCalls", "%s makes only structured tool calls, which the request forbids", s.Agent)
	}
	switch {
	case caps.ContinuationSupport == execution.ContinuationsNone && q.ContinuationSupport == execution.SupportPreferred:
		n.add(warn, execution.ReasonContinuationUnsupported, "continuationSupport", "%s cannot continue an earlier turn", s.Agent)
	case caps.ContinuationSupport == execution.ContinuationsNone && q.ContinuationSupport == execution.SupportRequired:
		n.add(block, execution.ReasonContinuationUnsupported, "continuationSupport", "%s cannot continue an earlier turn, which is required", s.Agent)
	case caps.ContinuationSupport == execution.ContinuationsOpaqueResume && q.ContinuationSupport == execution.SupportPreferred:
		n.add(warn, execution.ReasonContinuationUnsupported, "continuationSupport", "%s resumes its session but has no structured continuation", s.Agent)
	case caps.ContinuationSupport == execution.ContinuationsOpaqueResume && q.ContinuationSupport == execution.SupportRequired:
		n.add(block, execution.ReasonContinuationUnsupported, "continuationSupport", "%s resumes its session, but a structured continuation is required", s.Agent)
	}
	if req.Continuation != nil {
		from, _ := req.Continuation.State["agent"].(string)
		switch {
		case caps.ContinuationSupport == execution.ContinuationsNone:
			n.add(block, execution.ReasonContinuationUnsupported, "continuation", "%s cannot continue an earlier turn, as the request asks", s.Agent)
		case from != "" && from != s.Agent:
			n.add(block, execution.ReasonContinuationUnsupported, "continuation", "the request continues a turn of %s", from)
		}
	}
	if caps.ApprovalInterrupts == execution.ApprovalsNone {
		switch q.ApprovalInterrupts {
		case execution.SupportPreferred:
			n.add(warn, execution.ReasonApprovalInterruptUnsupported, "approvalInterrupts", "%s cannot pause for an approval", s.Agent)
		case execution.SupportRequired:
			n.add(block, execution.ReasonApprovalInterruptUnsupported, "approvalInterrupts", "%s cannot pause for an approval, which is required", s.Agent)
		}
		for _, t := range req.Tools {
			if t.RequiresApproval {
				n.add(block, execution.ReasonApprovalInterruptUnsupported, "tools", "tool %s needs approval and %s cannot ask for it", t.Name, s.Agent)
			}
		}
	}
	if q.TraceDepth.Rank() > caps.TraceDepth.Rank() {
		n.add(warn, execution.ReasonTraceDepthReduced, "traceDepth", "%s provides a %s trace, the request asks for %s", s.Agent, caps.TraceDepth, q.TraceDepth)
	}
	has := len(req.Message.Attachments) > 0
	switch {
	case has && q.Attachments == execution.AttachmentsForbidden:
		n.add(block, execution.ReasonAttachmentsUnsupported, "attachments", "the request has attachments and forbids them")
	case !caps.Attachments && (has || q.Attachments == execution.AttachmentsRequired):
		n.add(block, execution.ReasonAttachmentsUnsupported, "attachments", "%s does not accept attachments", s.Agent)
	}
}

// options applies the capability gating of the agent-mux specification, RunOptions.
func (n *negotiation) options(caps execution.Capabilities, req execution.Request, s Situation) {
	a, o := caps.Agent, req.Run
	refuse := func(unsupported bool, code execution.ReasonCode, capability, what string) {
		if unsupported {
			n.add(block, code, capability, "%s does not support %s", s.Agent, what)
		}
	}
	refuse(len(o.Command) > 0 && !a.TakesCommand, execution.ReasonOther, "command", "a caller's command: it runs its own program")
	if len(o.Command) == 0 && a.TakesCommand {
		n.add(block, execution.ReasonOther, "command", "%s needs a program to run: drawbar run %s \"what to do\" -- COMMAND [ARGS...]", s.Agent, s.Agent)
	}
	refuse(o.ThinkingEffort != "" && !a.Thinking, execution.ReasonOther, "thinking", "a thinking effort")
	refuse(o.ThinkingEffort != "" && a.Thinking && !slices.Contains(a.ThinkingEfforts, o.ThinkingEffort), execution.ReasonOther, "thinking",
		fmt.Sprintf("the thinking effort %s (it has %s)", o.ThinkingEffort, join(a.ThinkingEfforts)))
	refuse(o.ThinkingBudgetTokens > 0 && !a.ThinkingBudgetTokens, execution.ReasonOther, "thinkingBudgetTokens", "a thinking budget in tokens")
	refuse(len(o.ThinkingOverride) > 0 && len(a.ThinkingOverrides) == 0, execution.ReasonOther, "thinking", "free-form thinking parameters")
	for _, name := range slices.Sorted(maps.Keys(o.ThinkingOverride)) {
		refuse(len(a.ThinkingOverrides) > 0 && !slices.Contains(a.ThinkingOverrides, name), execution.ReasonOther, "thinking",
			fmt.Sprintf("the thinking parameter %s (it has %s)", name, join(a.ThinkingOverrides)))
	}
	refuse(o.Stream == execution.StreamOn && !a.TextStreaming, execution.ReasonOther, "textStreaming", "streaming of text")
	switch {
	case o.OutputFormat == execution.FormatJSONL || o.OutputFormat == execution.FormatJSON && !a.JSONMode:
		n.add(block, execution.ReasonOther, "jsonMode", "%s does not support the output format %s", s.Agent, o.OutputFormat)
	case o.OutputFormat == execution.FormatJSON && len(o.OutputSchema) == 0:
		// Nothing would enforce the format.
		n.add(block, execution.ReasonOther, "jsonMode", "%s answers in JSON only with a schema: set outputSchema, at least {\"type\":\"object\"}", s.Agent)
	}
	refuse(len(o.OutputSchema) > 0 && !a.StructuredOutput, execution.ReasonOther, "structuredOutput", "output that satisfies a schema")
	refuse(len(o.MCPServers) > 0 && !a.MCP, execution.ReasonToolUseUnsupported, "mcp", "MCP servers")
	for _, m := range o.MCPServers {
		refuse(a.MCP && !slices.Contains(a.MCPTransports, m.Transport), execution.ReasonToolUseUnsupported, "mcp",
			fmt.Sprintf("the MCP transport %s of server %s (it has %s)", m.Transport, m.Name, join(a.MCPTransports)))
	}
	unserved := !a.MCP && !caps.StructuredToolCalls || a.MCP && len(a.MCPTransports) > 0 && !slices.Contains(a.MCPTransports, execution.MCPStreamableHTTP)
	refuse(len(req.Tools) > 0 && unserved, execution.ReasonToolUseUnsupported, "tools", "tools of the caller")
	refuse(s.ToolHook && a.RuntimeHooks.PreToolUse != execution.HookBlocking, execution.ReasonOther, "runtimeHooks.preToolUse",
		"a hook that can deny a tool call in one run")
	refuse(len(o.Skills) > 0 && !a.Skills, execution.ReasonOther, "skills", "skills")
	refuse(o.AgentsDoc != "" && !a.AgentsMD, execution.ReasonOther, "agentsMd", "an agents document")
	refuse(o.ForkSessionID != "" && !a.CanFork, execution.ReasonContinuationUnsupported, "sessionFork", "forking a session")
	refuse(o.SessionID != "" && !a.CanResume, execution.ReasonContinuationUnsupported, "sessionResume", "resuming a session")
	refuse(o.NoSession && !a.CanRunEphemeral, execution.ReasonOther, "sessionEphemeral", "running without leaving a session")
	if mode := asking(execution.Request{Run: o}).Run.ApprovalMode; mode != "" && !slices.Contains(a.ApprovalModes, mode) {
		what := fmt.Sprintf("the approval mode %s (it has %s)", o.ApprovalMode, join(a.ApprovalModes))
		if mode != o.ApprovalMode && len(o.AllowTools) > 0 {
			what = "rules that allow tool calls: it asks for no permission"
		}
		refuse(true, execution.ReasonApprovalInterruptUnsupported, "approvalMode", what)
	}
	refuse(len(o.DenyTools) > 0 && a.RuntimeHooks.PreToolUse != execution.HookBlocking, execution.ReasonOther, "runtimeHooks.preToolUse",
		"rules that deny tool calls: it does not wait for a decision before each call")
	if _, err := rulesOf(o); err != nil {
		n.add(block, execution.ReasonOther, "request", "%v", err)
	}
	refuse(o.Sandbox != "" && !slices.Contains(a.SandboxModes, o.Sandbox), execution.ReasonOther, "sandbox",
		fmt.Sprintf("the sandbox %s (it has %s)", o.Sandbox, join(a.SandboxModes)))
	refuse(o.Interactive && !a.InteractiveMode, execution.ReasonOther, "interactive", "a conversation: messages and answers while it runs")
	if o.SystemPromptMode != "" && req.Instructions.SystemPrompt != "" && !slices.Contains(a.SystemPromptModes, o.SystemPromptMode) {
		severity := warn // 004: falls back to joining the texts
		if o.SystemPromptMode == execution.SystemPromptReplace {
			severity = block // the agent's own prompt would still apply
		}
		n.add(severity, execution.ReasonOther, "systemPromptMode", "%s cannot %s a system prompt (it has %s)", s.Agent, o.SystemPromptMode, join(a.SystemPromptModes))
	}
	if (o.Temperature != nil || o.TopP != nil || o.TopK > 0) && !a.Sampling {
		n.add(info, execution.ReasonOther, "sampling", "%s has no temperature, topP or topK; they are ignored", s.Agent)
	}
	if (o.MaxTokens > 0 || o.MaxOutputTokens > 0) && !a.OutputTokenLimit {
		n.add(info, execution.ReasonOther, "maxOutputTokens", "%s has no output token limit; it is ignored", s.Agent)
	}
	if o.Invocation.Elsewhere() {
		refuse(!a.Elsewhere, execution.ReasonOther, "invocation", "running elsewhere than on this machine")
		for _, here := range []struct {
			what string
			has  bool
		}{{"tools of the caller", len(req.Tools) > 0}, {"hooks that can deny a tool call", s.ToolHook || len(o.DenyTools) > 0}} {
			if here.has && a.Elsewhere {
				n.add(block, execution.ReasonOther, "invocation "+here.what, "%s are on this machine, and %s runs on %s", here.what, s.Agent, o.Invocation)
			}
		}
	}
	if o.Profile != "" {
		n.add(block, execution.ReasonOther, "profile", "the profile %s was not resolved before the request was made", o.Profile)
	}
}

// model refuses what the request's model is known not to do, whatever the agent does. An unknown ability refuses nothing, and
// neither does a request without a model: the user's settings may choose another than the agent's default.
func (n *negotiation) model(req execution.Request, s Situation) {
	m := execution.FindModel(s.Models, req.Run.Model)
	if m == nil || req.Run.Model == "" {
		return
	}
	if len(req.Tools) > 0 && execution.Lacks(m.ToolCalling) {
		n.add(block, execution.ReasonToolUseUnsupported, "tools", "model %s calls no tools, the request has %d", m.ID, len(req.Tools))
	}
	if req.Run.ThinkingEffort != "" && execution.Lacks(m.Thinking) {
		n.add(block, execution.ReasonOther, "thinking", "model %s does not think, so it has no thinking effort", m.ID)
	}
	for _, a := range req.Message.Attachments {
		if strings.HasPrefix(a.MediaType(), "image/") && execution.Lacks(m.ImageInput) {
			n.add(block, execution.ReasonAttachmentsUnsupported, "imageInput", "model %s reads no images: attachment %s", m.ID, cmp.Or(a.Name, a.FilePath, a.MediaType()))
		}
	}
}

// limits checks sizes and money.
func (n *negotiation) limits(caps execution.Capabilities, req execution.Request, s Situation) {
	model := cmp.Or(req.Run.Model, s.DefaultModel)
	if req.Run.MaxBudgetUSD != nil && !caps.Agent.Budget {
		switch {
		case model == "":
			n.add(block, execution.ReasonOther, "budget", "%s has no budget of its own, and without a model no price is known: set one with --model", s.Agent)
		case !caps.Agent.CostReported && (s.Price == nil || s.Price(model) == nil):
			n.add(block, execution.ReasonOther, "budget", "%s has no budget of its own and the price of model %s is unknown", s.Agent, model)
		}
	}
	if req.Run.MaxTurns > 0 && !caps.Agent.MaxTurns && caps.TraceDepth == execution.TraceMinimal {
		n.add(block, execution.ReasonOther, "maxTurns", "%s has no turn limit and does not show turns to count", s.Agent)
	}
	window := map[execution.ContextStrategy]int64{execution.ContextSmall: 16_000, execution.ContextMedium: 128_000, execution.ContextLarge: 200_000}[caps.MaxContextStrategy]
	if m := execution.FindModel(s.Models, model); m != nil && m.ContextWindow > 0 {
		window = m.ContextWindow
	}
	if tokens := estimateTokens(req); window > 0 && tokens > window*3/4 {
		n.add(warn, execution.ReasonContextPressureExpected, "context", "about %d tokens exceed the context window of about %d", tokens, window)
	}
}

// estimateTokens assumes four bytes per token: rough, and used only for warnings.
func estimateTokens(req execution.Request) int64 {
	n := len(req.Message.Text) + len(req.Instructions.SystemPrompt) + len(req.Instructions.DeveloperPrompt)
	if req.Context != nil {
		for _, b := range req.Context.Blocks {
			n += len(b.Label) + len(b.Text)
		}
	}
	return int64(n / 4)
}

// effective reduces the capabilities to what this request gets.
func (n *negotiation) effective(req execution.Request) {
	e := &n.EffectiveCapabilities
	if q := req.Requirements; q != nil {
		if q.TraceDepth != "" && q.TraceDepth.Rank() < e.TraceDepth.Rank() {
			e.TraceDepth = q.TraceDepth
		}
		if q.ToolUse == execution.ToolUseForbidden {
			e.ToolUse, e.StructuredToolCalls = execution.ToolsNone, false
		}
		if q.StructuredToolCalls == execution.PreferenceForbidden {
			e.StructuredToolCalls = false
		}
		if q.ContinuationSupport == execution.SupportNone {
			e.ContinuationSupport = execution.ContinuationsNone
		}
		if q.ApprovalInterrupts == execution.SupportNone {
			e.ApprovalInterrupts = execution.ApprovalsNone
		}
		if q.Attachments == execution.AttachmentsForbidden {
			e.Attachments = false
		}
	}
	if req.Run.NoSession {
		e.ContinuationSupport = execution.ContinuationsNone
	}
	if req.Run.ApprovalMode == execution.ApprovalYolo || req.Run.ApprovalMode == execution.ApprovalDeny {
		e.ApprovalInterrupts = execution.ApprovalsNone
	}
	e.Notes = append([]string{}, e.Notes...)
	a := &e.Agent
	if req.Run.Invocation.Elsewhere() { // its process here can be paused, the one there goes on
		a.Verbs = slices.DeleteFunc(slices.Clone(a.Verbs), func(v execution.Verb) bool { return v == execution.VerbPause || v == execution.VerbResume })
	}
	for _, list := range []*[]string{&a.ThinkingOverrides, &a.PluginFormats, &a.Platforms, &a.AuthFiles} {
		*list = slices.Clone(*list)
	}
	a.MCPTransports, a.ApprovalModes, a.ThinkingEfforts = slices.Clone(a.MCPTransports), slices.Clone(a.ApprovalModes), slices.Clone(a.ThinkingEfforts)
	a.SandboxModes = slices.Clone(a.SandboxModes)
	a.AuthMethods, a.SystemPromptModes, a.Verbs = slices.Clone(a.AuthMethods), slices.Clone(a.SystemPromptModes), slices.Clone(a.Verbs)
}

// unsupported returns the result of a request that never runs.
func unsupported(backend string, n execution.Negotiation) execution.Result {
	var messages []string
	capability := ""
	for _, r := range n.Reasons {
		if r.Severity == execution.SeverityBlocking {
			messages = append(messages, r.Message)
			if capability == "" {
				capability = r.Capability
			}
		}
	}
	e := execution.NewResultError(execution.CodeCapability, strings.Join(messages, "; "))
	e.Metadata["agent"], e.Metadata["capability"] = backend, capability
	return execution.Result{Status: execution.StatusUnsupported, Error: e, Degradation: n.Reasons}
}

func join[T ~string](list []T) string {
	if len(list) == 0 {
		return "none"
	}
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = string(v)
	}
	return strings.Join(parts, ", ")
}
