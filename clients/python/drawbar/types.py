# Generated from the methods of drawbar rpc: go generate ./internal/cli/rpc. Not to be edited.
# pyright: reportIncompatibleVariableOverride=false
from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict, Union

PROTOCOL_VERSION = "1.0"


class EventHead(TypedDict):
    """What every event has. timestamp is in milliseconds since 1970."""

    schemaVersion: str
    runId: str
    agent: str
    timestamp: int
    seq: int
    turn: int
    assistantId: NotRequired[str]
    turnId: NotRequired[str]
    correlationSessionId: NotRequired[str]
    parentToolCallId: NotRequired[str]
    origin: NotRequired[str]
    raw: NotRequired[Any]


class SessionStartEvent(EventHead):
    type: Literal["session_start"]
    sessionId: str
    resumed: bool
    forkedFrom: NotRequired[str]
    model: NotRequired[str]
    cwd: NotRequired[str]


class SessionResumeEvent(EventHead):
    type: Literal["session_resume"]
    sessionId: str
    priorTurnCount: int


class SessionForkEvent(EventHead):
    type: Literal["session_fork"]
    sessionId: str
    forkedFrom: str


class SessionCheckpointEvent(EventHead):
    type: Literal["session_checkpoint"]
    sessionId: str
    checkpointId: str


class SessionEndEvent(EventHead):
    type: Literal["session_end"]
    sessionId: str
    turnCount: int
    cost: NotRequired[Cost]


class TurnStartEvent(EventHead):
    type: Literal["turn_start"]
    turnIndex: int


class TurnEndEvent(EventHead):
    type: Literal["turn_end"]
    turnIndex: int
    cost: NotRequired[Cost]
    reason: NotRequired[Literal["completed", "failed", "interrupted", "turn_limit", "budget"]]
    text: NotRequired[str]
    structured: NotRequired[Any]
    error: NotRequired[ResultError]


class StepStartEvent(EventHead):
    type: Literal["step_start"]
    turnIndex: int
    stepIndex: int
    stepType: str


class StepEndEvent(EventHead):
    type: Literal["step_end"]
    turnIndex: int
    stepIndex: int


class MessageStartEvent(EventHead):
    type: Literal["message_start"]
    messageId: NotRequired[str]


class TextDeltaEvent(EventHead):
    type: Literal["text_delta"]
    delta: str
    accumulated: str


class MessageStopEvent(EventHead):
    type: Literal["message_stop"]
    text: str


class ThinkingStartEvent(EventHead):
    type: Literal["thinking_start"]
    effort: NotRequired[Literal["low", "medium", "high", "max"]]


class ThinkingDeltaEvent(EventHead):
    type: Literal["thinking_delta"]
    delta: str
    accumulated: str


class ThinkingStopEvent(EventHead):
    type: Literal["thinking_stop"]
    thinking: str


class ToolCallStartEvent(EventHead):
    type: Literal["tool_call_start"]
    toolCallId: str
    toolName: str
    inputAccumulated: str


class ToolInputDeltaEvent(EventHead):
    type: Literal["tool_input_delta"]
    toolCallId: str
    delta: str
    inputAccumulated: str


class ToolCallReadyEvent(EventHead):
    type: Literal["tool_call_ready"]
    toolCallId: str
    toolName: str
    input: Any


class ToolResultEvent(EventHead):
    type: Literal["tool_result"]
    toolCallId: str
    toolName: str
    output: Any
    durationMs: int


class ToolErrorEvent(EventHead):
    type: Literal["tool_error"]
    toolCallId: str
    toolName: str
    error: str


class FileReadEvent(EventHead):
    type: Literal["file_read"]
    path: str
    toolCallId: NotRequired[str]


class FileWriteEvent(EventHead):
    type: Literal["file_write"]
    path: str
    byteCount: int
    toolCallId: NotRequired[str]


class FileCreateEvent(EventHead):
    type: Literal["file_create"]
    path: str
    byteCount: int
    toolCallId: NotRequired[str]


class FileDeleteEvent(EventHead):
    type: Literal["file_delete"]
    path: str
    toolCallId: NotRequired[str]


class FilePatchEvent(EventHead):
    type: Literal["file_patch"]
    path: str
    diff: str
    toolCallId: NotRequired[str]


class ShellStartEvent(EventHead):
    type: Literal["shell_start"]
    command: str
    cwd: str
    toolCallId: NotRequired[str]


class ShellStdoutDeltaEvent(EventHead):
    type: Literal["shell_stdout_delta"]
    delta: str
    toolCallId: NotRequired[str]


class ShellStderrDeltaEvent(EventHead):
    type: Literal["shell_stderr_delta"]
    delta: str
    toolCallId: NotRequired[str]


class ShellExitEvent(EventHead):
    type: Literal["shell_exit"]
    exitCode: int
    durationMs: int
    toolCallId: NotRequired[str]


class MCPToolCallStartEvent(EventHead):
    type: Literal["mcp_tool_call_start"]
    toolCallId: str
    server: str
    toolName: str
    input: Any


class MCPToolResultEvent(EventHead):
    type: Literal["mcp_tool_result"]
    toolCallId: str
    server: str
    toolName: str
    output: Any


class MCPToolErrorEvent(EventHead):
    type: Literal["mcp_tool_error"]
    toolCallId: str
    server: str
    toolName: str
    error: str


class SubagentSpawnEvent(EventHead):
    type: Literal["subagent_spawn"]
    subagentId: str
    agentName: str
    prompt: str


