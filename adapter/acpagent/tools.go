package acpagent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// maxCalls bounds the tool calls that are remembered of one turn.
const maxCalls = 4096

var null = json.RawMessage("null")

// toolCall is a tool call of the running turn.
type toolCall struct {
	ToolCall
	name    string // of the tool; it stays as it was at the start
	server  string // the MCP server the tool belongs to, with mcp
	mcp     bool
	started bool
	ready   bool
	ended   bool
	refused bool   // its permission was refused
	shell   bool   // shell_start has been said
	said    string // output of the command that has been shown
	agent   string // name of the sub-agent it started; not every update of the call says that it did
	parent  string // the call that started the sub-agent that made this one
	order   int
}

// toolUpdate is news of a tool call, known or new. False means that it names no call.
func (p *parser) toolUpdate(s *cliagent.Sink) bool {
	u, ok := toolCallOf(p.v[keyUpdate])
	if !ok || !p.running {
		return ok
	}
	c := p.call(u, s)
	if c == nil || c.ended {
		if c != nil && c.refused && u.Status == statusCompleted {
			c.refused = false
			s.Emit(execution.Debug{Level: execution.DebugWarn, Message: p.spec.Name + " says that it completed call " + c.ID + " of " + c.name + ", which was refused"})
		}
		return true
	}
	switch c.Status {
	case statusRunning:
		p.ready(c, s)
		p.runShell(c, s)
	case statusCompleted, statusFailed:
		p.endTool(c, s)
	default:
		if !empty(c.Input) {
			p.ready(c, s) // some agents say nothing else before the end of the call
		}
		if c.shell {
			p.runShell(c, s)
		}
	}
	return true
}

// call finds the call an update belongs to, merges the update into it, and starts it when it is new. It is nil when there are too
// many.
func (p *parser) call(u *ToolCall, s *cliagent.Sink) *toolCall {
	c := p.tools[u.ID]
	if c == nil {
		if len(p.tools) >= maxCalls {
			for id, old := range p.tools {
				if old.ended {
					delete(p.tools, id)
				}
			}
			if len(p.tools) >= maxCalls {
				return nil
			}
		}
		c = &toolCall{order: len(p.tools), parent: p.parent()}
		c.ID = u.ID
		p.tools[u.ID] = c
	}
	if c.ended {
		return c
	}
	c.merge(u)
	if !c.started {
		if c.parent == "" {
			p.failed = nil
			p.ensureStep(s)
		}
		p.endFlow(p.flowOf(c.parent), s)
		p.startTool(c, s)
	}
	return c
}

func (p *parser) startTool(c *toolCall, s *cliagent.Sink) {
	c.started = true
	recognize := p.spec.MCPTool
	if recognize == nil {
		recognize = DefaultMCPTool
	}
	c.server, c.name, c.mcp = recognize(&c.ToolCall, p.servers)
	if c.mcp {
		return // one event says both, when the input is known
	}
	name := p.spec.ToolName
	if name == nil {
		name = DefaultToolName
	}
	c.name = cmp.Or(name(&c.ToolCall), DefaultToolName(&c.ToolCall))
	emit(s, c.parent, execution.ToolCallStart{ToolCallID: c.ID, ToolName: c.name})
}

// ready says that the input of a call is known.
func (p *parser) ready(c *toolCall, s *cliagent.Sink) {
	if c.ready {
		return
	}
	c.ready = true
	if c.mcp {
		emit(s, c.parent, execution.MCPToolCallStart{ToolCallID: c.ID, Server: c.server, ToolName: c.name, Input: p.input(c)})
		return
	}
	emit(s, c.parent, execution.ToolCallReady{ToolCallID: c.ID, ToolName: c.name, Input: p.input(c)})
	if a, ok := p.subagent(c); ok {
		c.agent = cmp.Or(a.Name, c.name)
		emit(s, c.parent, execution.SubagentSpawn{SubagentID: c.ID, AgentName: c.agent, Prompt: a.Prompt})
	}
}

