package execution

import "sync"

// bodyTable lists the event types in the order of the specification, with Drawbar's additions at the end.
var bodyTable = sync.OnceValue(func() []bodyRow {
	return []bodyRow{
		row[SessionStart]("session"),
		row[SessionResume]("session"),
		row[SessionFork]("session"),
		row[SessionCheckpoint]("session"),
		row[SessionEnd]("session"),
		row[TurnStart]("turn"),
		row[TurnEnd]("turn"),
		row[StepStart]("turn"),
		row[StepEnd]("turn"),
		row[MessageStart]("text"),
		row[TextDelta]("text"),
		row[MessageStop]("text"),
		row[ThinkingStart]("thinking"),
		row[ThinkingDelta]("thinking"),
		row[ThinkingStop]("thinking"),
		row[ToolCallStart]("tool"),
		row[ToolInputDelta]("tool"),
		row[ToolCallReady]("tool"),
		row[ToolResultEvent]("tool"),
		row[ToolError]("tool"),
		row[FileRead]("file"),
		row[FileWrite]("file"),
		row[FileCreate]("file"),
		row[FileDelete]("file"),
		row[FilePatch]("file"),
		row[ShellStart]("shell"),
		row[ShellStdoutDelta]("shell"),
		row[ShellStderrDelta]("shell"),
		row[ShellExit]("shell"),
		row[MCPToolCallStart]("mcp"),
		row[MCPToolResult]("mcp"),
		row[MCPToolError]("mcp"),
		row[SubagentSpawn]("subagent"),
		row[SubagentResult]("subagent"),
		row[SubagentError]("subagent"),
		row[PluginLoaded]("plugin"),
		row[PluginInvoked]("plugin"),
		row[PluginError]("plugin"),
		row[SkillLoaded]("skill"),
		row[SkillInvoked]("skill"),
		row[AgentdocRead]("skill"),
		row[ImageOutput]("image"),
		row[ImageInputAck]("image"),
		row[CostEvent]("cost"),
		row[TokenUsage]("cost"),
		row[InputRequired]("interaction"),
		row[ApprovalRequired]("interaction"),
		row[ApprovalGranted]("interaction"),
		row[ApprovalDenied]("interaction"),
		row[RateLimited]("limits"),
		row[ContextLimitWarning]("limits"),
		row[ContextCompacted]("limits"),
		row[Retry]("limits"),
		row[Interrupted]("control"),
		row[Aborted]("control"),
		row[Paused]("control"),
		row[Resumed]("control"),
		row[Timeout]("control"),
		row[TurnLimit]("control"),
		row[StreamFallback]("control"),
		row[AuthError]("error"),
		row[RateLimitError]("error"),
		row[ContextExceeded]("error"),
		row[Crash]("error"),
		row[ErrorEvent]("error"),
		row[Debug]("debug"),
		row[Log]("debug"),
		row[QuestionWithdrawn]("drawbar"),
		row[InputQueued]("drawbar"),
		row[InputTaken]("drawbar"),
		row[InputCancelled]("drawbar"),
		row[Gap]("drawbar"),
		row[Finished]("drawbar"),
	}
})

// Type is session_start.
func (SessionStart) Type() EventType { return "session_start" }
func (SessionStart) body()           {}

// Type is session_resume.
func (SessionResume) Type() EventType { return "session_resume" }
func (SessionResume) body()           {}

// Type is session_fork.
func (SessionFork) Type() EventType { return "session_fork" }
func (SessionFork) body()           {}

// Type is session_checkpoint.
func (SessionCheckpoint) Type() EventType { return "session_checkpoint" }
func (SessionCheckpoint) body()           {}

// Type is session_end.
func (SessionEnd) Type() EventType { return "session_end" }
func (SessionEnd) body()           {}

// Type is turn_start.
func (TurnStart) Type() EventType { return "turn_start" }
func (TurnStart) body()           {}

// Type is turn_end.
func (TurnEnd) Type() EventType { return "turn_end" }
func (TurnEnd) body()           {}

// Type is step_start.
func (StepStart) Type() EventType { return "step_start" }
func (StepStart) body()           {}