class SubagentResultEvent(EventHead):
    type: Literal["subagent_result"]
    subagentId: str
    agentName: str
    summary: str
    cost: NotRequired[Cost]


class SubagentErrorEvent(EventHead):
    type: Literal["subagent_error"]
    subagentId: str
    agentName: str
    error: str


class PluginLoadedEvent(EventHead):
    type: Literal["plugin_loaded"]
    pluginId: str
    pluginName: str
    version: str


class PluginInvokedEvent(EventHead):
    type: Literal["plugin_invoked"]
    pluginId: str
    pluginName: str


class PluginErrorEvent(EventHead):
    type: Literal["plugin_error"]
    pluginId: str
    pluginName: str
    error: str


class SkillLoadedEvent(EventHead):
    type: Literal["skill_loaded"]
    skillName: str
    source: str


class SkillInvokedEvent(EventHead):
    type: Literal["skill_invoked"]
    skillName: str


class AgentdocReadEvent(EventHead):
    type: Literal["agentdoc_read"]
    path: str


class ImageOutputEvent(EventHead):
    type: Literal["image_output"]
    mimeType: str
    base64: NotRequired[str]
    filePath: NotRequired[str]


class ImageInputAckEvent(EventHead):
    type: Literal["image_input_ack"]
    mimeType: str


class CostEvent(EventHead):
    type: Literal["cost"]
    cost: Cost


class TokenUsageEvent(EventHead):
    type: Literal["token_usage"]
    inputTokens: int
    outputTokens: int
    thinkingTokens: NotRequired[int]
    cachedTokens: NotRequired[int]
    cacheWriteTokens: NotRequired[int]
    modelCall: NotRequired[bool]
    fromSession: NotRequired[bool]


class InputRequiredEvent(EventHead):
    type: Literal["input_required"]
    interactionId: str
    question: str
    context: NotRequired[str]
    source: Literal["agent", "tool"]


class ApprovalRequiredEvent(EventHead):
    type: Literal["approval_request"]
    interactionId: str
    action: str
    detail: str
    toolName: NotRequired[str]
    toolCallId: NotRequired[str]
    input: NotRequired[Any]
    riskLevel: Literal["low", "medium", "high"]
    use: NotRequired[ToolUse]
    editable: NotRequired[bool]


class ApprovalGrantedEvent(EventHead):
    type: Literal["approval_granted"]
    interactionId: str
    detail: NotRequired[str]
    toolCallId: NotRequired[str]
    updatedInput: NotRequired[Any]


class ApprovalDeniedEvent(EventHead):
    type: Literal["approval_denied"]
    interactionId: str
    reason: NotRequired[str]
    toolName: NotRequired[str]


class RateLimitedEvent(EventHead):
    type: Literal["rate_limited"]
    retryAfterMs: NotRequired[int]
    resetsAt: NotRequired[int]
    limit: NotRequired[str]
    status: NotRequired[str]


class ContextLimitWarningEvent(EventHead):
    type: Literal["context_limit_warning"]
    usedTokens: int
    maxTokens: int
    pctUsed: float


class ContextCompactedEvent(EventHead):
    type: Literal["context_compacted"]
    summary: str
    tokensSaved: int


class RetryEvent(EventHead):
    type: Literal["retry"]
    attempt: NotRequired[int]
    maxAttempts: NotRequired[int]
    reason: str
    delayMs: NotRequired[int]
    code: NotRequired[Literal["CAPABILITY_ERROR", "VALIDATION_ERROR", "AUTH_ERROR", "AGENT_NOT_FOUND", "AGENT_NOT_INSTALLED", "AGENT_CRASH", "SPAWN_ERROR", "TIMEOUT", "INACTIVITY_TIMEOUT", "PARSE_ERROR", "CONFIG_ERROR", "CONFIG_LOCK_ERROR", "SESSION_NOT_FOUND", "PROFILE_NOT_FOUND", "PLUGIN_ERROR", "RATE_LIMITED", "CONTEXT_EXCEEDED", "ABORTED", "RUN_NOT_ACTIVE", "STDIN_NOT_AVAILABLE", "NO_PENDING_INTERACTION", "INTERACTION_NOT_FOUND", "INVALID_STATE_TRANSITION", "PTY_NOT_AVAILABLE", "UNKNOWN_AGENT", "INTERNAL", "INTERRUPTED", "BUDGET_EXCEEDED", "TURN_LIMIT", "PROVIDER_ERROR", "MODEL_NOT_FOUND", "INVALID_REQUEST", "INVALID_OUTPUT", "TOOL_BRIDGE_ERROR", "HOOK_DENIED", "PROJECT_NOT_TRUSTED"]]


class InterruptedEvent(EventHead):
    type: Literal["interrupted"]


class AbortedEvent(EventHead):
    type: Literal["aborted"]


class PausedEvent(EventHead):
    type: Literal["paused"]


class ResumedEvent(EventHead):
    type: Literal["resumed"]


class TimeoutEvent(EventHead):
    type: Literal["timeout"]
    kind: Literal["run", "inactivity"]


class TurnLimitEvent(EventHead):
    type: Literal["turn_limit"]
    maxTurns: int


class StreamFallbackEvent(EventHead):
    type: Literal["stream_fallback"]
    capability: str
    reason: str


class AuthErrorEvent(EventHead):
    type: Literal["auth_error"]
    message: str
    guidance: str


class RateLimitErrorEvent(EventHead):
    type: Literal["rate_limit_error"]
    message: str
    retryAfterMs: NotRequired[int]


class ContextExceededEvent(EventHead):
    type: Literal["context_exceeded"]
    usedTokens: int
    maxTokens: int


