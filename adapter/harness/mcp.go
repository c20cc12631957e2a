package harness

// mcpName returns the name that the model calls an MCP server's tool by.
func mcpName(server, tool string) string { return "mcp__" + server + "__" + tool }
