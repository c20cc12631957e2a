// Package pi drives Pi, the coding agent of @earendil-works/pi-coding-agent, in RPC mode: one JSON object a line in both
// directions. Every run uses it, because it streams as the JSON mode does and takes messages, interrupts and answers
// besides.
//
// Pi runs every tool unasked and, before 1.0, knows no MCP servers. For runs that ask, or that have a hook before tools, it loads a
// small extension of Drawbar's, which asks in a dialog. Without permission it gets the tools that read.
//
// Pi never exits with an error after a failed turn: how the last message ended decides.
//
// The formats are those of the documents that come with Pi 1.6.0 (docs/rpc.md, json.md, rpc-commands.md,
// rpc-extension-ui.md, message-types.md, session-format.md) and of its recorded output.
package pi
