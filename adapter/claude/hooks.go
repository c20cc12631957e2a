package claude

import (
	"encoding/json"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

const preToolUse = "PreToolUse"

// hooks are the events at which Claude Code calls commands, and its answers. Exit code 2 blocks where that is
// possible; for a tool call Claude would prefix the reason with the command. A hook's permission does not approve a
// tool: the run's permissions still apply.
var hooks = declared.HookTable{
	Tool: preToolUse, File: "settings.json", Format: "json", Specific: true,
	// A failure of a blocking command counts as a denial.
	Group: func(e settings.Hook, command string) any {
		c := map[string]any{"type": "command", "command": command, "timeout": 600}
		if e.Blocking && e.Direction == settings.HookBefore {
			c["onFailure"] = "block"
		}
		return map[string]any{"matcher": "*", "hooks": []any{c}}
	},
	Denial: func(event, why string) map[string]any {
		if event != preToolUse {
			return nil
		}
		return map[string]any{"permissionDecision": "deny", "permissionDecisionReason": why}
	},
	Modified: func(input json.RawMessage) map[string]any { return map[string]any{"updatedInput": input} },
	Events: []settings.Hook{
		{Name: preToolUse, Event: execution.HookPreToolUse, Direction: settings.HookBefore, Blocking: true},
		{Name: "PermissionRequest", Direction: settings.HookBefore, Blocking: true},
		{Name: "PostToolUse", Event: execution.HookPostToolUse, Direction: settings.HookAfter},
		{Name: "PostToolUseFailure", Direction: settings.HookAfter},
		{Name: "UserPromptSubmit", Event: execution.HookUserPromptSubmit, Direction: settings.HookBefore, Blocking: true},
		{Name: "SessionStart", Event: execution.HookSessionStart, Direction: settings.HookBeside},
		{Name: "SessionEnd", Event: execution.HookSessionEnd, Direction: settings.HookBeside},
		{Name: "Stop", Event: execution.HookStop, Direction: settings.HookBeside, Blocking: true},
		{Name: "SubagentStart", Direction: settings.HookBeside},
		{Name: "SubagentStop", Direction: settings.HookBeside, Blocking: true},
		{Name: "Notification", Direction: settings.HookBeside},
		{Name: "PreCompact", Direction: settings.HookBefore},
	},
}

// hookCommand formats a command for Claude's settings. A failure of a blocking one counts as a denial.
type hookCommand struct {
	Type      string `json:"type"`
	Command   string `json:"command"`
	Timeout   int    `json:"timeout"` // seconds
	OnFailure string `json:"onFailure,omitempty"`
}

type hookGroup struct {
	Matcher string        `json:"matcher"`
	Hooks   []hookCommand `json:"hooks"`
}

// hookSettings returns the settings file that adds a run's hooks to the user's.
func hookSettings(h *cliagent.HookLines) []byte {
	seconds := int(h.Timeout.Seconds())
	return line(map[string]any{
		"disableAllHooks": false,
		"hooks": map[string][]hookGroup{
			"PreToolUse":   {{Matcher: "*", Hooks: []hookCommand{{Type: "command", Command: h.PreTool, Timeout: seconds, OnFailure: "block"}}}},
			"SessionStart": {{Matcher: "*", Hooks: []hookCommand{{Type: "command", Command: h.Start, Timeout: seconds}}}},
		},
	})
}
