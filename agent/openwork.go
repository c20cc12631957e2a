package agent

import (
	"github.com/drawbar/drawbar/execution"
)

// openWork tracks the tool calls that a backend has started and not ended. All are ended with their turn, so
// that no reader shows a finished tool as running. It belongs to a sequencer.
type openWork struct {
	order []string // ids in starting order
	calls map[string]*openCall
	cut   map[string]bool // ids that were ended here; later events of them are dropped
	ended map[string]bool // ids of the turn that have a result; a second result is a repetition
}

// openCall is a tool call without a result.
type openCall struct {
	parent, name, server string
	mcp                  bool
	shell                bool   // shell_start was shown, shell_exit not yet
	agent                string // the sub-agent that it started and that has not ended
}

func (w *openWork) start(id string, c openCall) {
	if id == "" || w.calls[id] != nil {
		return
	}
	if w.calls == nil {
		w.calls = map[string]*openCall{}
	}
	w.calls[id] = &c
	w.order = append(w.order, id)
	delete(w.cut, id) // an agent may number its calls anew
	delete(w.ended, id)
}

func (w *openWork) stop(id string) {
	if c := w.calls[id]; c != nil {
		delete(w.calls, id)
		if w.ended == nil {
			w.ended = map[string]bool{}
		}
		w.ended[id] = true
		for i, other := range w.order {
			if other == id {
				w.order = append(w.order[:i], w.order[i+1:]...)
				break
			}
		}
	}
}

// note records what an event starts or ends.
func (w *openWork) note(e execution.Event) {
	switch b := e.Body.(type) {
	case execution.ToolCallStart:
		w.start(b.ToolCallID, openCall{parent: e.Parent, name: b.ToolName})
	case execution.ToolCallReady:
		w.start(b.ToolCallID, openCall{parent: e.Parent, name: b.ToolName})
	case execution.MCPToolCallStart:
		w.start(b.ToolCallID, openCall{parent: e.Parent, name: b.ToolName, server: b.Server, mcp: true})
	case execution.ShellStart:
		if c := w.calls[b.ToolCallID]; c != nil {
			c.shell = true
		}
	case execution.ShellExit:
		if c := w.calls[b.ToolCallID]; c != nil {
			c.shell = false
		}
	case execution.SubagentSpawn:
		if c := w.calls[b.SubagentID]; c != nil {
			c.agent = b.AgentName
		}
	case execution.SubagentResult:
		if c := w.calls[b.SubagentID]; c != nil {
			c.agent = ""
		}
	case execution.SubagentError:
		if c := w.calls[b.SubagentID]; c != nil {
			c.agent = ""
		}
	case execution.ToolResultEvent:
		w.stop(b.ToolCallID)
	case execution.ToolError:
		w.stop(b.ToolCallID)
	case execution.MCPToolResult:
		w.stop(b.ToolCallID)
	case execution.MCPToolError:
		w.stop(b.ToolCallID)
	}
}

// late reports whether an event belongs to a call that was ended here, or ends one that has ended.
func (w *openWork) late(body execution.Body) bool {
	if len(w.cut) == 0 && len(w.ended) == 0 {
		return false
	}
	switch b := body.(type) {
	case execution.ToolResultEvent:
		return w.cut[b.ToolCallID] || w.ended[b.ToolCallID]
	case execution.ToolError:
		return w.cut[b.ToolCallID] || w.ended[b.ToolCallID]
	case execution.MCPToolResult:
		return w.cut[b.ToolCallID] || w.ended[b.ToolCallID]
	case execution.MCPToolError:
		return w.cut[b.ToolCallID] || w.ended[b.ToolCallID]
	case execution.ShellStdoutDelta:
		return w.cut[b.ToolCallID]
	case execution.ShellStderrDelta:
		return w.cut[b.ToolCallID]
	case execution.ShellExit:
		return w.cut[b.ToolCallID]
	}
	return false
}

// end ends everything open. The exit code of an interrupted command is unknown: -1.
func (w *openWork) end(withRun bool, publish func(execution.Event)) {
	why := "ended with the turn, before it had a result"
	if withRun {
		why = "ended with the run, before it had a result"
	}
	for _, id := range w.order {
		c := w.calls[id]
		say := func(b execution.Body) { publish(execution.Event{Parent: c.parent, Body: b}) }
		if c.shell {
			say(execution.ShellExit{ExitCode: -1, ToolCallID: id})
		}
		if c.agent != "" {
			say(execution.SubagentError{SubagentID: id, AgentName: c.agent, Error: why})
		}
		if c.mcp {
			say(execution.MCPToolError{ToolCallID: id, Server: c.server, ToolName: c.name, Error: why})
		} else {
			say(execution.ToolError{ToolCallID: id, ToolName: c.name, Error: why})
		}
		if w.cut == nil {
			w.cut = map[string]bool{}
		}
		w.cut[id] = true
	}
	w.order, w.calls, w.ended = nil, nil, nil
}
