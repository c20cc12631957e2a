package codex

import (
	"cmp"
	"encoding/json"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// collab is a tool call about sub-agents, in the terms of either protocol.
type collab struct {
	id, tool, status          string
	prompt, receivers, agents jsonscan.Value
}

// spawns reports whether the call starts a sub-agent.
func (c collab) spawns() bool { return c.tool == "spawn_agent" || c.tool == "spawnAgent" }

func (c collab) begin(o source) {
	o.begin(c.id, c.tool, object(member{"prompt", c.prompt}, member{"receivers", c.receivers}))
}

// threads are the conversations of a run.
type threads struct {
	main   *conversation
	subs   map[string]*conversation // of sub-agents, by thread
	agents subagents
	spawns map[string]bool // calls that start a sub-agent and have not ended
}

// of returns the conversation of a thread: the agent's own, or a sub-agent's.
func (t *threads) of(id string) *conversation {
	if id == "" || id == t.main.id {
		return t.main
	}
	c := t.subs[id]
	if c == nil {
		c = newConversation(id)
		t.subs[id] = c
	}
	if c.parent == "" {
		c.parent = t.agents.calls[id]
		if c.parent == "" && len(t.spawns) == 1 {
			for call := range t.spawns { // the call that starts it has not ended yet
				c.parent = call
			}
		}
	}
	return c
}

// from returns the source of a conversation's events.
func (t *threads) from(c *conversation, s *cliagent.Sink) source {
	if c != t.main && c.parent == "" {
		return source{s, c.id}
	}
	return source{s, c.parent}
}

// subagents maps the threads of sub-agents to the calls that started them. The zero value is ready for use.
type subagents struct {
	calls map[string]string // thread to call
	names map[string]string // thread to the sub-agent's name, if it has one
	told  map[string]bool   // threads whose result was reported
}

func (a *subagents) spawned(thread, call string) {
	if a.calls == nil {
		a.calls, a.names, a.told = map[string]string{}, map[string]string{}, map[string]bool{}
	}
	a.calls[thread] = call
}

// end handles the end of a call: sub-agents that it started, results that it returns, and its own result.
func (a *subagents) end(c collab, o source) {
	failed := c.status != "completed" && c.status != ""
	if c.spawns() {
		for _, r := range c.receivers.Array {
			if thread := r.Str(); thread != "" && a.calls[thread] == "" {
				a.spawned(thread, c.id)
			}
		}
		if !failed {
			call := o.call(c.id, c.tool)
			call.Agent = a.nameOf(c.receivers)
			call.Spawn(c.prompt.Str(), o.s)
		}
	}
	for thread, state := range c.agents.Object {
		message := state.Get("message").Str()
		switch status := state.Get("status"); {
		case status.IsStr("completed"):
			a.result(string(thread), message, o)
		case status.IsStr("errored"), status.IsStr("not_found"), status.IsStr("notFound"):
			a.failed(string(thread), message, o)
		}
	}
	var output json.RawMessage = null
	if c.agents.Exists() {
		output = raw(c.agents)
	}
	o.end(c.id, c.tool, c.status, "", output, 0)
}

func (a *subagents) nameOf(receivers jsonscan.Value) (name string) {
	for _, r := range receivers.Array {
		name = a.names[r.Str()]
	}
	return name
}

// again records that a sub-agent works again, so that it will have another result.
func (a *subagents) again(thread string) { delete(a.told, thread) }

// result reports a sub-agent's answer once, whatever its source.
func (a *subagents) result(thread, summary string, o source) {
	a.over(thread, false, summary, o)
}

func (a *subagents) failed(thread, why string, o source) {
	a.over(thread, true, cmp.Or(why, "the sub-agent failed"), o)
}

func (a *subagents) over(thread string, failed bool, text string, o source) {
	if id := a.calls[thread]; id != "" && !a.told[thread] {
		a.told[thread] = true
		c := o.call(id, "")
		c.Agent = a.names[thread]
		c.AgentEnd(failed, text, o.s)
	}
}
