package declared

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// HookTable describes the events at which an agent calls commands.
type HookTable struct {
	Events []settings.Hook
	Tool   string // the event before a tool call
	File   string // file of the commands, below the settings folder; * stands for the event
	Format string // of the file
	Base   []settings.HookMember
	Note   string // condition for the commands of a project
	// Program returns the content of the file for a command, for an agent that runs files instead. It contains settings.HookSignature.
	Program func(e settings.Hook, command string) string
	// Group returns the list element that the file expects for a command.
	Group func(e settings.Hook, command string) any
	// Finish completes a place for an agent that needs more than a group. Optional.
	Finish func(h adapter.Host, p *settings.HookPlace, event, command string)

	// Read parses an input that has another form than those of most agents: nil for those. Agent, event and input are set afterwards.
	Read func(payload []byte) (execution.HookCall, error)
	// Denial returns the JSON of a denial. If it is nil or returns nil, the command exits with code 2.
	Denial func(event, why string) map[string]any
	// Modified returns the JSON that replaces a tool's input. If it is nil, the call is denied instead.
	Modified func(input json.RawMessage) map[string]any
	// Quiet agents take output of a permission for a failure of the command: none is printed.
	Quiet bool
	// Specific wraps what Denial and Modified return in the member hookSpecificOutput.
	Specific bool
}

// HooksOf implements adapter.NativeHooks from the table.
type HooksOf[D Declares] struct{}

// Hooks returns the agent's events.
func (HooksOf[D]) Hooks() []settings.Hook {
	return append([]settings.Hook(nil), of[D]().Hooks.Events...)
}

// ReadHook parses what the agent passes to the command of an event.
func (HooksOf[D]) ReadHook(event string, payload []byte) (execution.HookCall, error) {
	return of[D]().readHook(event, payload)
}

// AnswerHook formats a result for the agent.
func (HooksOf[D]) AnswerHook(event string, res execution.HookResult) settings.HookAnswer {
	return of[D]().answerHook(event, res)
}

// PlaceHook returns where the agent reads a hook.
func (HooksOf[D]) PlaceHook(h adapter.Host, scope settings.Scope, dir, event, command string) settings.HookPlace {
	return of[D]().placeHook(h, scope, dir, event, command)
}

func (t *Table) placeHook(h adapter.Host, scope settings.Scope, dir, event, command string) settings.HookPlace {
	e, ok := settings.FindHook(t.Hooks.Events, event)
	if !ok {
		e.Name = event
	}
	at, within := t.settingsDir(h, scope, dir)
	p := settings.HookPlace{File: filepath.Join(at, filepath.FromSlash(strings.Replace(t.Hooks.File, "*", event, 1))), Within: within}
	if t.Hooks.Program != nil {
		p.Program = t.Hooks.Program(e, command)
	} else {
		p.Format, p.Path, p.Group, p.Base = t.Hooks.Format, []string{"hooks", event}, t.Hooks.Group(e, command), t.Hooks.Base
	}
	if within != "" {
		p.Note = t.Hooks.Note
	}
	if t.Hooks.Finish != nil {
		t.Hooks.Finish(h, &p, event, command)
	}
	return p
}

// ToolHook returns the hook by which an agent asks before a tool call of a run.
func ToolHook[D Declares]() *cliagent.ToolHook {
	return &cliagent.ToolHook{
		Read: func(_ string, payload []byte) (execution.HookCall, error) {
			t := of[D]()
			return t.readHook(t.Hooks.Tool, payload)
		},
		Answer: func(_ string, res execution.HookResult) settings.HookAnswer {
			t := of[D]()
			return t.answerHook(t.Hooks.Tool, res)
		},
	}
}

func (t *Table) readHook(event string, payload []byte) (execution.HookCall, error) {
	read := t.Hooks.Read
	if read == nil {
		read = readHook
	}
	call, err := read(payload)
	if err == nil && event == t.Hooks.Tool && call.Data.ToolName == "" {
		err = errors.New("no tool is named")
	}
	if err != nil {
		return execution.HookCall{}, fmt.Errorf("parse the input of %s to %s: %v", t.Agent, event, err)
	}
	call.Agent, call.HookType, call.Raw = t.Agent, event, payload
	if e, _ := settings.FindHook(t.Hooks.Events, event); e.Event == execution.HookUserPromptSubmit && call.Data.Prompt == "" {
		call.Data.Prompt, call.Data.Message = call.Data.Message, ""
	}
	return call, nil
}

// answerHook formats an answer. A decision that the agent's format cannot express is a denial.
func (t *Table) answerHook(event string, res execution.HookResult) settings.HookAnswer {
	var out map[string]any
	switch {
	case res.Decision == execution.HookDeny:
		if t.Hooks.Denial != nil {
			out = t.Hooks.Denial(event, res.Message)
		}
	case res.Decision != execution.HookModify || event != t.Hooks.Tool:
		if t.Hooks.Quiet {
			return settings.HookAnswer{}
		}
		return settings.HookAnswer{Stdout: res.Stdout}
	case t.Hooks.Modified == nil:
		res.Message = t.Agent + " cannot modify a tool's input, as a hook requested"
	default:
		out = t.Hooks.Modified(res.ModifiedInput)
	}
	if out != nil && t.Hooks.Specific {
		out["hookEventName"] = event
		out = map[string]any{"hookSpecificOutput": out}
	}
	if b, err := json.Marshal(out); err == nil && out != nil {
		return settings.HookAnswer{Stdout: string(b)}
	}
	return settings.HookAnswer{Stderr: cmp.Or(res.Message, "denied by a hook"), ExitCode: 2}
}
