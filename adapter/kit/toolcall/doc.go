// Package toolcall is the state machine of an agent's tool calls: each call starts, receives its input, runs and ends
// once. It emits the events of the call and those derived from it: shell, files, sub-agents and tools of MCP servers.
//
// A vendor declares a Table: which tools run commands, read or change files or start sub-agents, and the names of the
// relevant input members. Parsing lines, results and exit codes remains with the vendor.
package toolcall
