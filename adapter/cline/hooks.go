package cline

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

const preToolUse = "PreToolUse"

// hooks are the events at which Cline runs files. Each is named for its event and has one of several extensions, so
// Drawbar's stand beside those of the user. Cline ignores exit codes and runs the tool after 120 s, so the file denies
// before that.
var hooks = declared.HookTable{
	Tool: preToolUse, File: "hooks/*.bash", Quiet: true, Read: readHook,
	Program: func(e settings.Hook, command string) string {
		program := "#!/usr/bin/env bash\n# " + settings.HookSignature + "\n"
		if !e.Blocking {
			return program + command + " > /dev/null\n"
		}
		return program + fmt.Sprintf(asking, command)
	},
	Denial: func(_, why string) map[string]any { return map[string]any{"cancel": true, "errorMessage": why} },
	Modified: func(input json.RawMessage) map[string]any {
		return map[string]any{"overrideInput": input}
	},
	Events: []settings.Hook{
		{Name: "TaskStart", Event: execution.HookSessionStart, Direction: settings.HookBeside},
		{Name: "TaskResume", Direction: settings.HookBeside},
		{Name: "TaskCancel", Direction: settings.HookBeside},
		{Name: "TaskComplete", Event: execution.HookStop, Direction: settings.HookBeside},
		{Name: "TaskError", Direction: settings.HookBeside},
		{Name: preToolUse, Event: execution.HookPreToolUse, Direction: settings.HookBefore, Blocking: true},
		{Name: "PostToolUse", Event: execution.HookPostToolUse, Direction: settings.HookAfter},
		{Name: "UserPromptSubmit", Event: execution.HookUserPromptSubmit, Direction: settings.HookBefore},
		{Name: "SessionShutdown", Event: execution.HookSessionEnd, Direction: settings.HookBeside},
	},
}

// asking prints what the command answers, or a denial if it fails or does not end in time.
const asking = `denial='{"cancel":true,"errorMessage":"a hook failed or did not end in time"}'
IFS= read -r -d '' -t 110 answer < <(%s || printf %%s "$denial"; printf .)
case $answer in
  .) answer={} ;;
  *.) answer=${answer%%.} ;;
  *) answer=$denial ;;
esac
printf 'HOOK_CONTROL\t%%s\n' "$answer"
`

// readHook parses what Cline passes to the file of an event.
func readHook(payload []byte) (execution.HookCall, error) {
	type call struct {
		ID     string          `json:"id"`
		Name   string          `json:"name"`
		Input  json.RawMessage `json:"input"`
		Output json.RawMessage `json:"output"`
	}
	var in struct {
		Task    string `json:"taskId"`
		Session struct {
			Root string `json:"rootSessionId"`
		} `json:"sessionContext"`
		Workspaces []string `json:"workspaceRoots"`
		Call       call     `json:"tool_call"`
		Result     call     `json:"tool_result"`
		Prompt     struct {
			Text string `json:"prompt"`
		} `json:"userPromptSubmit"`
		Turn struct {
			Text string `json:"outputText"`
		} `json:"turn"`
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(payload, &in); err != nil {
		return execution.HookCall{}, err
	}
	tool := in.Call
	if tool.Name == "" {
		tool = in.Result
	}
	c := execution.HookCall{SessionID: cmp.Or(in.Session.Root, in.Task), ToolCallID: tool.ID,
		Data: execution.HookData{ToolName: tool.Name, ToolInput: tool.Input, ToolOutput: tool.Output,
			Prompt: in.Prompt.Text, Message: in.Error.Message, Response: in.Turn.Text}}
	if len(in.Workspaces) > 0 {
		c.Data.Cwd = in.Workspaces[0]
	}
	return c, nil
}
