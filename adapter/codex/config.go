package codex

import (
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// configSchema describes config.toml. Its approval policy has no value to deny everything or to allow everything: the
// sandbox covers these.
func configSchema() adapter.ConfigSchema {
	return adapter.NewConfigSchema(name, "0.169.0", []adapter.ConfigFile{
		{Scope: adapter.ScopeGlobal, Path: "~/.codex/config.toml", Moved: "$CODEX_HOME/config.toml", Format: "toml"},
		{Scope: adapter.ScopeProject, Path: ".codex/config.toml", Format: "toml", Note: "codex reads it in projects that the user trusts (projects.\"DIRECTORY\".trust_level)"},
	}, &adapter.MCPShape{Kinds: []adapter.MCPKind{
		{Transport: execution.MCPStdio},
		{Transport: execution.MCPStreamableHTTP, URL: "url", Headers: "http_headers"},
	}}, []adapter.ConfigField{
		{Path: "model", Label: "Model", Type: adapter.TypeString, Normalized: true, Native: "model", Description: "model to use when a run names none"},
		{Path: "provider", Label: "Provider", Type: adapter.TypeString, Normalized: true, Native: "model_provider", Description: "key of the model provider"},
		{Path: "thinkingEffort", Label: "Thinking effort", Type: adapter.TypeString, Normalized: true, Native: "model_reasoning_effort",
			Description: "low, medium, high, xhigh, max or ultra, as far as the model has it"},
		{Path: "approvalMode", Label: "Approval mode", Type: adapter.TypeEnum, Normalized: true, Native: "approval_policy",
			Enum: []string{"untrusted", "on-failure", "on-request", "never"}, Values: []adapter.ConfigValue{{Value: "prompt", Native: "on-request"}},
			Description: "when codex asks; what it may do without asking is sandbox_mode"},
		{Path: "sandbox", Label: "Sandbox", Type: adapter.TypeEnum, Normalized: true, Native: "sandbox_mode", Enum: []string{"read-only", "workspace-write", "danger-full-access"},
			Description: "what commands may touch"},
		{Path: "env", Label: "Environment", Type: adapter.TypeObject, Normalized: true, Native: "shell_environment_policy.set", Secret: true, Description: "variables of the commands codex runs"},
		{Path: "agentsDoc", Label: "Agents document", Type: adapter.TypeStringList, Normalized: true, Native: "project_doc_fallback_filenames",
			Description: "files that are read where there is no AGENTS.md"},
		{Path: "mcpServers", Label: "MCP servers", Type: adapter.TypeMCPServers, Normalized: true, Native: "mcp_servers", Description: "MCP servers by name"},
		{Path: "model_context_window", Type: adapter.TypeInteger, Native: "model_context_window", Min: new(1.0), Description: "tokens the model takes, where codex does not know it"},
		{Path: "model_reasoning_summary", Type: adapter.TypeEnum, Native: "model_reasoning_summary", Enum: []string{"auto", "concise", "detailed", "none"}, Description: "how thinking is summarized"},
		{Path: "model_verbosity", Type: adapter.TypeEnum, Native: "model_verbosity", Enum: []string{"low", "medium", "high"}, Description: "how long answers are"},
		{Path: "web_search", Type: adapter.TypeEnum, Native: "web_search", Enum: []string{"disabled", "cached", "indexed", "live"}, Description: "web search of the model"},
		{Path: "personality", Type: adapter.TypeEnum, Native: "personality", Enum: []string{"none", "friendly", "pragmatic"}, Description: "tone of the answers"},
		{Path: "file_opener", Type: adapter.TypeEnum, Native: "file_opener", Enum: []string{"vscode", "vscode-insiders", "windsurf", "cursor", "none"}, Description: "what opens links to files"},
		{Path: "developer_instructions", Type: adapter.TypeString, Native: "developer_instructions", Description: "text before every conversation"},
		{Path: "shell_environment_policy.inherit", Type: adapter.TypeEnum, Native: "shell_environment_policy.inherit", Enum: []string{"core", "all", "none"},
			Description: "which variables commands inherit"},
		{Path: "check_for_update_on_startup", Type: adapter.TypeBoolean, Native: "check_for_update_on_startup", Description: "look for a newer version at the start"},
	})
}
