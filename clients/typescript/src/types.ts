// Generated from the methods of drawbar rpc: go generate ./internal/cli/rpc. Not to be edited.

export const protocolVersion = "1.0";

/** What every event has. */
export interface EventHead {
  schemaVersion: string;
  runId: string;
  agent: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  seq: number;
  turn: number;
  assistantId?: string;
  turnId?: string;
  correlationSessionId?: string;
  /** The tool call of the sub-agent that it comes from. */
  parentToolCallId?: string;
  origin?: string;
  raw?: unknown;
}

export interface SessionStartEvent extends EventHead {
  type: "session_start";
  sessionId: string;
  resumed: boolean;
  forkedFrom?: string;
  model?: string;
  cwd?: string;
}

export interface SessionResumeEvent extends EventHead {
  type: "session_resume";
  sessionId: string;
  priorTurnCount: number;
}

export interface SessionForkEvent extends EventHead {
  type: "session_fork";
  sessionId: string;
  forkedFrom: string;
}

export interface SessionCheckpointEvent extends EventHead {
  type: "session_checkpoint";
  sessionId: string;
  checkpointId: string;
}

export interface SessionEndEvent extends EventHead {
  type: "session_end";
  sessionId: string;
  turnCount: number;
  cost?: Cost;
}

export interface TurnStartEvent extends EventHead {
  type: "turn_start";
  turnIndex: number;
}

export interface TurnEndEvent extends EventHead {
  type: "turn_end";
  turnIndex: number;
  cost?: Cost;
  reason?: ("completed" | "failed" | "interrupted" | "turn_limit" | "budget");
  text?: string;
  structured?: unknown;
  error?: ResultError;
}

export interface StepStartEvent extends EventHead {
  type: "step_start";
  turnIndex: number;
  stepIndex: number;
  stepType: string;
}

export interface StepEndEvent extends EventHead {
  type: "step_end";
  turnIndex: number;
  stepIndex: number;
}

export interface MessageStartEvent extends EventHead {
  type: "message_start";
  messageId?: string;
}

export interface TextDeltaEvent extends EventHead {
  type: "text_delta";
  delta: string;
  accumulated: string;
}

export interface MessageStopEvent extends EventHead {
  type: "message_stop";
  text: string;
}

export interface ThinkingStartEvent extends EventHead {
  type: "thinking_start";
  effort?: ("low" | "medium" | "high" | "max");
}

export interface ThinkingDeltaEvent extends EventHead {
  type: "thinking_delta";
  delta: string;
  accumulated: string;
}

export interface ThinkingStopEvent extends EventHead {
  type: "thinking_stop";
  thinking: string;
}

export interface ToolCallStartEvent extends EventHead {
  type: "tool_call_start";
  toolCallId: string;
  toolName: string;
  inputAccumulated: string;
}

export interface ToolInputDeltaEvent extends EventHead {
  type: "tool_input_delta";
  toolCallId: string;
  delta: string;
  inputAccumulated: string;
}

export interface ToolCallReadyEvent extends EventHead {
  type: "tool_call_ready";
  toolCallId: string;
  toolName: string;
  input: unknown;
}

export interface ToolResultEvent extends EventHead {
  type: "tool_result";
  toolCallId: string;
  toolName: string;
  output: unknown;
  durationMs: number;
}

export interface ToolErrorEvent extends EventHead {
  type: "tool_error";
  toolCallId: string;
  toolName: string;
  error: string;
}

export interface FileReadEvent extends EventHead {
  type: "file_read";
  path: string;
  toolCallId?: string;
}

export interface FileWriteEvent extends EventHead {
  type: "file_write";
  path: string;
  byteCount: number;
  toolCallId?: string;
}

export interface FileCreateEvent extends EventHead {
  type: "file_create";
  path: string;
  byteCount: number;
  toolCallId?: string;
}

export interface FileDeleteEvent extends EventHead {
  type: "file_delete";
  path: string;
  toolCallId?: string;
}

export interface FilePatchEvent extends EventHead {
  type: "file_patch";
  path: string;
  diff: string;
  toolCallId?: string;
}

export interface ShellStartEvent extends EventHead {
  type: "shell_start";
  command: string;
  cwd: string;
  toolCallId?: string;
}

export interface ShellStdoutDeltaEvent extends EventHead {
  type: "shell_stdout_delta";
  delta: string;
  toolCallId?: string;
}

export interface ShellStderrDeltaEvent extends EventHead {
  type: "shell_stderr_delta";
  delta: string;
  toolCallId?: string;
}

export interface ShellExitEvent extends EventHead {
  type: "shell_exit";
  exitCode: number;
  durationMs: number;
  toolCallId?: string;
}

export interface MCPToolCallStartEvent extends EventHead {
  type: "mcp_tool_call_start";
  toolCallId: string;
  server: string;
  toolName: string;
  input: unknown;
}

export interface MCPToolResultEvent extends EventHead {
  type: "mcp_tool_result";
  toolCallId: string;
  server: string;
  toolName: string;
  output: unknown;
}