class CrashEvent(EventHead):
    type: Literal["crash"]
    exitCode: int
    stderr: str
    signal: NotRequired[str]


class ErrorEvent(EventHead):
    type: Literal["error"]
    code: Literal["CAPABILITY_ERROR", "VALIDATION_ERROR", "AUTH_ERROR", "AGENT_NOT_FOUND", "AGENT_NOT_INSTALLED", "AGENT_CRASH", "SPAWN_ERROR", "TIMEOUT", "INACTIVITY_TIMEOUT", "PARSE_ERROR", "CONFIG_ERROR", "CONFIG_LOCK_ERROR", "SESSION_NOT_FOUND", "PROFILE_NOT_FOUND", "PLUGIN_ERROR", "RATE_LIMITED", "CONTEXT_EXCEEDED", "ABORTED", "RUN_NOT_ACTIVE", "STDIN_NOT_AVAILABLE", "NO_PENDING_INTERACTION", "INTERACTION_NOT_FOUND", "INVALID_STATE_TRANSITION", "PTY_NOT_AVAILABLE", "UNKNOWN_AGENT", "INTERNAL", "INTERRUPTED", "BUDGET_EXCEEDED", "TURN_LIMIT", "PROVIDER_ERROR", "MODEL_NOT_FOUND", "INVALID_REQUEST", "INVALID_OUTPUT", "TOOL_BRIDGE_ERROR", "HOOK_DENIED", "PROJECT_NOT_TRUSTED"]
    message: str
    recoverable: bool


class DebugEvent(EventHead):
    type: Literal["debug"]
    level: Literal["verbose", "info", "warn"]
    message: str


class LogEvent(EventHead):
    type: Literal["log"]
    source: Literal["stdout", "stderr"]
    line: str


class QuestionWithdrawnEvent(EventHead):
    type: Literal["question_withdrawn"]
    interactionId: str
    reason: NotRequired[str]


class InputQueuedEvent(EventHead):
    type: Literal["input_queued"]
    inputId: str
    text: str
    when: Literal["now", "after-tool", "after-response", "next-turn"]


class InputTakenEvent(EventHead):
    type: Literal["input_taken"]
    inputId: str
    steered: NotRequired[bool]


class InputCancelledEvent(EventHead):
    type: Literal["input_cancelled"]
    inputId: str
    reason: NotRequired[str]


_GapEvent = TypedDict("_GapEvent", {
    "from": int,
})


class GapEvent(EventHead, _GapEvent):
    type: Literal["gap"]
    count: int
    to: int


class FinishedEvent(EventHead):
    type: Literal["finished"]
    result: Result


class InitializeParams(TypedDict):
    clientName: NotRequired[str]
    protocolVersion: NotRequired[str]


class Initialized(TypedDict):
    protocolVersion: str
    drawbarVersion: str
    methods: list[str]


class PlaceParams(TypedDict):
    cwd: NotRequired[str]


class AgentList(TypedDict):
    agents: list[AgentInfo]


class AgentName(TypedDict):
    agent: str
    cwd: NotRequired[str]


class RunStart(TypedDict):
    request: Request
    fallback: NotRequired[list[str]]
    answers: NotRequired[bool]


class Negotiation(TypedDict):
    schemaVersion: str
    supported: bool
    degraded: bool
    reasons: list[Reason]
    effectiveCapabilities: Capabilities


class Started(TypedDict):
    runId: str
    agent: str


class RunControl(TypedDict):
    runId: str
    verb: str
    text: NotRequired[str]
    when: NotRequired[Literal["now", "after-tool", "after-response", "next-turn"]]
    interactionId: NotRequired[str]
    decision: NotRequired[Decision]


class ControlReply(TypedDict):
    ok: bool
    error: NotRequired[Error]
    inputId: NotRequired[str]
    state: NotRequired[Literal["spawned", "running", "paused", "interrupted", "aborted", "timed-out", "completed", "crashed", "killed"]]
    pending: NotRequired[list[PendingQuestion]]


class RunRef(TypedDict):
    runId: str


class Result(TypedDict):
    schemaVersion: str
    backendId: str
    status: Literal["completed", "needs_clarification", "awaiting_approval", "deferred", "failed", "unsupported"]
    output: NotRequired[Output]
    continuation: NotRequired[Continuation]
    approvalRequest: NotRequired[ApprovalRequest]
    error: NotRequired[ResultError]
    trace: NotRequired[Trace]
    degradation: NotRequired[list[Reason]]
    metadata: NotRequired[dict[str, Any]]
    assistantId: NotRequired[str]
    turnId: NotRequired[str]
    correlationSessionId: NotRequired[str]
    runId: NotRequired[str]
    agent: NotRequired[str]
    model: NotRequired[str]
    sessionId: NotRequired[str]
    text: str
    cost: Cost | None
    tokenUsage: Usage | None
    durationMs: int
    exitReason: NotRequired[Literal["completed", "aborted", "interrupted", "timeout", "inactivity", "turn_limit", "crashed", "killed"]]
    exitCode: int | None
    signal: NotRequired[str]
    turnCount: int
    attempts: NotRequired[int]
    deniedCalls: NotRequired[int]
    retries: NotRequired[int]
    unknownLines: NotRequired[int]
    tags: NotRequired[list[str]]
    events: NotRequired[list[Event]]


class RunsQuery(TypedDict):
    agent: NotRequired[str]
    live: NotRequired[bool]
    since: NotRequired[str]
    limit: NotRequired[int]


class RunList(TypedDict):
    runs: list[RecordedRun]


