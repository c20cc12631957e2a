package droid

import (
	"encoding/json"

	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// hooks are the events at which Droid calls commands: for a prompt only in its own terminal, for the end of a session not over the protocol.
var hooks = declared.HookTable{
	Tool: "PreToolUse", File: "settings.json", Format: "jsonc", Specific: true,
	Group: func(_ settings.Hook, command string) any {
		return map[string]any{"matcher": "*", "hooks": []any{map[string]any{"type": "command", "command": command, "timeout": 600}}}
	},
	Denial: func(event, why string) map[string]any {
		if event != "PreToolUse" {
			return nil
		}
		return map[string]any{"permissionDecision": "deny", "permissionDecisionReason": why}
	},
	Modified: func(input json.RawMessage) map[string]any { return map[string]any{"updatedInput": input} },
	Events: []settings.Hook{
		{Name: "PreToolUse", Event: execution.HookPreToolUse, Direction: settings.HookBefore, Blocking: true},
		{Name: "PostToolUse", Event: execution.HookPostToolUse, Direction: settings.HookAfter},
		{Name: "UserPromptSubmit", Event: execution.HookUserPromptSubmit, Direction: settings.HookBefore, Blocking: true},
		{Name: "SessionStart", Event: execution.HookSessionStart, Direction: settings.HookBeside},
		{Name: "SessionEnd", Event: execution.HookSessionEnd, Direction: settings.HookBeside},
		{Name: "Stop", Event: execution.HookStop, Direction: settings.HookBeside, Blocking: true},
		{Name: "SubagentStop", Direction: settings.HookBeside, Blocking: true},
		{Name: "Notification", Direction: settings.HookBeside},
		{Name: "PreCompact", Direction: settings.HookBefore},
	},
}
