package qwen

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"runtime"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
)

const preToolUse = "PreToolUse"

// hooks are the events at which Qwen Code calls commands. Its documentation has a word for another input of a tool, but its program
// runs the tool with the input that it had: there is no Modified.
var hooks = declared.HookTable{
	Tool: preToolUse, File: "settings.json", Format: "jsonc", Note: "qwen reads it in folders that the user trusts",
	Group: func(_ adapter.NativeHook, command string) any { return hookGroup(command, 600_000) },
	Events: []adapter.NativeHook{
		{Name: preToolUse, Event: execution.HookPreToolUse, Direction: adapter.HookBefore, Blocking: true},
		{Name: "PermissionRequest", Direction: adapter.HookBefore, Blocking: true},
		{Name: "PostToolUse", Event: execution.HookPostToolUse, Direction: adapter.HookAfter},
		{Name: "PostToolUseFailure", Direction: adapter.HookAfter},
		{Name: "UserPromptSubmit", Event: execution.HookUserPromptSubmit, Direction: adapter.HookBefore, Blocking: true},
		{Name: "SessionStart", Event: execution.HookSessionStart, Direction: adapter.HookBeside},
		{Name: "SessionEnd", Event: execution.HookSessionEnd, Direction: adapter.HookBeside},
		{Name: "Stop", Event: execution.HookStop, Direction: adapter.HookBeside, Blocking: true},
		{Name: "StopFailure", Direction: adapter.HookBeside},
		{Name: "SubagentStart", Direction: adapter.HookBeside},
		{Name: "SubagentStop", Direction: adapter.HookBeside, Blocking: true},
		{Name: "PreCompact", Direction: adapter.HookBefore},
		{Name: "PostCompact", Direction: adapter.HookAfter},
		{Name: "Notification", Direction: adapter.HookBeside},
	},
}

// hookGroup is a command as Qwen's settings name it. It takes a number from 1000 on for milliseconds.
func hookGroup(command string, ms int64) map[string]any {
	return map[string]any{"matcher": "*", "hooks": []any{map[string]any{"type": "command", "name": "drawbar", "command": command, "timeout": ms}}}
}

const (
	systemSettings = "QWEN_CODE_SYSTEM_SETTINGS_PATH"
	systemDefaults = "QWEN_CODE_SYSTEM_DEFAULTS_PATH"
)

// addHooks puts the hooks of a run into the layer of settings that goes over all others, so that nobody's own settings switch them
// off. What the machine's own file of that layer says stays in force.
func addHooks(l *cliagent.Launch, env map[string]string) error {
	if l.Hook == nil {
		return nil
	}
	system := map[string]string{"darwin": "/Library/Application Support/QwenCode/settings.json", "windows": `C:\ProgramData\qwen-code\settings.json`}[runtime.GOOS]
	system = cmp.Or(l.Variable(systemSettings), system, "/etc/qwen-code/settings.json")
	ms := l.Hook.Timeout.Milliseconds()
	data, err := l.SettingsWithHooks(system, map[string]any{preToolUse: hookGroup(l.Hook.PreTool, ms), "SessionStart": hookGroup(l.Hook.Start, ms)})
	if err != nil {
		return err
	}
	var settings map[string]any
	if err := json.Unmarshal(data, &settings); err != nil {
		return err
	}
	if off, _ := settings["disableAllHooks"].(bool); off {
		e := execution.Errorf(execution.CodeCapability, "qwen cannot be given a hook: %s switches all hooks off", system)
		e.Agent, e.Capability = name, "runtimeHooks.preToolUse"
		return e
	}
	settings["disableAllHooks"] = false
	if data, err = json.Marshal(settings); err != nil {
		return err
	}
	env[systemSettings] = l.File("system-settings.json", data)
	env[systemDefaults] = cmp.Or(l.Variable(systemDefaults), filepath.Join(filepath.Dir(system), "system-defaults.json"))
	return nil
}
