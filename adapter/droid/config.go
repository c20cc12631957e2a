package droid

import (
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// unasked is what it runs of a project, and which commands need no question there.
func unasked() []settings.Unasked {
	return []settings.Unasked{
		{Path: ".factory/mcp.json", Format: "json", Keys: []string{"mcpServers"}, Up: true},
		{Path: ".factory/settings.json", Format: "jsonc", Keys: []string{"hooks", "customModels", "commandAllowlist"}, Up: true},
	}
}

// configSchema describes settings.json and mcp.json.
func configSchema() settings.Schema {
	const servers = "mcp"
	return settings.NewSchema(name, version, []settings.File{
		{Scope: settings.Global, Path: "~/.factory/settings.json", Format: "jsonc"},
		{Scope: settings.Project, Path: ".factory/settings.json", Format: "jsonc"},
		{ID: servers, Scope: settings.Global, Path: "~/.factory/mcp.json", Format: "json"},
		{ID: servers, Scope: settings.Project, Path: ".factory/mcp.json", Format: "json"},
	}, &settings.MCPShape{Kinds: []settings.MCPKind{
		{Transport: execution.MCPStdio, Type: "stdio"},
		{Transport: execution.MCPStreamableHTTP, Type: "http", URL: "url", Headers: "headers"},
		{Transport: execution.MCPSSE, Type: "sse", URL: "url", Headers: "headers"},
	}}, []settings.Field{
		{Path: "model", Label: "Model", Type: settings.TypeString, Normalized: true, Native: "sessionDefaultSettings.model", Description: "model to use when a run names none"},
		{Path: "thinkingEffort", Label: "Thinking effort", Type: settings.TypeString, Normalized: true, Native: "sessionDefaultSettings.reasoningEffort", Description: "how hard the model thinks"},
		{Path: "mcpServers", Label: "MCP servers", Type: settings.TypeMCPServers, Normalized: true, Native: "mcpServers", File: servers, Description: "MCP servers by name"},
		{Path: "cloudSessionSync", Type: settings.TypeBoolean, Native: "cloudSessionSync", Default: true, Description: "sessions are copied to Factory"},
	})
}
