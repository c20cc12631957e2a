package execution

import "encoding/json"

// Group session: Sessions of the agent.
type (
	// SessionStart is session_start: the agent's session is known. It is the first domain event of a run.
	SessionStart struct {
		SessionID  string `json:"sessionId"`
		Resumed    bool   `json:"resumed"`
		ForkedFrom string `json:"forkedFrom,omitempty"`
		Model      string `json:"model,omitempty"`
		Cwd        string `json:"cwd,omitempty"`
	}
	// SessionResume is session_resume: an existing session continues.
	SessionResume struct {
		SessionID      string `json:"sessionId"`
		PriorTurnCount int    `json:"priorTurnCount"`
	}
	// SessionFork is session_fork: a session was forked from another.
	SessionFork struct {
		SessionID  string `json:"sessionId"`
		ForkedFrom string `json:"forkedFrom"`
	}
	// SessionCheckpoint is session_checkpoint: the session can be restored to this point.
	SessionCheckpoint struct {
		SessionID    string `json:"sessionId"`
		CheckpointID string `json:"checkpointId"`
	}
	// SessionEnd is session_end: the session ended. It is the last domain event of a run.
	SessionEnd struct {
		SessionID string `json:"sessionId"`
		TurnCount int    `json:"turnCount"`
		Cost      *Cost  `json:"cost,omitempty"`
	}
)

// Group turn: Turns and steps.
type (
	// TurnStart is turn_start: a turn begins.
	TurnStart struct {
		TurnIndex int `json:"turnIndex"`
	}
	// TurnEnd is turn_end: a turn ended. Error is set when the turn failed but the conversation may continue.
	TurnEnd struct {
		TurnIndex  int             `json:"turnIndex"`
		Cost       *Cost           `json:"cost,omitempty"`
		Reason     TurnEndReason   `json:"reason,omitempty"`
		Text       string          `json:"text,omitempty"`
		Structured json.RawMessage `json:"structured,omitempty"`
		Error      *ResultError    `json:"error,omitempty"`
	}
	// StepStart is step_start: one model call within a turn begins.
	StepStart struct {
		TurnIndex int    `json:"turnIndex"`
		StepIndex int    `json:"stepIndex"`
		StepType  string `json:"stepType"`
	}
	// StepEnd is step_end: one model call within a turn ended.
	StepEnd struct {
		TurnIndex int `json:"turnIndex"`
		StepIndex int `json:"stepIndex"`
	}
)

// Group text: What the agent says.
type (
	// MessageStart is message_start: the agent begins a message.
	MessageStart struct {
		MessageID string `json:"messageId,omitempty"`
	}
	// TextDelta is text_delta: a piece of text. Accumulated shares memory between the deltas of a message and
	// costs no copy.
	TextDelta struct {
		Delta       string `json:"delta"`
		Accumulated string `json:"accumulated"`
	}
	// MessageStop is message_stop: the message is complete.
	MessageStop struct {
		Text string `json:"text"`
	}
)

// Group thinking: The agent's thinking, as far as it is shown.
type (
	// ThinkingStart is thinking_start: the agent begins to think.
	ThinkingStart struct {
		Effort ThinkingEffort `json:"effort,omitempty"`
	}
	// ThinkingDelta is thinking_delta: a piece of thinking.
	ThinkingDelta struct {
		Delta       string `json:"delta"`
		Accumulated string `json:"accumulated"`
	}
	// ThinkingStop is thinking_stop: the thinking is complete.
	ThinkingStop struct {
		Thinking string `json:"thinking"`
	}
)

// Group tool: Tool calls. Inputs and outputs are JSON as the agent gave it.
type (
	// ToolCallStart is tool_call_start: a tool call begins.
	ToolCallStart struct {
		ToolCallID       string `json:"toolCallId"`
		ToolName         string `json:"toolName"`
		InputAccumulated string `json:"inputAccumulated"`
	}
	// ToolInputDelta is tool_input_delta: a piece of a tool call's input.
	ToolInputDelta struct {
		ToolCallID       string `json:"toolCallId"`
		Delta            string `json:"delta"`
		InputAccumulated string `json:"inputAccumulated"`
	}
	// ToolCallReady is tool_call_ready: a tool call's input is complete.
	ToolCallReady struct {
		ToolCallID string          `json:"toolCallId"`
		ToolName   string          `json:"toolName"`
		Input      json.RawMessage `json:"input"`
	}
	// ToolResultEvent is tool_result: a tool call succeeded.
	ToolResultEvent struct {
		ToolCallID string          `json:"toolCallId"`
		ToolName   string          `json:"toolName"`
		Output     json.RawMessage `json:"output"`
		DurationMs int64           `json:"durationMs"`
	}
	// ToolError is tool_error: a tool call failed or was denied.
	ToolError struct {
		ToolCallID string `json:"toolCallId"`
		ToolName   string `json:"toolName"`
		Error      string `json:"error"`
	}
)