class EventsQuery(TypedDict):
    runId: str
    after: NotRequired[int]
    limit: NotRequired[int]


class EventList(TypedDict):
    events: list[Event]
    more: bool


class Request(TypedDict):
    schemaVersion: NotRequired[str]
    assistantId: NotRequired[str]
    turnId: NotRequired[str]
    sessionId: NotRequired[str]
    userId: NotRequired[str]
    threadId: NotRequired[str]
    message: Message
    instructions: NotRequired[Instructions]
    context: NotRequired[Context]
    continuation: NotRequired[Continuation]
    tools: NotRequired[list[Tool]]
    requirements: NotRequired[Requirements]
    metadata: NotRequired[dict[str, Any]]
    run: NotRequired[RunOptions]
    sessionUsage: NotRequired[Usage]


class SessionsQuery(TypedDict):
    agent: NotRequired[str]
    cwd: NotRequired[str]
    since: NotRequired[str]
    limit: NotRequired[int]


class SessionListing(TypedDict):
    sessions: list[Summary]
    total: int
    problems: NotRequired[list[Problem]]


class SessionID(TypedDict):
    id: str


class SessionContent(TypedDict):
    agent: str
    sessionId: str
    unifiedId: str
    title: str
    name: NotRequired[str]
    createdAt: NotRequired[str]
    updatedAt: NotRequired[str]
    turnCount: NotRequired[int]
    messageCount: NotRequired[int]
    model: NotRequired[str]
    cost: NotRequired[Cost]
    tokenUsage: NotRequired[Usage]
    tags: list[str]
    cwd: NotRequired[str]
    forkedFrom: NotRequired[str]
    parentSessionId: NotRequired[str]
    archived: NotRequired[bool]
    path: str
    sizeBytes: int
    problems: NotRequired[list[Problem]]
    messages: list[SessionMessage]
    subagents: NotRequired[list[Subagent]]
    unknownRecords: NotRequired[dict[str, int]]


class GovernProject(TypedDict):
    cwd: str


class GovernStep(TypedDict):
    cwd: str
    role: NotRequired[str]
    resume: NotRequired[bool]
    timeoutMs: NotRequired[int]
    noWait: NotRequired[bool]


class GovernRun(TypedDict):
    cwd: str
    maxTurns: NotRequired[int]
    autoApprove: NotRequired[bool]
    dryRun: NotRequired[bool]
    resume: NotRequired[bool]
    timeoutMs: NotRequired[int]


class GovernApprove(TypedDict):
    cwd: str
    by: NotRequired[str]
    comment: NotRequired[str]
    dryRun: NotRequired[bool]


class GovernDecline(TypedDict):
    cwd: str
    reason: str
    role: NotRequired[str]
    phase: NotRequired[str]
    by: NotRequired[str]


class RunEvent(TypedDict):
    runId: str
    event: Event


class GovernNotice(TypedDict):
    cwd: str
    kind: str
    turnId: NotRequired[str]
    role: NotRequired[str]
    text: NotRequired[str]
    event: NotRequired[Event]


class ToolCallParams(TypedDict):
    runId: str
    call: ToolCall


class ToolResult(TypedDict):
    output: NotRequired[Any]
    error: NotRequired[str]


class ErrorData(TypedDict):
    code: Literal["CAPABILITY_ERROR", "VALIDATION_ERROR", "AUTH_ERROR", "AGENT_NOT_FOUND", "AGENT_NOT_INSTALLED", "AGENT_CRASH", "SPAWN_ERROR", "TIMEOUT", "INACTIVITY_TIMEOUT", "PARSE_ERROR", "CONFIG_ERROR", "CONFIG_LOCK_ERROR", "SESSION_NOT_FOUND", "PROFILE_NOT_FOUND", "PLUGIN_ERROR", "RATE_LIMITED", "CONTEXT_EXCEEDED", "ABORTED", "RUN_NOT_ACTIVE", "STDIN_NOT_AVAILABLE", "NO_PENDING_INTERACTION", "INTERACTION_NOT_FOUND", "INVALID_STATE_TRANSITION", "PTY_NOT_AVAILABLE", "UNKNOWN_AGENT", "INTERNAL", "INTERRUPTED", "BUDGET_EXCEEDED", "TURN_LIMIT", "PROVIDER_ERROR", "MODEL_NOT_FOUND", "INVALID_REQUEST", "INVALID_OUTPUT", "TOOL_BRIDGE_ERROR", "HOOK_DENIED", "PROJECT_NOT_TRUSTED"]
    hint: NotRequired[str]


class Cost(TypedDict):
    totalUsd: NotRequired[float]
    unpriced: NotRequired[bool]
    source: NotRequired[Literal["agent", "table", "session"]]
    inputTokens: int
    outputTokens: int
    thinkingTokens: NotRequired[int]
    cacheCreationTokens: NotRequired[int]
    cacheReadTokens: NotRequired[int]


class ResultError(TypedDict):
    code: Literal["unsupported_capability", "backend_execution_error", "invalid_backend_output", "tool_bridge_error", "timeout", "budget_exceeded", "cancelled", "other"]
    message: str
    retryable: bool
    stderr: NotRequired[str]
    recoverable: NotRequired[bool]
    metadata: NotRequired[dict[str, Any]]


class ToolUse(TypedDict):
    kind: NotRequired[Literal["read", "edit", "shell", "fetch", "agent", "skill", "mcp"]]
    paths: NotRequired[list[str]]
    command: NotRequired[str]
    server: NotRequired[str]
    tool: NotRequired[str]