export interface MCPToolErrorEvent extends EventHead {
  type: "mcp_tool_error";
  toolCallId: string;
  server: string;
  toolName: string;
  error: string;
}

export interface SubagentSpawnEvent extends EventHead {
  type: "subagent_spawn";
  subagentId: string;
  agentName: string;
  prompt: string;
}

export interface SubagentResultEvent extends EventHead {
  type: "subagent_result";
  subagentId: string;
  agentName: string;
  summary: string;
  cost?: Cost;
}

export interface SubagentErrorEvent extends EventHead {
  type: "subagent_error";
  subagentId: string;
  agentName: string;
  error: string;
}

export interface PluginLoadedEvent extends EventHead {
  type: "plugin_loaded";
  pluginId: string;
  pluginName: string;
  version: string;
}

export interface PluginInvokedEvent extends EventHead {
  type: "plugin_invoked";
  pluginId: string;
  pluginName: string;
}

export interface PluginErrorEvent extends EventHead {
  type: "plugin_error";
  pluginId: string;
  pluginName: string;
  error: string;
}

export interface SkillLoadedEvent extends EventHead {
  type: "skill_loaded";
  skillName: string;
  source: string;
}

export interface SkillInvokedEvent extends EventHead {
  type: "skill_invoked";
  skillName: string;
}

export interface AgentdocReadEvent extends EventHead {
  type: "agentdoc_read";
  path: string;
}

export interface ImageOutputEvent extends EventHead {
  type: "image_output";
  mimeType: string;
  base64?: string;
  filePath?: string;
}

export interface ImageInputAckEvent extends EventHead {
  type: "image_input_ack";
  mimeType: string;
}

export interface CostEvent extends EventHead {
  type: "cost";
  cost: Cost;
}

export interface TokenUsageEvent extends EventHead {
  type: "token_usage";
  inputTokens: number;
  outputTokens: number;
  thinkingTokens?: number;
  cachedTokens?: number;
  cacheWriteTokens?: number;
  modelCall?: boolean;
  fromSession?: boolean;
}

export interface InputRequiredEvent extends EventHead {
  type: "input_required";
  interactionId: string;
  question: string;
  context?: string;
  source: ("agent" | "tool");
}

export interface ApprovalRequiredEvent extends EventHead {
  type: "approval_request";
  interactionId: string;
  action: string;
  detail: string;
  toolName?: string;
  toolCallId?: string;
  input?: unknown;
  riskLevel: ("low" | "medium" | "high");
  use?: ToolUse;
  editable?: boolean;
}

export interface ApprovalGrantedEvent extends EventHead {
  type: "approval_granted";
  interactionId: string;
  detail?: string;
  toolCallId?: string;
  updatedInput?: unknown;
}

export interface ApprovalDeniedEvent extends EventHead {
  type: "approval_denied";
  interactionId: string;
  reason?: string;
  toolName?: string;
}

export interface RateLimitedEvent extends EventHead {
  type: "rate_limited";
  retryAfterMs?: number;
  resetsAt?: number;
  limit?: string;
  status?: string;
}

export interface ContextLimitWarningEvent extends EventHead {
  type: "context_limit_warning";
  usedTokens: number;
  maxTokens: number;
  pctUsed: number;
}

export interface ContextCompactedEvent extends EventHead {
  type: "context_compacted";
  summary: string;
  tokensSaved: number;
}

export interface RetryEvent extends EventHead {
  type: "retry";
  attempt?: number;
  maxAttempts?: number;
  reason: string;
  delayMs?: number;
  code?: ("CAPABILITY_ERROR" | "VALIDATION_ERROR" | "AUTH_ERROR" | "AGENT_NOT_FOUND" | "AGENT_NOT_INSTALLED" | "AGENT_CRASH" | "SPAWN_ERROR" | "TIMEOUT" | "INACTIVITY_TIMEOUT" | "PARSE_ERROR" | "CONFIG_ERROR" | "CONFIG_LOCK_ERROR" | "SESSION_NOT_FOUND" | "PROFILE_NOT_FOUND" | "PLUGIN_ERROR" | "RATE_LIMITED" | "CONTEXT_EXCEEDED" | "ABORTED" | "RUN_NOT_ACTIVE" | "STDIN_NOT_AVAILABLE" | "NO_PENDING_INTERACTION" | "INTERACTION_NOT_FOUND" | "INVALID_STATE_TRANSITION" | "PTY_NOT_AVAILABLE" | "UNKNOWN_AGENT" | "INTERNAL" | "INTERRUPTED" | "BUDGET_EXCEEDED" | "TURN_LIMIT" | "PROVIDER_ERROR" | "MODEL_NOT_FOUND" | "INVALID_REQUEST" | "INVALID_OUTPUT" | "TOOL_BRIDGE_ERROR" | "HOOK_DENIED" | "PROJECT_NOT_TRUSTED");
}

export interface InterruptedEvent extends EventHead {
  type: "interrupted";
}

export interface AbortedEvent extends EventHead {
  type: "aborted";
}

export interface PausedEvent extends EventHead {
  type: "paused";
}

export interface ResumedEvent extends EventHead {
  type: "resumed";
}

