// Package copilot drives GitHub Copilot CLI.
//
// There are two ways to run it. One-shot: the prompt goes to standard input, which is closed, and the program reports the run
// as JSON lines. Two-way: the program speaks the Agent Client Protocol; a run is two-way if somebody may say or answer
// something, or if it continues a session. Flags, fields and files of Copilot CLI appear in this package only.
//
// # Events
//
// What Copilot calls a turn is one model call and its tools: a step here. The request and everything it leads to is one
// turn. Text, thinking and tool inputs are streamed; the whole messages that repeat them are not reported again. Tools of MCP
// servers have the mcp_tool_* events and no tool_* events. bash has shell_* events, whose output counts once although
// Copilot reports it twice; the file tools have file_* events and task has subagent_* events, in addition to their tool_*
// events. A command with a non-zero exit code is a tool_error, although Copilot reports success. Events of a sub-agent have
// the tool call that started it as Parent.
//
// A tool that nobody could approve is approval_denied and tool_error.
//
// # Usage
//
// A one-shot run states its tokens only in a file that is written at its end, so usage and cost come with the end of the turn.
// Copilot counts in credits and premium requests, which are in the result's metadata, and states no cost.
//
// # The program
//
// The command that npm installs is a script that starts the native program and does not forward signals. The native program
// is started directly if it is found next to the script. After a signal it exits with code 0, which proves nothing.
package copilot
