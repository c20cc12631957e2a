package qwen

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"runtime"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// hookEvents are the events at which Qwen Code calls commands.
func hookEvents() []adapter.NativeHook {
	return []adapter.NativeHook{
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
	}
}

const preToolUse = "PreToolUse"

// toolHook makes Qwen ask before a tool call.
var toolHook = &cliagent.ToolHook{
	Read: func(_ string, payload []byte) (execution.HookCall, error) { return readHook(preToolUse, payload) },
	Answer: func(_ string, res execution.HookResult) adapter.HookAnswer {
		return answerHook(preToolUse, res)
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

// readHook reads what Qwen writes to a command.
func readHook(event string, payload []byte) (execution.HookCall, error) {
	return cliagent.ReadHook(name, event, payload, event == preToolUse)
}

// answerHook words an answer. Qwen's documentation has a word for another input of a tool, but its program runs the tool with
// the input that it had: a hook that wants another one has denied.
func answerHook(event string, res execution.HookResult) adapter.HookAnswer {
	switch {
	case res.Decision == execution.HookDeny:
		return cliagent.DenyHook(res)
	case res.Decision == execution.HookModify && event == preToolUse:
		return cliagent.DenyHook(execution.HookResult{Message: "qwen cannot be given another input for a tool, which a hook wanted"})
	}
	return adapter.HookAnswer{Stdout: res.Stdout}
}

// Hooks lists the events at which Qwen Code calls commands.
func (Adapter) Hooks() []adapter.NativeHook { return hookEvents() }

// ReadHook reads what Qwen Code writes to a command.
func (Adapter) ReadHook(event string, payload []byte) (execution.HookCall, error) {
	return readHook(event, payload)
}

// AnswerHook words a result for Qwen Code.
func (Adapter) AnswerHook(event string, res execution.HookResult) adapter.HookAnswer {
	return answerHook(event, res)
}

// PlaceHook says where Qwen Code reads a hook.
func (Adapter) PlaceHook(h adapter.Host, scope adapter.ConfigScope, dir, event, command string) adapter.HookPlace {
	p := adapter.HookPlace{File: filepath.Join(configDir(h), "settings.json"), Format: "jsonc", Path: []string{"hooks", event}, Group: hookGroup(command, 600_000)}
	if scope == adapter.ScopeProject {
		p.File, p.Within = filepath.Join(dir, ".qwen", "settings.json"), dir
		p.Note = "qwen reads it in folders that the user trusts"
	}
	return p
}
