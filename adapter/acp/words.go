package acp

import "github.com/drawbar/drawbar/adapter/kit/acpagent"

// statedNames are the members in which known agents put the name of a tool: the protocol's title includes the
// arguments.
var statedNames = [][]string{
	{"goose", "toolCall", "toolName"},
	{"claudeCode", "toolName"},
}

// toolName returns the name of a tool as the agent states it, empty if it does not.
func toolName(c *acpagent.ToolCall) string {
	for _, path := range statedNames {
		if name := c.MetaField(path...).Str(); name != "" {
			return name
		}
	}
	return ""
}
