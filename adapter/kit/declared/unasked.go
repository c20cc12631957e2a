package declared

import "github.com/drawbar/drawbar/settings"

// UnaskedByClaude is what Claude Code runs of a project, through whichever program.
func UnaskedByClaude() []settings.Unasked {
	keys := []string{"hooks", "env", "apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "otelHeadersHelper", "enabledPlugins", "extraKnownMarketplaces"}
	return []settings.Unasked{
		{Path: ".mcp.json", Format: "json", Keys: []string{"mcpServers"}, Up: true},
		{Path: ".claude/settings.json", Format: "json", Keys: keys},
		{Path: ".claude/settings.local.json", Format: "json", Keys: keys, Up: true},
		{Path: ".claude/agents/*.md", Format: "md", Keys: []string{"hooks", "mcpServers"}, Up: true},
		{Path: ".claude/skills/*/SKILL.md", Format: "md", Keys: []string{"hooks"}, Up: true},
	}
}

// UnaskedByBun is what the runtime that some programs are built with loads at their start.
func UnaskedByBun() []settings.Unasked {
	list := []settings.Unasked{{Path: "bunfig.toml", Format: "toml", Keys: []string{"preload"}}}
	for _, name := range []string{"", ".local", ".production", ".production.local", ".development", ".development.local"} {
		list = append(list, UnaskedVariables(".env"+name))
	}
	return list
}

// UnaskedVariables is a file of variables that an agent takes into its environment. Those that decide what runs, or where keys are sent, count.
func UnaskedVariables(path string) settings.Unasked {
	return settings.Unasked{Path: path, Format: "env", Keys: []string{"*_URL", "*_HOST", "*_ENDPOINT", "*_API_BASE", "*_PROXY", "*_proxy", "*_OPTIONS", "*_COMMAND", "*_PATH",
		"PATH", "SHELL", "EDITOR", "*_ENV", "LD_*", "DYLD_*", "GIT_*", "HOME"}}
}
