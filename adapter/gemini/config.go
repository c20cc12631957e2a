package gemini

import (
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// configSchema describes settings.json. Gemini CLI has no setting that approves everything, only a flag.
func configSchema() adapter.ConfigSchema {
	return adapter.NewConfigSchema("gemini", "0.61.0", []adapter.ConfigFile{
		{Scope: adapter.ScopeGlobal, Path: "~/.gemini/settings.json", Moved: "$GEMINI_CLI_HOME/.gemini/settings.json", Format: "jsonc"},
		{Scope: adapter.ScopeProject, Path: ".gemini/settings.json", Format: "jsonc", Note: "gemini reads it in folders that the user trusts"},
	}, &adapter.MCPShape{Kinds: []adapter.MCPKind{
		{Transport: execution.MCPStdio, Aliases: []string{"stdio"}},
		{Transport: execution.MCPStreamableHTTP, Type: "http", Aliases: []string{"streamable-http"}, URL: "url", Headers: "headers"},
		{Transport: execution.MCPStreamableHTTP, URL: "httpUrl", Headers: "headers"}, // the older format, only read: the first entry of a transport is written
		{Transport: execution.MCPSSE, Type: "sse", URL: "url", Headers: "headers"},
	}}, []adapter.ConfigField{
		{Path: "model", Label: "Model", Type: adapter.TypeString, Normalized: true, Native: "model.name", Variable: "GEMINI_MODEL", Description: "model to use when a run names none"},
		{Path: "provider", Label: "Provider", Type: adapter.TypeString, Normalized: true, Native: "security.auth.selectedType", Description: "way to the model: gemini-api-key, oauth-personal, vertex-ai"},
		{Path: "approvalMode", Label: "Approval mode", Type: adapter.TypeEnum, Normalized: true, Native: "general.defaultApprovalMode", Enum: []string{"default", "auto_edit", "plan"},
			Values: []adapter.ConfigValue{{Value: "prompt", Native: "default"}}, Description: "what needs approval"},
		{Path: "allowedCommands", Label: "Allowed", Type: adapter.TypeStringList, Normalized: true, Native: "tools.allowed", Description: "tools that need no approval"},
		{Path: "deniedCommands", Label: "Denied", Type: adapter.TypeStringList, Normalized: true, Native: "tools.exclude", Merge: adapter.MergeUnion, Description: "tools that the model does not get"},
		{Path: "mcpServers", Label: "MCP servers", Type: adapter.TypeMCPServers, Normalized: true, Native: "mcpServers", Description: "MCP servers by name"},
		{Path: "agentsDoc", Label: "Agents document", Type: adapter.TypeStringList, Normalized: true, Native: "context.fileName", Description: "names of the files with instructions"},
		{Path: "skills.enabled", Type: adapter.TypeBoolean, Native: "skills.enabled", Default: true, Description: "whether skills are used"},
		{Path: "skills.disabled", Type: adapter.TypeStringList, Native: "skills.disabled", Merge: adapter.MergeUnion, Description: "skills that are not used"},
		{Path: "model.maxSessionTurns", Type: adapter.TypeNumber, Native: "model.maxSessionTurns", Min: new(-1.0), Default: -1, Description: "turns of a conversation, -1 for any number"},
		{Path: "model.compressionThreshold", Type: adapter.TypeNumber, Native: "model.compressionThreshold", Min: new(0.0), Max: new(1.0), Default: 0.5, Description: "share of the context window at which it is compressed"},
		{Path: "general.enableAutoUpdate", Type: adapter.TypeBoolean, Native: "general.enableAutoUpdate", Default: true, Description: "automatic updates"},
		{Path: "general.maxAttempts", Type: adapter.TypeNumber, Native: "general.maxAttempts", Min: new(1.0), Max: new(10.0), Default: 10, Description: "attempts of a model request"},
		{Path: "general.checkpointing.enabled", Type: adapter.TypeBoolean, Native: "general.checkpointing.enabled", Default: false, Description: "checkpoints of conversations"},
		{Path: "output.format", Type: adapter.TypeEnum, Native: "output.format", Enum: []string{"text", "json"}, Default: "text", Description: "form of the answer"},
		{Path: "privacy.usageStatisticsEnabled", Type: adapter.TypeBoolean, Native: "privacy.usageStatisticsEnabled", Default: true, Description: "usage statistics to the vendor"},
		{Path: "context.includeDirectories", Type: adapter.TypeStringList, Native: "context.includeDirectories", Merge: adapter.MergeUnion, Description: "directories besides the project's"},
		{Path: "tools.core", Type: adapter.TypeStringList, Native: "tools.core", Description: "built-in tools that the model gets, and no others"},
		{Path: "mcp.allowed", Type: adapter.TypeStringList, Native: "mcp.allowed", Description: "MCP servers that are used, and no others"},
		{Path: "mcp.excluded", Type: adapter.TypeStringList, Native: "mcp.excluded", Description: "MCP servers that are not used"},
		{Path: "security.folderTrust.enabled", Type: adapter.TypeBoolean, Native: "security.folderTrust.enabled", Default: true, Description: "folders must be trusted"},
		{Path: "telemetry", Type: adapter.TypeObject, Native: "telemetry", Description: "telemetry to a collector"},
	})
}
