package copilot

import (
	"encoding/json"
	"path/filepath"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

const preToolUse = "preToolUse"

// trusted is the condition under which Copilot reads a project's files.
const trusted = "copilot reads it in folders that the user trusts"

// hooks are the events at which Copilot CLI calls commands. It reads any file of a folder, so Drawbar uses its own
// file. A changed tool input does not answer the question of permission.
var hooks = declared.HookTable{
	Tool: preToolUse, File: "hooks/drawbar.json", Format: "json", Note: trusted, Base: []settings.HookMember{{Key: "version", Value: 1}},
	Group: func(_ settings.Hook, command string) any { return hookCommand(command, 600) },
	Denial: func(event, why string) map[string]any {
		switch event {
		case preToolUse:
			return map[string]any{"permissionDecision": "deny", "permissionDecisionReason": why}
		case "userPromptSubmitted":
			return map[string]any{"decision": "block", "reason": why}
		}
		return nil
	},
	Modified: func(input json.RawMessage) map[string]any { return map[string]any{"modifiedArgs": input} },
	Events: []settings.Hook{
		{Name: preToolUse, Event: execution.HookPreToolUse, Direction: settings.HookBefore, Blocking: true},
		{Name: "permissionRequest", Direction: settings.HookBefore, Blocking: true},
		{Name: "preMcpToolCall", Direction: settings.HookBefore},
		{Name: "postToolUse", Event: execution.HookPostToolUse, Direction: settings.HookAfter},
		{Name: "postToolUseFailure", Direction: settings.HookAfter},
		{Name: "userPromptSubmitted", Event: execution.HookUserPromptSubmit, Direction: settings.HookBefore, Blocking: true},
		{Name: "userPromptTransformed", Direction: settings.HookBefore},
		{Name: "sessionStart", Event: execution.HookSessionStart, Direction: settings.HookBeside},
		{Name: "sessionEnd", Event: execution.HookSessionEnd, Direction: settings.HookBeside},
		{Name: "agentStop", Event: execution.HookStop, Direction: settings.HookBeside, Blocking: true},
		{Name: "subagentStart", Direction: settings.HookBeside},
		{Name: "subagentStop", Direction: settings.HookBeside, Blocking: true},
		{Name: "preCompact", Direction: settings.HookBefore},
		{Name: "errorOccurred", Direction: settings.HookBeside},
		{Name: "notification", Direction: settings.HookBeside},
	},
}

// hookCommand formats a command for Copilot's files.
func hookCommand(command string, seconds int) map[string]any {
	return map[string]any{"type": "command", "bash": command, "powershell": "& " + command, "timeoutSec": seconds}
}

// hookArgs returns the arguments that load a plugin with a run's hooks. Settings that disable hooks do not affect
// such a plugin.
func hookArgs(l *cliagent.Launch) []string {
	seconds := int(l.Hook.Timeout.Seconds())
	hooks := map[string]any{"version": 1, "hooks": map[string]any{
		preToolUse:     []any{hookCommand(l.Hook.PreTool, seconds)},
		"sessionStart": []any{hookCommand(l.Hook.Start, seconds)},
	}}
	b, err := json.Marshal(hooks)
	if err != nil {
		panic("encode hooks for copilot: " + err.Error()) // they are made of strings
	}
	manifest := l.File("plugin/plugin.json", []byte(`{"name":"drawbar-run","version":"1.0.0","hooks":"hooks.json"}`))
	l.File("plugin/hooks.json", b)
	return []string{"--plugin-dir=" + filepath.Dir(manifest)}
}
