package copilot

import (
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// configSchema describes settings.json, mcp-config.json, and the user's settings in config.json, which also contains
// the agent's state. Permissions for tools come from flags and earlier answers rather than settings.
func configSchema() settings.Schema {
	const servers, state = "mcp", "state"
	tools := map[string]any{"tools": []string{"*"}}
	return settings.NewSchema("copilot", "1.0.102", []settings.File{
		{Scope: settings.Global, Path: "~/.copilot/settings.json", Moved: "$COPILOT_HOME/settings.json", Format: "jsonc"},
		{Scope: settings.Project, Path: ".github/copilot/settings.json", Format: "jsonc", AtRoot: true, Note: "copilot takes only some settings from a repository"},
		{Scope: settings.Local, Path: ".github/copilot/settings.local.json", Format: "jsonc", AtRoot: true, Note: "copilot takes only some settings from a repository"},
		{ID: servers, Scope: settings.Global, Path: "~/.copilot/mcp-config.json", Moved: "$COPILOT_HOME/mcp-config.json", Format: "jsonc"},
		{ID: servers, Scope: settings.Project, Path: ".mcp.json", Format: "jsonc", Note: "copilot reads it in folders that the user trusts"},
		{ID: servers, Scope: settings.Project, Path: ".github/mcp.json", Format: "jsonc", AtRoot: true, Note: "copilot reads it where there is no .mcp.json, in folders that the user trusts"},
		{ID: state, Scope: settings.Global, Path: "~/.copilot/config.json", Moved: "$COPILOT_HOME/config.json", Format: "jsonc"},
	}, &settings.MCPShape{Kinds: []settings.MCPKind{
		{Transport: execution.MCPStdio, Type: "local", Aliases: []string{"stdio"}, Constant: tools},
		{Transport: execution.MCPStreamableHTTP, Type: "http", Aliases: []string{"streamable-http"}, URL: "url", Headers: "headers", Constant: tools},
		{Transport: execution.MCPSSE, Type: "sse", URL: "url", Headers: "headers", Constant: tools},
	}}, []settings.Field{
		{Path: "model", Label: "Model", Type: settings.TypeString, Normalized: true, Native: "model", Variable: "COPILOT_MODEL", Description: "model to use when a run names none"},
		{Path: "thinkingEffort", Label: "Thinking effort", Type: settings.TypeString, Normalized: true, Native: "effortLevel", Description: "how hard the model thinks, as far as it can"},
		{Path: "approvalMode", Label: "Approval mode", Type: settings.TypeEnum, Normalized: true, Native: "defaultPermissionMode", Enum: []string{"manual", "assisted", "allow-all"},
			Values:      []settings.Value{{Value: "prompt", Native: "manual"}, {Value: "yolo", Native: "allow-all"}},
			Description: "what needs approval in interactive sessions"},
		{Path: "mcpServers", Label: "MCP servers", Type: settings.TypeMCPServers, Normalized: true, Native: "mcpServers", File: servers, Description: "MCP servers by name"},
		{Path: "allowedUrls", Type: settings.TypeStringList, Native: "allowedUrls", Description: "addresses that need no permission"},
		{Path: "deniedUrls", Type: settings.TypeStringList, Native: "deniedUrls", Description: "addresses that are refused"},
		{Path: "trustedFolders", Type: settings.TypeStringList, Native: "trustedFolders", File: state, Scope: settings.Global, Description: "folders whose files may be read and run"},
		{Path: "defaultMode", Type: settings.TypeEnum, Native: "defaultMode", Enum: []string{"interactive", "plan", "autopilot"}, Default: "interactive", Description: "mode of new interactive sessions"},
		{Path: "autoUpdate", Type: settings.TypeBoolean, Native: "autoUpdate", Default: true, Description: "automatic updates"},
		{Path: "contextTier", Type: settings.TypeString, Native: "contextTier", Description: "size of the context window, where the model has several"},
		{Path: "stream", Type: settings.TypeBoolean, Native: "stream", Default: true, Description: "answers as they come"},
		{Path: "memory", Type: settings.TypeBoolean, Native: "memory", Default: true, Description: "memory across sessions"},
		{Path: "includeCoAuthoredBy", Type: settings.TypeBoolean, Native: "includeCoAuthoredBy", Default: true, Description: "a co-author line in commits"},
		{Path: "disableAllHooks", Type: settings.TypeBoolean, Native: "disableAllHooks", Default: false, Description: "no hooks at all"},
		{Path: "hooks", Type: settings.TypeObject, Native: "hooks", Description: "commands that run at events"},
		{Path: "logLevel", Type: settings.TypeString, Native: "logLevel", Default: "default", Description: "what is logged"},
	})
}
