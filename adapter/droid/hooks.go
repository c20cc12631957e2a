package droid

import (
	"encoding/json"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
)

// hooks are the events at which Droid calls commands: for a prompt only in its own terminal, for the end of a session not over the protocol.
var hooks = declared.HookTable{
	Tool: "PreToolUse", File: "settings.json", Format: "jsonc", Specific: true,
	Group: func(_ adapter.NativeHook, command string) any {
		return map[string]any{"matcher": "*", "hooks": []any{map[string]any{"type": "command", "command": command, "timeout": 600}}}
	},
	Denial: func(event, why string) map[string]any {
		if event != "PreToolUse" {
			return nil
		}
		return map[string]any{"permissionDecision": "deny", "permissionDecisionReason": why}
	},
	Modified: func(input json.RawMessage) map[string]any { return map[string]any{"updatedInput": input} },
	Events: []adapter.NativeHook{
		{Name: "PreToolUse", Event: execution.HookPreToolUse, Direction: adapter.HookBefore, Blocking: true},
		{Name: "PostToolUse", Event: execution.HookPostToolUse, Direction: adapter.HookAfter},
		{Name: "UserPromptSubmit", Event: execution.HookUserPromptSubmit, Direction: adapter.HookBefore, Blocking: true},
		{Name: "SessionStart", Event: execution.HookSessionStart, Direction: adapter.HookBeside},
		{Name: "SessionEnd", Event: execution.HookSessionEnd, Direction: adapter.HookBeside},
		{Name: "Stop", Event: execution.HookStop, Direction: adapter.HookBeside, Blocking: true},
		{Name: "SubagentStop", Direction: adapter.HookBeside, Blocking: true},
		{Name: "Notification", Direction: adapter.HookBeside},
		{Name: "PreCompact", Direction: adapter.HookBefore},
	},
}
