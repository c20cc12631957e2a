package acp

import (
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/execution"
)

func cursor() acpagent.Agent {
	a := documented("cursor", "Cursor CLI", "cursor-agent", "https://cursor.com/docs/cli/acp", "acp")
	a.Other = "agent" // its newer name, which other programs have as well
	a.About.Aliases, a.About.HostTraces = []string{"cursor-agent", "cursor-cli"}, []string{"CURSOR_AGENT_SESSION", "CURSOR_SESSION"}
	a.About.Install = []adapter.InstallMethod{
		{Platform: "darwin", Type: "script", Command: "curl https://cursor.com/install -fsS | bash"},
		{Platform: "linux", Type: "script", Command: "curl https://cursor.com/install -fsS | bash"},
		{Platform: "windows", Type: "manual", Notes: "how to install it: https://cursor.com/docs/cli/installation"},
	}
	a.About.Config = cursorConfig()
	a.Login = acpagent.Login{Command: "cursor-agent login", Variables: []adapter.AuthVariable{
		key("CURSOR_API_KEY", "API key of the Cursor account"), key("CURSOR_AUTH_TOKEN", "token of the Cursor account")}}
	// A stored login is used by itself, and its login method would open a browser.
	return a
}

// cursorConfig describes Cursor's settings (https://cursor.com/docs/cli/reference/configuration) and MCP servers
// (https://cursor.com/docs/mcp). A project has permissions and servers only.
func cursorConfig() adapter.ConfigSchema {
	const servers = "mcp"
	return adapter.NewConfigSchema("cursor", "", []adapter.ConfigFile{
		{Scope: adapter.ScopeGlobal, Path: "~/.cursor/cli-config.json", Moved: "$CURSOR_CONFIG_DIR/cli-config.json", Format: "json"},
		{Scope: adapter.ScopeProject, Path: ".cursor/cli.json", Format: "json"},
		{ID: servers, Scope: adapter.ScopeGlobal, Path: "~/.cursor/mcp.json", Format: "json"},
		{ID: servers, Scope: adapter.ScopeProject, Path: ".cursor/mcp.json", Format: "json"},
	}, &adapter.MCPShape{Kinds: []adapter.MCPKind{
		{Transport: execution.MCPStdio}, {Transport: execution.MCPStreamableHTTP, URL: "url", Headers: "headers"},
	}}, []adapter.ConfigField{
		{Path: "allowedCommands", Label: "Allowed", Type: adapter.TypeStringList, Normalized: true, Native: "permissions.allow", Scope: adapter.ScopeBoth, Description: "rules of tool calls that need no permission"},
		{Path: "deniedCommands", Label: "Denied", Type: adapter.TypeStringList, Normalized: true, Native: "permissions.deny", Scope: adapter.ScopeBoth, Description: "rules of tool calls that are refused"},
		{Path: "mcpServers", Label: "MCP servers", Type: adapter.TypeMCPServers, Normalized: true, Native: "mcpServers", File: servers, Scope: adapter.ScopeBoth, Description: "MCP servers by name"},
		{Path: "editor.vimMode", Type: adapter.TypeBoolean, Native: "editor.vimMode", Scope: adapter.ScopeGlobal, Default: false, Description: "Vim keys"},
		{Path: "version", Type: adapter.TypeInteger, Native: "version", Scope: adapter.ScopeGlobal, Description: "version of the file's form"},
	})
}
