package qwen

import (
	"cmp"
	"encoding/json"
	"maps"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

const preToolUse = "PreToolUse"

// hooks are the events at which Qwen Code calls commands. Its documentation describes a changed tool input, but the
// program runs the tool with the original one: there is no Modified.
var hooks = declared.HookTable{
	Tool: preToolUse, File: "settings.json", Format: "jsonc", Note: "qwen reads it in folders that the user trusts",
	Group: func(_ settings.Hook, command string) any { return hookGroup(command, 600_000) },
	Events: []settings.Hook{
		{Name: preToolUse, Event: execution.HookPreToolUse, Direction: settings.HookBefore, Blocking: true},
		{Name: "PermissionRequest", Direction: settings.HookBefore, Blocking: true},
		{Name: "PostToolUse", Event: execution.HookPostToolUse, Direction: settings.HookAfter},
		{Name: "PostToolUseFailure", Direction: settings.HookAfter},
		{Name: "UserPromptSubmit", Event: execution.HookUserPromptSubmit, Direction: settings.HookBefore, Blocking: true},
		{Name: "SessionStart", Event: execution.HookSessionStart, Direction: settings.HookBeside},
		{Name: "SessionEnd", Event: execution.HookSessionEnd, Direction: settings.HookBeside},
		{Name: "Stop", Event: execution.HookStop, Direction: settings.HookBeside, Blocking: true},
		{Name: "StopFailure", Direction: settings.HookBeside},
		{Name: "SubagentStart", Direction: settings.HookBeside},
		{Name: "SubagentStop", Direction: settings.HookBeside, Blocking: true},
		{Name: "PreCompact", Direction: settings.HookBefore},
		{Name: "PostCompact", Direction: settings.HookAfter},
		{Name: "Notification", Direction: settings.HookBeside},
	},
}

// hookGroup formats a command for Qwen's settings, which take numbers from 1000 on as milliseconds.
func hookGroup(command string, ms int64) map[string]any {
	return map[string]any{"matcher": "*", "hooks": []any{map[string]any{"type": "command", "name": "drawbar", "command": command, "timeout": ms}}}
}

const (
	systemSettings = "QWEN_CODE_SYSTEM_SETTINGS_PATH"
	systemDefaults = "QWEN_CODE_SYSTEM_DEFAULTS_PATH"
)

// overEnv returns the variables that the run's own do not replace: those of its settings, and those with which a worktree of a repository
// has what the user decided about the repository.
func overEnv(l *cliagent.Launch) (map[string]string, error) {
	env, err := overSettings(l)
	if err != nil {
		return nil, err
	}
	if env == nil {
		env = map[string]string{}
	}
	dir := home.Of(l)
	maps.Copy(env, l.InheritIn("QWEN_CODE_TRUSTED_FOLDERS_PATH", cliagent.Decided{Path: filepath.Join(dir, "trustedFolders.json"), Trust: true}))
	maps.Copy(env, l.InheritIn("QWEN_CODE_MCP_APPROVALS_PATH", cliagent.Decided{Path: filepath.Join(dir, "mcpApprovals.json")}))
	return env, nil
}

// overSettings returns the variables that add to the settings layer with the highest precedence, so that no other settings take it
// back: a run's hooks, and that Qwen asks before what the project's settings allow. The file of that layer, the machine's or the one that
// the run's environment names, stays effective.
func overSettings(l *cliagent.Launch) (map[string]string, error) {
	ask := allowedByProject(l)
	if l.Hook == nil && len(ask) == 0 {
		return nil, nil
	}
	system := map[string]string{"darwin": "/Library/Application Support/QwenCode/settings.json", "windows": `C:\ProgramData\qwen-code\settings.json`}[runtime.GOOS]
	system = cmp.Or(l.Variable(systemSettings), system, "/etc/qwen-code/settings.json")
	groups := map[string]any{}
	if l.Hook != nil {
		ms := l.Hook.Timeout.Milliseconds()
		groups[preToolUse], groups["SessionStart"] = hookGroup(l.Hook.PreTool, ms), hookGroup(l.Hook.Start, ms)
	}
	data, err := l.SettingsWithHooks(system, groups)
	if err != nil {
		return nil, err
	}
	var settingsForm map[string]any
	if err := json.Unmarshal(data, &settingsForm); err != nil {
		return nil, err
	}
	if l.Hook != nil {
		if off, _ := settingsForm["disableAllHooks"].(bool); off {
			e := execution.Errorf(execution.CodeCapability, "hooks cannot be used with qwen: %s disables all hooks", system)
			e.Agent, e.Capability = name, "runtimeHooks.preToolUse"
			return nil, e
		}
		settingsForm["disableAllHooks"] = false
	}
	if len(ask) > 0 {
		permissions, _ := settingsForm["permissions"].(map[string]any)
		if permissions == nil {
			permissions = map[string]any{}
		}
		asked, _ := permissions["ask"].([]any)
		permissions["ask"] = append(asked, ask...)
		settingsForm["permissions"] = permissions
	}
	if data, err = json.Marshal(settingsForm); err != nil {
		return nil, err
	}
	return map[string]string{
		systemSettings: l.File("system-settings.json", data),
		systemDefaults: cmp.Or(l.Variable(systemDefaults), filepath.Join(filepath.Dir(system), "system-defaults.json")),
	}, nil
}

// allowedByProject returns the rules of the project's settings that let tools run without a question: a repository does not decide that.
func allowedByProject(l *cliagent.Launch) []any {
	if l.Request.Run.ApprovalMode == execution.ApprovalYolo || l.Request.Run.Invocation.Elsewhere() {
		return nil
	}
	project, err := cliagent.SettingsIn(filepath.Join(l.Request.Run.Cwd, ".qwen", "settings.json"))
	if err != nil {
		return nil // which Qwen reports
	}
	list := func(section, name string) []any {
		settings, _ := project[section].(map[string]any)
		rules, _ := settings[name].([]any)
		return rules
	}
	return slices.Concat(list("permissions", "allow"), list("tools", "allowed"))
}
