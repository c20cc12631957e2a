package toolcall

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// maxCalls bounds the open calls and the remembered refusals; a run normally has a handful.
const maxCalls = 4096

// Calls holds the open tool calls of a run by id. It belongs to one run.
type Calls struct {
	Servers map[string]string // known MCP servers with their status
	Cwd     string            // working directory of commands

	table   *Table
	names   *jsonscan.Interner
	open    map[string]*Call
	denied  map[string]bool // calls whose refusal was reported
	scratch []byte
}

// NewCalls returns the calls of a run. It shares the interner of the run's parser.
func NewCalls(t *Table, names *jsonscan.Interner) Calls {
	return Calls{table: t, names: names, open: map[string]*Call{}, denied: map[string]bool{}, Servers: map[string]string{}}
}

// Open returns an open call by id, nil for none.
func (k *Calls) Open(id string) *Call { return k.open[id] }

// Expect returns an open call by id, or else an unnamed one that is not kept.
func (k *Calls) Expect(id, parent string) *Call {
	if c := k.open[id]; c != nil {
		return c
	}
	return &Call{ID: id, Parent: parent}
}

// All returns the open calls.
func (k *Calls) All() iter.Seq[*Call] { return maps.Values(k.open) }

// Add adds a call without emitting an event. An open call with that id is returned unchanged.
func (k *Calls) Add(id, name, parent string) *Call {
	if c := k.open[id]; c != nil {
		return c
	}
	if len(k.open) >= maxCalls {
		clear(k.open)
	}
	c := &Call{ID: id, Name: name, Parent: parent}
	k.open[id] = c
	return c
}

// Start starts a call. An open call with that id is returned unchanged.
func (k *Calls) Start(id, name, parent string, s *cliagent.Sink) *Call {
	if c := k.open[id]; c != nil {
		return c
	}
	c := k.Add(id, name, parent)
	if k.table.Deferred == "" || name != k.table.Deferred {
		k.named(c, s)
	}
	return c
}

// Identify derives the tool's server and kind from its name.
func (k *Calls) Identify(c *Call) {
	if server, tool := k.table.MCP.Split(c.Name, maps.Keys(k.Servers)); server != "" {
		c.Of(server, tool)
		return
	}
	c.Kind = k.table.Kind(c.Name)
}

func (k *Calls) named(c *Call, s *cliagent.Sink) {
	k.Identify(c)
	c.Start(s)
}

type deferredForm struct{ Name, Arguments jsonscan.Value }

var deferredShape jsonscan.Shape[deferredForm]

// Called reports a call's whole input. Only the first report counts.
func (k *Calls) Called(c *Call, input jsonscan.Value, s *cliagent.Sink) {
	if c.Ready {
		return
	}
	if !c.begun && !c.MCP {
		var v deferredForm
		if k.table.Deferred != "" && deferredShape.From(input, &v) && v.Name.Kind() == jsonscan.String && v.Arguments.Kind() == jsonscan.Object {
			c.Name, input = k.names.Str(v.Name), v.Arguments
		}
		k.named(c, s)
	}
	raw := json.RawMessage("{}")
	if input.Exists() && input.Kind() != jsonscan.Null {
		raw = Raw(input, "{}")
	}
	c.Called(raw, s)
	if c.MCP {
		return
	}
	if prompt := k.Input(c, input); c.Kind == Agent {
		c.Spawn(prompt, s)
	}
}

// Input keeps the parts of the input that events need, and returns a sub-agent's prompt.
func (k *Calls) Input(c *Call, input jsonscan.Value) (prompt string) {
	v, ok := k.table.input(input)
	if !ok {
		return ""
	}
	c.Path = cmp.Or(v[memberPath].Str(), v[memberOtherPath].Str())
	switch c.Kind {
	case Shell:
		c.Command = v[memberCommand].Str()
	case Agent:
		c.Agent = cmp.Or(v[memberAgent].Str(), k.table.DefaultAgent)
		prompt = v[memberPrompt].Str()
	case Skill:
		c.Skill = v[memberSkill].Str()
	case Edit:
		c.Creates = v[memberOld].IsStr("")
	}
	if c.Kind == Write || k.table.Apart { // with Apart, any tool may write a file
		k.scratch = v[memberContent].StrBytes(k.scratch[:0])
		c.Bytes = int64(len(k.scratch))
	}
	return prompt
}

// Run emits once that the call's command runs.
func (k *Calls) Run(c *Call, s *cliagent.Sink) {
	if c.Kind == Shell {
		c.Cwd = k.Cwd
		c.Run(s)
	}
}

// End ends a call and forgets it unless its sub-agent continues.
func (k *Calls) End(c *Call, e End, s *cliagent.Sink) {
	c.Cwd = k.Cwd
	c.Async = c.Async || e.Async && !e.Failed
	if !c.Async {
		delete(k.open, c.ID)
	}
	c.end(e, k.table.Apart, s)
}

// AgentEnd ends a sub-agent that continued after its call returned.
func (k *Calls) AgentEnd(c *Call, failed bool, text string, s *cliagent.Sink) {
	delete(k.open, c.ID)
	c.AgentEnd(failed, text, s)
}

// EndTurn forgets the calls that a turn left open, except those with running sub-agents.
func (k *Calls) EndTurn() {
	maps.DeleteFunc(k.open, func(_ string, c *Call) bool { return !c.Async })
}

// Settled records that the refusal of a call is known, so that it is not reported again.
func (k *Calls) Settled(id string) {
	if len(k.denied) >= maxCalls {
		clear(k.denied)
	}
	k.denied[id] = true
}

// Deny reports the refusal of a call once. No question was asked, so the call's id serves as the question's.
func (k *Calls) Deny(c *Call, name, why string, s *cliagent.Sink) {
	if c.ID == "" || k.denied[c.ID] {
		return
	}
	k.Settled(c.ID)
	c.emit(execution.ApprovalDenied{ID: execution.QuestionID(c.ID), Reason: why, ToolName: name}, s)
}