class AgentInfo(TypedDict):
    name: str
    displayName: str
    capabilities: Capabilities


class Reason(TypedDict):
    code: Literal["tool_use_unsupported", "structured_tool_calls_unsupported", "continuation_unsupported", "approval_interrupt_unsupported", "attachments_unsupported", "trace_depth_reduced", "context_pressure_expected", "other"]
    message: str
    severity: Literal["info", "warning", "blocking"]
    capability: NotRequired[str]


class Capabilities(TypedDict):
    schemaVersion: str
    toolUse: Literal["none", "adapter-mediated", "native-iterative"]
    structuredToolCalls: bool
    continuationSupport: Literal["none", "opaque-resume", "structured"]
    approvalInterrupts: Literal["none", "adapter-mediated", "native"]
    traceDepth: Literal["minimal", "standard", "detailed"]
    attachments: bool
    maxContextStrategy: Literal["unknown", "small", "medium", "large"]
    notes: list[str]
    agent: AgentCapabilities


class Decision(TypedDict):
    approve: bool
    reason: NotRequired[str]
    text: NotRequired[str]
    updatedInput: NotRequired[Any]
    always: NotRequired[str]


class Error(TypedDict):
    code: Literal["CAPABILITY_ERROR", "VALIDATION_ERROR", "AUTH_ERROR", "AGENT_NOT_FOUND", "AGENT_NOT_INSTALLED", "AGENT_CRASH", "SPAWN_ERROR", "TIMEOUT", "INACTIVITY_TIMEOUT", "PARSE_ERROR", "CONFIG_ERROR", "CONFIG_LOCK_ERROR", "SESSION_NOT_FOUND", "PROFILE_NOT_FOUND", "PLUGIN_ERROR", "RATE_LIMITED", "CONTEXT_EXCEEDED", "ABORTED", "RUN_NOT_ACTIVE", "STDIN_NOT_AVAILABLE", "NO_PENDING_INTERACTION", "INTERACTION_NOT_FOUND", "INVALID_STATE_TRANSITION", "PTY_NOT_AVAILABLE", "UNKNOWN_AGENT", "INTERNAL", "INTERRUPTED", "BUDGET_EXCEEDED", "TURN_LIMIT", "PROVIDER_ERROR", "MODEL_NOT_FOUND", "INVALID_REQUEST", "INVALID_OUTPUT", "TOOL_BRIDGE_ERROR", "HOOK_DENIED", "PROJECT_NOT_TRUSTED"]
    message: str
    recoverable: bool
    fields: NotRequired[list[FieldError]]
    agent: NotRequired[str]
    capability: NotRequired[str]
    hint: NotRequired[str]


class PendingQuestion(TypedDict):
    interactionId: str
    approval: bool
    text: str
    detail: NotRequired[str]
    always: NotRequired[str]
    since: str
    command: NotRequired[str]
    input: NotRequired[Any]


class Output(TypedDict):
    text: NotRequired[str]
    attachments: NotRequired[list[Attachment]]
    structured: NotRequired[Any]


class Continuation(TypedDict):
    continuationId: NotRequired[str]
    kind: NotRequired[str]
    state: NotRequired[dict[str, Any]]
    metadata: NotRequired[dict[str, Any]]
    decision: NotRequired[ContinuationDecision]


class ApprovalRequest(TypedDict):
    reason: NotRequired[str]
    approvalKey: NotRequired[str]
    metadata: NotRequired[dict[str, Any]]


class Trace(TypedDict):
    summary: TraceSummary
    events: NotRequired[list[TraceEvent]]


class Usage(TypedDict):
    input: int
    output: int
    thinking: NotRequired[int]
    cached: NotRequired[int]
    cacheWrite: NotRequired[int]
    total: int


class RecordedRun(TypedDict):
    runId: str
    agent: str
    model: NotRequired[str]
    sessionId: NotRequired[str]
    projectId: NotRequired[str]
    assistantId: NotRequired[str]
    turnId: NotRequired[str]
    correlationSessionId: NotRequired[str]
    parentRunId: NotRequired[str]
    cwd: NotRequired[str]
    prompt: NotRequired[str]
    tags: NotRequired[list[str]]
    approvalMode: NotRequired[Literal["yolo", "reads", "prompt", "deny"]]
    detached: NotRequired[bool]
    reservedUsd: NotRequired[float]
    state: str
    live: bool
    status: NotRequired[Literal["completed", "needs_clarification", "awaiting_approval", "deferred", "failed", "unsupported"]]
    exitReason: NotRequired[Literal["completed", "aborted", "interrupted", "timeout", "inactivity", "turn_limit", "crashed", "killed"]]
    errorCode: NotRequired[Literal["CAPABILITY_ERROR", "VALIDATION_ERROR", "AUTH_ERROR", "AGENT_NOT_FOUND", "AGENT_NOT_INSTALLED", "AGENT_CRASH", "SPAWN_ERROR", "TIMEOUT", "INACTIVITY_TIMEOUT", "PARSE_ERROR", "CONFIG_ERROR", "CONFIG_LOCK_ERROR", "SESSION_NOT_FOUND", "PROFILE_NOT_FOUND", "PLUGIN_ERROR", "RATE_LIMITED", "CONTEXT_EXCEEDED", "ABORTED", "RUN_NOT_ACTIVE", "STDIN_NOT_AVAILABLE", "NO_PENDING_INTERACTION", "INTERACTION_NOT_FOUND", "INVALID_STATE_TRANSITION", "PTY_NOT_AVAILABLE", "UNKNOWN_AGENT", "INTERNAL", "INTERRUPTED", "BUDGET_EXCEEDED", "TURN_LIMIT", "PROVIDER_ERROR", "MODEL_NOT_FOUND", "INVALID_REQUEST", "INVALID_OUTPUT", "TOOL_BRIDGE_ERROR", "HOOK_DENIED", "PROJECT_NOT_TRUSTED"]]
    startedAt: str
    endedAt: NotRequired[str]
    durationMs: NotRequired[int]
    turnCount: NotRequired[int]
    cost: NotRequired[Cost]


