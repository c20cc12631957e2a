package droid

import (
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// configSchema describes settings.json and mcp.json.
func configSchema() adapter.ConfigSchema {
	const servers = "mcp"
	return adapter.NewConfigSchema(name, version, []adapter.ConfigFile{
		{Scope: adapter.ScopeGlobal, Path: "~/.factory/settings.json", Format: "jsonc"},
		{Scope: adapter.ScopeProject, Path: ".factory/settings.json", Format: "jsonc"},
		{ID: servers, Scope: adapter.ScopeGlobal, Path: "~/.factory/mcp.json", Format: "json"},
		{ID: servers, Scope: adapter.ScopeProject, Path: ".factory/mcp.json", Format: "json"},
	}, &adapter.MCPShape{Kinds: []adapter.MCPKind{
		{Transport: execution.MCPStdio, Type: "stdio"},
		{Transport: execution.MCPStreamableHTTP, Type: "http", URL: "url", Headers: "headers"},
		{Transport: execution.MCPSSE, Type: "sse", URL: "url", Headers: "headers"},
	}}, []adapter.ConfigField{
		{Path: "model", Label: "Model", Type: adapter.TypeString, Normalized: true, Native: "sessionDefaultSettings.model", Description: "model to use when a run names none"},
		{Path: "thinkingEffort", Label: "Thinking effort", Type: adapter.TypeString, Normalized: true, Native: "sessionDefaultSettings.reasoningEffort", Description: "how hard the model thinks"},
		{Path: "mcpServers", Label: "MCP servers", Type: adapter.TypeMCPServers, Normalized: true, Native: "mcpServers", File: servers, Description: "MCP servers by name"},
		{Path: "cloudSessionSync", Type: adapter.TypeBoolean, Native: "cloudSessionSync", Default: true, Description: "sessions are copied to Factory"},
	})
}
