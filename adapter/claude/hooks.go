package claude

import (
	"path/filepath"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// hookEvents are the events at which Claude Code calls commands. Exit code 2 of a command blocks where that is possible.
func hookEvents() []adapter.NativeHook {
	return []adapter.NativeHook{
		{Name: "PreToolUse", Event: execution.HookPreToolUse, Direction: adapter.HookBefore, Blocking: true},
		{Name: "PermissionRequest", Direction: adapter.HookBefore, Blocking: true},
		{Name: "PostToolUse", Event: execution.HookPostToolUse, Direction: adapter.HookAfter},
		{Name: "PostToolUseFailure", Direction: adapter.HookAfter},
		{Name: "UserPromptSubmit", Event: execution.HookUserPromptSubmit, Direction: adapter.HookBefore, Blocking: true},
		{Name: "SessionStart", Event: execution.HookSessionStart, Direction: adapter.HookBeside},
		{Name: "SessionEnd", Event: execution.HookSessionEnd, Direction: adapter.HookBeside},
		{Name: "Stop", Event: execution.HookStop, Direction: adapter.HookBeside, Blocking: true},
		{Name: "SubagentStart", Direction: adapter.HookBeside},
		{Name: "SubagentStop", Direction: adapter.HookBeside, Blocking: true},
		{Name: "Notification", Direction: adapter.HookBeside},
		{Name: "PreCompact", Direction: adapter.HookBefore},
	}
}

// toolHook makes Claude ask before a tool call.
var toolHook = &cliagent.ToolHook{
	Read: func(_ string, payload []byte) (execution.HookCall, error) { return readHook("PreToolUse", payload) },
	Answer: func(_ string, res execution.HookResult) adapter.HookAnswer {
		return answerHook("PreToolUse", res)
	},
}

// hookCommand is a command as Claude's settings name it. A failure of one that blocks counts as a refusal.
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

// hookSettings is the file of settings that adds the hooks of a run to those of the user.
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

// readHook reads what Claude writes to a command.
func readHook(event string, payload []byte) (execution.HookCall, error) {
	return cliagent.ReadHook(name, event, payload, event == "PreToolUse")
}

// answerHook words an answer. Claude reads JSON from a command that ends with 0, and the reason of one that ends with 2 from
// its standard error. An allowed tool is not approved by it: the permissions of the run still hold.
func answerHook(event string, res execution.HookResult) adapter.HookAnswer {
	switch {
	case res.Decision == execution.HookDeny && event == "PreToolUse": // the other way the reason has the command in front
		return adapter.HookAnswer{Stdout: cliagent.HookOutput(event, map[string]any{"permissionDecision": "deny", "permissionDecisionReason": res.Message})}
	case res.Decision == execution.HookDeny:
		return cliagent.DenyHook(res)
	case res.Decision == execution.HookModify && event == "PreToolUse":
		return adapter.HookAnswer{Stdout: cliagent.HookOutput(event, map[string]any{"updatedInput": res.ModifiedInput})}
	}
	return adapter.HookAnswer{Stdout: res.Stdout}
}

// Hooks lists the events at which Claude Code calls commands.
func (Adapter) Hooks() []adapter.NativeHook { return hookEvents() }

// ReadHook reads what Claude Code writes to a command.
func (Adapter) ReadHook(event string, payload []byte) (execution.HookCall, error) {
	return readHook(event, payload)
}

// AnswerHook words a result for Claude Code.
func (Adapter) AnswerHook(event string, res execution.HookResult) adapter.HookAnswer {
	return answerHook(event, res)
}

// PlaceHook says where Claude Code reads a hook. A failure of a command that can block counts as a refusal.
func (Adapter) PlaceHook(h adapter.Host, scope adapter.ConfigScope, dir, event, command string) adapter.HookPlace {
	c := map[string]any{"type": "command", "command": command, "timeout": hookSeconds}
	if e, ok := adapter.FindHook(hookEvents(), event); ok && e.Blocking && e.Direction == adapter.HookBefore {
		c["onFailure"] = "block"
	}
	p := adapter.HookPlace{File: filepath.Join(configDir(h), "settings.json"), Format: "json", Path: []string{"hooks", event},
		Group: map[string]any{"matcher": "*", "hooks": []any{c}}}
	if scope == adapter.ScopeProject {
		p.File, p.Within = filepath.Join(dir, ".claude", "settings.json"), dir
	}
	return p
}

// hookSeconds is how long Claude waits for a command that is registered in its settings.
const hookSeconds = 600
