package gemini

import (
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// configSchema describes settings.json. Gemini CLI has no setting that approves everything, only a flag.
func configSchema() settings.Schema {
	return settings.NewSchema("gemini", "0.61.0", []settings.File{
		{Scope: settings.Global, Path: "~/.gemini/settings.json", Moved: "$GEMINI_CLI_HOME/.gemini/settings.json", Format: "jsonc"},
		{Scope: settings.Project, Path: ".gemini/settings.json", Format: "jsonc", Note: "gemini reads it in folders that the user trusts"},
	}, &settings.MCPShape{Kinds: []settings.MCPKind{
		{Transport: execution.MCPStdio, Aliases: []string{"stdio"}},
		{Transport: execution.MCPStreamableHTTP, Type: "http", Aliases: []string{"streamable-http"}, URL: "url", Headers: "headers"},
		{Transport: execution.MCPStreamableHTTP, URL: "httpUrl", Headers: "headers"}, // the older format, only read: the first entry of a transport is written
		{Transport: execution.MCPSSE, Type: "sse", URL: "url", Headers: "headers"},
	}}, []settings.Field{
		{Path: "model", Label: "Model", Type: settings.TypeString, Normalized: true, Native: "model.name", Variable: "GEMINI_MODEL", Description: "model to use when a run names none"},
		{Path: "provider", Label: "Provider", Type: settings.TypeString, Normalized: true, Native: "security.auth.selectedType", Description: "way to the model: gemini-api-key, oauth-personal, vertex-ai"},
		{Path: "approvalMode", Label: "Approval mode", Type: settings.TypeEnum, Normalized: true, Native: "general.defaultApprovalMode", Enum: []string{"default", "auto_edit", "plan"},
			Values: []settings.Value{{Value: "prompt", Native: "default"}}, Description: "what needs approval"},
		{Path: "allowedCommands", Label: "Allowed", Type: settings.TypeStringList, Normalized: true, Native: "tools.allowed", Description: "tools that need no approval"},
		{Path: "deniedCommands", Label: "Denied", Type: settings.TypeStringList, Normalized: true, Native: "tools.exclude", Merge: settings.MergeUnion, Description: "tools that the model does not get"},
		{Path: "mcpServers", Label: "MCP servers", Type: settings.TypeMCPServers, Normalized: true, Native: "mcpServers", Description: "MCP servers by name"},
		{Path: "agentsDoc", Label: "Agents document", Type: settings.TypeStringList, Normalized: true, Native: "context.fileName", Description: "names of the files with instructions"},
		{Path: "skills.enabled", Type: settings.TypeBoolean, Native: "skills.enabled", Default: true, Description: "whether skills are used"},
		{Path: "skills.disabled", Type: settings.TypeStringList, Native: "skills.disabled", Merge: settings.MergeUnion, Description: "skills that are not used"},
		{Path: "model.maxSessionTurns", Type: settings.TypeNumber, Native: "model.maxSessionTurns", Min: new(-1.0), Default: -1, Description: "turns of a conversation, -1 for any number"},
		{Path: "model.compressionThreshold", Type: settings.TypeNumber, Native: "model.compressionThreshold", Min: new(0.0), Max: new(1.0), Default: 0.5, Description: "share of the context window at which it is compressed"},
		{Path: "general.enableAutoUpdate", Type: settings.TypeBoolean, Native: "general.enableAutoUpdate", Default: true, Description: "automatic updates"},
		{Path: "general.maxAttempts", Type: settings.TypeNumber, Native: "general.maxAttempts", Min: new(1.0), Max: new(10.0), Default: 10, Description: "attempts of a model request"},
		{Path: "general.checkpointing.enabled", Type: settings.TypeBoolean, Native: "general.checkpointing.enabled", Default: false, Description: "checkpoints of conversations"},
		{Path: "output.format", Type: settings.TypeEnum, Native: "output.format", Enum: []string{"text", "json"}, Default: "text", Description: "form of the answer"},
		{Path: "privacy.usageStatisticsEnabled", Type: settings.TypeBoolean, Native: "privacy.usageStatisticsEnabled", Default: true, Description: "usage statistics to the vendor"},
		{Path: "context.includeDirectories", Type: settings.TypeStringList, Native: "context.includeDirectories", Merge: settings.MergeUnion, Description: "directories besides the project's"},
		{Path: "tools.core", Type: settings.TypeStringList, Native: "tools.core", Description: "built-in tools that the model gets, and no others"},
		{Path: "mcp.allowed", Type: settings.TypeStringList, Native: "mcp.allowed", Description: "MCP servers that are used, and no others"},
		{Path: "mcp.excluded", Type: settings.TypeStringList, Native: "mcp.excluded", Description: "MCP servers that are not used"},
		{Path: "security.folderTrust.enabled", Type: settings.TypeBoolean, Native: "security.folderTrust.enabled", Default: true, Description: "folders must be trusted"},
		{Path: "telemetry", Type: settings.TypeObject, Native: "telemetry", Description: "telemetry to a collector"},
	})
}
