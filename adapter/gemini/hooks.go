package gemini

import (
	"path/filepath"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// hookEvents are the events at which Gemini CLI calls commands.
func hookEvents() []adapter.NativeHook {
	return []adapter.NativeHook{
		{Name: beforeTool, Event: execution.HookPreToolUse, Direction: adapter.HookBefore, Blocking: true},
		{Name: "AfterTool", Event: execution.HookPostToolUse, Direction: adapter.HookAfter},
		{Name: "BeforeAgent", Event: execution.HookUserPromptSubmit, Direction: adapter.HookBefore, Blocking: true},
		{Name: "AfterAgent", Event: execution.HookStop, Direction: adapter.HookBeside, Blocking: true},
		{Name: "BeforeModel", Direction: adapter.HookBefore, Blocking: true},
		{Name: "BeforeToolSelection", Direction: adapter.HookBefore},
		{Name: "AfterModel", Direction: adapter.HookAfter, Blocking: true},
		{Name: "SessionStart", Event: execution.HookSessionStart, Direction: adapter.HookBeside},
		{Name: "SessionEnd", Event: execution.HookSessionEnd, Direction: adapter.HookBeside},
		{Name: "Notification", Direction: adapter.HookBeside},
		{Name: "PreCompress", Direction: adapter.HookBefore},
	}
}

const beforeTool = "BeforeTool"

// toolHook makes Gemini ask before a tool call. The layers of its settings that a run could bring must belong to root, and hooks
// stand nowhere else, so it is its policy that makes every call a question.
var toolHook = &cliagent.ToolHook{Approvals: true}

// askAlways is the policy. It stands in the tiers of the user and of the administrator, whichever is read. A rule without a pattern
// does not hold for shell commands that Gemini knows as harmless, such as echo: those it would run unasked.
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

// readHook reads what Gemini writes to a command. It gives tool calls no id there.
func readHook(event string, payload []byte) (execution.HookCall, error) {
	return cliagent.ReadHook(name, event, payload, event == beforeTool)
}

// answerHook words an answer. A new input of a tool goes over the one that the model made, member by member.
func answerHook(event string, res execution.HookResult) adapter.HookAnswer {
	switch {
	case res.Decision == execution.HookDeny:
		return cliagent.DenyHook(res)
	case res.Decision == execution.HookModify && event == beforeTool:
		return adapter.HookAnswer{Stdout: cliagent.HookOutput(event, map[string]any{"tool_input": res.ModifiedInput})}
	}
	return adapter.HookAnswer{Stdout: res.Stdout}
}

// Hooks lists the events at which Gemini CLI calls commands.
func (Adapter) Hooks() []adapter.NativeHook { return hookEvents() }

// ReadHook reads what Gemini CLI writes to a command.
func (Adapter) ReadHook(event string, payload []byte) (execution.HookCall, error) {
	return readHook(event, payload)
}

// AnswerHook words a result for Gemini CLI.
func (Adapter) AnswerHook(event string, res execution.HookResult) adapter.HookAnswer {
	return answerHook(event, res)
}

// PlaceHook says where Gemini CLI reads a hook. It counts in milliseconds.
func (Adapter) PlaceHook(h adapter.Host, scope adapter.ConfigScope, dir, event, command string) adapter.HookPlace {
	p := adapter.HookPlace{File: filepath.Join(configDir(h), "settings.json"), Format: "jsonc", Path: []string{"hooks", event},
		Group: map[string]any{"matcher": "*", "hooks": []any{map[string]any{"type": "command", "name": "drawbar-" + event, "command": command, "timeout": 600_000}}}}
	if scope == adapter.ScopeProject {
		p.File, p.Within = filepath.Join(dir, ".gemini", "settings.json"), dir
		p.Note = "gemini reads it in folders that the user trusts"
	}
	return p
}