export interface TimeoutEvent extends EventHead {
  type: "timeout";
  kind: ("run" | "inactivity");
}

export interface TurnLimitEvent extends EventHead {
  type: "turn_limit";
  maxTurns: number;
}

export interface StreamFallbackEvent extends EventHead {
  type: "stream_fallback";
  capability: string;
  reason: string;
}

export interface AuthErrorEvent extends EventHead {
  type: "auth_error";
  message: string;
  guidance: string;
}

export interface RateLimitErrorEvent extends EventHead {
  type: "rate_limit_error";
  message: string;
  retryAfterMs?: number;
}

export interface ContextExceededEvent extends EventHead {
  type: "context_exceeded";
  usedTokens: number;
  maxTokens: number;
}

export interface CrashEvent extends EventHead {
  type: "crash";
  exitCode: number;
  stderr: string;
  signal?: string;
}

export interface ErrorEvent extends EventHead {
  type: "error";
  code: ("CAPABILITY_ERROR" | "VALIDATION_ERROR" | "AUTH_ERROR" | "AGENT_NOT_FOUND" | "AGENT_NOT_INSTALLED" | "AGENT_CRASH" | "SPAWN_ERROR" | "TIMEOUT" | "INACTIVITY_TIMEOUT" | "PARSE_ERROR" | "CONFIG_ERROR" | "CONFIG_LOCK_ERROR" | "SESSION_NOT_FOUND" | "PROFILE_NOT_FOUND" | "PLUGIN_ERROR" | "RATE_LIMITED" | "CONTEXT_EXCEEDED" | "ABORTED" | "RUN_NOT_ACTIVE" | "STDIN_NOT_AVAILABLE" | "NO_PENDING_INTERACTION" | "INTERACTION_NOT_FOUND" | "INVALID_STATE_TRANSITION" | "PTY_NOT_AVAILABLE" | "UNKNOWN_AGENT" | "INTERNAL" | "INTERRUPTED" | "BUDGET_EXCEEDED" | "TURN_LIMIT" | "PROVIDER_ERROR" | "MODEL_NOT_FOUND" | "INVALID_REQUEST" | "INVALID_OUTPUT" | "TOOL_BRIDGE_ERROR" | "HOOK_DENIED" | "PROJECT_NOT_TRUSTED");
  message: string;
  recoverable: boolean;
}

export interface DebugEvent extends EventHead {
  type: "debug";
  level: ("verbose" | "info" | "warn");
  message: string;
}

export interface LogEvent extends EventHead {
  type: "log";
  source: ("stdout" | "stderr");
  line: string;
}

export interface QuestionWithdrawnEvent extends EventHead {
  type: "question_withdrawn";
  interactionId: string;
  reason?: string;
}

export interface InputQueuedEvent extends EventHead {
  type: "input_queued";
  inputId: string;
  text: string;
  when: ("now" | "after-tool" | "after-response" | "next-turn");
}

export interface InputTakenEvent extends EventHead {
  type: "input_taken";
  inputId: string;
  steered?: boolean;
}

export interface InputCancelledEvent extends EventHead {
  type: "input_cancelled";
  inputId: string;
  reason?: string;
}

export interface GapEvent extends EventHead {
  type: "gap";
  count: number;
  from: number;
  to: number;
}

export interface FinishedEvent extends EventHead {
  type: "finished";
  result: Result;
}

export interface InitializeParams {
  clientName?: string;
  protocolVersion?: string;
}

export interface Initialized {
  protocolVersion: string;
  drawbarVersion: string;
  methods: string[];
}

export interface PlaceParams {
  cwd?: string;
}

export interface AgentList {
  agents: AgentInfo[];
}

export interface AgentName {
  agent: string;
  cwd?: string;
}

export interface RunStart {
  request: Request;
  fallback?: string[];
  answers?: boolean;
}

export interface Negotiation {
  schemaVersion: string;
  supported: boolean;
  degraded: boolean;
  reasons: Reason[];
  effectiveCapabilities: Capabilities;
}

export interface Started {
  runId: string;
  agent: string;
}

export interface RunControl {
  runId: string;
  verb: string;
  text?: string;
  when?: ("now" | "after-tool" | "after-response" | "next-turn");
  interactionId?: string;
  decision?: Decision;
}

export interface ControlReply {
  ok: boolean;
  error?: Error;
  inputId?: string;
  state?: ("spawned" | "running" | "paused" | "interrupted" | "aborted" | "timed-out" | "completed" | "crashed" | "killed");
  pending?: PendingQuestion[];
}

export interface RunRef {
  runId: string;
}

