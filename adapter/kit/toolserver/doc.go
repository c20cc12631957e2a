// Package toolserver serves a request's tools to an agent as a Model Context Protocol server, during one run, over
// streamable HTTP on loopback.
//
// The agent uses it like any other MCP server of the run; calls go to a handler of the caller. The caller decides
// which tools exist and who may use them: policies, approvals and vendors' names do not belong here.
package toolserver
