// Package copilot drives GitHub Copilot CLI.
//
// There are two ways to run it. One shot: the prompt goes to standard input, which is closed, and the JSON lines of the
// program are its account of the run. Two-way: the program speaks the Agent Client Protocol; a run is two-way when somebody
// may say or answer something, and when it goes on from an earlier session. Flags, fields and files of Copilot CLI appear in
// this package only.
//
// # Events
//
// What Copilot calls a turn is one model call and its tools: a step here. The request and everything it leads to is one
// turn. Text, thinking and tool inputs are streamed; the whole messages that repeat them are not reported again. Tools of MCP
// servers have the mcp_tool_* events and no tool_* events. bash has shell_* events, whose output counts once although
// Copilot reports it twice; the file tools have file_* events and task has subagent_* events, all of them besides their tool_*
// events. A command that ends with another code than 0 is a tool_error, whatever Copilot calls it. What a sub-agent does carries the
// tool call that started it as Parent.
//
// A tool that nobody was there to approve is approval_denied and tool_error.
//
// # Usage
//
// One shot states its tokens in a file only, which it writes when it ends; so usage and cost come with the end of the turn.
// Copilot counts in credits and premium requests, which are in the result's metadata, and states no money.
//
// # The program
//
// The command that npm installs is a script that starts the native program and passes no signal on. The native program is
// started itself where it is found next to the script. After a signal it exits with code 0, which proves nothing.
package copilot