// Group file: Files, derived from tool calls.
type (
	// FileRead is file_read: a file was read.
	FileRead struct {
		Path       string `json:"path"`
		ToolCallID string `json:"toolCallId,omitempty"`
	}
	// FileWrite is file_write: a file was overwritten.
	FileWrite struct {
		Path       string `json:"path"`
		ByteCount  int64  `json:"byteCount"`
		ToolCallID string `json:"toolCallId,omitempty"`
	}
	// FileCreate is file_create: a file was created.
	FileCreate struct {
		Path       string `json:"path"`
		ByteCount  int64  `json:"byteCount"`
		ToolCallID string `json:"toolCallId,omitempty"`
	}
	// FileDelete is file_delete: a file was deleted.
	FileDelete struct {
		Path       string `json:"path"`
		ToolCallID string `json:"toolCallId,omitempty"`
	}
	// FilePatch is file_patch: part of a file was changed. Diff is a unified diff or the backend's own hunks,
	// empty if it shows none.
	FilePatch struct {
		Path       string `json:"path"`
		Diff       string `json:"diff"`
		ToolCallID string `json:"toolCallId,omitempty"`
	}
)

// Group shell: Commands in a shell, derived from tool calls.
type (
	// ShellStart is shell_start: a command starts.
	ShellStart struct {
		Command    string `json:"command"`
		Cwd        string `json:"cwd"`
		ToolCallID string `json:"toolCallId,omitempty"`
	}
	// ShellStdoutDelta is shell_stdout_delta: output of a command.
	ShellStdoutDelta struct {
		Delta      string `json:"delta"`
		ToolCallID string `json:"toolCallId,omitempty"`
	}
	// ShellStderrDelta is shell_stderr_delta: error output of a command.
	ShellStderrDelta struct {
		Delta      string `json:"delta"`
		ToolCallID string `json:"toolCallId,omitempty"`
	}
	// ShellExit is shell_exit: a command ended.
	ShellExit struct {
		ExitCode   int    `json:"exitCode"`
		DurationMs int64  `json:"durationMs"`
		ToolCallID string `json:"toolCallId,omitempty"`
	}
)

// Group mcp: Calls of tools of MCP servers.
type (
	// MCPToolCallStart is mcp_tool_call_start: a call of an MCP server's tool begins.
	MCPToolCallStart struct {
		ToolCallID string          `json:"toolCallId"`
		Server     string          `json:"server"`
		ToolName   string          `json:"toolName"`
		Input      json.RawMessage `json:"input"`
	}
	// MCPToolResult is mcp_tool_result: a call of an MCP server's tool succeeded.
	MCPToolResult struct {
		ToolCallID string          `json:"toolCallId"`
		Server     string          `json:"server"`
		ToolName   string          `json:"toolName"`
		Output     json.RawMessage `json:"output"`
	}
	// MCPToolError is mcp_tool_error: a call of an MCP server's tool failed or was denied.
	MCPToolError struct {
		ToolCallID string `json:"toolCallId"`
		Server     string `json:"server"`
		ToolName   string `json:"toolName"`
		Error      string `json:"error"`
	}
)

// Group subagent: Sub-agents.
type (
	// SubagentSpawn is subagent_spawn: a sub-agent was started; SubagentID is the tool call that started it.
	SubagentSpawn struct {
		SubagentID string `json:"subagentId"`
		AgentName  string `json:"agentName"`
		Prompt     string `json:"prompt"`
	}
	// SubagentResult is subagent_result: a sub-agent completed.
	SubagentResult struct {
		SubagentID string `json:"subagentId"`
		AgentName  string `json:"agentName"`
		Summary    string `json:"summary"`
		Cost       *Cost  `json:"cost,omitempty"`
	}
	// SubagentError is subagent_error: a sub-agent failed.
	SubagentError struct {
		SubagentID string `json:"subagentId"`
		AgentName  string `json:"agentName"`
		Error      string `json:"error"`
	}
)

