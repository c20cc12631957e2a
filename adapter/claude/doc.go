// Package claude drives Claude Code, Anthropic's command line agent, through its stream-json protocol.
//
// There are two ways to run it. One-shot: the prompt goes to standard input, which is closed, and the run ends with its
// turn. Two-way: standard input stays open for messages, answers to permission questions and interrupts; a run is
// two-way if somebody may say something (Run.Interactive, approval mode yolo or prompt, a required approval) and
// if only that protocol supports the request (attachments, a new system prompt for an old session).
//
// This package only translates: approvals, retries and final costs belong to package agent. Flags, fields and files of Claude
// Code appear in this package only.
//
// # Events
//
// A model call is a step. Text, thinking and tool calls are streamed; the whole messages that repeat them are not
// reported again. Tools of MCP servers have the mcp_tool_* events and no tool_* events. Bash has shell_* events, the
// file tools have file_* events, Task and Agent have subagent_* events, in addition to their tool_* events: shell and
// sub-agent before the tool's result, files after it. shell_start comes once the command is known to run: a refused command
// has none. Events of a sub-agent have the tool call that started it as Parent.
//
// Usage and cost are increments. The tokens of a model call are reported when the call ends; the result line of a turn
// adds the difference to Claude's own count, including sub-agents and side requests, and the cost.
//
// # Instructions
//
// The developer prompt, context blocks and the response style follow the system prompt in this form, each part
// separated by an empty line:
//
//	<system prompt>
//	<developer prompt>
//	<context id="ID" label="LABEL" category="CATEGORY">
//	TEXT
//	</context>
//	<context-data>
//	STRUCTURED CONTEXT AS JSON
//	</context-data>
//	Answer in Markdown.
//	Keep the answer below N characters.
//
// Claude cannot put text in front of its own system prompt: prepend is carried out as append.
package claude
