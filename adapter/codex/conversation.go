package codex

import (
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// maxFlows bounds the unfinished items of a thread, maxStreamed the remembered output of a command.
const (
	maxFlows    = 4096
	maxStreamed = 4 << 20
)

type flowKind int

const (
	flowText flowKind = iota
	flowThinking
	flowCommand
	flowTool
)

// flow is an item between its start and its end.
type flow struct {
	kind         flowKind
	said         strings.Builder // streamed so far
	closed       bool            // a text that ended before its item
	shell        bool            // the command is running
	command, cwd string
}

// conversation is a thread: the agent's own, or a sub-agent's.
type conversation struct {
	id     string
	parent string // the tool call that started the sub-agent
	flows  map[string]*flow
	open   *flow // the text or thinking being streamed
	text   string
	steps  int
	inStep bool
	meter  meter
}

func newConversation(id string) *conversation {
	return &conversation{id: id, flows: map[string]*flow{}}
}

// commandRuns reports whether a command is running.
func (c *conversation) commandRuns() bool {
	for _, f := range c.flows {
		if f.kind == flowCommand && f.shell {
			return true
		}
	}
	return false
}

// begin handles the start of a turn.
func (c *conversation) begin() { c.steps, c.inStep, c.text, c.open = 0, false, "", nil }

// start starts an item. Texts and thinking do not overlap.
func (c *conversation) start(id string, kind flowKind, o source) *flow {
	f := &flow{kind: kind}
	if len(c.flows) >= maxFlows {
		clear(c.flows)
	}
	c.flows[id] = f
	c.close(o)
	switch kind {
	case flowText:
		c.open = f
		o.emit(execution.MessageStart{MessageID: id})
	case flowThinking:
		c.open = f
		o.emit(thinkingStart)
	}
	return f
}

// close ends the streamed text or thinking.
func (c *conversation) close(o source) {
	f := c.open
	if f == nil {
		return
	}
	c.open, f.closed = nil, true
	if f.kind == flowText {
		c.text = f.said.String()
		o.emit(execution.MessageStop{Text: c.text})
		return
	}
	o.emit(execution.ThinkingStop{Thinking: f.said.String()})
}

// closeAll handles the end of a turn. Commands may outlive it.
func (c *conversation) closeAll(o source) {
	c.close(o)
	for id, f := range c.flows {
		if f.kind != flowCommand {
			delete(c.flows, id)
		}
	}
}

// say streams a piece of a text or thinking.
func (f *flow) say(piece string, o source) {
	if piece == "" {
		return
	}
	f.said.WriteString(piece)
	if f.kind == flowText {
		o.emit(execution.TextDelta{Delta: piece, Accumulated: f.said.String()})
		return
	}
	o.emit(execution.ThinkingDelta{Delta: piece, Accumulated: f.said.String()})
}

// finish ends a text or thinking with its item's content. What was streamed stays.
func (c *conversation) finish(id, whole string, f *flow, o source) {
	delete(c.flows, id)
	if !f.closed {
		if rest, ok := strings.CutPrefix(whole, f.said.String()); ok {
			f.say(rest, o)
		}
		c.close(o)
	}
	if f.kind == flowText {
		c.text = whole
	}
}

// run records that a command runs. One that waits for permission does not.
func (f *flow) run(id string, o source) {
	if !f.shell {
		f.shell = true
		o.emit(execution.ShellStart{Command: f.command, Cwd: f.cwd, ToolCallID: id})
	}
}

// delta handles a piece of an item.
func (p *appParser) delta(s *cliagent.Sink, kind flowKind) bool {
	id := p.names.Str(p.v.Params.ItemID)
	if id == "" || p.v.Params.Delta.Kind() != jsonscan.String {
		return false
	}
	c := p.of(p.names.Str(p.v.Params.ThreadID))
	if !p.running {
		return true // of a finished turn, or of a sub-agent that outlives it
	}
	o := p.from(c, s)
	f := c.flows[id]
	if f == nil {
		if kind == flowCommand {
			return true // the end of the command has the whole output
		}
		p.ensureStep(c, s)
		f = c.start(id, kind, o)
	}
	piece := p.v.Params.Delta.Str()
	switch {
	case f.kind != kind || f.closed:
	case kind == flowCommand:
		f.run(id, o)
		if f.said.Len()+len(piece) <= maxStreamed {
			f.said.WriteString(piece)
		}
		if piece != "" {
			o.emit(execution.ShellStdoutDelta{Delta: piece, ToolCallID: id})
		}
	default:
		f.say(piece, o)
	}
	return true
}

// rest returns the part of a command's output that was not streamed, if it is at the end. Codex does not stream
// output from before it started streaming; whole is false then.
func (f *flow) rest(output jsonscan.Value) (rest string, whole bool) {
	all := output.Str()
	if f.said.Len() > len(all) {
		return "", true
	}
	return strings.CutPrefix(all, f.said.String())
}
