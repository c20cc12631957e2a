package omp

import (
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// unasked is what it runs of a project.
func unasked() []settings.Unasked {
	list := declared.UnaskedByBun()
	for _, path := range []string{".omp/extensions/*", ".omp/extensions/*/*", ".omp/tools/*", ".omp/tools/*/*", ".omp/hooks/*/*", ".claude/hooks/pre/*", ".claude/hooks/post/*"} {
		list = append(list, settings.Unasked{Path: path})
	}
	return list
}

// configSchema describes config.yml and mcp.json.
func configSchema() settings.Schema {
	const servers = "mcp"
	return settings.NewSchema(name, version, []settings.File{
		{Scope: settings.Global, Path: "~/.omp/agent/config.yml", Moved: "$PI_CODING_AGENT_DIR/config.yml", Format: "yaml"},
		{Scope: settings.Project, Path: ".omp/config.yml", Format: "yaml"},
		{ID: servers, Scope: settings.Global, Path: "~/.omp/agent/mcp.json", Moved: "$PI_CODING_AGENT_DIR/mcp.json", Format: "json"},
		{ID: servers, Scope: settings.Project, Path: ".omp/mcp.json", Format: "json"},
	}, &settings.MCPShape{Kinds: []settings.MCPKind{
		{Transport: execution.MCPStdio, Type: "stdio"},
		{Transport: execution.MCPStreamableHTTP, Type: "http", URL: "url", Headers: "headers"},
		{Transport: execution.MCPSSE, Type: "sse", URL: "url", Headers: "headers"},
	}}, []settings.Field{
		{Path: "model", Label: "Model", Type: settings.TypeString, Normalized: true, Native: "modelRoles.default", Description: "model to use when a run names none, as provider/model"},
		{Path: "thinkingEffort", Label: "Thinking effort", Type: settings.TypeEnum, Normalized: true, Native: "defaultThinkingLevel", Enum: []string{"minimal", "low", "medium", "high", "xhigh", "max", "auto"}, Default: "high", Description: "how hard the model thinks"},
		{Path: "approvalMode", Label: "Approval mode", Type: settings.TypeEnum, Normalized: true, Native: "tools.approvalMode", Enum: []string{"always-ask", "write", "yolo"}, Values: []settings.Value{{Value: "prompt", Native: "always-ask"}, {Value: "yolo", Native: "yolo"}}, Default: "yolo", Description: "which tools need a permission"},
		{Path: "mcpServers", Label: "MCP servers", Type: settings.TypeMCPServers, Normalized: true, Native: "mcpServers", File: servers, Description: "MCP servers by name"},
		{Path: "modelRoles.smol", Type: settings.TypeString, Native: "modelRoles.smol", Description: "model for small tasks"},
		{Path: "modelRoles.slow", Type: settings.TypeString, Native: "modelRoles.slow", Description: "model for hard tasks"},
		{Path: "modelRoles.plan", Type: settings.TypeString, Native: "modelRoles.plan", Description: "model for plans"},
		{Path: "enabledModels", Type: settings.TypeStringList, Native: "enabledModels", Description: "patterns of the models to choose from"},
		{Path: "disabledProviders", Type: settings.TypeStringList, Native: "disabledProviders", Description: "model providers that are not used"},
		{Path: "tools.approval", Type: settings.TypeObject, Native: "tools.approval", Description: "by tool: allow, prompt or deny"},
		{Path: "steeringMode", Type: settings.TypeEnum, Native: "steeringMode", Enum: []string{"all", "one-at-a-time"}, Default: "one-at-a-time", Description: "how many waiting messages reach the running turn at once"},
		{Path: "followUpMode", Type: settings.TypeEnum, Native: "followUpMode", Enum: []string{"all", "one-at-a-time"}, Default: "one-at-a-time", Description: "how many waiting messages make the next turn"},
		{Path: "interruptMode", Type: settings.TypeEnum, Native: "interruptMode", Enum: []string{"immediate", "wait"}, Default: "immediate", Description: "whether a message during a turn interrupts its tools"},
		{Path: "compaction.enabled", Type: settings.TypeBoolean, Native: "compaction.enabled", Default: true, Description: "the context is compacted when it is nearly full"},
		{Path: "retry.enabled", Type: settings.TypeBoolean, Native: "retry.enabled", Default: true, Description: "failed model calls are tried again"},
		{Path: "retry.maxRetries", Type: settings.TypeInteger, Native: "retry.maxRetries", Default: 10, Description: "how often a failed model call is tried again"},
		{Path: "task.maxConcurrency", Type: settings.TypeInteger, Native: "task.maxConcurrency", Default: 32, Description: "how many sub-agents run at once"},
		{Path: "mcp.enableProjectConfig", Type: settings.TypeBoolean, Native: "mcp.enableProjectConfig", Default: true, Description: "MCP servers of projects are started"},
		{Path: "skills.enabled", Type: settings.TypeBoolean, Native: "skills.enabled", Default: true, Description: "skills are read"},
		{Path: "skills.customDirectories", Type: settings.TypeStringList, Native: "skills.customDirectories", Description: "other folders with skills"},
		{Path: "extensions", Type: settings.TypeStringList, Native: "extensions", Description: "files and folders of extensions"},
		{Path: "shellPath", Type: settings.TypeString, Native: "shellPath", Description: "shell of the bash tool"},
		{Path: "startup.checkUpdate", Type: settings.TypeBoolean, Native: "startup.checkUpdate", Default: true, Description: "it looks for updates when it starts"},
	})
}
