// Package declarative makes agents of data instead of Go code: an entry says how a program is started, how it gets the
// prompt, and what its output and its exit code mean.
//
// Keys is the table of an entry. Read checks a text against it and lists every fault; Describe returns the descriptor of
// the agent. Its output has one of four formats: text, lines of JSON whose meaning the entry states, the stream-json
// format of Claude Code, or the Agent Client Protocol.
//
// Finding entries, storing them and deciding whom to trust do not belong here.
package declarative
