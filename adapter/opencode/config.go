package opencode

import (
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
)

// configured are the settings that say what a run without options does.
type configured struct {
	Model    string         `json:"model"`
	Provider map[string]any `json:"provider"`
}

// settings reads the user's settings; later ones win.
func settings(h adapter.Host) (list []configured) {
	add := func(text []byte, err error) {
		var s configured
		if err == nil && declared.UnmarshalJSONC(text, &s) == nil {
			list = append(list, s)
		}
	}
	for _, file := range []string{"config.json", "opencode.json", "opencode.jsonc"} {
		add(home.Read(h, file))
	}
	if file := h.Getenv("OPENCODE_CONFIG"); file != "" {
		add(declared.Read(h, file))
	}
	add([]byte(h.Getenv("OPENCODE_CONFIG_CONTENT")), nil)
	return list
}

func configuredModel(h adapter.Host) (model string) {
	for _, s := range settings(h) {
		if s.Model != "" {
			model = s.Model
		}
	}
	return model
}

// configSchema describes opencode.json.
func configSchema() adapter.ConfigSchema {
	decision := []string{"ask", "allow", "deny"}
	return adapter.NewConfigSchema(name, version, []adapter.ConfigFile{
		{Scope: adapter.ScopeGlobal, Path: "~/.config/opencode/opencode.json", Moved: "$XDG_CONFIG_HOME/opencode/opencode.json", Format: "jsonc"},
		{Scope: adapter.ScopeGlobal, Path: "~/.config/opencode/opencode.jsonc", Moved: "$XDG_CONFIG_HOME/opencode/opencode.jsonc", Format: "jsonc"},
		{Scope: adapter.ScopeProject, Path: "opencode.json", Format: "jsonc"},
		{Scope: adapter.ScopeProject, Path: "opencode.jsonc", Format: "jsonc"},
	}, &adapter.MCPShape{Kinds: []adapter.MCPKind{
		{Transport: execution.MCPStdio, Type: "local", Line: true, Env: "environment", Constant: map[string]any{"enabled": true}},
		{Transport: execution.MCPStreamableHTTP, Type: "remote", URL: "url", Headers: "headers", Constant: map[string]any{"enabled": true}},
	}}, []adapter.ConfigField{
		{Path: "model", Label: "Model", Type: adapter.TypeString, Normalized: true, Native: "model", Description: "model to use when a run names none, as provider/model"},
		{Path: "approvalMode", Label: "Approval mode", Type: adapter.TypeEnum, Normalized: true, Native: `permission."*"`, Enum: decision,
			Values:      []adapter.ConfigValue{{Value: "prompt", Native: "ask"}, {Value: "yolo", Native: "allow"}, {Value: "deny", Native: "deny"}},
			Description: "what happens to tool calls without a rule of their own"},
		{Path: "mcpServers", Label: "MCP servers", Type: adapter.TypeMCPServers, Normalized: true, Native: "mcp", Description: "MCP servers by name"},
		{Path: "agentsDoc", Label: "Agents document", Type: adapter.TypeStringList, Normalized: true, Native: "instructions", Merge: adapter.MergeUnion, Description: "files with instructions besides AGENTS.md"},
		{Path: "skills", Type: adapter.TypeStringList, Native: "skills.paths", Description: "more folders with skills"},
		{Path: "small_model", Type: adapter.TypeString, Native: "small_model", Description: "model for titles"},
		{Path: "default_agent", Type: adapter.TypeString, Native: "default_agent", Default: "build", Description: "agent to use when none is named"},
		{Path: "permission.bash", Type: adapter.TypeEnum, Native: "permission.bash", Enum: decision, Description: "whether commands need approval"},
		{Path: "permission.edit", Type: adapter.TypeEnum, Native: "permission.edit", Enum: decision, Description: "whether changes of files need approval"},
		{Path: "permission.webfetch", Type: adapter.TypeEnum, Native: "permission.webfetch", Enum: decision, Description: "whether pages need approval"},
		{Path: "provider", Type: adapter.TypeObject, Native: "provider", Description: "model providers by name"},
		{Path: "enabled_providers", Type: adapter.TypeStringList, Native: "enabled_providers", Description: "providers that are used, and no others"},
		{Path: "disabled_providers", Type: adapter.TypeStringList, Native: "disabled_providers", Description: "providers that are not used"},
		{Path: "agent", Type: adapter.TypeObject, Native: "agent", Description: "agents by name"},
		{Path: "plugin", Type: adapter.TypeStringList, Native: "plugin", Merge: adapter.MergeUnion, Description: "plugins: npm packages or files"},
		{Path: "share", Type: adapter.TypeEnum, Native: "share", Enum: []string{"manual", "auto", "disabled"}, Description: "whether sessions are shared"},
		{Path: "autoupdate", Type: adapter.TypeBoolean, Native: "autoupdate", Default: true, Description: "automatic updates"},
		{Path: "snapshot", Type: adapter.TypeBoolean, Native: "snapshot", Default: true, Description: "snapshots of the files, to undo changes"},
		{Path: "username", Type: adapter.TypeString, Native: "username", Description: "name to show in conversations"},
	})
}
