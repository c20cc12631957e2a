package opencode

import (
	"bytes"
	_ "embed"
	"encoding/json"

	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// hookPlugin is the plugin that calls a command at an event: OpenCode itself calls none.
//
//go:embed hook.js
var hookPlugin []byte

const beforeTool = "tool.execute.before"

// hooks are the events of OpenCode's plugins and of its bus at which a plugin of Drawbar's calls commands.
var hooks = declared.HookTable{
	Tool: beforeTool, File: "plugin/drawbar-*.js", Quiet: true,
	Program: func(e settings.Hook, command string) string {
		text := bytes.Replace(hookPlugin, []byte(`const event = "";`), []byte("const event = "+string(encode(e.Name))+";"), 1)
		return string(bytes.Replace(text, []byte(`const command = "";`), []byte("const command = "+string(encode(command))+";"), 1))
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