export interface Result {
  schemaVersion: string;
  backendId: string;
  status: ("completed" | "needs_clarification" | "awaiting_approval" | "deferred" | "failed" | "unsupported");
  output?: Output;
  continuation?: Continuation;
  approvalRequest?: ApprovalRequest;
  error?: ResultError;
  trace?: Trace;
  degradation?: Reason[];
  metadata?: Record<string, unknown>;
  assistantId?: string;
  turnId?: string;
  correlationSessionId?: string;
  runId?: string;
  agent?: string;
  model?: string;
  sessionId?: string;
  text: string;
  cost: Cost | null;
  tokenUsage: Usage | null;
  durationMs: number;
  exitReason?: ("completed" | "aborted" | "interrupted" | "timeout" | "inactivity" | "turn_limit" | "crashed" | "killed");
  exitCode: number | null;
  signal?: string;
  turnCount: number;
  attempts?: number;
  deniedCalls?: number;
  retries?: number;
  unknownLines?: number;
  tags?: string[];
  events?: Event[];
}

export interface RunsQuery {
  agent?: string;
  live?: boolean;
  since?: string;
  limit?: number;
}

export interface RunList {
  runs: RecordedRun[];
}

export interface EventsQuery {
  runId: string;
  after?: number;
  limit?: number;
}

export interface EventList {
  events: Event[];
  more: boolean;
}

export interface Request {
  schemaVersion?: string;
  assistantId?: string;
  turnId?: string;
  sessionId?: string;
  userId?: string;
  threadId?: string;
  message: Message;
  instructions?: Instructions;
  context?: Context;
  continuation?: Continuation;
  tools?: Tool[];
  requirements?: Requirements;
  metadata?: Record<string, unknown>;
  run?: RunOptions;
  sessionUsage?: Usage;
}

export interface SessionsQuery {
  agent?: string;
  cwd?: string;
  since?: string;
  limit?: number;
}

export interface SessionListing {
  sessions: Summary[];
  total: number;
  problems?: Problem[];
}

export interface SessionID {
  id: string;
}

export interface SessionContent {
  agent: string;
  sessionId: string;
  unifiedId: string;
  title: string;
  name?: string;
  createdAt?: string;
  updatedAt?: string;
  turnCount?: number;
  messageCount?: number;
  model?: string;
  cost?: Cost;
  tokenUsage?: Usage;
  tags: string[];
  cwd?: string;
  forkedFrom?: string;
  parentSessionId?: string;
  archived?: boolean;
  path: string;
  sizeBytes: number;
  problems?: Problem[];
  messages: SessionMessage[];
  subagents?: Subagent[];
  unknownRecords?: Record<string, number>;
}

export interface GovernProject {
  cwd: string;
}

export interface GovernStep {
  cwd: string;
  role?: string;
  resume?: boolean;
  timeoutMs?: number;
  noWait?: boolean;
}

export interface GovernRun {
  cwd: string;
  maxTurns?: number;
  autoApprove?: boolean;
  dryRun?: boolean;
  resume?: boolean;
  timeoutMs?: number;
}

export interface GovernApprove {
  cwd: string;
  by?: string;
  comment?: string;
  dryRun?: boolean;
}

export interface GovernDecline {
  cwd: string;
  reason: string;
  role?: string;
  phase?: string;
  by?: string;
}

export interface RunEvent {
  runId: string;
  event: Event;
}

export interface GovernNotice {
  cwd: string;
  kind: string;
  turnId?: string;
  role?: string;
  text?: string;
  event?: Event;
}

export interface ToolResult {
  output?: unknown;
  error?: string;
}

export interface ToolCallParams {
  runId: string;
  call: ToolCall;
}

export interface ErrorData {
  code: ("CAPABILITY_ERROR" | "VALIDATION_ERROR" | "AUTH_ERROR" | "AGENT_NOT_FOUND" | "AGENT_NOT_INSTALLED" | "AGENT_CRASH" | "SPAWN_ERROR" | "TIMEOUT" | "INACTIVITY_TIMEOUT" | "PARSE_ERROR" | "CONFIG_ERROR" | "CONFIG_LOCK_ERROR" | "SESSION_NOT_FOUND" | "PROFILE_NOT_FOUND" | "PLUGIN_ERROR" | "RATE_LIMITED" | "CONTEXT_EXCEEDED" | "ABORTED" | "RUN_NOT_ACTIVE" | "STDIN_NOT_AVAILABLE" | "NO_PENDING_INTERACTION" | "INTERACTION_NOT_FOUND" | "INVALID_STATE_TRANSITION" | "PTY_NOT_AVAILABLE" | "UNKNOWN_AGENT" | "INTERNAL" | "INTERRUPTED" | "BUDGET_EXCEEDED" | "TURN_LIMIT" | "PROVIDER_ERROR" | "MODEL_NOT_FOUND" | "INVALID_REQUEST" | "INVALID_OUTPUT" | "TOOL_BRIDGE_ERROR" | "HOOK_DENIED" | "PROJECT_NOT_TRUSTED");
  hint?: string;
}

export interface Cost {
  totalUsd?: number;
  unpriced?: boolean;
  source?: ("agent" | "table" | "session");
  inputTokens: number;
  outputTokens: number;
  thinkingTokens?: number;
  cacheCreationTokens?: number;
  cacheReadTokens?: number;
}

export interface ResultError {
  code: ("unsupported_capability" | "backend_execution_error" | "invalid_backend_output" | "tool_bridge_error" | "timeout" | "budget_exceeded" | "cancelled" | "other");
  message: string;
  retryable: boolean;
  stderr?: string;
  recoverable?: boolean;
  metadata?: Record<string, unknown>;
}

