package pi

import "github.com/drawbar/drawbar/adapter"

// configSchema describes settings.json (docs/settings.md). MCP servers cannot be configured, because Pi has none.
func configSchema() adapter.ConfigSchema {
	levels := []string{"off", "minimal", "low", "medium", "high", "xhigh", "max"}
	return adapter.NewConfigSchema(name, "0.87.1", []adapter.ConfigFile{
		{Scope: adapter.ScopeGlobal, Path: "~/.pi/agent/settings.json", Moved: "$PI_CODING_AGENT_DIR/settings.json", Format: "json"},
		{Scope: adapter.ScopeProject, Path: ".pi/settings.json", Format: "json", Note: "pi reads it in folders that the user trusts"},
	}, nil, []adapter.ConfigField{
		{Path: "model", Label: "Model", Type: adapter.TypeString, Normalized: true, Native: "defaultModel", Description: "model to use when a run names none"},
		{Path: "provider", Label: "Provider", Type: adapter.TypeString, Normalized: true, Native: "defaultProvider", Description: "provider of that model"},
		{Path: "thinkingEffort", Label: "Thinking effort", Type: adapter.TypeEnum, Normalized: true, Native: "defaultThinkingLevel", Enum: levels, Default: "medium", Description: "how hard the model thinks"},
		{Path: "enabledModels", Type: adapter.TypeStringList, Native: "enabledModels", Description: "patterns of the models to choose from"},
		{Path: "defaultTools", Type: adapter.TypeStringList, Native: "defaultTools", Description: "built-in tools that are enabled"},
		{Path: "defaultProjectTrust", Type: adapter.TypeEnum, Native: "defaultProjectTrust", Scope: adapter.ScopeGlobal, Enum: []string{"ask", "always", "never"}, Default: "ask", Description: "whether a folder without a decision is trusted"},
		{Path: "steeringMode", Type: adapter.TypeEnum, Native: "steeringMode", Enum: []string{"all", "one-at-a-time"}, Default: "one-at-a-time", Description: "how many waiting messages reach the running turn at once"},
		{Path: "followUpMode", Type: adapter.TypeEnum, Native: "followUpMode", Enum: []string{"all", "one-at-a-time"}, Default: "one-at-a-time", Description: "how many waiting messages make the next turn"},
		{Path: "sessionDir", Type: adapter.TypeString, Native: "sessionDir", Variable: "PI_CODING_AGENT_SESSION_DIR", Description: "folder of the sessions"},
		{Path: "compaction.enabled", Type: adapter.TypeBoolean, Native: "compaction.enabled", Default: true, Description: "the context is compacted when it is nearly full"},
		{Path: "retry.enabled", Type: adapter.TypeBoolean, Native: "retry.enabled", Default: true, Description: "failed model calls are tried again"},
		{Path: "retry.maxRetries", Type: adapter.TypeInteger, Native: "retry.maxRetries", Default: 3, Description: "how often a failed model call is tried again"},
		{Path: "transport", Type: adapter.TypeEnum, Native: "transport", Enum: []string{"auto", "sse", "websocket", "websocket-cached"}, Default: "auto", Description: "how model APIs with several transports are reached"},
		{Path: "httpProxy", Type: adapter.TypeString, Native: "httpProxy", Scope: adapter.ScopeGlobal, Description: "proxy for model APIs"},
		{Path: "shellPath", Type: adapter.TypeString, Native: "shellPath", Description: "shell of the bash tool"},
		{Path: "extensions", Type: adapter.TypeStringList, Native: "extensions", Merge: adapter.MergeUnion, Description: "files and folders of extensions"},
		{Path: "skills", Type: adapter.TypeStringList, Native: "skills", Merge: adapter.MergeUnion, Description: "files and folders of skills"},
		{Path: "enableInstallTelemetry", Type: adapter.TypeBoolean, Native: "enableInstallTelemetry", Default: true, Description: "reports of installations and updates"},
	})
}
