package adapter

import (
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// NativeHooks is an agent that calls commands registered in its own files at certain events. The methods
// perform no I/O.
type NativeHooks interface {
	// Hooks returns the agent's events in the order of its documentation.
	Hooks() []settings.Hook
	// ReadHook parses the agent's input to the command of an event.
	ReadHook(event string, payload []byte) (execution.HookCall, error)
	// AnswerHook formats a result for the agent at the event.
	AnswerHook(event string, res execution.HookResult) settings.HookAnswer
	// PlaceHook returns where and how to register a command for the event. dir is the project.
	PlaceHook(h Host, scope settings.Scope, dir, event, command string) settings.HookPlace
}