func (p *parser) subagent(c *toolCall) (Subagent, bool) {
	if p.spec.Subagent == nil || c.mcp {
		return Subagent{}, false
	}
	return p.spec.Subagent(&c.ToolCall)
}

// endSubagent is the end of the call that started a sub-agent, and mostly of the sub-agent.
func (p *parser) endSubagent(c *toolCall, why string, s *cliagent.Sink) {
	if c.agent == "" {
		return
	}
	a, _ := p.subagent(c)
	p.endFlow(p.flowOf(c.ID), s)
	if why == "" && a.Failure == "" && a.Running {
		p.behind[c.ID] = c
		return
	}
	a.Name, a.Failure = c.agent, cmp.Or(a.Failure, why)
	subagentOver(c.ID, c.parent, a, s)
}

func subagentOver(id, parent string, a Subagent, s *cliagent.Sink) {
	if a.Failure != "" {
		emit(s, parent, execution.SubagentError{SubagentID: id, AgentName: a.Name, Error: a.Failure})
		return
	}
	emit(s, parent, execution.SubagentResult{SubagentID: id, AgentName: a.Name, Summary: a.Summary})
}

// behindEnded ends a sub-agent that worked on behind its call. False means that none is known to.
func (p *parser) behindEnded(id string, a Subagent, s *cliagent.Sink) bool {
	c, known := p.behind[id]
	if !known {
		return false
	}
	delete(p.behind, id)
	a.Name = c.agent
	subagentOver(id, c.parent, a, s)
	return true
}

// input is what a call is called with. Of an agent that does not say, it is what it says of the call.
func (p *parser) input(c *toolCall) json.RawMessage {
	if !empty(c.Input) {
		return c.Input
	}
	if p.spec.Input != nil {
		if in := p.spec.Input(&c.ToolCall); json.Valid(in) {
			return in
		}
	}
	in := map[string]any{}
	if c.Title != "" {
		in["title"] = c.Title
	}
	if len(c.Locations) > 0 {
		in["locations"] = c.Locations
	}
	return raw(in)
}

// runShell shows a command that runs, and what is new of its output. Of one that has ended it gives the exit code, else 0.
func (p *parser) runShell(c *toolCall, s *cliagent.Sink) (exit int) {
	if c.mcp {
		return 0
	}
	read := p.spec.Shell
	if read == nil {
		read = DefaultShell
	}
	sh, ok := read(&c.ToolCall)
	if !ok {
		return 0
	}
	if !c.shell {
		c.shell = true
		emit(s, c.parent, execution.ShellStart{Command: sh.Command, Cwd: sh.Cwd, ToolCallID: c.ID})
	}
	if c.Status == statusCompleted || c.Status == statusFailed || c.said != "" || c.Terminal != "" {
		if rest, ok := strings.CutPrefix(sh.Output, c.said); ok && rest != "" {
			c.said = sh.Output
			emit(s, c.parent, execution.ShellStdoutDelta{Delta: rest, ToolCallID: c.ID})
		}
	}
	if sh.ExitCode != nil && (c.Status == statusCompleted || c.Status == statusFailed) {
		emit(s, c.parent, execution.ShellExit{ExitCode: *sh.ExitCode, ToolCallID: c.ID})
		return *sh.ExitCode
	}
	return 0
}

// endTool is the end of a call.
func (p *parser) endTool(c *toolCall, s *cliagent.Sink) {
	p.ready(c, s)
	ok, failed := c.Status == statusCompleted, "the call failed"
	if ok || c.shell {
		// A command that failed before it ran, or was refused, has no shell_start. One that exits with another code than 0
		// failed, even if the agent calls the tool a success.
		if code := p.runShell(c, s); code != 0 {
			ok, failed = false, fmt.Sprintf("the command ended with exit code %d", code)
		}
	}
	c.ended = true
	p.behindRun = p.behindRun || p.spec.Background != nil && p.spec.Background(&c.ToolCall)
	why := cmp.Or(strings.TrimSpace(c.Text()), reason(c.Output), strings.TrimSpace(c.Terminal), failed)
	switch {
	case ok && c.mcp:
		emit(s, c.parent, execution.MCPToolResult{ToolCallID: c.ID, Server: c.server, ToolName: c.name, Output: c.output()})
	case ok:
		p.endSubagent(c, "", s)
		emit(s, c.parent, execution.ToolResultEvent{ToolCallID: c.ID, ToolName: c.name, Output: c.output()})
		p.files(c, s)
	default:
		p.failTool(c, why, s)
	}
}

