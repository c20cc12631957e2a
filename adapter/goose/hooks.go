package goose

import (
	"path/filepath"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

const preToolUse = "PreToolUse"

// hooks are the events at which goose calls commands. It reads them from plugins, which are folders for any agent, so
// Drawbar's hooks are a plugin of that name. Only two events can block; a tool's input cannot be changed.
var hooks = declared.HookTable{
	Tool: preToolUse, Format: "json", Quiet: true,
	Group: func(e settings.Hook, command string) any {
		action := map[string]any{"type": "command", "command": command, "timeout": 600}
		if e.Name == preToolUse {
			action["on_failure"] = "block" // by default the tool runs if the command fails
		}
		return map[string]any{"hooks": []any{action}} // a matcher is a regular expression: * would match nothing
	},
	Finish: func(h adapter.Host, p *settings.HookPlace, _, _ string) {
		root := p.Within
		if root == "" {
			root = h.Home
		}
		p.File = filepath.Join(root, ".agents", "plugins", "drawbar", "hooks", "hooks.json")
	},
	Events: []settings.Hook{
		{Name: "SessionStart", Event: execution.HookSessionStart, Direction: settings.HookBeside},
		{Name: "SessionEnd", Event: execution.HookSessionEnd, Direction: settings.HookBeside},
		{Name: "Stop", Event: execution.HookStop, Direction: settings.HookBeside, Blocking: true},
		{Name: "UserPromptSubmit", Event: execution.HookUserPromptSubmit, Direction: settings.HookBefore},
		{Name: preToolUse, Event: execution.HookPreToolUse, Direction: settings.HookBefore, Blocking: true},
		{Name: "PostToolUse", Event: execution.HookPostToolUse, Direction: settings.HookAfter},
		{Name: "PostToolUseFailure", Direction: settings.HookAfter},
		{Name: "BeforeReadFile", Direction: settings.HookBefore},
		{Name: "AfterFileEdit", Direction: settings.HookAfter},
		{Name: "BeforeShellExecution", Direction: settings.HookBefore},
		{Name: "AfterShellExecution", Direction: settings.HookAfter},
	},
}
