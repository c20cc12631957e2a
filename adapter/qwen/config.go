package qwen

import (
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// configSchema describes settings.json.
func configSchema() settings.Schema {
	return settings.NewSchema("qwen", "0.24.4", []settings.File{
		{Scope: settings.Global, Path: "~/.qwen/settings.json", Moved: "$QWEN_HOME/settings.json", Format: "jsonc"},
		{Scope: settings.Project, Path: ".qwen/settings.json", Format: "jsonc"},
	}, &settings.MCPShape{Kinds: []settings.MCPKind{
		{Transport: execution.MCPStdio, Aliases: []string{"stdio"}},
		{Transport: execution.MCPStreamableHTTP, Aliases: []string{"http", "streamable-http"}, URL: "httpUrl", Headers: "headers"},
		{Transport: execution.MCPSSE, Aliases: []string{"sse"}, URL: "url", Headers: "headers"},
	}}, []settings.Field{
		{Path: "model", Label: "Model", Type: settings.TypeString, Normalized: true, Native: "model.name", Description: "model to use when a run names none"},
		{Path: "provider", Label: "Provider", Type: settings.TypeString, Normalized: true, Native: "security.auth.selectedType", Description: "way to the model: openai, anthropic, gemini, qwen-oauth"},
		{Path: "thinkingEffort", Label: "Thinking effort", Type: settings.TypeEnum, Normalized: true, Native: "model.reasoningEffort", Enum: []string{"low", "medium", "high", "xhigh", "max"},
			Description: "how hard the model thinks"},
		{Path: "approvalMode", Label: "Approval mode", Type: settings.TypeEnum, Normalized: true, Native: "tools.approvalMode", Default: "auto",
			Enum:   []string{"plan", "default", "auto-edit", "auto", "yolo"},
			Values: []settings.Value{{Value: "prompt", Native: "default"}, {Value: "yolo", Native: "yolo"}}, Description: "what needs approval"},
		{Path: "allowedCommands", Label: "Allowed", Type: settings.TypeStringList, Normalized: true, Native: "permissions.allow", Merge: settings.MergeUnion, Description: "rules of tool calls that need no permission"},
		{Path: "deniedCommands", Label: "Denied", Type: settings.TypeStringList, Normalized: true, Native: "permissions.deny", Merge: settings.MergeUnion, Description: "rules of tool calls that are refused"},
		{Path: "env", Label: "Environment", Type: settings.TypeObject, Normalized: true, Native: "env", Secret: true, Description: "variables that are set where the environment has none"},
		{Path: "mcpServers", Label: "MCP servers", Type: settings.TypeMCPServers, Normalized: true, Native: "mcpServers", Description: "MCP servers by name"},
		{Path: "agentsDoc", Label: "Agents document", Type: settings.TypeStringList, Normalized: true, Native: "context.fileName", Description: "names of the files with instructions"},
		{Path: "skills", Label: "Skills", Type: settings.TypeStringList, Normalized: true, Native: "skills.enabled", Merge: settings.MergeUnion, Description: "skills that are used although they are off by default"},
		{Path: "skills.disabled", Type: settings.TypeStringList, Native: "skills.disabled", Merge: settings.MergeUnion, Description: "skills that are not used"},
		{Path: "skills.directories", Type: settings.TypeStringList, Native: "skills.directories", Merge: settings.MergeUnion, Description: "directories with more skills"},
		{Path: "permissions.ask", Type: settings.TypeStringList, Native: "permissions.ask", Merge: settings.MergeUnion, Description: "rules of tool calls that are always asked about"},
		{Path: "model.maxSessionTurns", Type: settings.TypeInteger, Native: "model.maxSessionTurns", Min: new(-1.0), Default: -1, Description: "turns of a conversation, -1 for any number"},
		{Path: "model.baseUrl", Type: settings.TypeString, Native: "model.baseUrl", Description: "address of the model's API"},
		{Path: "security.auth.apiKey", Type: settings.TypeString, Native: "security.auth.apiKey", Secret: true, Description: "key of the model's API"},
		{Path: "security.auth.baseUrl", Type: settings.TypeString, Native: "security.auth.baseUrl", Description: "address of the model's API"},
		{Path: "general.enableAutoUpdate", Type: settings.TypeBoolean, Native: "general.enableAutoUpdate", Default: true, Description: "automatic updates"},
		{Path: "general.cleanupPeriodDays", Type: settings.TypeNumber, Native: "general.cleanupPeriodDays", Min: new(0.0), Default: 30, Description: "days that conversations are kept"},
		{Path: "output.format", Type: settings.TypeEnum, Native: "output.format", Enum: []string{"text", "json", "stream-json"}, Default: "text", Description: "form of the answer"},
		{Path: "privacy.usageStatisticsEnabled", Type: settings.TypeBoolean, Native: "privacy.usageStatisticsEnabled", Default: true, Description: "usage statistics to the vendor"},
		{Path: "memory.enableManagedAutoMemory", Type: settings.TypeBoolean, Native: "memory.enableManagedAutoMemory", Default: true, Description: "memory kept by a request of its own after each turn"},
		{Path: "context.includeDirectories", Type: settings.TypeStringList, Native: "context.includeDirectories", Merge: settings.MergeUnion, Description: "directories besides the project's"},
		{Path: "mcp.allowed", Type: settings.TypeStringList, Native: "mcp.allowed", Merge: settings.MergeUnion, Description: "MCP servers that are used, and no others"},
		{Path: "mcp.excluded", Type: settings.TypeStringList, Native: "mcp.excluded", Merge: settings.MergeUnion, Description: "MCP servers that are not used"},
		{Path: "modelProviders", Type: settings.TypeObject, Native: "modelProviders", Description: "models by provider"},
	})
}