// failTool ends a call that failed, was refused or was interrupted.
func (p *parser) failTool(c *toolCall, why string, s *cliagent.Sink) {
	c.ended = true
	if c.mcp {
		emit(s, c.parent, execution.MCPToolError{ToolCallID: c.ID, Server: c.server, ToolName: c.name, Error: why})
		return
	}
	p.endSubagent(c, why, s)
	emit(s, c.parent, execution.ToolError{ToolCallID: c.ID, ToolName: c.name, Error: why})
}

// output is what a call gave back: as the agent states it, else what it shows.
func (c *toolCall) output() json.RawMessage {
	if c.Output != nil {
		return c.Output
	}
	if text := cmp.Or(c.Text(), c.Terminal); text != "" {
		return raw(text)
	}
	return null
}

// reason is the text of a failed call's output.
func reason(output json.RawMessage) string {
	v := field(output)
	return cmp.Or(v.Str(), v.Get("error").Str(), v.Get("message").Str(), v.Get("content").Str())
}

// files are the changes and reads of files that a call showed.
func (p *parser) files(c *toolCall, s *cliagent.Sink) {
	diffs := 0
	for _, part := range c.Content {
		d := part.Diff
		if d == nil || d.Path == "" {
			continue
		}
		diffs++
		if d.Old == nil {
			emit(s, c.parent, execution.FileCreate{Path: d.Path, ByteCount: int64(len(d.New)), ToolCallID: c.ID})
			continue
		}
		emit(s, c.parent, execution.FilePatch{Path: d.Path, Diff: hunk(*d.Old, d.New), ToolCallID: c.ID})
	}
	for _, path := range c.Locations {
		switch {
		case c.Kind == kindRead:
			emit(s, c.parent, execution.FileRead{Path: path, ToolCallID: c.ID})
		case c.Kind == kindDelete && diffs == 0:
			emit(s, c.parent, execution.FileDelete{Path: path, ToolCallID: c.ID})
		}
	}
}

// hunk is a change as one hunk: the lines that both texts begin and end with are left out, but for three on either side.
func hunk(old, now string) string {
	const around = 3
	a, b := strings.SplitAfter(old, "\n"), strings.SplitAfter(now, "\n")
	from := 0
	for from < len(a) && from < len(b) && a[from] == b[from] {
		from++
	}
	endA, endB := len(a), len(b)
	for endA > from && endB > from && a[endA-1] == b[endB-1] {
		endA--
		endB--
	}
	if from == endA && from == endB {
		return ""
	}
	var d strings.Builder
	line := func(mark byte, text string) {
		if text != "" {
			d.WriteByte(mark)
			d.WriteString(strings.TrimSuffix(text, "\n"))
			d.WriteByte('\n')
		}
	}
	for _, text := range a[max(0, from-around):from] {
		line(' ', text)
	}
	for _, text := range a[from:endA] {
		line('-', text)
	}
	for _, text := range b[from:endB] {
		line('+', text)
	}
	for _, text := range a[endA:min(len(a), endA+around)] {
		line(' ', text)
	}
	return d.String()
}

// endTools ends what a turn leaves open. An interrupted call has no end of its own.
func (p *parser) endTools(interrupted bool, s *cliagent.Sink) {
	if interrupted {
		var open []*toolCall
		for _, c := range p.tools {
			if c.ready && !c.ended {
				open = append(open, c)
			}
		}
		slices.SortFunc(open, func(a, b *toolCall) int { return cmp.Compare(a.order, b.order) })
		for _, c := range open {
			p.failTool(c, "the turn was interrupted", s)
		}
	}
	clear(p.tools)
}
