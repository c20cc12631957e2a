// Package external runs agents whose adapter is a program of its own, in any language: drawbar-adapter-NAME. Find locates
// such a program on PATH, Describe asks it what it can do, and Serve is the other side for a program in Go.
//
// Drawbar starts the program once per run and exchanges JSON-RPC 2.0 with it, one message per line: requests on its
// standard input, replies and notifications on its standard output. Standard error is its log. The payloads are the
// values of package execution, whose schemas are in the folder schema.
//
//	to the program   initialize {protocolVersion, client}   reply: {protocolVersion, agent, capabilities, conformance}
//	                 negotiate {request}                    reply: {reasons, capabilities}; optional
//	                 execute {request}                      reply: the result, when the run is over
//	                 message {inputId, text, when}          reply: {}; input_taken follows when the agent gets it
//	                 answer {id, decision}                  reply: {}
//	                 interrupt, endInput                    notifications
//	from the program event {type, ...}                      a notification
//
// Requests and notifications other than the first three reach a program only if it declares the verbs for them. The program
// exits when its standard input ends; otherwise it is stopped like any agent. The request's tools are an MCP server in
// request.run.mcpServers. Hooks, plugins, and commands of the caller cannot be declared.
//
// Another Drawbar is such a program, too: a Remote is an agent that "drawbar agents serve" gives to this one, perhaps over ssh.
package external