// Group plugin: Plugins of the agent.
type (
	// PluginLoaded is plugin_loaded: a plugin was loaded.
	PluginLoaded struct {
		PluginID   string `json:"pluginId"`
		PluginName string `json:"pluginName"`
		Version    string `json:"version"`
	}
	// PluginInvoked is plugin_invoked: a plugin was used.
	PluginInvoked struct {
		PluginID   string `json:"pluginId"`
		PluginName string `json:"pluginName"`
	}
	// PluginError is plugin_error: a plugin failed.
	PluginError struct {
		PluginID   string `json:"pluginId"`
		PluginName string `json:"pluginName"`
		Error      string `json:"error"`
	}
)

// Group skill: Skills and agent documents.
type (
	// SkillLoaded is skill_loaded: a skill was loaded.
	SkillLoaded struct {
		SkillName string `json:"skillName"`
		Source    string `json:"source"`
	}
	// SkillInvoked is skill_invoked: a skill was used.
	SkillInvoked struct {
		SkillName string `json:"skillName"`
	}
	// AgentdocRead is agentdoc_read: an agent document was read.
	AgentdocRead struct {
		Path string `json:"path"`
	}
)

// Group image: Images.
type (
	// ImageOutput is image_output: the agent made an image: Base64 or FilePath is set.
	ImageOutput struct {
		MimeType string `json:"mimeType"`
		Base64   string `json:"base64,omitempty"`
		FilePath string `json:"filePath,omitempty"`
	}
	// ImageInputAck is image_input_ack: the agent accepted an image of the request.
	ImageInputAck struct {
		MimeType string `json:"mimeType"`
	}
)

// Group cost: Cost and usage. Both report increments: their sum over a run is its total.
type (
	// CostEvent is cost: money was spent since the last cost event.
	CostEvent struct {
		Cost Cost `json:"cost"`
	}
	// TokenUsage is token_usage: tokens were used since the last token_usage event.
	TokenUsage struct {
		InputTokens      int64 `json:"inputTokens"`
		OutputTokens     int64 `json:"outputTokens"`
		ThinkingTokens   int64 `json:"thinkingTokens,omitempty"`
		CachedTokens     int64 `json:"cachedTokens,omitempty"`
		CacheWriteTokens int64 `json:"cacheWriteTokens,omitempty"`
		// ModelCall says that one model call used all these tokens; otherwise it may have been several.
		ModelCall bool `json:"modelCall,omitempty"`
		// FromSession says that these tokens come from the agent's session file; the agent did not report them
		// to the run.
		FromSession bool `json:"fromSession,omitempty"`
	}
)

// Group interaction: Questions of the agent and their answers.
type (
	// InputRequired is input_required: the agent asks a person for text.
	InputRequired struct {
		ID       QuestionID  `json:"interactionId"`
		Question string      `json:"question"`
		Context  string      `json:"context,omitempty"`
		Source   InputSource `json:"source"`
	}
	// ApprovalRequired is approval_request: the agent asks for permission and waits.
	ApprovalRequired struct {
		ID         QuestionID      `json:"interactionId"`
		Action     string          `json:"action"`
		Detail     string          `json:"detail"`
		ToolName   string          `json:"toolName,omitempty"`
		ToolCallID string          `json:"toolCallId,omitempty"`
		Input      json.RawMessage `json:"input,omitempty"`
		Risk       RiskLevel       `json:"riskLevel"`
		Use        ToolUse         `json:"use,omitzero"`       // what would be done
		Editable   bool            `json:"editable,omitempty"` // the tool can run with another input: Decision.Input
	}
	// ApprovalGranted is approval_granted: a permission was given.
	ApprovalGranted struct {
		ID         QuestionID      `json:"interactionId"`
		Detail     string          `json:"detail,omitempty"`
		ToolCallID string          `json:"toolCallId,omitempty"`   // with Input
		Input      json.RawMessage `json:"updatedInput,omitempty"` // that the tool runs with instead
	}
	// ApprovalDenied is approval_denied: a permission was refused.
	ApprovalDenied struct {
		ID       QuestionID `json:"interactionId"`
		Reason   string     `json:"reason,omitempty"`
		ToolName string     `json:"toolName,omitempty"`
	}
)

