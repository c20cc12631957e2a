package execution

import "slices"

// Capabilities declare what a backend can do: the execution capabilities of the BYOH specification, and the
// agent capabilities of the agent-mux specification under Agent. They are static; the caller owns its copy.
type Capabilities struct {
	SchemaVersion       string              `json:"schemaVersion"`
	ToolUse             ToolUseSupport      `json:"toolUse"`
	StructuredToolCalls bool                `json:"structuredToolCalls"`
	ContinuationSupport ContinuationSupport `json:"continuationSupport"`
	ApprovalInterrupts  ApprovalSupport     `json:"approvalInterrupts"`
	TraceDepth          TraceDepth          `json:"traceDepth"`
	Attachments         bool                `json:"attachments"`
	MaxContextStrategy  ContextStrategy     `json:"maxContextStrategy"`
	Notes               []string            `json:"notes"`
	Agent               AgentCapabilities   `json:"agent"`
}

// ToolUseSupport is whether and how a backend handles tool calls.
type ToolUseSupport string

// The kinds of tool use.
const (
	ToolsNone            ToolUseSupport = "none"
	ToolsAdapterMediated ToolUseSupport = "adapter-mediated"
	ToolsNativeIterative ToolUseSupport = "native-iterative"
)

var toolUseSupports = []ToolUseSupport{ToolsNone, ToolsAdapterMediated, ToolsNativeIterative}

// ContinuationSupport is how completely a backend restores a conversation on resume.
type ContinuationSupport string

// The kinds of continuation.
const (
	ContinuationsNone         ContinuationSupport = "none"
	ContinuationsOpaqueResume ContinuationSupport = "opaque-resume"
	ContinuationsStructured   ContinuationSupport = "structured"
)

var continuationSupports = []ContinuationSupport{ContinuationsNone, ContinuationsOpaqueResume, ContinuationsStructured}

// ApprovalSupport is whether a backend can pause for an approval in band.
type ApprovalSupport string

// The kinds of approval interrupt.
const (
	ApprovalsNone            ApprovalSupport = "none"
	ApprovalsAdapterMediated ApprovalSupport = "adapter-mediated"
	ApprovalsNative          ApprovalSupport = "native"
)

var approvalSupports = []ApprovalSupport{ApprovalsNone, ApprovalsAdapterMediated, ApprovalsNative}

// ContextStrategy classifies the size of the context window.
type ContextStrategy string

// The context strategies.
const (
	ContextUnknown ContextStrategy = "unknown"
	ContextSmall   ContextStrategy = "small"
	ContextMedium  ContextStrategy = "medium"
	ContextLarge   ContextStrategy = "large"
)

var contextStrategies = []ContextStrategy{ContextUnknown, ContextSmall, ContextMedium, ContextLarge}

