// Package acpagent is the kit for agents whose two-way mode is the Agent Client Protocol: JSON-RPC lines over
// standard input and output.
//
// It builds on package cliagent, which handles the process tree, timeouts, hooks, private files, the server of the
// caller's tools and the one result; this package is the cliagent.Parser that speaks the protocol. An adapter
// describes the specifics of its agent in an Agent or a Spec. Vendor-specific code belongs in the adapter.
//
// An agent that always speaks ACP is one value, and needs no code of its own:
//
//	adapter.Register(func() adapter.Descriptor {
//		return acpagent.Agent{
//			About: adapter.Descriptor{Name: "example", Command: "example", Docs: "https://example.org"},
//			Args:  []string{"--acp"},
//		}.Descriptor()
//	})
//
// An agent that also has a one-shot mode, whose lines its own parser reads:
//
//	func spec() cliagent.Spec {
//		return acpagent.Join(cliagent.Spec{
//			Name:         "gemini",
//			Command:      "gemini",
//			InstallHint:  "install it with: " + install,
//			Capabilities: capabilities,
//			Spawn:        spawnOneShot, // runs for which twoWay returns false
//			NewParser:    newLineParser,
//			Negotiate:    negotiate, // of both; the kit adds its own reasons for runs over ACP
//			Keys:         keys,
//			Linger:       time.Second, // it does not exit when its input is closed
//		}, acpagent.Spec{
//			Name:  "gemini",
//			Spawn: func(l *cliagent.Launch) (cliagent.Invocation, error) {
//				args := []string{"--acp"}
//				if m := l.Request.Run.Model; m != "" {
//					args = append(args, "--model="+m)
//				}
//				return cliagent.Invocation{Args: args, Env: map[string]string{"GEMINI_CLI_NO_RELAUNCH": "true"}}, nil
//			},
//			ModelInArgs: true,
//			Modes:       map[execution.ApprovalMode]string{execution.ApprovalYolo: "yolo"},
//			LoginHint:   loginGuidance,
//			MCPTool: func(c *acpagent.ToolCall, _ []string) (server, tool string, ok bool) { // mcp_files_read__fc_123
//				...
//			},
//			ToolName: func(c *acpagent.ToolCall) string { // write_file__fc_123
//				name, _, _ := strings.Cut(c.ID, "__")
//				return name
//			},
//		}, twoWay)
//	}
//
//	// twoWay: the caller may send input, or only the protocol supports the request.
//	func twoWay(req execution.Request) bool { return req.Run.Interactive || ... }
//
// Package acptest simulates such an agent: an adapter's conformance test runs the test binary in its place.
//
// # Scope
//
// initialize with version negotiation; authenticate if the agent requires a login and Spec.Authenticate has a non-interactive
// method; session/new, session/load, session/resume, session/fork; mode, model and thought level of the session;
// session/prompt with text, images, audio, resources and links, one turn after another on one process; session/cancel; MCP
// servers of the request, including the caller's tools; permission requests as questions, any number at a time. The client
// declares no file system or terminal: agents would use them in place of their own tools.
//
// # Events
//
// Texts and thinking are streamed; a tool call, another message id, or a change between the two ends a message. A tool call
// starts at its first mention, and is ready when permission is requested for it, when it runs, or when it ends. Calls of
// kind execute have shell_* events, diffs and read locations file_* events after the result; plans are the tool
// update_plan. What an agent sends outside a turn makes no event: the history of a loaded session, the rest of a finished
// turn, updates of commands, modes and titles. Usage comes with the end of a turn, or with its model calls if the agent
// reports it; steps if it reports the end of each, see Spec.Steps. An extension of the agent can report calls on standard
// error, see Spec.Report.
//
// # Ends
//
// end_turn is completed; max_turn_requests and max_tokens are deferred; refusal is failed/INVALID_REQUEST; cancelled, and an
// error reply to a cancelled prompt, are failed/cancelled. When the last turn is over and no more input comes, standard
// input is closed and the agent has cliagent.Spec.Linger to exit; some never do. The exit code is ignored then.
//
// The protocol has no steering: a message sent during a turn starts the next one.
package acpagent
