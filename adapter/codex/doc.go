// Package codex drives Codex, OpenAI's command line agent.
//
// Every run is a conversation with codex app-server, also one that takes one prompt and asks nobody. What codex exec
// prints is read where another program has started it.
//
// Here belong the words of Codex: its arguments, configuration keys, messages and failures, and the files its login is
// read from. Starting, stopping and watching a process is the business of package cliagent; who may approve, when to retry
// and what a run costs is that of package agent.
//
// # Approval modes
//
// yolo runs without a sandbox; what Codex still asks, for tools of MCP servers above all, package agent approves. prompt
// runs in a sandbox that lets commands write in the working directory; Codex asks for what leads out of it where
// somebody may answer, and refuses it elsewhere. deny runs in a sandbox that lets commands read, and whatever needs a
// permission is refused unasked. Of such a refusal there is a line on standard error and nothing else; it becomes an
// approval_denied. Codex takes no reason for a refusal and no other input for a call.
//
// # Events
//
// Commands are the tool shell with shell_* events, patches the tool apply_patch with file_* events behind it, plans the
// tool update_plan; tools of MCP servers have the mcp_tool_* events and no tool_* events; sub-agents have subagent_*
// events, and what they do carries the tool call that started them as Parent. What goes on behind the end of a turn, such
// as a command that an interrupt left running, makes no event. Codex leaves out of a command's stream what came before
// it began to stream; the call's result has it all. shell_start comes when it is known that the command runs: one
// that is refused has none.
//
// A model call is a step where it can be seen: it begins with the turn or with the first thing it does, and ends with
// its usage. Codex reports the total of a thread since its first turn ever; events and result count what the run used.
//
// # Instructions
//
// Developer prompt, context blocks and response style follow the system prompt in this form, each part separated by an
// empty line, as the developer instructions of a new session and as a developer message in one that goes on:
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
// Codex has no place in front of its own instructions: prepend is carried out as append. Replace takes their place. A
// text file that is attached follows the message:
//
//	<file name="NAME">
//	TEXT
//	</file>
package codex