// Type is step_end.
func (StepEnd) Type() EventType { return "step_end" }
func (StepEnd) body()           {}

// Type is message_start.
func (MessageStart) Type() EventType { return "message_start" }
func (MessageStart) body()           {}

// Type is text_delta.
func (TextDelta) Type() EventType { return "text_delta" }
func (TextDelta) body()           {}

// Type is message_stop.
func (MessageStop) Type() EventType { return "message_stop" }
func (MessageStop) body()           {}

// Type is thinking_start.
func (ThinkingStart) Type() EventType { return "thinking_start" }
func (ThinkingStart) body()           {}

// Type is thinking_delta.
func (ThinkingDelta) Type() EventType { return "thinking_delta" }
func (ThinkingDelta) body()           {}

// Type is thinking_stop.
func (ThinkingStop) Type() EventType { return "thinking_stop" }
func (ThinkingStop) body()           {}

// Type is tool_call_start.
func (ToolCallStart) Type() EventType { return "tool_call_start" }
func (ToolCallStart) body()           {}

// Type is tool_input_delta.
func (ToolInputDelta) Type() EventType { return "tool_input_delta" }
func (ToolInputDelta) body()           {}

// Type is tool_call_ready.
func (ToolCallReady) Type() EventType { return "tool_call_ready" }
func (ToolCallReady) body()           {}

// Type is tool_result.
func (ToolResultEvent) Type() EventType { return "tool_result" }
func (ToolResultEvent) body()           {}

// Type is tool_error.
func (ToolError) Type() EventType { return "tool_error" }
func (ToolError) body()           {}

// Type is file_read.
func (FileRead) Type() EventType { return "file_read" }
func (FileRead) body()           {}

// Type is file_write.
func (FileWrite) Type() EventType { return "file_write" }
func (FileWrite) body()           {}

// Type is file_create.
func (FileCreate) Type() EventType { return "file_create" }
func (FileCreate) body()           {}

// Type is file_delete.
func (FileDelete) Type() EventType { return "file_delete" }
func (FileDelete) body()           {}

// Type is file_patch.
func (FilePatch) Type() EventType { return "file_patch" }
func (FilePatch) body()           {}

// Type is shell_start.
func (ShellStart) Type() EventType { return "shell_start" }
func (ShellStart) body()           {}

// Type is shell_stdout_delta.
func (ShellStdoutDelta) Type() EventType { return "shell_stdout_delta" }
func (ShellStdoutDelta) body()           {}

// Type is shell_stderr_delta.
func (ShellStderrDelta) Type() EventType { return "shell_stderr_delta" }
func (ShellStderrDelta) body()           {}

// Type is shell_exit.
func (ShellExit) Type() EventType { return "shell_exit" }
func (ShellExit) body()           {}

// Type is mcp_tool_call_start.
func (MCPToolCallStart) Type() EventType { return "mcp_tool_call_start" }
func (MCPToolCallStart) body()           {}

// Type is mcp_tool_result.
func (MCPToolResult) Type() EventType { return "mcp_tool_result" }
func (MCPToolResult) body()           {}

// Type is mcp_tool_error.
func (MCPToolError) Type() EventType { return "mcp_tool_error" }
func (MCPToolError) body()           {}

// Type is subagent_spawn.
func (SubagentSpawn) Type() EventType { return "subagent_spawn" }
func (SubagentSpawn) body()           {}

// Type is subagent_result.
func (SubagentResult) Type() EventType { return "subagent_result" }
func (SubagentResult) body()           {}

// Type is subagent_error.
func (SubagentError) Type() EventType { return "subagent_error" }
func (SubagentError) body()           {}

// Type is plugin_loaded.
func (PluginLoaded) Type() EventType { return "plugin_loaded" }
func (PluginLoaded) body()           {}

// Type is plugin_invoked.
func (PluginInvoked) Type() EventType { return "plugin_invoked" }
func (PluginInvoked) body()           {}

// Type is plugin_error.
func (PluginError) Type() EventType { return "plugin_error" }
func (PluginError) body()           {}

// Type is skill_loaded.
func (SkillLoaded) Type() EventType { return "skill_loaded" }
func (SkillLoaded) body()           {}

