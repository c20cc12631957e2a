// Package codex drives Codex, OpenAI's command line agent.
//
// Every run is a conversation with codex app-server, including one with a single prompt and no questions. The output of
// codex exec is read if another program started it.
//
// Codex's arguments, configuration keys, messages, failures and login files belong here. Starting, stopping and watching a
// process belongs to package cliagent; approvals, retries and costs belong to package agent.
//
// # Approval modes
//
// yolo runs without a sandbox; package agent approves Codex's remaining questions, mostly about tools of MCP servers. prompt
// runs in a sandbox that lets commands write in the working directory; Codex asks before leaving it if somebody may answer,
// and otherwise refuses. deny runs in a sandbox that lets commands read, and refuses everything that needs permission without
// asking. Such a refusal only appears as a line on standard error; it becomes an approval_denied. Codex accepts no reason for
// a refusal and no other input for a call.
//
// # Events
//
// Commands are the tool shell with shell_* events, patches the tool apply_patch with file_* events after it, plans the
// tool update_plan; tools of MCP servers have the mcp_tool_* events and no tool_* events; sub-agents have subagent_*
// events, and their own events have the tool call that started them as Parent. What continues after the end of a turn, such
// as a command that an interrupt left running, makes no event. Codex does not stream a command's output from before
// it started streaming; the call's result has it all. shell_start comes once the command is known to run: a refused
// command has none.
//
// A model call is a step if it is visible: it starts with the turn or with the first thing it does, and ends with
// its usage. Codex reports the total of a thread since its first turn; events and result count the usage of the run.
//
// # Instructions
//
// Developer prompt, context blocks and response style follow the system prompt in this form, each part separated by an
// empty line, as the developer instructions of a new session and as a developer message in an existing one:
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
// Codex cannot put text in front of its own instructions: prepend is carried out as append. Replace replaces them. An
// attached text file follows the message:
//
//	<file name="NAME">
//	TEXT
//	</file>
package codex
