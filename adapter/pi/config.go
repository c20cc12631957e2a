package pi

import (
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

const mcpFile = "mcp.json"

// configSchema describes settings.json (docs/settings.md) and mcp.json, which Pi has since 1.0 (docs/mcp.md).
func configSchema() settings.Schema {
	const servers = "mcp"
	levels := []string{"off", "minimal", "low", "medium", "high", "xhigh", "max"}
	return settings.NewSchema(name, "1.6.0", []settings.File{
		{Scope: settings.Global, Path: "~/.pi/agent/settings.json", Moved: "$PI_CODING_AGENT_DIR/settings.json", Format: "json"},
		{Scope: settings.Project, Path: ".pi/settings.json", Format: "json", Note: "pi reads it in folders that the user trusts"},
		{ID: servers, Scope: settings.Global, Path: "~/.pi/agent/" + mcpFile, Moved: "$PI_CODING_AGENT_DIR/" + mcpFile, Format: "json", Note: "pi reads it since 1.0"},
		{ID: servers, Scope: settings.Project, Path: ".pi/" + mcpFile, Format: "json", Note: "pi reads it since 1.0, in folders that the user trusts"},
	}, &settings.MCPShape{Kinds: []settings.MCPKind{
		{Transport: execution.MCPStdio, Type: "stdio"},
		{Transport: execution.MCPStreamableHTTP, Type: "http", Aliases: []string{"streamable-http"}, URL: "url", Headers: "headers"},
	}}, []settings.Field{
		{Path: "model", Label: "Model", Type: settings.TypeString, Normalized: true, Native: "defaultModel", Description: "model to use when a run names none"},
		{Path: "provider", Label: "Provider", Type: settings.TypeString, Normalized: true, Native: "defaultProvider", Description: "provider of that model"},
		{Path: "thinkingEffort", Label: "Thinking effort", Type: settings.TypeEnum, Normalized: true, Native: "defaultThinkingLevel", Enum: levels, Default: "medium", Description: "how hard the model thinks"},
		{Path: "mcpServers", Label: "MCP servers", Type: settings.TypeMCPServers, Normalized: true, Native: "mcpServers", File: servers, Description: "MCP servers by name"},
		{Path: "enabledModels", Type: settings.TypeStringList, Native: "enabledModels", Description: "patterns of the models to choose from"},
		{Path: "defaultTools", Type: settings.TypeStringList, Native: "defaultTools", Description: "built-in tools that are enabled"},
		{Path: "defaultProjectTrust", Type: settings.TypeEnum, Native: "defaultProjectTrust", Scope: settings.Global, Enum: []string{"ask", "always", "never"}, Default: "ask", Description: "whether a folder without a decision is trusted"},
		{Path: "steeringMode", Type: settings.TypeEnum, Native: "steeringMode", Enum: []string{"all", "one-at-a-time"}, Default: "one-at-a-time", Description: "how many waiting messages reach the running turn at once"},
		{Path: "followUpMode", Type: settings.TypeEnum, Native: "followUpMode", Enum: []string{"all", "one-at-a-time"}, Default: "one-at-a-time", Description: "how many waiting messages make the next turn"},
		{Path: "sessionDir", Type: settings.TypeString, Native: "sessionDir", Variable: "PI_CODING_AGENT_SESSION_DIR", Description: "folder of the sessions"},
		{Path: "compaction.enabled", Type: settings.TypeBoolean, Native: "compaction.enabled", Default: true, Description: "the context is compacted when it is nearly full"},
		{Path: "retry.enabled", Type: settings.TypeBoolean, Native: "retry.enabled", Default: true, Description: "failed model calls are tried again"},
		{Path: "retry.maxRetries", Type: settings.TypeInteger, Native: "retry.maxRetries", Default: 3, Description: "how often a failed model call is tried again"},
		{Path: "transport", Type: settings.TypeEnum, Native: "transport", Enum: []string{"auto", "sse", "websocket", "websocket-cached"}, Default: "auto", Description: "how model APIs with several transports are reached"},
		{Path: "httpProxy", Type: settings.TypeString, Native: "httpProxy", Scope: settings.Global, Description: "proxy for model APIs"},
		{Path: "shellPath", Type: settings.TypeString, Native: "shellPath", Description: "shell of the bash tool"},
		{Path: "extensions", Type: settings.TypeStringList, Native: "extensions", Merge: settings.MergeUnion, Description: "files and folders of extensions"},
		{Path: "skills", Type: settings.TypeStringList, Native: "skills", Merge: settings.MergeUnion, Description: "files and folders of skills"},
		{Path: "enableInstallTelemetry", Type: settings.TypeBoolean, Native: "enableInstallTelemetry", Default: true, Description: "reports of installations and updates"},
	})
}
