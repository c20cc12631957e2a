package acpagent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
)

// maxCalls bounds the remembered tool calls of one turn.
const maxCalls = 4096

var null = json.RawMessage("null")

// toolCall is a tool call of the running turn.
type toolCall struct {
	ToolCall
	call    toolcall.Call // the name is that of the start, and so is the sub-agent
	started bool
	ended   bool
	refused bool   // permission was refused
	allowed bool   // permission was granted
	said    string // output of the command that was shown
	order   int
}

// toolUpdate handles an update of a tool call, known or new. It returns false if no call is named.
func (p *parser) toolUpdate(s *cliagent.Sink) bool {
	u, ok := toolCallOf(p.v.Params.Update.Whole)
	if !ok || !p.running {
		return ok
	}
	c := p.call(u, s)
	if c == nil || c.ended {
		if c != nil && c.refused && u.Status == statusCompleted {
			c.refused = false
			s.Emit(execution.Debug{Level: execution.DebugWarn, Message: p.spec.Name + " reported that it completed call " + c.ID + " of " + c.call.Label() + ", which was refused"})
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
			p.ready(c, s) // some agents report nothing else before the end of the call
		}
		if c.call.Running() {
			p.runShell(c, s)
		}
	}
	return true
}

// call finds the call of an update, merges the update into it, and starts it if it is new. It returns nil if there
// are too many.
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
		c = &toolCall{order: len(p.tools), call: toolcall.Call{ID: u.ID, Parent: p.parent()}}
		c.ID = u.ID
		p.tools[u.ID] = c
	}
	if c.ended {
		return c
	}
	c.merge(u)
	if p.spec.Kind != nil && (c.Kind == "" || c.Kind == kindOther) {
		c.Kind = cmp.Or(p.spec.Kind(&c.ToolCall), c.Kind)
	}
	if !c.started {
		if c.call.Parent == "" {
			p.failed = nil
			p.ensureStep(s)
		}
		p.endFlow(p.flowOf(c.call.Parent), s)
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
	if server, tool, ok := recognize(&c.ToolCall, p.servers); ok {
		c.call.Of(server, tool)
		return
	}
	name := p.spec.ToolName
	if name == nil {
		name = DefaultToolName
	}
	c.call.Name = cmp.Or(name(&c.ToolCall), DefaultToolName(&c.ToolCall))
	c.call.Start(s)
}

// ready reports that the input of a call is known.
func (p *parser) ready(c *toolCall, s *cliagent.Sink) {
	if c.call.Ready {
		return
	}
	c.call.Called(p.input(c), s)
	if a, ok := p.subagent(c); ok {
		c.call.Agent = cmp.Or(a.Name, c.call.Name)
		c.call.Spawn(a.Prompt, s)
	}
}

func (p *parser) subagent(c *toolCall) (Subagent, bool) {
	if p.spec.Subagent == nil || c.call.MCP {
		return Subagent{}, false
	}
	return p.spec.Subagent(&c.ToolCall)
}

// endSubagent ends the call that started a sub-agent, and usually the sub-agent.
func (p *parser) endSubagent(c *toolCall, why string, s *cliagent.Sink) {
	if c.call.Agent == "" {
		return
	}
	a, _ := p.subagent(c)
	p.endFlow(p.flowOf(c.ID), s)
	if why == "" && a.Failure == "" && a.Running {
		p.behind[c.ID] = c
		return
	}
	a.Failure = cmp.Or(a.Failure, why)
	c.call.AgentEnd(a.Failure != "", cmp.Or(a.Failure, a.Summary), s)
}

// behindEnded ends a background sub-agent. It returns false if none is known.
func (p *parser) behindEnded(id string, a Subagent, s *cliagent.Sink) bool {
	c, known := p.behind[id]
	if !known {
		return false
	}
	delete(p.behind, id)
	c.call.AgentEnd(a.Failure != "", cmp.Or(a.Failure, a.Summary), s)
	return true
}

// input returns a call's input, or a description of the call if the agent does not state it.
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

// runShell emits a running command and its new output. For an ended command it returns the exit code, else 0. A call that
// failed without an exit code before its command was seen to run, or was refused, has no shell_start.
func (p *parser) runShell(c *toolCall, s *cliagent.Sink) (exit int) {
	if c.call.MCP {
		return 0
	}
	read := p.spec.Shell
	if read == nil {
		read = DefaultShell
	}
	sh, ok := read(&c.ToolCall)
	if !ok || c.Status == statusFailed && sh.ExitCode == nil && !c.call.Running() {
		return 0
	}
	c.call.Command, c.call.Cwd = sh.Command, sh.Cwd
	c.call.Run(s)
	if c.Status == statusCompleted || c.Status == statusFailed || c.said != "" || c.Terminal != "" {
		if rest, ok := strings.CutPrefix(sh.Output, c.said); ok && rest != "" {
			c.said = sh.Output
			c.call.Stdout(rest, s)
		}
	}
	if sh.ExitCode != nil && (c.Status == statusCompleted || c.Status == statusFailed) {
		c.call.Exit(*sh.ExitCode, 0, s)
		return *sh.ExitCode
	}
	return 0
}

