package opencode

import (
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// configured are the settings that say what a run without options does.
type configured struct {
	Model    string         `json:"model"`
	Provider map[string]any `json:"provider"`
}

// settings reads the user's settings; later ones win.
func readSettings(h adapter.Host) (list []configured) {
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
	for _, s := range readSettings(h) {
		if s.Model != "" {
			model = s.Model
		}
	}
	return model
}

// unasked is what it runs of a project.
func unasked() (list []settings.Unasked) {
	for _, path := range []string{"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"} {
		list = append(list, settings.Unasked{Path: path, Format: "jsonc", Keys: []string{"mcp", "plugin", "provider", "formatter", "lsp"}, Up: true})
	}
	for _, folder := range []string{"plugin", "plugins", "tool", "tools"} {
		list = append(list, settings.Unasked{Path: ".opencode/" + folder + "/*.[jt]s", Up: true})
	}
	return list
}

// configSchema describes opencode.json.
func configSchema() settings.Schema {
	decision := []string{"ask", "allow", "deny"}
	return settings.NewSchema(name, version, []settings.File{
		{Scope: settings.Global, Path: "~/.config/opencode/opencode.json", Moved: "$XDG_CONFIG_HOME/opencode/opencode.json", Format: "jsonc"},
		{Scope: settings.Global, Path: "~/.config/opencode/opencode.jsonc", Moved: "$XDG_CONFIG_HOME/opencode/opencode.jsonc", Format: "jsonc"},
		{Scope: settings.Project, Path: "opencode.json", Format: "jsonc"},
		{Scope: settings.Project, Path: "opencode.jsonc", Format: "jsonc"},
	}, &settings.MCPShape{Kinds: []settings.MCPKind{
		{Transport: execution.MCPStdio, Type: "local", Line: true, Env: "environment", Constant: map[string]any{"enabled": true}},
		{Transport: execution.MCPStreamableHTTP, Type: "remote", URL: "url", Headers: "headers", Constant: map[string]any{"enabled": true}},
	}}, []settings.Field{
		{Path: "model", Label: "Model", Type: settings.TypeString, Normalized: true, Native: "model", Description: "model to use when a run names none, as provider/model"},
		{Path: "approvalMode", Label: "Approval mode", Type: settings.TypeEnum, Normalized: true, Native: `permission."*"`, Enum: decision,
			Values:      []settings.Value{{Value: "prompt", Native: "ask"}, {Value: "yolo", Native: "allow"}, {Value: "deny", Native: "deny"}},
			Description: "what happens to tool calls without a rule of their own"},
		{Path: "mcpServers", Label: "MCP servers", Type: settings.TypeMCPServers, Normalized: true, Native: "mcp", Description: "MCP servers by name"},
		{Path: "agentsDoc", Label: "Agents document", Type: settings.TypeStringList, Normalized: true, Native: "instructions", Merge: settings.MergeUnion, Description: "files with instructions besides AGENTS.md"},
		{Path: "skills", Type: settings.TypeStringList, Native: "skills.paths", Description: "more folders with skills"},
		{Path: "small_model", Type: settings.TypeString, Native: "small_model", Description: "model for titles"},
		{Path: "default_agent", Type: settings.TypeString, Native: "default_agent", Default: "build", Description: "agent to use when none is named"},
		{Path: "permission.bash", Type: settings.TypeEnum, Native: "permission.bash", Enum: decision, Description: "whether commands need approval"},
		{Path: "permission.edit", Type: settings.TypeEnum, Native: "permission.edit", Enum: decision, Description: "whether changes of files need approval"},
		{Path: "permission.webfetch", Type: settings.TypeEnum, Native: "permission.webfetch", Enum: decision, Description: "whether pages need approval"},
		{Path: "provider", Type: settings.TypeObject, Native: "provider", Description: "model providers by name"},
		{Path: "enabled_providers", Type: settings.TypeStringList, Native: "enabled_providers", Description: "providers that are used, and no others"},
		{Path: "disabled_providers", Type: settings.TypeStringList, Native: "disabled_providers", Description: "providers that are not used"},
		{Path: "agent", Type: settings.TypeObject, Native: "agent", Description: "agents by name"},
		{Path: "plugin", Type: settings.TypeStringList, Native: "plugin", Merge: settings.MergeUnion, Description: "plugins: npm packages or files"},
		{Path: "share", Type: settings.TypeEnum, Native: "share", Enum: []string{"manual", "auto", "disabled"}, Description: "whether sessions are shared"},
		{Path: "autoupdate", Type: settings.TypeBoolean, Native: "autoupdate", Default: true, Description: "automatic updates"},
		{Path: "snapshot", Type: settings.TypeBoolean, Native: "snapshot", Default: true, Description: "snapshots of the files, to undo changes"},
		{Path: "username", Type: settings.TypeString, Native: "username", Description: "name to show in conversations"},
	})
}
