package claude

import (
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// configSchema describes settings.json and the files of MCP servers, which settings.json does not contain.
func configSchema() adapter.ConfigSchema {
	const servers = "mcp"
	return adapter.NewConfigSchema(name, "2.1.329", []adapter.ConfigFile{
		{Scope: adapter.ScopeGlobal, Path: "~/.claude/settings.json", Moved: "$CLAUDE_CONFIG_DIR/settings.json", Format: "json"},
		{Scope: adapter.ScopeProject, Path: ".claude/settings.json", Format: "json"},
		{Scope: adapter.ScopeLocal, Path: ".claude/settings.local.json", Format: "json"},
		{ID: servers, Scope: adapter.ScopeGlobal, Path: "~/.claude.json", Moved: "$CLAUDE_CONFIG_DIR/.claude.json", Format: "json"},
		{ID: servers, Scope: adapter.ScopeProject, Path: ".mcp.json", Format: "json", Note: "claude asks each user for approval before it uses servers of .mcp.json"},
		{ID: servers, Scope: adapter.ScopeLocal, Path: "~/.claude.json", Moved: "$CLAUDE_CONFIG_DIR/.claude.json", Format: "json",
			Prefix: []string{"projects", "{project}"}, AtRoot: true},
	}, &adapter.MCPShape{Kinds: []adapter.MCPKind{
		{Transport: execution.MCPStdio, Type: "stdio"},
		{Transport: execution.MCPStreamableHTTP, Type: "http", Aliases: []string{"streamable-http"}, URL: "url", Headers: "headers"},
		{Transport: execution.MCPSSE, Type: "sse", URL: "url", Headers: "headers"},
	}}, []adapter.ConfigField{
		{Path: "model", Label: "Model", Type: adapter.TypeString, Normalized: true, Native: "model", Variable: "ANTHROPIC_MODEL", Description: "model to use when a run names none"},
		{Path: "thinkingEffort", Label: "Thinking effort", Type: adapter.TypeEnum, Normalized: true, Native: "effortLevel", Enum: []string{"low", "medium", "high", "xhigh"},
			Description: "how hard the model thinks, where it can"},
		{Path: "approvalMode", Label: "Approval mode", Type: adapter.TypeEnum, Normalized: true, Native: "permissions.defaultMode",
			Enum: []string{"default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions", "manual"},
			Values: []adapter.ConfigValue{{Value: "prompt", Native: "default"}, {Value: "yolo", Native: "bypassPermissions"},
				{Value: "deny", Native: "dontAsk"}},
			Description: "what happens to a tool call that no rule is about"},
		{Path: "allowedCommands", Label: "Allowed", Type: adapter.TypeStringList, Normalized: true, Native: "permissions.allow", Merge: adapter.MergeUnion, Description: "rules of tool calls that need no permission"},
		{Path: "deniedCommands", Label: "Denied", Type: adapter.TypeStringList, Normalized: true, Native: "permissions.deny", Merge: adapter.MergeUnion, Description: "rules of tool calls that are refused"},
		{Path: "env", Label: "Environment", Type: adapter.TypeObject, Normalized: true, Native: "env", Secret: true, Description: "variables of every session"},
		{Path: "mcpServers", Label: "MCP servers", Type: adapter.TypeMCPServers, Normalized: true, Native: "mcpServers", File: servers, Description: "MCP servers by name"},
		{Path: "permissions.ask", Type: adapter.TypeStringList, Native: "permissions.ask", Merge: adapter.MergeUnion, Description: "rules of tool calls that are always asked about"},
		{Path: "permissions.additionalDirectories", Type: adapter.TypeStringList, Native: "permissions.additionalDirectories", Merge: adapter.MergeUnion, Description: "directories besides the project's"},
		{Path: "alwaysThinkingEnabled", Type: adapter.TypeBoolean, Native: "alwaysThinkingEnabled", Description: "false switches thinking off"},
		{Path: "cleanupPeriodDays", Type: adapter.TypeNumber, Native: "cleanupPeriodDays", Min: new(0.0), Description: "days that conversations are kept"},
		{Path: "includeCoAuthoredBy", Type: adapter.TypeBoolean, Native: "includeCoAuthoredBy", Deprecated: "attribution", Description: "a co-author line in commits"},
		{Path: "apiKeyHelper", Type: adapter.TypeString, Native: "apiKeyHelper", Description: "command that prints the API key"},
		{Path: "outputStyle", Type: adapter.TypeString, Native: "outputStyle", Description: "style of the answers"},
		{Path: "disableAllHooks", Type: adapter.TypeBoolean, Native: "disableAllHooks", Description: "no hooks at all"},
		{Path: "hooks", Type: adapter.TypeObject, Native: "hooks", Description: "commands that run at events"},
	})
}
