package hook

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// Runtime returns the hooks of a run from lines EVENT=COMMAND. Several commands of one event are called in
// order.
func (d *Dispatcher) Runtime(lines []string) (agent.Hooks, error) {
	commands := map[execution.HookEvent][]Registration{}
	for _, line := range lines {
		name, command, ok := strings.Cut(line, "=")
		i := slices.IndexFunc(execution.HookEvents(), func(e execution.HookEvent) bool { return strings.EqualFold(string(e), name) })
		if !ok || i < 0 || strings.TrimSpace(command) == "" || strings.ContainsRune(command, 0) {
			return agent.Hooks{}, execution.Errorf(execution.CodeValidation, "--hook %q: want EVENT=COMMAND", line).WithHint("the events are %s", events())
		}
		event := execution.HookEvents()[i]
		commands[event] = append(commands[event], Registration{ID: "--hook", Agent: Any, HookType: string(event), Handler: Command, Target: command})
	}
	ask := func(e execution.HookEvent) func(context.Context, execution.HookCall) (execution.HookResult, error) {
		list := commands[e]
		if list == nil {
			return nil
		}
		return func(ctx context.Context, call execution.HookCall) (execution.HookResult, error) {
			return d.Dispatch(ctx, list, call), nil
		}
	}
	tell := func(e execution.HookEvent) func(context.Context, execution.HookCall) {
		list := commands[e]
		if list == nil {
			return nil
		}
		return func(ctx context.Context, call execution.HookCall) { d.warn(call, d.Dispatch(ctx, list, call)) }
	}
	return agent.Hooks{PreToolUse: ask(execution.HookPreToolUse), UserPromptSubmit: ask(execution.HookUserPromptSubmit),
		PostToolUse: tell(execution.HookPostToolUse), SessionStart: tell(execution.HookSessionStart), SessionEnd: tell(execution.HookSessionEnd),
		Stop: tell(execution.HookStop), Timeout: d.limit(len(lines))}, nil
}

func events() string {
	var names []string
	for _, e := range execution.HookEvents() {
		names = append(names, string(e))
	}
	return strings.Join(names, ", ")
}

// warn reports that a hook which cannot block tried to.
func (d *Dispatcher) warn(call execution.HookCall, res execution.HookResult) {
	if res.Decision == execution.HookDeny && d.Warn != nil {
		d.Warn("the hook of %s cannot block: %s", call.HookType, cmp.Or(res.Message, "it denied"))
	}
}
