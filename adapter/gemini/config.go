package gemini

import "github.com/drawbar/drawbar/adapter"

// configSchema names Gemini CLI's own settings. Its reader takes comments out before it parses, so they may stand there.
func configSchema() adapter.ConfigSchema {
	return adapter.ConfigSchema{
		Agent:              name,
		Format:             "jsonc",
		ConfigFiles:        []string{"~/.gemini/settings.json"},
		ProjectConfigFiles: []string{".gemini/settings.json"},
		Fields: []adapter.ConfigField{
			{Path: "model", Type: "string", Native: "model.name", Description: "model to use when a run names none"},
			{Path: "approvalMode", Type: "string", Native: "general.defaultApprovalMode", Description: "default, auto_edit or plan"},
			{Path: "mcpServers", Type: "object", Native: "mcpServers", Description: "MCP servers"},
		},
	}
}
