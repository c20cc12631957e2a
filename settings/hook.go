package settings

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// Hook is an event at which an agent calls commands.
type Hook struct {
	Name      string              `json:"name"`            // as the agent writes it
	Event     execution.HookEvent `json:"event,omitempty"` // its name in the agent-mux specification, empty if none
	Direction HookDirection       `json:"direction"`
	Blocking  bool                `json:"blocking"` // a command can block the agent
}

// HookDirection is when a hook is called.
type HookDirection string

// The directions: before an action, after it, or independent of any.
const (
	HookBefore HookDirection = "pre"
	HookAfter  HookDirection = "post"
	HookBeside HookDirection = "event"
)

// FindHook returns an event by the agent's name or that of the specification, case-insensitive.
func FindHook(list []Hook, name string) (Hook, bool) {
	i := slices.IndexFunc(list, func(n Hook) bool { return strings.EqualFold(n.Name, name) })
	if i < 0 {
		i = slices.IndexFunc(list, func(n Hook) bool { return n.Event != "" && strings.EqualFold(string(n.Event), name) })
	}
	if i < 0 {
		return Hook{}, false
	}
	return list[i], true
}

// HookAnswer is a hook command's output and exit code.
type HookAnswer struct {
	Stdout   string
	Stderr   string
	ExitCode int
}

// HookPlace is how a command is registered: a group appended to a list in a file, or a file of its own.
type HookPlace struct {
	File   string   // absolute
	Within string   // the project that must contain the file; empty for the user's own
	Format string   // json or jsonc
	Path   []string // path of the list
	Group  any      // the list element that the agent expects
	Base   []HookMember
	// Program is the content of a file that calls the command, for an agent that runs files. It contains HookSignature.
	// Format, Path, Group and Base are empty then.
	Program string `json:",omitempty"`
	// Review is how the agent records that somebody reviewed the command, which it requires before calling it;
	// nil for an agent that calls every registered command.
	Review *HookReview
	Note   string // other conditions for the agent to call the command
}

// HookSignature distinguishes a Program of Drawbar's from a file that Drawbar leaves alone.
const HookSignature = "Written by drawbar hooks install; removed by drawbar hooks uninstall."

// HookMember is a required top-level member of a file.
type HookMember struct {
	Key   string
	Value any
}

// HookReview is the setting in which an agent records a review.
type HookReview struct {
	File   string
	Format string
	Path   func(group int) []string
	Value  string
}
