// Package toolcall is the state machine of an agent's tool calls: a call starts, its input arrives, it runs and ends, once each. It
// makes the events of the call and those derived from it: shell, files, sub-agents and tools of MCP servers.
//
// A vendor declares a Table: which of its tools run commands, read or change files or start sub-agents, and how their inputs name
// what matters. What a line of the agent means, and the text and exit code of a result, stay with the vendor.
package toolcall
