// Package qwen drives Qwen Code, the command line agent of the Qwen team.
//
// There are two ways to run it. One-shot: the prompt goes to standard input, which is closed, and the run ends with its
// turn (--output-format stream-json). Two-way: the Agent Client Protocol (--acp) carries messages, permission questions,
// interrupts, images and thinking efforts; a run is two-way if it needs one of these.
//
// This package only translates: approvals, retries and final costs belong to package agent. Flags, fields and files of Qwen
// Code appear in this package only.
//
// # Events of a one-shot run
//
// A model call is a step. A message of Qwen holds one kind of block, so that a model call comes in several messages, of
// which the last one has the tokens. Text, thinking and tool calls are streamed; the whole messages that repeat them
// are not reported again. Tools of MCP servers have the mcp_tool_* events and no tool_* events; run_shell_command has
// shell_* events, the file tools have file_* events, agent has subagent_* events, besides their tool_* events. Events of a
// sub-agent have the tool call that started it as Parent.
//
// Qwen reports a failed call of the model API as text of the model, "[API Error: ...". It is never reported as text. Old
// versions then end with success; the run is a failure all the same.
//
// # Tokens
//
// Qwen's result adds up every request of the session: those of sub-agents, its own (background memories, titles,
// classifications), and those of earlier runs of the session. All but the last are the usage of the run.
//
// # Retries
//
// Qwen retries a failed request up to seven times and its client library each of these up to four times, for minutes,
// without any output. It only reports a broken stream and a rate limit inside a stream. A run needs a time limit.
package qwen