// Type is skill_invoked.
func (SkillInvoked) Type() EventType { return "skill_invoked" }
func (SkillInvoked) body()           {}

// Type is agentdoc_read.
func (AgentdocRead) Type() EventType { return "agentdoc_read" }
func (AgentdocRead) body()           {}

// Type is image_output.
func (ImageOutput) Type() EventType { return "image_output" }
func (ImageOutput) body()           {}

// Type is image_input_ack.
func (ImageInputAck) Type() EventType { return "image_input_ack" }
func (ImageInputAck) body()           {}

// Type is cost.
func (CostEvent) Type() EventType { return "cost" }
func (CostEvent) body()           {}

// Type is token_usage.
func (TokenUsage) Type() EventType { return "token_usage" }
func (TokenUsage) body()           {}

// Type is input_required.
func (InputRequired) Type() EventType { return "input_required" }
func (InputRequired) body()           {}

// Type is approval_request.
func (ApprovalRequired) Type() EventType { return "approval_request" }
func (ApprovalRequired) body()           {}

// Type is approval_granted.
func (ApprovalGranted) Type() EventType { return "approval_granted" }
func (ApprovalGranted) body()           {}

// Type is approval_denied.
func (ApprovalDenied) Type() EventType { return "approval_denied" }
func (ApprovalDenied) body()           {}

// Type is rate_limited.
func (RateLimited) Type() EventType { return "rate_limited" }
func (RateLimited) body()           {}

// Type is context_limit_warning.
func (ContextLimitWarning) Type() EventType { return "context_limit_warning" }
func (ContextLimitWarning) body()           {}

// Type is context_compacted.
func (ContextCompacted) Type() EventType { return "context_compacted" }
func (ContextCompacted) body()           {}

// Type is retry.
func (Retry) Type() EventType { return "retry" }
func (Retry) body()           {}

// Type is interrupted.
func (Interrupted) Type() EventType { return "interrupted" }
func (Interrupted) body()           {}

// Type is aborted.
func (Aborted) Type() EventType { return "aborted" }
func (Aborted) body()           {}

// Type is paused.
func (Paused) Type() EventType { return "paused" }
func (Paused) body()           {}

// Type is resumed.
func (Resumed) Type() EventType { return "resumed" }
func (Resumed) body()           {}

// Type is timeout.
func (Timeout) Type() EventType { return "timeout" }
func (Timeout) body()           {}

// Type is turn_limit.
func (TurnLimit) Type() EventType { return "turn_limit" }
func (TurnLimit) body()           {}

// Type is stream_fallback.
func (StreamFallback) Type() EventType { return "stream_fallback" }
func (StreamFallback) body()           {}

// Type is auth_error.
func (AuthError) Type() EventType { return "auth_error" }
func (AuthError) body()           {}

// Type is rate_limit_error.
func (RateLimitError) Type() EventType { return "rate_limit_error" }
func (RateLimitError) body()           {}

// Type is context_exceeded.
func (ContextExceeded) Type() EventType { return "context_exceeded" }
func (ContextExceeded) body()           {}

// Type is crash.
func (Crash) Type() EventType { return "crash" }
func (Crash) body()           {}

// Type is error.
func (ErrorEvent) Type() EventType { return "error" }
func (ErrorEvent) body()           {}

// Type is debug.
func (Debug) Type() EventType { return "debug" }
func (Debug) body()           {}

// Type is log.
func (Log) Type() EventType { return "log" }
func (Log) body()           {}

// Type is question_withdrawn.
func (QuestionWithdrawn) Type() EventType { return "question_withdrawn" }
func (QuestionWithdrawn) body()           {}

// Type is input_queued.
func (InputQueued) Type() EventType { return "input_queued" }
func (InputQueued) body()           {}

// Type is input_taken.
func (InputTaken) Type() EventType { return "input_taken" }
func (InputTaken) body()           {}

// Type is input_cancelled.
func (InputCancelled) Type() EventType { return "input_cancelled" }
func (InputCancelled) body()           {}

// Type is gap.
func (Gap) Type() EventType { return "gap" }
func (Gap) body()           {}

// Type is finished.
func (Finished) Type() EventType { return "finished" }
func (Finished) body()           {}
