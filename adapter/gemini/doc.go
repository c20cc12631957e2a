// Package gemini drives Gemini CLI, Google's command line agent.
//
// There are two ways to run it. One prompt: `gemini --output-format stream-json` takes the prompt on standard input, asks nobody and
// ends with its turn. Conversation: `gemini --acp` speaks the Agent Client Protocol, through package acpagent. A run is a
// conversation when somebody may say something (Run.Interactive, or questions that are asked for), and when only a session of that
// protocol carries what the request brings: MCP servers, which one prompt can have from the user's own settings only, tools
// of the caller, attachments.
//
// Here belong the words of Gemini: its arguments, lines, tools and failures, and the files its login is read from. Starting,
// stopping and watching a process is the business of package cliagent; who may approve, when to retry and what a run costs is
// that of package agent.
//
// # Approval modes
//
// yolo approves everything. In the other modes one prompt without a person is not asked: Gemini takes every tool that needs a
// permission away from its model, and tells it of a call that there is no such tool. Such a call becomes an approval_denied besides
// its tool_error. In a conversation Gemini asks. The directory of a run is trusted for that run alone; the project's own
// settings stay unread unless the user has trusted it.
//
// # Processes
//
// Gemini starts itself a second time, and the first process swallows every signal; GEMINI_CLI_NO_RELAUNCH switches that off. Its
// exit code proves nothing: it is 0 behind a signal, and the remainder of an HTTP status behind a refused request. Its line
// `result` counts; without one there is no success. Of a login, a session, settings or a directory that Gemini does not take there is
// a line on standard error and an exit code of its own.
//
// # Events
//
// One prompt shows model calls as steps: a call ends with the first result of the tools it called, or with the turn. What is used
// is stated at the end, by model. Requests that Gemini makes for itself to a Flash-Lite model, such as the summary of an
// earlier session, are not counted. Model calls that are tried again are told on standard error only: retry, and
// rate_limited where the provider slowed Gemini down. In a conversation those lines come when Gemini ends, so there the result
// counts them and no event tells of them.
//
// Gemini reports every command that ran as a success. Its exit code is known of a command that printed nothing, and of no other: there
// is no shell_exit then. Sub-agents have subagent_* events besides those of the tool invoke_agent; what they do is not shown.
//
// # Instructions
//
// A system prompt that replaces Gemini's own reaches it in a file (GEMINI_SYSTEM_MD); names in ${} that Gemini knows are filled
// in by it, and GEMINI.md files stay in force. Gemini has no place behind or before its own prompt: everything else, developer
// prompt, context blocks and response style, stands in front of the message.
//
// # Sessions
//
// Sessions belong to a directory. A conversation cannot load one within the minute in which it began, because Gemini loses it then;
// that is refused. Only the settings can choose the login with which a conversation loads a session.
package gemini