export interface ToolUse {
  kind?: ("read" | "edit" | "shell" | "fetch" | "agent" | "skill" | "mcp");
  paths?: string[];
  command?: string;
  server?: string;
  tool?: string;
}

export interface AgentInfo {
  name: string;
  displayName: string;
  capabilities: Capabilities;
}

export interface Reason {
  code: ("tool_use_unsupported" | "structured_tool_calls_unsupported" | "continuation_unsupported" | "approval_interrupt_unsupported" | "attachments_unsupported" | "trace_depth_reduced" | "context_pressure_expected" | "other");
  message: string;
  severity: ("info" | "warning" | "blocking");
  capability?: string;
}

export interface Capabilities {
  schemaVersion: string;
  toolUse: ("none" | "adapter-mediated" | "native-iterative");
  structuredToolCalls: boolean;
  continuationSupport: ("none" | "opaque-resume" | "structured");
  approvalInterrupts: ("none" | "adapter-mediated" | "native");
  traceDepth: ("minimal" | "standard" | "detailed");
  attachments: boolean;
  maxContextStrategy: ("unknown" | "small" | "medium" | "large");
  notes: string[];
  agent: AgentCapabilities;
}

export interface Decision {
  approve: boolean;
  reason?: string;
  text?: string;
  updatedInput?: unknown;
  always?: string;
}

export interface Error {
  code: ("CAPABILITY_ERROR" | "VALIDATION_ERROR" | "AUTH_ERROR" | "AGENT_NOT_FOUND" | "AGENT_NOT_INSTALLED" | "AGENT_CRASH" | "SPAWN_ERROR" | "TIMEOUT" | "INACTIVITY_TIMEOUT" | "PARSE_ERROR" | "CONFIG_ERROR" | "CONFIG_LOCK_ERROR" | "SESSION_NOT_FOUND" | "PROFILE_NOT_FOUND" | "PLUGIN_ERROR" | "RATE_LIMITED" | "CONTEXT_EXCEEDED" | "ABORTED" | "RUN_NOT_ACTIVE" | "STDIN_NOT_AVAILABLE" | "NO_PENDING_INTERACTION" | "INTERACTION_NOT_FOUND" | "INVALID_STATE_TRANSITION" | "PTY_NOT_AVAILABLE" | "UNKNOWN_AGENT" | "INTERNAL" | "INTERRUPTED" | "BUDGET_EXCEEDED" | "TURN_LIMIT" | "PROVIDER_ERROR" | "MODEL_NOT_FOUND" | "INVALID_REQUEST" | "INVALID_OUTPUT" | "TOOL_BRIDGE_ERROR" | "HOOK_DENIED" | "PROJECT_NOT_TRUSTED");
  message: string;
  recoverable: boolean;
  fields?: FieldError[];
  agent?: string;
  capability?: string;
  hint?: string;
}

export interface PendingQuestion {
  interactionId: string;
  approval: boolean;
  text: string;
  detail?: string;
  always?: string;
  since: string;
  command?: string;
  input?: unknown;
}

export interface Output {
  text?: string;
  attachments?: Attachment[];
  structured?: unknown;
}

export interface Continuation {
  continuationId?: string;
  kind?: string;
  state?: Record<string, unknown>;
  metadata?: Record<string, unknown>;
  decision?: ContinuationDecision;
}

export interface ApprovalRequest {
  reason?: string;
  approvalKey?: string;
  metadata?: Record<string, unknown>;
}

export interface Trace {
  summary: TraceSummary;
  events?: TraceEvent[];
}

export interface Usage {
  input: number;
  output: number;
  thinking?: number;
  cached?: number;
  cacheWrite?: number;
  total: number;
}

export interface RecordedRun {
  runId: string;
  agent: string;
  model?: string;
  sessionId?: string;
  projectId?: string;
  assistantId?: string;
  turnId?: string;
  correlationSessionId?: string;
  parentRunId?: string;
  cwd?: string;
  prompt?: string;
  tags?: string[];
  approvalMode?: ("yolo" | "reads" | "prompt" | "deny");
  detached?: boolean;
  reservedUsd?: number;
  state: string;
  live: boolean;
  status?: ("completed" | "needs_clarification" | "awaiting_approval" | "deferred" | "failed" | "unsupported");
  exitReason?: ("completed" | "aborted" | "interrupted" | "timeout" | "inactivity" | "turn_limit" | "crashed" | "killed");
  errorCode?: ("CAPABILITY_ERROR" | "VALIDATION_ERROR" | "AUTH_ERROR" | "AGENT_NOT_FOUND" | "AGENT_NOT_INSTALLED" | "AGENT_CRASH" | "SPAWN_ERROR" | "TIMEOUT" | "INACTIVITY_TIMEOUT" | "PARSE_ERROR" | "CONFIG_ERROR" | "CONFIG_LOCK_ERROR" | "SESSION_NOT_FOUND" | "PROFILE_NOT_FOUND" | "PLUGIN_ERROR" | "RATE_LIMITED" | "CONTEXT_EXCEEDED" | "ABORTED" | "RUN_NOT_ACTIVE" | "STDIN_NOT_AVAILABLE" | "NO_PENDING_INTERACTION" | "INTERACTION_NOT_FOUND" | "INVALID_STATE_TRANSITION" | "PTY_NOT_AVAILABLE" | "UNKNOWN_AGENT" | "INTERNAL" | "INTERRUPTED" | "BUDGET_EXCEEDED" | "TURN_LIMIT" | "PROVIDER_ERROR" | "MODEL_NOT_FOUND" | "INVALID_REQUEST" | "INVALID_OUTPUT" | "TOOL_BRIDGE_ERROR" | "HOOK_DENIED" | "PROJECT_NOT_TRUSTED");
  startedAt: string;
  endedAt?: string;
  durationMs?: number;
  turnCount?: number;
  cost?: Cost;
}

