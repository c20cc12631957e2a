package adapter

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// NativeHooks is an agent that calls commands at moments of its work, which stand in files of its own. The methods are pure.
type NativeHooks interface {
	// Hooks lists the agent's events in the order of its documentation.
	Hooks() []NativeHook
	// ReadHook reads what the agent writes to the command of an event.
	ReadHook(event string, payload []byte) (execution.HookCall, error)
	// AnswerHook words a result as the agent understands it at the event.
	AnswerHook(event string, res execution.HookResult) HookAnswer
	// PlaceHook says where a command for the event is registered, and how. dir is the project.
	PlaceHook(h Host, scope ConfigScope, dir, event, command string) HookPlace
}

// NativeHook is an event of an agent at which it calls commands.
type NativeHook struct {
	Name      string              `json:"name"`            // as the agent writes it
	Event     execution.HookEvent `json:"event,omitempty"` // what it is called in the agent-mux specification, empty for nothing
	Direction HookDirection       `json:"direction"`
	Blocking  bool                `json:"blocking"` // a command can keep the agent from going on
}

// HookDirection is when an event comes.
type HookDirection string

// The directions: before something happens, after it, or besides it.
const (
	HookBefore HookDirection = "pre"
	HookAfter  HookDirection = "post"
	HookBeside HookDirection = "event"
)

// FindHook finds an event by the agent's name or that of the specification, whichever case it is written in.
func FindHook(list []NativeHook, name string) (NativeHook, bool) {
	i := slices.IndexFunc(list, func(n NativeHook) bool { return strings.EqualFold(n.Name, name) })
	if i < 0 {
		i = slices.IndexFunc(list, func(n NativeHook) bool { return n.Event != "" && strings.EqualFold(string(n.Event), name) })
	}
	if i < 0 {
		return NativeHook{}, false
	}
	return list[i], true
}

// HookAnswer is what the command of a hook writes, and the code it exits with.
type HookAnswer struct {
	Stdout   string
	Stderr   string
	ExitCode int
}

// HookPlace is how a command is registered: a group that is appended to a list in a file.
type HookPlace struct {
	File   string   // absolute
	Within string   // the project that the file must not lead out of; empty for the user's own
	Format string   // json or jsonc
	Path   []string // to the list
	Group  any      // the value that the agent expects there
	Base   []HookMember
	// Review is how the agent remembers that somebody has looked at the command, which it does not call before; nil for an agent
	// that calls whatever is registered.
	Review *HookReview
	Note   string // what else must be so before the agent calls the command
}

// HookMember is a member that a file must have at its top.
type HookMember struct {
	Key   string
	Value any
}

// HookReview is the setting by which an agent remembers a review.
type HookReview struct {
	File   string
	Format string
	Path   func(group int) []string
	Value  string
}
