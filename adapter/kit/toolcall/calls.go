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

// maxCalls bounds the calls that wait for their end, and the refusals that are remembered; a run has a handful at a time.
const maxCalls = 4096

// Calls are the open tool calls of a run, by id. It belongs to one run.
type Calls struct {
	Servers map[string]string // MCP servers that are known, with their status
	Cwd     string            // where commands run

	table   *Table
	names   *jsonscan.Interner
	open    map[string]*Call
	denied  map[string]bool // calls whose refusal is known
	scratch []byte
}

// NewCalls makes the calls of a run of the agent that the table describes. It shares the interner of the run's parser.
func NewCalls(t *Table, names *jsonscan.Interner) Calls {
	return Calls{table: t, names: names, open: map[string]*Call{}, denied: map[string]bool{}, Servers: map[string]string{}}
}

// Open is a call by its id, nil when it is not open.
func (k *Calls) Open(id string) *Call { return k.open[id] }

// Expect is a call by its id; one that is not open has no name and is not kept.
func (k *Calls) Expect(id, parent string) *Call {
	if c := k.open[id]; c != nil {
		return c
	}
	return &Call{ID: id, Parent: parent}
}

// All are the open calls.
func (k *Calls) All() iter.Seq[*Call] { return maps.Values(k.open) }

// Add is a call that begins, without an event so far. One that is open already is returned as it is.
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

// Start is the beginning of a call. One that is open already is returned as it is.
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

// Identify finds out whose tool is called and what it does, from its name.
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

// Called is a call with its whole input. The first report counts.
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

// Input keeps what the events of a call derive from its input, and returns the prompt of a sub-agent.
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
	case Edit:
		c.Creates = v[memberOld].IsStr("")
	}
	if c.Kind == Write || k.table.Apart { // apart, any tool may write a file
		k.scratch = v[memberContent].StrBytes(k.scratch[:0])
		c.Bytes = int64(len(k.scratch))
	}
	return prompt
}

// Run says once that the command of a call runs.
func (k *Calls) Run(c *Call, s *cliagent.Sink) {
	if c.Kind == Shell {
		c.Cwd = k.Cwd
		c.Run(s)
	}
}

// End is the end of a call, which is forgotten unless a sub-agent works on.
func (k *Calls) End(c *Call, e End, s *cliagent.Sink) {
	c.Cwd = k.Cwd
	c.Async = c.Async || e.Async && !e.Failed
	if !c.Async {
		delete(k.open, c.ID)
	}
	c.end(e, k.table.Apart, s)
}

// AgentEnd is the end of a sub-agent that worked on after its call returned.
func (k *Calls) AgentEnd(c *Call, failed bool, text string, s *cliagent.Sink) {
	delete(k.open, c.ID)
	c.AgentEnd(failed, text, s)
}

// EndTurn forgets the calls that a turn left without an end, but for sub-agents that work on.
func (k *Calls) EndTurn() {
	maps.DeleteFunc(k.open, func(_ string, c *Call) bool { return !c.Async })
}

// Settled says that the refusal of a call is known, so that it is not reported.
func (k *Calls) Settled(id string) {
	if len(k.denied) >= maxCalls {
		clear(k.denied)
	}
	k.denied[id] = true
}

// Deny reports the refusal of a call once. No question was asked, so the call's id is that of the question.
func (k *Calls) Deny(c *Call, name, why string, s *cliagent.Sink) {
	if c.ID == "" || k.denied[c.ID] {
		return
	}
	k.Settled(c.ID)
	c.emit(execution.ApprovalDenied{ID: execution.QuestionID(c.ID), Reason: why, ToolName: name}, s)
}