export interface Message {
  id?: string;
  text: string;
  receivedAt?: string;
  attachments?: Attachment[];
}

export interface Instructions {
  systemPrompt?: string;
  developerPrompt?: string;
  responseStyle?: ResponseStyle;
}

export interface Context {
  blocks: ContextBlock[];
  structured?: Record<string, unknown>;
}

export interface Tool {
  name: string;
  description?: string;
  inputSchema?: unknown;
  requiresApproval?: boolean;
  metadata?: Record<string, unknown>;
}

export interface Requirements {
  toolUse?: ("forbidden" | "allowed" | "required");
  structuredToolCalls?: ("forbidden" | "preferred" | "required");
  continuationSupport?: ("none" | "preferred" | "required");
  approvalInterrupts?: ("none" | "preferred" | "required");
  traceDepth?: ("minimal" | "standard" | "detailed");
  attachments?: ("forbidden" | "allowed" | "required");
  maxElapsedMs?: number;
}

export interface RunOptions {
  agent?: string;
  command?: string[];
  model?: string;
  systemPromptMode?: ("prepend" | "append" | "replace");
  thinkingEffort?: ("low" | "medium" | "high" | "max");
  thinkingBudgetTokens?: number;
  thinkingOverride?: Record<string, unknown>;
  temperature?: number;
  topP?: number;
  topK?: number;
  maxTokens?: number;
  maxOutputTokens?: number;
  sessionId?: string;
  forkSessionId?: string;
  noSession?: boolean;
  stream?: string;
  outputFormat?: ("text" | "json" | "jsonl");
  outputSchema?: unknown;
  interactive?: boolean;
  nonInteractive?: boolean;
  cwd?: string;
  env?: Record<string, string>;
  environment?: ("inherit" | "minimal");
  timeout?: number;
  inactivityTimeout?: number;
  gracePeriodMs?: number;
  maxTurns?: number;
  maxBudgetUsd?: number;
  approvalMode?: ("yolo" | "reads" | "prompt" | "deny");
  allowTools?: string[];
  denyTools?: string[];
  sandbox?: ("read-only" | "workspace-write" | "none");
  skills?: string[];
  agentsDoc?: string;
  mcpServers?: MCPServer[];
  keepRetrying?: boolean;
  retryPolicy?: RetryPolicy;
  runId?: string;
  tags?: string[];
  projectId?: string;
  profile?: string;
  collectEvents?: boolean;
  debug?: boolean;
  invocation?: string;
}

export interface Summary {
  agent: string;
  sessionId: string;
  unifiedId: string;
  title: string;
  name?: string;
  createdAt?: string;
  updatedAt?: string;
  turnCount?: number;
  messageCount?: number;
  model?: string;
  cost?: Cost;
  tokenUsage?: Usage;
  tags: string[];
  cwd?: string;
  forkedFrom?: string;
  parentSessionId?: string;
  archived?: boolean;
  path: string;
  sizeBytes: number;
  problems?: Problem[];
}

export interface Problem {
  path: string;
  line?: number;
  message: string;
}

export interface SessionMessage {
  id?: string;
  role: string;
  content: string;
  timestamp?: string;
  thinking?: string;
  toolCalls?: SessionToolCall[];
  toolResult?: SessionToolResult;
  tokenUsage?: Usage;
  model?: string;
  inactive?: boolean;
}

export interface Subagent {
  id: string;
  name?: string;
  description?: string;
  toolCallId?: string;
  path?: string;
  messages: SessionMessage[];
}

export interface ToolCall {
  id: string;
  name: string;
  input: unknown;
}