class Message(TypedDict):
    id: NotRequired[str]
    text: str
    receivedAt: NotRequired[str]
    attachments: NotRequired[list[Attachment]]


class Instructions(TypedDict):
    systemPrompt: NotRequired[str]
    developerPrompt: NotRequired[str]
    responseStyle: NotRequired[ResponseStyle]


class Context(TypedDict):
    blocks: list[ContextBlock]
    structured: NotRequired[dict[str, Any]]


class Tool(TypedDict):
    name: str
    description: NotRequired[str]
    inputSchema: NotRequired[Any]
    requiresApproval: NotRequired[bool]
    metadata: NotRequired[dict[str, Any]]


class Requirements(TypedDict):
    toolUse: NotRequired[Literal["forbidden", "allowed", "required"]]
    structuredToolCalls: NotRequired[Literal["forbidden", "preferred", "required"]]
    continuationSupport: NotRequired[Literal["none", "preferred", "required"]]
    approvalInterrupts: NotRequired[Literal["none", "preferred", "required"]]
    traceDepth: NotRequired[Literal["minimal", "standard", "detailed"]]
    attachments: NotRequired[Literal["forbidden", "allowed", "required"]]
    maxElapsedMs: NotRequired[int]


class RunOptions(TypedDict):
    agent: NotRequired[str]
    command: NotRequired[list[str]]
    model: NotRequired[str]
    systemPromptMode: NotRequired[Literal["prepend", "append", "replace"]]
    thinkingEffort: NotRequired[Literal["low", "medium", "high", "max"]]
    thinkingBudgetTokens: NotRequired[int]
    thinkingOverride: NotRequired[dict[str, Any]]
    temperature: NotRequired[float]
    topP: NotRequired[float]
    topK: NotRequired[int]
    maxTokens: NotRequired[int]
    maxOutputTokens: NotRequired[int]
    sessionId: NotRequired[str]
    forkSessionId: NotRequired[str]
    noSession: NotRequired[bool]
    stream: NotRequired[str]
    outputFormat: NotRequired[Literal["text", "json", "jsonl"]]
    outputSchema: NotRequired[Any]
    interactive: NotRequired[bool]
    nonInteractive: NotRequired[bool]
    cwd: NotRequired[str]
    env: NotRequired[dict[str, str]]
    environment: NotRequired[Literal["inherit", "minimal"]]
    timeout: NotRequired[int]
    inactivityTimeout: NotRequired[int]
    gracePeriodMs: NotRequired[int]
    maxTurns: NotRequired[int]
    maxBudgetUsd: NotRequired[float]
    approvalMode: NotRequired[Literal["yolo", "reads", "prompt", "deny"]]
    allowTools: NotRequired[list[str]]
    denyTools: NotRequired[list[str]]
    sandbox: NotRequired[Literal["read-only", "workspace-write", "none"]]
    skills: NotRequired[list[str]]
    agentsDoc: NotRequired[str]
    mcpServers: NotRequired[list[MCPServer]]
    keepRetrying: NotRequired[bool]
    retryPolicy: NotRequired[RetryPolicy]
    runId: NotRequired[str]
    tags: NotRequired[list[str]]
    projectId: NotRequired[str]
    profile: NotRequired[str]
    collectEvents: NotRequired[bool]
    debug: NotRequired[bool]
    invocation: NotRequired[str]


class Summary(TypedDict):
    agent: str
    sessionId: str
    unifiedId: str
    title: str
    name: NotRequired[str]
    createdAt: NotRequired[str]
    updatedAt: NotRequired[str]
    turnCount: NotRequired[int]
    messageCount: NotRequired[int]
    model: NotRequired[str]
    cost: NotRequired[Cost]
    tokenUsage: NotRequired[Usage]
    tags: list[str]
    cwd: NotRequired[str]
    forkedFrom: NotRequired[str]
    parentSessionId: NotRequired[str]
    archived: NotRequired[bool]
    path: str
    sizeBytes: int
    problems: NotRequired[list[Problem]]


class Problem(TypedDict):
    path: str
    line: NotRequired[int]
    message: str


class SessionMessage(TypedDict):
    id: NotRequired[str]
    role: str
    content: str
    timestamp: NotRequired[str]
    thinking: NotRequired[str]
    toolCalls: NotRequired[list[SessionToolCall]]
    toolResult: NotRequired[SessionToolResult]
    tokenUsage: NotRequired[Usage]
    model: NotRequired[str]
    inactive: NotRequired[bool]


class Subagent(TypedDict):
    id: str
    name: NotRequired[str]
    description: NotRequired[str]
    toolCallId: NotRequired[str]
    path: NotRequired[str]
    messages: list[SessionMessage]


class ToolCall(TypedDict):
    id: str
    name: str
    input: Any


