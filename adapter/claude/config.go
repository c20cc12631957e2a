package claude

import (
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// configSchema describes settings.json and the files of MCP servers, which settings.json does not contain.
func configSchema() settings.Schema {
	const servers = "mcp"
	return settings.NewSchema(name, "2.1.329", []settings.File{
		{Scope: settings.Global, Path: "~/.claude/settings.json", Moved: "$CLAUDE_CONFIG_DIR/settings.json", Format: "json"},
		{Scope: settings.Project, Path: ".claude/settings.json", Format: "json"},
		{Scope: settings.Local, Path: ".claude/settings.local.json", Format: "json"},
		{ID: servers, Scope: settings.Global, Path: "~/.claude.json", Moved: "$CLAUDE_CONFIG_DIR/.claude.json", Format: "json"},
		{ID: servers, Scope: settings.Project, Path: ".mcp.json", Format: "json", Note: "in its own terminal program claude asks each user before it uses servers of .mcp.json, and so does a run, once for all: drawbar trust"},
		{ID: servers, Scope: settings.Local, Path: "~/.claude.json", Moved: "$CLAUDE_CONFIG_DIR/.claude.json", Format: "json",
			Prefix: []string{"projects", "{project}"}, AtRoot: true},
	}, &settings.MCPShape{Kinds: []settings.MCPKind{
		{Transport: execution.MCPStdio, Type: "stdio"},
		{Transport: execution.MCPStreamableHTTP, Type: "http", Aliases: []string{"streamable-http"}, URL: "url", Headers: "headers"},
		{Transport: execution.MCPSSE, Type: "sse", URL: "url", Headers: "headers"},
	}}, []settings.Field{
		{Path: "model", Label: "Model", Type: settings.TypeString, Normalized: true, Native: "model", Variable: "ANTHROPIC_MODEL", Description: "model to use when a run names none"},
		{Path: "thinkingEffort", Label: "Thinking effort", Type: settings.TypeEnum, Normalized: true, Native: "effortLevel", Enum: []string{"low", "medium", "high", "xhigh"},
			Description: "how hard the model thinks, where it can"},
		{Path: "approvalMode", Label: "Approval mode", Type: settings.TypeEnum, Normalized: true, Native: "permissions.defaultMode",
			Enum: []string{"default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions", "manual"},
			Values: []settings.Value{{Value: "prompt", Native: "default"}, {Value: "yolo", Native: "bypassPermissions"},
				{Value: "deny", Native: "dontAsk"}},
			Description: "what happens to a tool call that no rule is about"},
		{Path: "allowedCommands", Label: "Allowed", Type: settings.TypeStringList, Normalized: true, Native: "permissions.allow", Merge: settings.MergeUnion, Description: "rules of tool calls that need no permission"},
		{Path: "deniedCommands", Label: "Denied", Type: settings.TypeStringList, Normalized: true, Native: "permissions.deny", Merge: settings.MergeUnion, Description: "rules of tool calls that are refused"},
		{Path: "env", Label: "Environment", Type: settings.TypeObject, Normalized: true, Native: "env", Secret: true, Description: "variables of every session"},
		{Path: "mcpServers", Label: "MCP servers", Type: settings.TypeMCPServers, Normalized: true, Native: "mcpServers", File: servers, Description: "MCP servers by name"},
		{Path: "permissions.ask", Type: settings.TypeStringList, Native: "permissions.ask", Merge: settings.MergeUnion, Description: "rules of tool calls that are always asked about"},
		{Path: "permissions.additionalDirectories", Type: settings.TypeStringList, Native: "permissions.additionalDirectories", Merge: settings.MergeUnion, Description: "directories besides the project's"},
		{Path: "alwaysThinkingEnabled", Type: settings.TypeBoolean, Native: "alwaysThinkingEnabled", Description: "false switches thinking off"},
		{Path: "cleanupPeriodDays", Type: settings.TypeNumber, Native: "cleanupPeriodDays", Min: new(0.0), Description: "days that conversations are kept"},
		{Path: "includeCoAuthoredBy", Type: settings.TypeBoolean, Native: "includeCoAuthoredBy", Deprecated: "attribution", Description: "a co-author line in commits"},
		{Path: "apiKeyHelper", Type: settings.TypeString, Native: "apiKeyHelper", Description: "command that prints the API key"},
		{Path: "outputStyle", Type: settings.TypeString, Native: "outputStyle", Description: "style of the answers"},
		{Path: "disableAllHooks", Type: settings.TypeBoolean, Native: "disableAllHooks", Description: "no hooks at all"},
		{Path: "hooks", Type: settings.TypeObject, Native: "hooks", Description: "commands that run at events"},
	})
}
