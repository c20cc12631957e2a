package qwen

import "github.com/drawbar/drawbar/adapter"

// configSchema names Qwen Code's settings. QWEN_HOME moves the directory of the global ones.
func configSchema() adapter.ConfigSchema {
	return adapter.ConfigSchema{
		Agent:              name,
		Format:             "jsonc",
		ConfigFiles:        []string{"~/.qwen/settings.json"},
		ProjectConfigFiles: []string{".qwen/settings.json"},
		Fields: []adapter.ConfigField{
			{Path: "model", Type: "string", Native: "model.name", Description: "model to use when a run names none"},
			{Path: "thinkingEffort", Type: "string", Native: "model.reasoningEffort", Description: "low, medium, high, xhigh or max"},
			{Path: "approvalMode", Type: "string", Native: "tools.approvalMode", Description: "plan, default, auto-edit, auto or yolo"},
			{Path: "authType", Type: "string", Native: "security.auth.selectedType", Description: "openai, openai-responses, anthropic, gemini, vertex-ai or qwen-oauth"},
			{Path: "allowedTools", Type: "array", Native: "permissions.allow", Description: "tools that need no permission"},
			{Path: "deniedTools", Type: "array", Native: "permissions.deny", Description: "tools that are refused"},
			{Path: "mcpServers", Type: "object", Native: "mcpServers", Description: "MCP servers"},
		},
	}
}
