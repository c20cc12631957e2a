package qwen

import (
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// configSchema describes settings.json.
func configSchema() adapter.ConfigSchema {
	return adapter.NewConfigSchema("qwen", "0.24.4", []adapter.ConfigFile{
		{Scope: adapter.ScopeGlobal, Path: "~/.qwen/settings.json", Moved: "$QWEN_HOME/settings.json", Format: "jsonc"},
		{Scope: adapter.ScopeProject, Path: ".qwen/settings.json", Format: "jsonc"},
	}, &adapter.MCPShape{Kinds: []adapter.MCPKind{
		{Transport: execution.MCPStdio, Aliases: []string{"stdio"}},
		{Transport: execution.MCPStreamableHTTP, Aliases: []string{"http", "streamable-http"}, URL: "httpUrl", Headers: "headers"},
		{Transport: execution.MCPSSE, Aliases: []string{"sse"}, URL: "url", Headers: "headers"},
	}}, []adapter.ConfigField{
		{Path: "model", Label: "Model", Type: adapter.TypeString, Normalized: true, Native: "model.name", Description: "model to use when a run names none"},
		{Path: "provider", Label: "Provider", Type: adapter.TypeString, Normalized: true, Native: "security.auth.selectedType", Description: "way to the model: openai, anthropic, gemini, qwen-oauth"},
		{Path: "thinkingEffort", Label: "Thinking effort", Type: adapter.TypeEnum, Normalized: true, Native: "model.reasoningEffort", Enum: []string{"low", "medium", "high", "xhigh", "max"},
			Description: "how hard the model thinks"},
		{Path: "approvalMode", Label: "Approval mode", Type: adapter.TypeEnum, Normalized: true, Native: "tools.approvalMode", Default: "auto",
			Enum:   []string{"plan", "default", "auto-edit", "auto", "yolo"},
			Values: []adapter.ConfigValue{{Value: "prompt", Native: "default"}, {Value: "yolo", Native: "yolo"}}, Description: "what needs approval"},
		{Path: "allowedCommands", Label: "Allowed", Type: adapter.TypeStringList, Normalized: true, Native: "permissions.allow", Merge: adapter.MergeUnion, Description: "rules of tool calls that need no permission"},
		{Path: "deniedCommands", Label: "Denied", Type: adapter.TypeStringList, Normalized: true, Native: "permissions.deny", Merge: adapter.MergeUnion, Description: "rules of tool calls that are refused"},
		{Path: "env", Label: "Environment", Type: adapter.TypeObject, Normalized: true, Native: "env", Secret: true, Description: "variables that are set where the environment has none"},
		{Path: "mcpServers", Label: "MCP servers", Type: adapter.TypeMCPServers, Normalized: true, Native: "mcpServers", Description: "MCP servers by name"},
		{Path: "agentsDoc", Label: "Agents document", Type: adapter.TypeStringList, Normalized: true, Native: "context.fileName", Description: "names of the files with instructions"},
		{Path: "skills", Label: "Skills", Type: adapter.TypeStringList, Normalized: true, Native: "skills.enabled", Merge: adapter.MergeUnion, Description: "skills that are used although they are off by default"},
		{Path: "skills.disabled", Type: adapter.TypeStringList, Native: "skills.disabled", Merge: adapter.MergeUnion, Description: "skills that are not used"},
		{Path: "skills.directories", Type: adapter.TypeStringList, Native: "skills.directories", Merge: adapter.MergeUnion, Description: "directories with more skills"},
		{Path: "permissions.ask", Type: adapter.TypeStringList, Native: "permissions.ask", Merge: adapter.MergeUnion, Description: "rules of tool calls that are always asked about"},
		{Path: "model.maxSessionTurns", Type: adapter.TypeInteger, Native: "model.maxSessionTurns", Min: new(-1.0), Default: -1, Description: "turns of a conversation, -1 for any number"},
		{Path: "model.baseUrl", Type: adapter.TypeString, Native: "model.baseUrl", Description: "address of the model's API"},
		{Path: "security.auth.apiKey", Type: adapter.TypeString, Native: "security.auth.apiKey", Secret: true, Description: "key of the model's API"},
		{Path: "security.auth.baseUrl", Type: adapter.TypeString, Native: "security.auth.baseUrl", Description: "address of the model's API"},
		{Path: "general.enableAutoUpdate", Type: adapter.TypeBoolean, Native: "general.enableAutoUpdate", Default: true, Description: "automatic updates"},
		{Path: "general.cleanupPeriodDays", Type: adapter.TypeNumber, Native: "general.cleanupPeriodDays", Min: new(0.0), Default: 30, Description: "days that conversations are kept"},
		{Path: "output.format", Type: adapter.TypeEnum, Native: "output.format", Enum: []string{"text", "json", "stream-json"}, Default: "text", Description: "form of the answer"},
		{Path: "privacy.usageStatisticsEnabled", Type: adapter.TypeBoolean, Native: "privacy.usageStatisticsEnabled", Default: true, Description: "usage statistics to the vendor"},
		{Path: "memory.enableManagedAutoMemory", Type: adapter.TypeBoolean, Native: "memory.enableManagedAutoMemory", Default: true, Description: "memory kept by a request of its own after each turn"},
		{Path: "context.includeDirectories", Type: adapter.TypeStringList, Native: "context.includeDirectories", Merge: adapter.MergeUnion, Description: "directories besides the project's"},
		{Path: "mcp.allowed", Type: adapter.TypeStringList, Native: "mcp.allowed", Merge: adapter.MergeUnion, Description: "MCP servers that are used, and no others"},
		{Path: "mcp.excluded", Type: adapter.TypeStringList, Native: "mcp.excluded", Merge: adapter.MergeUnion, Description: "MCP servers that are not used"},
		{Path: "modelProviders", Type: adapter.TypeObject, Native: "modelProviders", Description: "models by provider"},
	})
}