export interface AgentCapabilities {
  takesCommand: boolean;
  canResume: boolean;
  canFork: boolean;
  canRunEphemeral: boolean;
  supportsMultiTurn: boolean;
  sessionPersistence: string;
  supportsTextStreaming: boolean;
  supportsToolCallStreaming: boolean;
  supportsThinkingStreaming: boolean;
  supportsNativeTools: boolean;
  supportsMCP: boolean;
  mcpTransports?: ("stdio" | "sse" | "streamable-http")[];
  supportsParallelToolCalls: boolean;
  requiresToolApproval: boolean;
  approvalModes: ("yolo" | "reads" | "prompt" | "deny")[];
  runtimeHooks: RuntimeHooks;
  supportsThinking: boolean;
  thinkingEffortLevels: ("low" | "medium" | "high" | "max")[];
  supportsThinkingBudgetTokens: boolean;
  thinkingOverrides?: string[];
  supportsJsonMode: boolean;
  supportsStructuredOutput: boolean;
  structuredSessionTransport: ("none" | "restart-per-turn" | "persistent");
  supportsSkills: boolean;
  supportsAgentsMd: boolean;
  skillsFormat?: string;
  supportsSubagentDispatch: boolean;
  supportsParallelExecution: boolean;
  maxParallelTasks?: number;
  supportsInteractiveMode: boolean;
  supportsStdinInjection: boolean;
  supportsImageInput: boolean;
  supportsImageOutput: boolean;
  supportsFileAttachments: boolean;
  supportsPlugins: boolean;
  pluginFormats?: string[];
  supportedPlatforms: string[];
  requiresGitRepo: boolean;
  requiresPty: boolean;
  supportsInvocation: boolean;
  authMethods: AuthMethod[];
  authFiles?: string[];
  systemPromptModes: ("prepend" | "append" | "replace")[];
  sandboxModes?: ("read-only" | "workspace-write" | "none")[];
  supportsMaxTurns: boolean;
  supportsBudget: boolean;
  supportsCostReport: boolean;
  tokensUnstated?: boolean;
  denialEndsTurn?: boolean;
  supportsSampling: boolean;
  supportsMaxOutputTokens: boolean;
  verbs: ("send" | "queue" | "steer" | "continue" | "approve" | "deny" | "interrupt" | "abort" | "pause" | "resume")[];
}

export interface FieldError {
  field: string;
  message: string;
  received?: string;
  expected?: string;
}

export interface Attachment {
  id?: string;
  type?: string;
  name?: string;
  url?: string;
  filePath?: string;
  base64?: string;
  mimeType?: string;
  metadata?: Record<string, unknown>;
}

export interface ContinuationDecision {
  approvalId: string;
  approved: boolean;
  by?: string;
  reason?: string;
}

export interface TraceSummary {
  startedAt: string;
  completedAt: string;
  stepCount?: number;
  toolCallCount: number;
  degraded: boolean;
}

export interface TraceEvent {
  type: ("model_started" | "model_completed" | "tool_requested" | "tool_completed" | "approval_wait" | "deferred" | "failure" | "note");
  at: string;
  data?: Record<string, unknown>;
}

export interface ResponseStyle {
  preferMarkdown?: boolean;
  maxAnswerChars?: number;
}

export interface ContextBlock {
  id: string;
  label: string;
  text: string;
  category?: ("memory" | "workspace" | "enrichment" | "guardrail" | "other");
  metadata?: Record<string, unknown>;
}

export interface MCPServer {
  name: string;
  transport: ("stdio" | "sse" | "streamable-http");
  command?: string;
  args?: string[];
  env?: Record<string, string>;
  url?: string;
  headers?: Record<string, string>;
}

export interface RetryPolicy {
  maxAttempts: number;
  baseDelayMs: number;
  maxDelayMs: number;
  jitterFactor: number;
  retryOn: ("CAPABILITY_ERROR" | "VALIDATION_ERROR" | "AUTH_ERROR" | "AGENT_NOT_FOUND" | "AGENT_NOT_INSTALLED" | "AGENT_CRASH" | "SPAWN_ERROR" | "TIMEOUT" | "INACTIVITY_TIMEOUT" | "PARSE_ERROR" | "CONFIG_ERROR" | "CONFIG_LOCK_ERROR" | "SESSION_NOT_FOUND" | "PROFILE_NOT_FOUND" | "PLUGIN_ERROR" | "RATE_LIMITED" | "CONTEXT_EXCEEDED" | "ABORTED" | "RUN_NOT_ACTIVE" | "STDIN_NOT_AVAILABLE" | "NO_PENDING_INTERACTION" | "INTERACTION_NOT_FOUND" | "INVALID_STATE_TRANSITION" | "PTY_NOT_AVAILABLE" | "UNKNOWN_AGENT" | "INTERNAL" | "INTERRUPTED" | "BUDGET_EXCEEDED" | "TURN_LIMIT" | "PROVIDER_ERROR" | "MODEL_NOT_FOUND" | "INVALID_REQUEST" | "INVALID_OUTPUT" | "TOOL_BRIDGE_ERROR" | "HOOK_DENIED" | "PROJECT_NOT_TRUSTED")[];
}

export interface SessionToolCall {
  toolCallId: string;
  toolName: string;
  input?: unknown;
}

export interface SessionToolResult {
  toolCallId: string;
  toolName?: string;
  output: string;
  isError?: boolean;
  durationMs?: number;
}