// endTool is the end of a call.
func (p *parser) endTool(c *toolCall, s *cliagent.Sink) {
	p.ready(c, s)
	ok, failed := c.Status == statusCompleted, "the call failed"
	if ok && p.spec.FailedCall != nil {
		if why := p.spec.FailedCall(&c.ToolCall); why != "" {
			p.failTool(c, why, s)
			return
		}
	}
	if code := p.runShell(c, s); code != 0 { // a failure even if the agent reports success
		ok, failed = false, fmt.Sprintf("the command ended with exit code %d", code)
	}
	c.ended = true
	p.behindRun = p.behindRun || p.spec.Background != nil && p.spec.Background(&c.ToolCall)
	why := cmp.Or(strings.TrimSpace(c.Text()), reason(c.Output), strings.TrimSpace(cmp.Or(c.Terminal, c.said)), failed)
	switch {
	case ok:
		p.endSubagent(c, "", s)
		c.call.Done(c.output(), 0, s)
		c.files(s)
	default:
		p.failTool(c, why, s)
	}
}

// failTool ends a call that failed, was refused or was interrupted.
func (p *parser) failTool(c *toolCall, why string, s *cliagent.Sink) {
	c.ended = true
	p.endSubagent(c, why, s)
	c.call.Fail(why, s)
}

// output returns a call's output as the agent states it, else what it shows.
func (c *toolCall) output() json.RawMessage {
	if c.Output != nil {
		return c.Output
	}
	if text := cmp.Or(c.Text(), c.Terminal); text != "" {
		return raw(text)
	}
	return null
}

// reason returns the text of a failed call's output.
func reason(output json.RawMessage) string {
	v := field(output)
	return cmp.Or(v.Str(), v.Get("error").Str(), v.Get("message").Str(), v.Get("content").Str())
}

// files emits the files that a call changed or read.
func (c *toolCall) files(s *cliagent.Sink) {
	if c.call.MCP {
		return
	}
	diffs := 0
	for _, part := range c.Content {
		d := part.Diff
		if d == nil || d.Path == "" {
			continue
		}
		diffs++
		if d.Old == nil {
			c.call.File(execution.FileCreate{Path: d.Path, ByteCount: int64(len(d.New))}, s)
			continue
		}
		c.call.File(execution.FilePatch{Path: d.Path, Diff: hunk(*d.Old, d.New)}, s)
	}
	for _, path := range c.Locations {
		switch {
		case c.Kind == kindRead:
			c.call.File(execution.FileRead{Path: path}, s)
		case c.Kind == kindDelete && diffs == 0:
			c.call.File(execution.FileDelete{Path: path}, s)
		}
	}
}

// hunk formats a change as one hunk: common leading and trailing lines are omitted, except three on either side.
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

// endTools ends the calls that a turn leaves open. An interrupted call has no end of its own.
func (p *parser) endTools(interrupted bool, s *cliagent.Sink) {
	if interrupted {
		var open []*toolCall
		for _, c := range p.tools {
			if c.call.Ready && !c.ended {
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

// NoBlobs is Spec.Blobs of an agent that drops all embedded content but text.
func NoBlobs(string) bool { return false }

// TitleWord returns the first word of a call's title where the agent puts its tool's name, without a colon behind it.
func TitleWord(c *ToolCall) string {
	word, _, _ := strings.Cut(c.Title, " ")
	return strings.TrimSuffix(word, ":")
}

// MCPNamed returns a Spec.MCPTool for calls whose name is prefix, a format with the server such as "mcp__%s_", and the tool, in
// which none of the characters of never stands.
func MCPNamed(name func(*ToolCall) string, prefix, never string) func(*ToolCall, []string) (server, tool string, ok bool) {
	return func(c *ToolCall, servers []string) (server, tool string, ok bool) {
		called := name(c)
		for _, s := range servers {
			if tool, ok := strings.CutPrefix(called, fmt.Sprintf(prefix, s)); ok && tool != "" && !strings.ContainsAny(tool, never) {
				return s, tool, true
			}
		}
		return "", "", false
	}
}