// AgentCapabilities are the abilities of an agent beyond one execution (agent-mux specification, AgentCapabilities).
type AgentCapabilities struct {
	TakesCommand         bool               `json:"takesCommand"` // runs the program in Run.Command; has none of its own
	CanResume            bool               `json:"canResume"`
	CanFork              bool               `json:"canFork"`
	CanRunEphemeral      bool               `json:"canRunEphemeral"` // NoSession is honoured
	SupportsMultiTurn    bool               `json:"supportsMultiTurn"`
	SessionPersistence   string             `json:"sessionPersistence"` // none, file, sqlite
	TextStreaming        bool               `json:"supportsTextStreaming"`
	ToolCallStreaming    bool               `json:"supportsToolCallStreaming"`
	ThinkingStreaming    bool               `json:"supportsThinkingStreaming"`
	NativeTools          bool               `json:"supportsNativeTools"`
	MCP                  bool               `json:"supportsMCP"`
	MCPTransports        []MCPTransport     `json:"mcpTransports,omitempty"`
	ParallelToolCalls    bool               `json:"supportsParallelToolCalls"`
	RequiresToolApproval bool               `json:"requiresToolApproval"`
	ApprovalModes        []ApprovalMode     `json:"approvalModes"`
	RuntimeHooks         RuntimeHooks       `json:"runtimeHooks"`
	Thinking             bool               `json:"supportsThinking"`
	ThinkingEfforts      []ThinkingEffort   `json:"thinkingEffortLevels"`
	ThinkingBudgetTokens bool               `json:"supportsThinkingBudgetTokens"`
	ThinkingOverrides    []string           `json:"thinkingOverrides,omitempty"` // names that Run.ThinkingOverride may set
	JSONMode             bool               `json:"supportsJsonMode"`
	StructuredOutput     bool               `json:"supportsStructuredOutput"`
	StructuredSession    SessionTransport   `json:"structuredSessionTransport"`
	Skills               bool               `json:"supportsSkills"`
	AgentsMD             bool               `json:"supportsAgentsMd"`
	SkillsFormat         string             `json:"skillsFormat,omitempty"` // file, directory, npm-package
	SubagentDispatch     bool               `json:"supportsSubagentDispatch"`
	ParallelExecution    bool               `json:"supportsParallelExecution"`
	MaxParallelTasks     int                `json:"maxParallelTasks,omitempty"`
	InteractiveMode      bool               `json:"supportsInteractiveMode"`
	StdinInjection       bool               `json:"supportsStdinInjection"`
	ImageInput           bool               `json:"supportsImageInput"`
	ImageOutput          bool               `json:"supportsImageOutput"`
	FileAttachments      bool               `json:"supportsFileAttachments"`
	Plugins              bool               `json:"supportsPlugins"`
	PluginFormats        []string           `json:"pluginFormats,omitempty"`
	Platforms            []string           `json:"supportedPlatforms"` // darwin, linux, windows
	RequiresGitRepo      bool               `json:"requiresGitRepo"`
	RequiresPTY          bool               `json:"requiresPty"`
	Elsewhere            bool               `json:"supportsInvocation"` // Run.Invocation: on another machine, in a container or a pod
	AuthMethods          []AuthMethod       `json:"authMethods"`
	AuthFiles            []string           `json:"authFiles,omitempty"`
	SystemPromptModes    []SystemPromptMode `json:"systemPromptModes"`
	SandboxModes         []SandboxMode      `json:"sandboxModes,omitempty"`   // sandboxes of the agent's own
	MaxTurns             bool               `json:"supportsMaxTurns"`         // a native limit
	Budget               bool               `json:"supportsBudget"`           // a native limit
	CostReported         bool               `json:"supportsCostReport"`       // states its own price
	TokensUnstated       bool               `json:"tokensUnstated,omitempty"` // a run does not state what it used
	DenialEndsTurn       bool               `json:"denialEndsTurn,omitempty"` // a denied permission interrupts the turn
	Sampling             bool               `json:"supportsSampling"`         // temperature, topP, topK
	OutputTokenLimit     bool               `json:"supportsMaxOutputTokens"`
	Verbs                []Verb             `json:"verbs"` // what a running conversation accepts
}

