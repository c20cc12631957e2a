package copilot

import "github.com/drawbar/drawbar/adapter"

// configSchema names the files of Copilot CLI; COPILOT_HOME moves those of the home directory. Its own state, the login
// among it, is in config.json and is not for anybody else to write.
func configSchema() adapter.ConfigSchema {
	return adapter.ConfigSchema{
		Agent:              name,
		Format:             "jsonc",
		ConfigFiles:        []string{"~/.copilot/settings.json", "~/.copilot/mcp-config.json"},
		ProjectConfigFiles: []string{".github/copilot/settings.json", ".github/copilot/settings.local.json"},
		Fields: []adapter.ConfigField{
			{Path: "model", Type: "string", Native: "model", Description: "model to use when a run names none"},
			{Path: "allowedUrls", Type: "array", Native: "allowedUrls", Description: "addresses that need no permission"},
			{Path: "deniedUrls", Type: "array", Native: "deniedUrls", Description: "addresses that are refused"},
			{Path: "stream", Type: "boolean", Native: "stream", Description: "whether answers come in pieces"},
			{Path: "mcpServers", Type: "object", Native: "mcpServers", Description: "MCP servers; read from mcp-config.json, not from settings.json"},
		},
	}
}
