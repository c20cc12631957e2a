// Package gemini drives Gemini CLI, Google's command line agent.
//
// There are two ways to run it. One prompt: `gemini --output-format stream-json` takes the prompt on standard input, asks nobody and
// ends with its turn. Conversation: `gemini --acp` speaks the Agent Client Protocol, through package acpagent. A run is a
// conversation if somebody may say something (Run.Interactive, or questions that reach the caller), and if only a session of
// that protocol supports the request: MCP servers, which a single prompt can only have from the user's own settings, tools
// of the caller, attachments; and long prompts, because Gemini repeats the prompt of a single run on its standard output and
// may exit before it is read.
//
// Gemini's arguments, lines, tools, failures and login files belong here. Starting, stopping and watching a process belongs to
// package cliagent; approvals, retries and costs belong to package agent.
//
// # Approval modes
//
// yolo approves everything. In the other modes a single prompt asks nobody: Gemini hides every tool that needs permission from
// its model, and answers a call of one that the tool does not exist. Such a call becomes an approval_denied in addition to
// its tool_error. In a conversation Gemini asks. The directory of a run is trusted for that run only; the project's own
// settings stay unread unless the user has trusted it.
//
// # Processes
//
// Gemini starts itself a second time, and the first process ignores every signal; GEMINI_CLI_NO_RELAUNCH disables that. Its
// exit code proves nothing: it is 0 after a signal, and the remainder of an HTTP status after a refused request. Only its line
// `result` can state success. If Gemini refuses a login, a session, settings or a directory, it prints a line on standard error
// and has a specific exit code.
//
// # Events
//
// One prompt shows model calls as steps: a call ends with the first result of the tools it called, or with the turn. Usage is
// stated at the end, by model. Gemini's own requests to a Flash-Lite model, such as the summary of an earlier session, are not
// counted. Retried model calls are reported on standard error only: retry, and rate_limited if the provider slowed Gemini down.
// In a conversation those lines come when Gemini exits, so the result counts them and there are no events.
//
// Gemini reports every command that ran as a success. Its exit code is only known for a command that printed nothing; for others
// there is no shell_exit. Sub-agents have subagent_* events in addition to those of the tool invoke_agent; their own events are
// not shown.
//
// # Instructions
//
// A system prompt that replaces Gemini's own is passed in a file (GEMINI_SYSTEM_MD); Gemini expands names in ${} that it knows,
// and GEMINI.md files still apply. Nothing can be put before or after Gemini's own prompt: everything else, developer
// prompt, context blocks and response style, precedes the message.
//
// A message that starts with / and the name of one of Gemini's commands is that command, in a conversation also with $; a file named
// with @ is included in a single run.
//
// # Sessions
//
// Sessions belong to a directory. A conversation cannot load one within the minute in which it started, because Gemini would lose
// it; that is refused. Only the settings can choose the login with which a conversation loads a session.
package gemini
