package acp

import (
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
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
func cursorConfig() settings.Schema {
	const servers = "mcp"
	return settings.NewSchema("cursor", "", []settings.File{
		{Scope: settings.Global, Path: "~/.cursor/cli-config.json", Moved: "$CURSOR_CONFIG_DIR/cli-config.json", Format: "json"},
		{Scope: settings.Project, Path: ".cursor/cli.json", Format: "json"},
		{ID: servers, Scope: settings.Global, Path: "~/.cursor/mcp.json", Format: "json"},
		{ID: servers, Scope: settings.Project, Path: ".cursor/mcp.json", Format: "json"},
	}, &settings.MCPShape{Kinds: []settings.MCPKind{
		{Transport: execution.MCPStdio}, {Transport: execution.MCPStreamableHTTP, URL: "url", Headers: "headers"},
	}}, []settings.Field{
		{Path: "allowedCommands", Label: "Allowed", Type: settings.TypeStringList, Normalized: true, Native: "permissions.allow", Scope: settings.Both, Description: "rules of tool calls that need no permission"},
		{Path: "deniedCommands", Label: "Denied", Type: settings.TypeStringList, Normalized: true, Native: "permissions.deny", Scope: settings.Both, Description: "rules of tool calls that are refused"},
		{Path: "mcpServers", Label: "MCP servers", Type: settings.TypeMCPServers, Normalized: true, Native: "mcpServers", File: servers, Scope: settings.Both, Description: "MCP servers by name"},
		{Path: "editor.vimMode", Type: settings.TypeBoolean, Native: "editor.vimMode", Scope: settings.Global, Default: false, Description: "Vim keys"},
		{Path: "version", Type: settings.TypeInteger, Native: "version", Scope: settings.Global, Description: "version of the file's form"},
	})
}