// AuthMethod is one way to log in to an agent.
type AuthMethod struct {
	Type        string `json:"type"` // api_key, oauth, oauth_device, browser_login, token_file, keychain, github_token, config_file, none
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// RuntimeHooks says which hooks of a run an agent supports.
type RuntimeHooks struct {
	PreToolUse       HookSupport `json:"preToolUse"`
	ModifyToolInput  bool        `json:"modifyToolInput"` // a preToolUse hook can replace the tool's input; for other agents such an answer is a denial
	PostToolUse      HookSupport `json:"postToolUse"`
	SessionStart     HookSupport `json:"sessionStart"`
	SessionEnd       HookSupport `json:"sessionEnd"`
	Stop             HookSupport `json:"stop"`
	UserPromptSubmit HookSupport `json:"userPromptSubmit"`
}

// HookSupport is how much of a runtime hook is supported.
type HookSupport string

// The kinds of hook support.
const (
	HookUnsupported HookSupport = "unsupported"
	HookNonblocking HookSupport = "nonblocking"
	HookBlocking    HookSupport = "blocking"
)

var hookSupports = []HookSupport{HookUnsupported, HookNonblocking, HookBlocking}

// SessionTransport is how several turns of one conversation reach the agent.
type SessionTransport string

// The session transports.
const (
	TransportNone           SessionTransport = "none"
	TransportRestartPerTurn SessionTransport = "restart-per-turn"
	TransportPersistent     SessionTransport = "persistent"
)

var sessionTransports = []SessionTransport{TransportNone, TransportRestartPerTurn, TransportPersistent}

// Verb is something that can be done to a running conversation.
type Verb string

// The verbs.
const (
	VerbSend      Verb = "send"
	VerbQueue     Verb = "queue"
	VerbSteer     Verb = "steer"
	VerbContinue  Verb = "continue"
	VerbApprove   Verb = "approve"
	VerbDeny      Verb = "deny"
	VerbInterrupt Verb = "interrupt"
	VerbAbort     Verb = "abort"
	VerbPause     Verb = "pause"
	VerbResume    Verb = "resume"
)

var verbs = []Verb{VerbSend, VerbQueue, VerbSteer, VerbContinue, VerbApprove, VerbDeny, VerbInterrupt, VerbAbort, VerbPause, VerbResume}

// Has reports whether v is among the verbs.
func (c AgentCapabilities) Has(v Verb) bool {
	return slices.Contains(c.Verbs, v)
}

// Stated returns c with every omission made explicit: none, unsupported, unknown or minimal, empty lists, this
// schema version, and every platform.
func (c Capabilities) Stated() Capabilities {
	state(&c.SchemaVersion, SchemaVersion)
	state(&c.ToolUse, ToolsNone)
	state(&c.ContinuationSupport, ContinuationsNone)
	state(&c.ApprovalInterrupts, ApprovalsNone)
	state(&c.TraceDepth, TraceMinimal)
	state(&c.MaxContextStrategy, ContextUnknown)
	stateList(&c.Notes)
	a := &c.Agent
	state(&a.SessionPersistence, "none")
	state(&a.StructuredSession, TransportNone)
	for _, h := range []*HookSupport{&a.RuntimeHooks.PreToolUse, &a.RuntimeHooks.PostToolUse, &a.RuntimeHooks.SessionStart,
		&a.RuntimeHooks.SessionEnd, &a.RuntimeHooks.Stop, &a.RuntimeHooks.UserPromptSubmit} {
		state(h, HookUnsupported)
	}
	if len(a.Platforms) == 0 {
		a.Platforms = []string{"darwin", "linux", "windows"}
	}
	stateList(&a.ApprovalModes)
	stateList(&a.ThinkingEfforts)
	stateList(&a.AuthMethods)
	stateList(&a.SystemPromptModes)
	stateList(&a.Verbs)
	return c
}

func state[T ~string](field *T, none T) {
	if *field == "" {
		*field = none
	}
}

func stateList[T any](field *[]T) {
	if *field == nil {
		*field = []T{}
	}
}

// Validate checks every declaration; an omission means none.
func (c Capabilities) Validate() error {
	var f faults
	c = c.Stated()
	if err := CheckSchemaVersion(c.SchemaVersion); err != nil {
		f.addf("schemaVersion", c.SchemaVersion, SchemaVersion, err.Error())
	}
	f.add(oneOf("toolUse", c.ToolUse, toolUseSupports))
	f.add(oneOf("continuationSupport", c.ContinuationSupport, continuationSupports))
	f.add(oneOf("approvalInterrupts", c.ApprovalInterrupts, approvalSupports))
	f.add(oneOf("traceDepth", c.TraceDepth, traceDepths))
	f.add(oneOf("maxContextStrategy", c.MaxContextStrategy, contextStrategies))
	a := c.Agent
	f.add(oneOf("agent.structuredSessionTransport", a.StructuredSession, sessionTransports))
	for name, h := range map[string]HookSupport{"preToolUse": a.RuntimeHooks.PreToolUse, "postToolUse": a.RuntimeHooks.PostToolUse,
		"sessionStart": a.RuntimeHooks.SessionStart, "sessionEnd": a.RuntimeHooks.SessionEnd, "stop": a.RuntimeHooks.Stop,
		"userPromptSubmit": a.RuntimeHooks.UserPromptSubmit} {
		f.add(oneOf("agent.runtimeHooks."+name, h, hookSupports))
	}
	for _, m := range a.ApprovalModes {
		f.add(oneOf("agent.approvalModes", m, approvalModes))
	}
	for _, e := range a.ThinkingEfforts {
		f.add(oneOf("agent.thinkingEffortLevels", e, thinkingEfforts))
	}
	for _, m := range a.SandboxModes {
		f.add(oneOf("agent.sandboxModes", m, sandboxModes))
	}
	for _, m := range a.SystemPromptModes {
		f.add(oneOf("agent.systemPromptModes", m, systemPromptModes))
	}
	for _, v := range a.Verbs {
		f.add(oneOf("agent.verbs", v, verbs))
	}
	for _, t := range a.MCPTransports {
		f.add(oneOf("agent.mcpTransports", t, mcpTransports))
	}
	return f.err("invalid capabilities")
}
