package codex

import (
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// configSchema describes config.toml. Its approval policy has no value to deny everything or to allow everything: the
// sandbox covers these.
func configSchema() settings.Schema {
	return settings.NewSchema(name, "0.169.0", []settings.File{
		{Scope: settings.Global, Path: "~/.codex/config.toml", Moved: "$CODEX_HOME/config.toml", Format: "toml"},
		{Scope: settings.Project, Path: ".codex/config.toml", Format: "toml", Note: "codex reads it in projects that the user trusts (projects.\"DIRECTORY\".trust_level)"},
	}, &settings.MCPShape{Kinds: []settings.MCPKind{
		{Transport: execution.MCPStdio},
		{Transport: execution.MCPStreamableHTTP, URL: "url", Headers: "http_headers"},
	}}, []settings.Field{
		{Path: "model", Label: "Model", Type: settings.TypeString, Normalized: true, Native: "model", Description: "model to use when a run names none"},
		{Path: "provider", Label: "Provider", Type: settings.TypeString, Normalized: true, Native: "model_provider", Description: "key of the model provider"},
		{Path: "thinkingEffort", Label: "Thinking effort", Type: settings.TypeString, Normalized: true, Native: "model_reasoning_effort",
			Description: "low, medium, high, xhigh, max or ultra, as far as the model has it"},
		{Path: "approvalMode", Label: "Approval mode", Type: settings.TypeEnum, Normalized: true, Native: "approval_policy",
			Enum: []string{"untrusted", "on-failure", "on-request", "never"}, Values: []settings.Value{{Value: "prompt", Native: "on-request"}},
			Description: "when codex asks; what it may do without asking is sandbox_mode"},
		{Path: "sandbox", Label: "Sandbox", Type: settings.TypeEnum, Normalized: true, Native: "sandbox_mode", Enum: []string{"read-only", "workspace-write", "danger-full-access"},
			Description: "what commands may touch"},
		{Path: "env", Label: "Environment", Type: settings.TypeObject, Normalized: true, Native: "shell_environment_policy.set", Secret: true, Description: "variables of the commands codex runs"},
		{Path: "agentsDoc", Label: "Agents document", Type: settings.TypeStringList, Normalized: true, Native: "project_doc_fallback_filenames",
			Description: "files that are read where there is no AGENTS.md"},
		{Path: "mcpServers", Label: "MCP servers", Type: settings.TypeMCPServers, Normalized: true, Native: "mcp_servers", Description: "MCP servers by name"},
		{Path: "model_context_window", Type: settings.TypeInteger, Native: "model_context_window", Min: new(1.0), Description: "tokens the model takes, where codex does not know it"},
		{Path: "model_reasoning_summary", Type: settings.TypeEnum, Native: "model_reasoning_summary", Enum: []string{"auto", "concise", "detailed", "none"}, Description: "how thinking is summarized"},
		{Path: "model_verbosity", Type: settings.TypeEnum, Native: "model_verbosity", Enum: []string{"low", "medium", "high"}, Description: "how long answers are"},
		{Path: "web_search", Type: settings.TypeEnum, Native: "web_search", Enum: []string{"disabled", "cached", "indexed", "live"}, Description: "web search of the model"},
		{Path: "personality", Type: settings.TypeEnum, Native: "personality", Enum: []string{"none", "friendly", "pragmatic"}, Description: "tone of the answers"},
		{Path: "file_opener", Type: settings.TypeEnum, Native: "file_opener", Enum: []string{"vscode", "vscode-insiders", "windsurf", "cursor", "none"}, Description: "what opens links to files"},
		{Path: "developer_instructions", Type: settings.TypeString, Native: "developer_instructions", Description: "text before every conversation"},
		{Path: "shell_environment_policy.inherit", Type: settings.TypeEnum, Native: "shell_environment_policy.inherit", Enum: []string{"core", "all", "none"},
			Description: "which variables commands inherit"},
		{Path: "check_for_update_on_startup", Type: settings.TypeBoolean, Native: "check_for_update_on_startup", Description: "look for a newer version at the start"},
	})
}
