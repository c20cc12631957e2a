// What drawbar-adapter-NAME uses of the protocol. The folder schema of Drawbar's source has all of it.

export interface Introduction {
  protocolVersion: 1;
  agent: { name: string; displayName?: string; version?: string; documentation?: string; defaultModel?: string; keys?: string[] };
  capabilities: { toolUse?: string; notes?: string[]; agent?: Record<string, unknown> };
  conformance?: string[];
}

export interface Request {
  message: { id: string; text: string };
  instructions: { systemPrompt: string; developerPrompt?: string };
  run: { cwd?: string; model?: string; sessionId?: string; interactive?: boolean; mcpServers?: object[] };
}

export type Event =
  | { type: "session_start"; sessionId: string; resumed?: boolean }
  | { type: "text_delta"; delta: string }
  | { type: "tool_call_ready"; toolCallId: string; toolName: string; input: unknown }
  | { type: "tool_result"; toolCallId: string; toolName: string; output: unknown }
  | { type: string; parentToolCallId?: string };

export interface Result {
  status: "completed" | "failed" | "needs_clarification" | "awaiting_approval" | "deferred" | "unsupported";
  output?: { text?: string };
  sessionId?: string;
  error?: { code: string; message: string };
}