class AgentCapabilities(TypedDict):
    takesCommand: bool
    canResume: bool
    canFork: bool
    canRunEphemeral: bool
    supportsMultiTurn: bool
    sessionPersistence: str
    supportsTextStreaming: bool
    supportsToolCallStreaming: bool
    supportsThinkingStreaming: bool
    supportsNativeTools: bool
    supportsMCP: bool
    mcpTransports: NotRequired[list[Literal["stdio", "sse", "streamable-http"]]]
    supportsParallelToolCalls: bool
    requiresToolApproval: bool
    approvalModes: list[Literal["yolo", "reads", "prompt", "deny"]]
    runtimeHooks: RuntimeHooks
    supportsThinking: bool
    thinkingEffortLevels: list[Literal["low", "medium", "high", "max"]]
    supportsThinkingBudgetTokens: bool
    thinkingOverrides: NotRequired[list[str]]
    supportsJsonMode: bool
    supportsStructuredOutput: bool
    structuredSessionTransport: Literal["none", "restart-per-turn", "persistent"]
    supportsSkills: bool
    supportsAgentsMd: bool
    skillsFormat: NotRequired[str]
    supportsSubagentDispatch: bool
    supportsParallelExecution: bool
    maxParallelTasks: NotRequired[int]
    supportsInteractiveMode: bool
    supportsStdinInjection: bool
    supportsImageInput: bool
    supportsImageOutput: bool
    supportsFileAttachments: bool
    supportsPlugins: bool
    pluginFormats: NotRequired[list[str]]
    supportedPlatforms: list[str]
    requiresGitRepo: bool
    requiresPty: bool
    supportsInvocation: bool
    authMethods: list[AuthMethod]
    authFiles: NotRequired[list[str]]
    systemPromptModes: list[Literal["prepend", "append", "replace"]]
    sandboxModes: NotRequired[list[Literal["read-only", "workspace-write", "none"]]]
    supportsMaxTurns: bool
    supportsBudget: bool
    supportsCostReport: bool
    tokensUnstated: NotRequired[bool]
    denialEndsTurn: NotRequired[bool]
    supportsSampling: bool
    supportsMaxOutputTokens: bool
    verbs: list[Literal["send", "queue", "steer", "continue", "approve", "deny", "interrupt", "abort", "pause", "resume"]]


class FieldError(TypedDict):
    field: str
    message: str
    received: NotRequired[str]
    expected: NotRequired[str]


class Attachment(TypedDict):
    id: NotRequired[str]
    type: NotRequired[str]
    name: NotRequired[str]
    url: NotRequired[str]
    filePath: NotRequired[str]
    base64: NotRequired[str]
    mimeType: NotRequired[str]
    metadata: NotRequired[dict[str, Any]]


class ContinuationDecision(TypedDict):
    approvalId: str
    approved: bool
    by: NotRequired[str]
    reason: NotRequired[str]


class TraceSummary(TypedDict):
    startedAt: str
    completedAt: str
    stepCount: NotRequired[int]
    toolCallCount: int
    degraded: bool


class TraceEvent(TypedDict):
    type: Literal["model_started", "model_completed", "tool_requested", "tool_completed", "approval_wait", "deferred", "failure", "note"]
    at: str
    data: NotRequired[dict[str, Any]]


class ResponseStyle(TypedDict):
    preferMarkdown: NotRequired[bool]
    maxAnswerChars: NotRequired[int]


class ContextBlock(TypedDict):
    id: str
    label: str
    text: str
    category: NotRequired[Literal["memory", "workspace", "enrichment", "guardrail", "other"]]
    metadata: NotRequired[dict[str, Any]]


class MCPServer(TypedDict):
    name: str
    transport: Literal["stdio", "sse", "streamable-http"]
    command: NotRequired[str]
    args: NotRequired[list[str]]
    env: NotRequired[dict[str, str]]
    url: NotRequired[str]
    headers: NotRequired[dict[str, str]]


class RetryPolicy(TypedDict):
    maxAttempts: int
    baseDelayMs: int
    maxDelayMs: int
    jitterFactor: float
    retryOn: list[Literal["CAPABILITY_ERROR", "VALIDATION_ERROR", "AUTH_ERROR", "AGENT_NOT_FOUND", "AGENT_NOT_INSTALLED", "AGENT_CRASH", "SPAWN_ERROR", "TIMEOUT", "INACTIVITY_TIMEOUT", "PARSE_ERROR", "CONFIG_ERROR", "CONFIG_LOCK_ERROR", "SESSION_NOT_FOUND", "PROFILE_NOT_FOUND", "PLUGIN_ERROR", "RATE_LIMITED", "CONTEXT_EXCEEDED", "ABORTED", "RUN_NOT_ACTIVE", "STDIN_NOT_AVAILABLE", "NO_PENDING_INTERACTION", "INTERACTION_NOT_FOUND", "INVALID_STATE_TRANSITION", "PTY_NOT_AVAILABLE", "UNKNOWN_AGENT", "INTERNAL", "INTERRUPTED", "BUDGET_EXCEEDED", "TURN_LIMIT", "PROVIDER_ERROR", "MODEL_NOT_FOUND", "INVALID_REQUEST", "INVALID_OUTPUT", "TOOL_BRIDGE_ERROR", "HOOK_DENIED", "PROJECT_NOT_TRUSTED"]]


class SessionToolCall(TypedDict):
    toolCallId: str
    toolName: str
    input: NotRequired[Any]


class SessionToolResult(TypedDict):
    toolCallId: str
    toolName: NotRequired[str]
    output: str
    isError: NotRequired[bool]
    durationMs: NotRequired[int]


