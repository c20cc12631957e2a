// Package qwen drives Qwen Code, the command line agent of the Qwen team.
//
// There are two ways to run it. One shot: the prompt goes to standard input, which is closed, and the run ends with its
// turn (--output-format stream-json). Two-way: the Agent Client Protocol (--acp) carries messages, permission questions,
// interrupts, images and thinking efforts; a run is two-way when it needs one of these.
//
// What Qwen says is translated here and nothing else: who may approve, when to retry and what a run costs in the end
// belongs to package agent. Flags, fields and files of Qwen Code appear in this package only.
//
// # Events of a one-shot run
//
// A model call is a step. A message of Qwen holds one kind of block, so that a model call comes in several messages, of
// which the last one has the tokens. Text, thinking and tool calls are streamed; the whole messages that repeat them
// are not reported again. Tools of MCP servers have the mcp_tool_* events and no tool_* events; run_shell_command has
// shell_* events, the file tools have file_* events, agent has subagent_* events, besides their tool_* events. What a
// sub-agent does carries the tool call that started it as Parent.
//
// A call of the model API that failed is announced by Qwen as text in the model's place, "[API Error: ...". That is
// never reported as text. Old versions then end with success; the run is a failure all the same.
//
// # Tokens
//
// Qwen's result adds up every request of the session: those of sub-agents, those that nobody asked for (memories that it extracts
// in the background, titles, classifications), and those of earlier runs of the session. All but the last are what the run used.
//
// # Retries
//
// Qwen tries a failed request up to seven times and its client library each of these up to four times, for minutes,
// without a word on either stream. Only a stream that breaks off and a rate limit inside a stream are told. A run wants
// a limit of time.
package qwen
