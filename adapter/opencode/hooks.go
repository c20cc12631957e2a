package opencode

import (
	_ "embed"
	"encoding/json"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// hookPlugin is the plugin that calls a command at an event: OpenCode itself calls none.
//
//go:embed hook.js
var hookPlugin string

const beforeTool = "tool.execute.before"

// hooks are the events of OpenCode's plugins and of its bus at which a plugin of Drawbar's calls commands.
var hooks = declared.HookTable{
	Tool: beforeTool, File: "plugin/drawbar-*.js", Quiet: true,
	Program: func(e settings.Hook, command string) string {
		constant := func(text, name, value string) string {
			return strings.Replace(text, "const "+name+` = "";`, "const "+name+" = "+string(encode(value))+";", 1)
		}
		return constant(constant(hookPlugin, "event", e.Name), "command", command)
	},
	Modified: func(input json.RawMessage) map[string]any { return map[string]any{"args": input} },
	Events: []settings.Hook{
		{Name: beforeTool, Event: execution.HookPreToolUse, Direction: settings.HookBefore, Blocking: true},
		{Name: "tool.execute.after", Event: execution.HookPostToolUse, Direction: settings.HookAfter},
		{Name: "chat.message", Event: execution.HookUserPromptSubmit, Direction: settings.HookBefore, Blocking: true},
		{Name: "session.created", Event: execution.HookSessionStart, Direction: settings.HookBeside},
		{Name: "session.idle", Event: execution.HookStop, Direction: settings.HookBeside},
		{Name: "session.error", Direction: settings.HookBeside},
		{Name: "session.compacted", Direction: settings.HookAfter},
		{Name: "permission.asked", Direction: settings.HookBeside},
		{Name: "file.edited", Direction: settings.HookAfter},
	},
}