// Group limits: Limits, compaction and retries.
type (
	// RateLimited is rate_limited: the provider slows the agent down.
	RateLimited struct {
		RetryAfterMs int64  `json:"retryAfterMs,omitempty"`
		ResetsAt     int64  `json:"resetsAt,omitempty"`
		Limit        string `json:"limit,omitempty"`
		Status       string `json:"status,omitempty"` // the provider's word; a status that begins with "allowed" is a warning
	}
	// ContextLimitWarning is context_limit_warning: the context window is nearly full.
	ContextLimitWarning struct {
		UsedTokens int64   `json:"usedTokens"`
		MaxTokens  int64   `json:"maxTokens"`
		PctUsed    float64 `json:"pctUsed"`
	}
	// ContextCompacted is context_compacted: the agent shortened its context.
	ContextCompacted struct {
		Summary     string `json:"summary"`
		TokensSaved int64  `json:"tokensSaved"`
	}
	// Retry is retry: something failed and is retried after DelayMs. A number that the agent does not state is
	// 0, and omitted in JSON.
	Retry struct {
		Attempt     int       `json:"attempt,omitempty"`
		MaxAttempts int       `json:"maxAttempts,omitempty"`
		Reason      string    `json:"reason"`
		DelayMs     int64     `json:"delayMs,omitempty"`
		Code        ErrorCode `json:"code,omitempty"`
	}
)

// Group control: Control of the run.
type (
	// Interrupted is interrupted: the running turn was interrupted.
	Interrupted struct{}
	// Aborted is aborted: the run was aborted.
	Aborted struct{}
	// Paused is paused: the run was paused.
	Paused struct{}
	// Resumed is resumed: the run continues after a pause.
	Resumed struct{}
	// Timeout is timeout: a time limit was reached.
	Timeout struct {
		Kind TimeoutKind `json:"kind"`
	}
	// TurnLimit is turn_limit: the turn limit was reached.
	TurnLimit struct {
		MaxTurns int `json:"maxTurns"`
	}
	// StreamFallback is stream_fallback: the agent cannot stream some output, which arrives complete instead.
	StreamFallback struct {
		Capability string `json:"capability"`
		Reason     string `json:"reason"`
	}
)

// Group error: Errors.
type (
	// AuthError is auth_error: the provider refused the credentials.
	AuthError struct {
		Message  string `json:"message"`
		Guidance string `json:"guidance"`
	}
	// RateLimitError is rate_limit_error: a rate limit ended the attempt.
	RateLimitError struct {
		Message      string `json:"message"`
		RetryAfterMs int64  `json:"retryAfterMs,omitempty"`
	}
	// ContextExceeded is context_exceeded: the context window is full.
	ContextExceeded struct {
		UsedTokens int64 `json:"usedTokens"`
		MaxTokens  int64 `json:"maxTokens"`
	}
	// Crash is crash: the agent's process ended without a result.
	Crash struct {
		ExitCode int    `json:"exitCode"`
		Stderr   string `json:"stderr"`
		Signal   string `json:"signal,omitempty"`
	}
	// ErrorEvent is error: something failed.
	ErrorEvent struct {
		Code        ErrorCode `json:"code"`
		Message     string    `json:"message"`
		Recoverable bool      `json:"recoverable"`
	}
)

// Group debug: Diagnostics.
type (
	// Debug is debug: a diagnostic message of Drawbar.
	Debug struct {
		Level   DebugLevel `json:"level"`
		Message string     `json:"message"`
	}
	// Log is log: a line of agent output that no parser recognized, in debug mode.
	Log struct {
		Source LogSource `json:"source"`
		Line   string    `json:"line"`
	}
)

// Group drawbar: Additions of Drawbar to the union.
type (
	// QuestionWithdrawn is question_withdrawn: the agent no longer waits for an answer.
	QuestionWithdrawn struct {
		ID     QuestionID `json:"interactionId"`
		Reason string     `json:"reason,omitempty"`
	}
	// InputQueued is input_queued: a sent message waits for its turn.
	InputQueued struct {
		ID   InputID `json:"inputId"`
		Text string  `json:"text"`
		When When    `json:"when"`
	}
	// InputTaken is input_taken: a sent message reached the conversation, inside a running turn if Steered.
	InputTaken struct {
		ID      InputID `json:"inputId"`
		Steered bool    `json:"steered,omitempty"`
	}
	// InputCancelled is input_cancelled: a sent message never reached the conversation.
	InputCancelled struct {
		ID     InputID `json:"inputId"`
		Reason string  `json:"reason,omitempty"`
	}
	// Gap is gap: a slow reader missed Count events, From to To inclusive.
	Gap struct {
		Count uint64 `json:"count"`
		From  uint64 `json:"from"`
		To    uint64 `json:"to"`
	}
	// Finished is finished: the run's only result, always the last event.
	Finished struct {
		Result Result `json:"result"`
	}
)
