// Package toolserver serves the tools of a request to an agent as a Model Context Protocol server, for the time of one
// run, over streamable HTTP on the loopback interface.
//
// The agent reaches it like any other MCP server of the run; calls go to a handler of the caller. Which tools there are
// and who may use them was decided before: no policy, approval or vendor's name belongs here.
package toolserver
