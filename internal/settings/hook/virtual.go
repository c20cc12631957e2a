package hook

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// Kind says who calls a registration.
type Kind string

// The kinds: the agent calls it once it is installed in the agent's settings; Drawbar calls it on an event of a
// run, so it cannot block; nothing calls it.
const (
	Native  Kind = "native"
	Virtual Kind = "virtual"
	None    Kind = "none"
)

// streamOf maps the specification's events to events of a run.
var streamOf = map[execution.HookEvent][]execution.EventType{
	execution.HookPreToolUse:       {"tool_call_ready", "mcp_tool_call_start"},
	execution.HookPostToolUse:      {"tool_result", "tool_error", "mcp_tool_result", "mcp_tool_error"},
	execution.HookUserPromptSubmit: {"turn_start"},
	execution.HookSessionStart:     {"session_start"},
	execution.HookSessionEnd:       {"session_end"},
	execution.HookStop:             {"turn_end"},
}

// stream are the event types that call a registration.
func stream(hookType string) []execution.EventType {
	if types := streamOf[execution.HookEvent(hookType)]; types != nil {
		return types
	}
	if slices.Contains(execution.EventTypes(), execution.EventType(hookType)) {
		return []execution.EventType{execution.EventType(hookType)}
	}
	return nil
}

// KindOf returns who calls a registration when the agent with these events runs.
func KindOf(r Registration, agentName string, native []settings.Hook) Kind {
	if r.Agent != Any && r.Agent != agentName {
		return None
	}
	if r.HookType == Any && len(native) > 0 {
		return Native
	}
	if _, ok := settings.FindHook(native, r.HookType); ok {
		return Native
	}
	if r.HookType != Any && stream(r.HookType) != nil {
		return Virtual
	}
	return None
}

// Watch calls registrations on events of a run.
type Watch struct {
	d     *Dispatcher
	agent string
	cwd   string
	list  []Registration

	mu      sync.Mutex // guards the rest
	queue   []watched
	working bool
	work    sync.WaitGroup
}

type watched struct {
	r    Registration
	call execution.HookCall
}

// Virtual returns a watch of registrations.
func (d *Dispatcher) Virtual(agentName, cwd string, list []Registration) *Watch {
	return &Watch{d: d, agent: agentName, cwd: cwd, list: list}
}

// Handler handles the events of the run. It only queues; one goroutine at a time makes the calls.
func (w *Watch) Handler() agent.Handler { return agent.OnAny(w.event) }

// Wait waits until all queued calls were made.
func (w *Watch) Wait() { w.work.Wait() }

func (w *Watch) event(e execution.Event) {
	for _, r := range w.list {
		if slices.Contains(stream(r.HookType), e.Body.Type()) {
			w.put(watched{r, w.call(r, e)})
		}
	}
}

func (w *Watch) call(r Registration, e execution.Event) execution.HookCall {
	c := execution.HookCall{Agent: w.agent, HookType: r.HookType, RunID: e.RunID, Time: e.Time, Data: execution.HookData{Cwd: w.cwd}}
	if e.Caller != nil {
		c.Correlation = *e.Caller
	}
	if slices.Contains(execution.HookEvents(), execution.HookEvent(r.HookType)) {
		c.Event = execution.HookEvent(r.HookType)
	}
	if raw, err := json.Marshal(e); err == nil {
		c.Raw = raw
	}
	switch b := e.Body.(type) {
	case execution.ToolCallReady:
		c.ToolCallID, c.Data.ToolName, c.Data.ToolInput = b.ToolCallID, b.ToolName, b.Input
	case execution.MCPToolCallStart:
		c.ToolCallID, c.Data.ToolName, c.Data.ToolInput = b.ToolCallID, b.ToolName, b.Input
	case execution.ToolResultEvent:
		c.ToolCallID, c.Data.ToolName, c.Data.ToolOutput = b.ToolCallID, b.ToolName, b.Output
	case execution.MCPToolResult:
		c.ToolCallID, c.Data.ToolName, c.Data.ToolOutput = b.ToolCallID, b.ToolName, b.Output
	case execution.ToolError:
		c.ToolCallID, c.Data.ToolName, c.Data.Message = b.ToolCallID, b.ToolName, b.Error
	case execution.MCPToolError:
		c.ToolCallID, c.Data.ToolName, c.Data.Message = b.ToolCallID, b.ToolName, b.Error
	case execution.SessionStart:
		c.SessionID = b.SessionID
	case execution.SessionEnd:
		c.SessionID = b.SessionID
	}
	return c
}

func (w *Watch) put(x watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, x)
	if !w.working {
		w.working = true
		w.work.Go(w.run)
	}
}

func (w *Watch) run() {
	for {
		w.mu.Lock()
		if len(w.queue) == 0 {
			w.working = false
			w.mu.Unlock()
			return
		}
		x := w.queue[0]
		w.queue = w.queue[1:]
		w.mu.Unlock()
		// Each command has its own time limit; queued calls are still made after the run has ended.
		w.d.warn(x.call, w.d.Dispatch(context.Background(), []Registration{x.r}, x.call))
	}
}