export interface RuntimeHooks {
  preToolUse: ("unsupported" | "nonblocking" | "blocking");
  modifyToolInput: boolean;
  postToolUse: ("unsupported" | "nonblocking" | "blocking");
  sessionStart: ("unsupported" | "nonblocking" | "blocking");
  sessionEnd: ("unsupported" | "nonblocking" | "blocking");
  stop: ("unsupported" | "nonblocking" | "blocking");
  userPromptSubmit: ("unsupported" | "nonblocking" | "blocking");
}

export interface AuthMethod {
  type: string;
  name: string;
  description?: string;
}

/** Something that happened in a run. */
export type Event =
  | SessionStartEvent
  | SessionResumeEvent
  | SessionForkEvent
  | SessionCheckpointEvent
  | SessionEndEvent
  | TurnStartEvent
  | TurnEndEvent
  | StepStartEvent
  | StepEndEvent
  | MessageStartEvent
  | TextDeltaEvent
  | MessageStopEvent
  | ThinkingStartEvent
  | ThinkingDeltaEvent
  | ThinkingStopEvent
  | ToolCallStartEvent
  | ToolInputDeltaEvent
  | ToolCallReadyEvent
  | ToolResultEvent
  | ToolErrorEvent
  | FileReadEvent
  | FileWriteEvent
  | FileCreateEvent
  | FileDeleteEvent
  | FilePatchEvent
  | ShellStartEvent
  | ShellStdoutDeltaEvent
  | ShellStderrDeltaEvent
  | ShellExitEvent
  | MCPToolCallStartEvent
  | MCPToolResultEvent
  | MCPToolErrorEvent
  | SubagentSpawnEvent
  | SubagentResultEvent
  | SubagentErrorEvent
  | PluginLoadedEvent
  | PluginInvokedEvent
  | PluginErrorEvent
  | SkillLoadedEvent
  | SkillInvokedEvent
  | AgentdocReadEvent
  | ImageOutputEvent
  | ImageInputAckEvent
  | CostEvent
  | TokenUsageEvent
  | InputRequiredEvent
  | ApprovalRequiredEvent
  | ApprovalGrantedEvent
  | ApprovalDeniedEvent
  | RateLimitedEvent
  | ContextLimitWarningEvent
  | ContextCompactedEvent
  | RetryEvent
  | InterruptedEvent
  | AbortedEvent
  | PausedEvent
  | ResumedEvent
  | TimeoutEvent
  | TurnLimitEvent
  | StreamFallbackEvent
  | AuthErrorEvent
  | RateLimitErrorEvent
  | ContextExceededEvent
  | CrashEvent
  | ErrorEvent
  | DebugEvent
  | LogEvent
  | QuestionWithdrawnEvent
  | InputQueuedEvent
  | InputTakenEvent
  | InputCancelledEvent
  | GapEvent
  | FinishedEvent;

/** The methods of the server. */
export interface Methods {
  /** Say who calls, and learn what the server can do. Optional. */
  "initialize": { params?: InitializeParams; result: Initialized };
  /** List the agents with their capabilities. */
  "agents.list": { params?: PlaceParams; result: AgentList };
  /** Say whether an agent is installed and logged in. */
  "agents.detect": { params: AgentName; result: unknown | null };
  /** Say what an agent would do with a request. Nothing is started. */
  "negotiate": { params: RunStart; result: Negotiation };
  /** Start a run. Its events follow as notifications run.event; the last one is finished, with the result. */
  "run.start": { params: RunStart; result: Started };
  /** Send a message to a live run, answer its question, interrupt, abort, pause or resume it, or ask how it is. Also for runs of other programs. */
  "run.control": { params: RunControl; result: ControlReply };
  /** Wait for the result of a run, live or on record. */
  "run.result": { params: RunRef; result: Result };
  /** List runs on record, the newest first. */
  "runs.list": { params?: RunsQuery; result: RunList };
  /** The events of a run on record. */
  "runs.events": { params: EventsQuery; result: EventList };
  /** The request that continues a run which ended waiting for a person: add continuation.decision, or the answer as message.text, and start it. */
  "runs.waiting": { params: RunRef; result: Request };
  /** List the conversations that agents keep on disk. */
  "sessions.list": { params?: SessionsQuery; result: SessionListing };
  /** One conversation, whole. */
  "sessions.get": { params: SessionID; result: SessionContent };
  /** The state of a governed project. */
  "govern.status": { params: GovernProject; result: unknown };
  /** Run one turn of a governed project. What happens meanwhile are notifications govern.notice. */
  "govern.step": { params: GovernStep; result: unknown };
  /** Run turns until a person is needed, a limit is reached or the run ends. */
  "govern.run": { params: GovernRun; result: unknown };
  /** Approve the pending gate. */
  "govern.approve": { params: GovernApprove; result: unknown };
  /** Send the turn of a gate back, with the reason. */
  "govern.decline": { params: GovernDecline; result: unknown };
}

/** What the server sends. */
export interface ToClient {
  /** An event of a run that this client started. */
  "run.event": { params: RunEvent; result: void };
  /** Something that happened while a governed project was worked on. */
  "govern.notice": { params: GovernNotice; result: void };
  /** Run a tool of the request; the answer is its result. An error is told to the agent. */
  "tool.call": { params: ToolCallParams; result: ToolResult };
}
