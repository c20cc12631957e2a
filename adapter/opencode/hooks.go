package opencode

import (
	_ "embed"
	"encoding/json"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
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
		return plugin(map[string]any{"event": e.Name, "command": command})
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

// plugin returns the plugin with other values of its constants.
func plugin(constants map[string]any) string {
	text := hookPlugin
	for name, value := range constants {
		begin := "\nconst " + name + " = "
		before, rest, _ := strings.Cut(text, begin)
		_, after, _ := strings.Cut(rest, ";")
		text = before + begin + string(encode(value)) + ";" + after
	}
	return text
}

// tools are OpenCode's own.
var tools = &toolcall.Table{
	Tools: toolcall.Tools{toolcall.Shell: {"bash"}, toolcall.Read: {"read"}, toolcall.Write: {"write"}, toolcall.Edit: {"edit", "multiedit", "apply_patch", "patch"},
		toolcall.Agent: {"task"}, toolcall.Skill: {"skill"}, toolcall.Search: {"glob", "grep", "list"}, toolcall.Fetch: {"webfetch", "websearch", "codesearch"}},
	Input: toolcall.Input{Path: "filePath", Command: "command", Content: "content", Old: "oldString", Agent: "subagent_type", Prompt: "prompt", Skill: "name"},
}

// toolHook is the plugin in one run. It says which server a tool belongs to, as the tool's name does not.
func toolHook() *cliagent.ToolHook {
	h := declared.ToolHook[declares]()
	read := h.Read
	h.Read = func(event string, payload []byte) (execution.HookCall, error) {
		call, err := read(event, payload)
		if err != nil {
			return call, err
		}
		var of struct {
			Server string `json:"mcp_server"`
		}
		if err := json.Unmarshal(payload, &of); err != nil {
			return call, err
		}
		call.Use = tools.Use(call.Data.ToolName, call.Data.ToolInput)
		if of.Server != "" {
			call.Use = execution.ToolUse{Kind: execution.ToolMCP, Server: of.Server, Tool: call.Data.ToolName[min(len(of.Server)+1, len(call.Data.ToolName)):]}
		}
		return call, nil
	}
	return h
}

// hookOf returns the plugin of a run's hook; empty for none.
func hookOf(l *cliagent.Launch) string {
	if l.Hook == nil {
		return ""
	}
	return l.File("drawbar-hook.js", []byte(plugin(map[string]any{"event": beforeTool, "command": l.Hook.PreTool, "start": l.Hook.Start, "patience": l.Hook.Timeout.Milliseconds()})))
}
