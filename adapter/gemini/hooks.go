package gemini

import (
	"encoding/json"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

const beforeTool = "BeforeTool"

// trusted is the condition under which Gemini reads a project's files.
const trusted = "gemini reads it in folders that the user trusts"

// hooks are the events at which Gemini CLI calls commands. Its tool calls have no id there. A changed tool input is
// merged into the model's, member by member.
var hooks = declared.HookTable{
	Tool: beforeTool, File: settingsFile, Format: "jsonc", Note: trusted, Specific: true,
	Group: func(e settings.Hook, command string) any {
		hook := map[string]any{"type": "command", "name": "drawbar-" + e.Name, "command": command, "timeout": 600_000}
		return map[string]any{"matcher": "*", "hooks": []any{hook}}
	},
	Modified: func(input json.RawMessage) map[string]any { return map[string]any{"tool_input": input} },
	Events: []settings.Hook{
		{Name: beforeTool, Event: execution.HookPreToolUse, Direction: settings.HookBefore, Blocking: true},
		{Name: "AfterTool", Event: execution.HookPostToolUse, Direction: settings.HookAfter},
		{Name: "BeforeAgent", Event: execution.HookUserPromptSubmit, Direction: settings.HookBefore, Blocking: true},
		{Name: "AfterAgent", Event: execution.HookStop, Direction: settings.HookBeside, Blocking: true},
		{Name: "BeforeModel", Direction: settings.HookBefore, Blocking: true},
		{Name: "BeforeToolSelection", Direction: settings.HookBefore},
		{Name: "AfterModel", Direction: settings.HookAfter, Blocking: true},
		{Name: "SessionStart", Event: execution.HookSessionStart, Direction: settings.HookBeside},
		{Name: "SessionEnd", Event: execution.HookSessionEnd, Direction: settings.HookBeside},
		{Name: "Notification", Direction: settings.HookBeside},
		{Name: "PreCompress", Direction: settings.HookBefore},
	},
}

// toolHook makes Gemini ask before a tool call. Hooks can only be in settings, and the layers of settings that a run
// could add must belong to root, so its policy makes every call a question.
var toolHook = &cliagent.ToolHook{Approvals: true}

// askAlways is the policy, for both the user's and the administrator's tier, whichever is read. A rule without a
// pattern does not apply to shell commands that Gemini considers harmless, such as echo: it would run those without
// asking.
const askAlways = `[[rule]]
toolName = "run_shell_command"
argsPattern = "."
decision = "ask_user"
priority = 999

[[rule]]
toolName = "*"
decision = "ask_user"
priority = 999
`