class RuntimeHooks(TypedDict):
    preToolUse: Literal["unsupported", "nonblocking", "blocking"]
    modifyToolInput: bool
    postToolUse: Literal["unsupported", "nonblocking", "blocking"]
    sessionStart: Literal["unsupported", "nonblocking", "blocking"]
    sessionEnd: Literal["unsupported", "nonblocking", "blocking"]
    stop: Literal["unsupported", "nonblocking", "blocking"]
    userPromptSubmit: Literal["unsupported", "nonblocking", "blocking"]


class AuthMethod(TypedDict):
    type: str
    name: str
    description: NotRequired[str]


# Something that happened in a run.
Event = Union[
    SessionStartEvent,
    SessionResumeEvent,
    SessionForkEvent,
    SessionCheckpointEvent,
    SessionEndEvent,
    TurnStartEvent,
    TurnEndEvent,
    StepStartEvent,
    StepEndEvent,
    MessageStartEvent,
    TextDeltaEvent,
    MessageStopEvent,
    ThinkingStartEvent,
    ThinkingDeltaEvent,
    ThinkingStopEvent,
    ToolCallStartEvent,
    ToolInputDeltaEvent,
    ToolCallReadyEvent,
    ToolResultEvent,
    ToolErrorEvent,
    FileReadEvent,
    FileWriteEvent,
    FileCreateEvent,
    FileDeleteEvent,
    FilePatchEvent,
    ShellStartEvent,
    ShellStdoutDeltaEvent,
    ShellStderrDeltaEvent,
    ShellExitEvent,
    MCPToolCallStartEvent,
    MCPToolResultEvent,
    MCPToolErrorEvent,
    SubagentSpawnEvent,
    SubagentResultEvent,
    SubagentErrorEvent,
    PluginLoadedEvent,
    PluginInvokedEvent,
    PluginErrorEvent,
    SkillLoadedEvent,
    SkillInvokedEvent,
    AgentdocReadEvent,
    ImageOutputEvent,
    ImageInputAckEvent,
    CostEvent,
    TokenUsageEvent,
    InputRequiredEvent,
    ApprovalRequiredEvent,
    ApprovalGrantedEvent,
    ApprovalDeniedEvent,
    RateLimitedEvent,
    ContextLimitWarningEvent,
    ContextCompactedEvent,
    RetryEvent,
    InterruptedEvent,
    AbortedEvent,
    PausedEvent,
    ResumedEvent,
    TimeoutEvent,
    TurnLimitEvent,
    StreamFallbackEvent,
    AuthErrorEvent,
    RateLimitErrorEvent,
    ContextExceededEvent,
    CrashEvent,
    ErrorEvent,
    DebugEvent,
    LogEvent,
    QuestionWithdrawnEvent,
    InputQueuedEvent,
    InputTakenEvent,
    InputCancelledEvent,
    GapEvent,
    FinishedEvent,
]


class Methods:
    """The methods of the server, one for each."""

    async def call(self, method: str, params: Any) -> Any:
        raise NotImplementedError

    async def initialize(self, params: InitializeParams) -> Initialized:
        """Say who calls, and learn what the server can do. Optional."""
        return await self.call("initialize", params)

    async def agents_list(self, params: PlaceParams) -> AgentList:
        """List the agents with their capabilities."""
        return await self.call("agents.list", params)

    async def agents_detect(self, params: AgentName) -> Any | None:
        """Say whether an agent is installed and logged in."""
        return await self.call("agents.detect", params)

    async def negotiate(self, params: RunStart) -> Negotiation:
        """Say what an agent would do with a request. Nothing is started."""
        return await self.call("negotiate", params)

    async def run_start(self, params: RunStart) -> Started:
        """Start a run. Its events follow as notifications run.event; the last one is finished, with the result."""
        return await self.call("run.start", params)

    async def run_control(self, params: RunControl) -> ControlReply:
        """Send a message to a live run, answer its question, interrupt, abort, pause or resume it, or ask how it is. Also for runs of other programs."""
        return await self.call("run.control", params)

    async def run_result(self, params: RunRef) -> Result:
        """Wait for the result of a run, live or on record."""
        return await self.call("run.result", params)

    async def runs_list(self, params: RunsQuery) -> RunList:
        """List runs on record, the newest first."""
        return await self.call("runs.list", params)

    async def runs_events(self, params: EventsQuery) -> EventList:
        """The events of a run on record."""
        return await self.call("runs.events", params)

    async def runs_waiting(self, params: RunRef) -> Request:
        """The request that continues a run which ended waiting for a person: add continuation.decision, or the answer as message.text, and start it."""
        return await self.call("runs.waiting", params)

    async def sessions_list(self, params: SessionsQuery) -> SessionListing:
        """List the conversations that agents keep on disk."""
        return await self.call("sessions.list", params)

    async def sessions_get(self, params: SessionID) -> SessionContent:
        """One conversation, whole."""
        return await self.call("sessions.get", params)

    async def govern_status(self, params: GovernProject) -> Any:
        """The state of a governed project."""
        return await self.call("govern.status", params)

    async def govern_step(self, params: GovernStep) -> Any:
        """Run one turn of a governed project. What happens meanwhile are notifications govern.notice."""
        return await self.call("govern.step", params)

    async def govern_run(self, params: GovernRun) -> Any:
        """Run turns until a person is needed, a limit is reached or the run ends."""
        return await self.call("govern.run", params)

    async def govern_approve(self, params: GovernApprove) -> Any:
        """Approve the pending gate."""
        return await self.call("govern.approve", params)

    async def govern_decline(self, params: GovernDecline) -> Any:
        """Send the turn of a gate back, with the reason."""
        return await self.call("govern.decline", params)
