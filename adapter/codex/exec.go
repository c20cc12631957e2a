package codex

import (
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

// What a line of codex exec --json says. One pass finds all of it but the members of rare items.
const (
	execType = iota
	execThread
	execMessage
	execUsage
	execError
	itemID
	itemType
	itemText
	itemMessage
	itemStatus
	itemCommand
	itemOutput
	itemExit
	itemChanges
	itemServer
	itemTool
	itemArguments
	itemResult
	itemError
	execItem
	execKeyCount
)

var execKeys = jsonscan.NewKeySet("type", "thread_id", "message", "usage", "error.message",
	"item.id", "item.type", "item.text", "item.message", "item.status", "item.command", "item.aggregated_output", "item.exit_code",
	"item.changes", "item.server", "item.tool", "item.arguments", "item.result", "item.error", "item")

var _ cliagent.Parser = (*execParser)(nil)

// execParser turns the lines of codex exec --json into events. It belongs to one run.
type execParser struct {
	req   execution.Request
	names *jsonscan.Interner
	v     [execKeyCount]jsonscan.Value
	err   stderr

	thread  string
	id      []byte // prefix of tool call ids, and scratch behind it
	prefix  int
	latest  string           // the id made last
	running cliagent.CallSet // tool calls that have started and not ended
	agents  subagents

	turns     int
	open      bool
	text      string // the last message
	complaint string // the last error that is no note
	meter     meter
	retries   int
	last      *turnOutcome
}

func newExecParser(req execution.Request) *execParser {
	return &execParser{req: req, names: jsonscan.NewInterner(256)}
}

// Open has nothing to say: the prompt is what standard input consists of.
func (p *execParser) Open(*cliagent.Sink) {}

// Line is one line of Codex's output.
func (p *execParser) Line(src process.Stream, line []byte, s *cliagent.Sink) {
	switch {
	case src == process.Stderr:
		p.err.line(line, s)
	case len(line) == 0:
	case jsonscan.Fields(line, p.v[:], execKeys) != nil || !p.event(s):
		if len(strings.TrimSpace(string(line))) > 0 {
			s.Unknown(src, line)
		}
	}
}

// Command refuses everything: there is nobody to say it to.
func (p *execParser) Command(cmd execution.Command, s *cliagent.Sink) error {
	if _, ok := cmd.(execution.EndInput); ok {
		return nil // the agent ends by itself
	}
	return execution.Errorf(execution.CodeStdinNotAvailable, "codex runs in one-shot mode and takes no input; make the request interactive")
}

// event reads a line. False means that it is not known.
func (p *execParser) event(s *cliagent.Sink) bool {
	typ, _ := p.v[execType].Plain()
	switch string(typ) {
	case "item.completed":
		return p.item(s, true)
	case "item.started":
		return p.item(s, false)
	case "item.updated":
		return p.v[itemType].Exists() // the end of the item says it whole
	case "thread.started":
		return p.session(s)
	case "turn.started":
		p.ensureTurn(s)
		return true
	case "turn.completed":
		if u, ok := usageOf(p.v[execUsage], execUsageKeys); ok {
			if inc := p.meter.update(u); !inc.IsZero() {
				s.Emit(tokenUsage(inc))
			}
		}
		p.endTurn(nil, s)
		return true
	case "turn.failed":
		message := p.v[execError].Str()
		if message == "" {
			message = p.complaint
		}
		p.endTurn(failureOf(message, jsonscan.Value{}), s)
		return true
	case "error":
		return p.error(s)
	}
	return false
}

func (p *execParser) session(s *cliagent.Sink) bool {
	id := p.v[execThread].Str()
	if id == "" {
		return false
	}
	p.thread = id
	// Items are counted from 0 in every process, and a run may have several.
	p.id = append(append(p.id[:0], id[max(0, len(id)-12):]...), '/')
	p.prefix = len(p.id)
	s.Emit(execution.SessionStart{SessionID: id, Model: p.req.Run.Model, Cwd: p.req.Run.Cwd})
	p.err.begun(s)
	return true
}

func (p *execParser) ensureTurn(s *cliagent.Sink) {
	if !p.open {
		p.open = true
		p.turns++
		s.Emit(execution.TurnStart{TurnIndex: p.turns - 1})
	}
}

// error is a note that a call is tried again, or the failure that turn.failed repeats.
func (p *execParser) error(s *cliagent.Sink) bool {
	message := p.v[execMessage].Str()
	if attempt, most, why, ok := reconnect(message); ok {
		p.retries++
		s.Emit(retry(attempt, most, why, jsonscan.Value{}))
		return true
	}
	p.complaint = message
	return message != ""
}

func (p *execParser) endTurn(f *cliagent.Failure, s *cliagent.Sink) {
	p.ensureTurn(s)
	p.open = false
	p.running.Clear()
	p.last = newOutcome(p.req, p.text, f)
	p.last.end(p.turns-1, s)
	p.text, p.complaint = "", ""
}

// call is the id of the item as a tool call. Its end mostly follows its start.
func (p *execParser) call() string {
	p.id = p.v[itemID].StrBytes(p.id[:p.prefix])
	if string(p.id) != p.latest {
		p.latest = string(p.id)
	}
	return p.latest
}

// starts reports whether a tool call starts here, and notes its end.
func (p *execParser) starts(id string, completed bool) bool {
	if completed {
		return !p.running.Remove(id)
	}
	return p.running.Add(id)
}

// word is a status as a string; those that are known cost nothing.
func word(v jsonscan.Value) string {
	status, _ := v.Plain()
	switch string(status) {
	case "completed":
		return "completed"
	case "in_progress":
		return "in_progress"
	case "failed":
		return "failed"
	case "declined":
		return "declined"
	}
	return v.Str()
}

// item reads the start or the end of an item. False means that it is not known.
func (p *execParser) item(s *cliagent.Sink, completed bool) bool {
	o := source{s: s}
	typ, _ := p.v[itemType].Plain()
	switch string(typ) {
	case "command_execution":
		p.ensureTurn(s)
		id := p.call()
		if p.starts(id, completed) {
			o.begin(id, toolShell, object(member{"command", p.v[itemCommand]}))
			o.emit(execution.ShellStart{Command: longText(p.v[itemCommand]), Cwd: p.req.Run.Cwd, ToolCallID: id})
		}
		if completed {
			o.command(id, word(p.v[itemStatus]), longText(p.v[itemOutput]), true, p.v[itemOutput], p.v[itemExit], 0)
		}
	case "agent_message":
		if completed {
			p.ensureTurn(s)
			p.text = longText(p.v[itemText])
			o.message(p.call(), p.text)
		}
	case "reasoning":
		if completed {
			p.ensureTurn(s)
			o.thinking(longText(p.v[itemText]))
		}
	case "file_change":
		p.ensureTurn(s)
		id := p.call()
		if p.starts(id, completed) {
			o.begin(id, toolPatch, object(member{"changes", p.v[itemChanges]}))
		}
		if completed {
			o.patch(id, word(p.v[itemStatus]), p.v[itemChanges])
		}
	case "mcp_tool_call":
		p.ensureTurn(s)
		id, server, tool := p.call(), p.names.Str(p.v[itemServer]), p.names.Str(p.v[itemTool])
		if p.starts(id, completed) {
			o.emit(execution.MCPToolCallStart{ToolCallID: id, Server: server, ToolName: tool, Input: raw(p.v[itemArguments])})
		}
		if completed {
			o.mcpEnd(id, server, tool, word(p.v[itemStatus]), p.v[itemResult], p.v[itemError])
		}
	case "web_search":
		action := p.v[execItem].Get("action")
		p.tool(o, completed, toolSearch, object(member{"query", p.v[execItem].Get("query")}, member{"action", action}), action)
	case "todo_list":
		items := p.v[execItem].Get("items")
		p.tool(o, completed, toolPlan, object(member{"items", items}), items)
	case "collab_tool_call":
		p.ensureTurn(s)
		id, tool := p.call(), p.names.Str(p.v[itemTool])
		item := p.v[execItem]
		c := collab{id: id, tool: tool, status: word(p.v[itemStatus]), prompt: item.Get("prompt"),
			receivers: item.Get("receiver_thread_ids"), agents: item.Get("agents_states")}
		if p.starts(id, completed) {
			c.begin(o)
		}
		if completed {
			p.agents.end(c, o)
		}
	case "error":
		if completed {
			s.Emit(execution.Debug{Level: execution.DebugWarn, Message: "codex: " + p.v[itemMessage].Str()})
		}
	default:
		return false
	}
	return true
}

// tool is an item without events of its own besides those of a tool call.
func (p *execParser) tool(o source, completed bool, name string, input []byte, output jsonscan.Value) {
	p.ensureTurn(o.s)
	id := p.call()
	if p.starts(id, completed) {
		o.begin(id, name, input)
	}
	if completed {
		o.end(id, name, "", "", raw(output), 0)
	}
}

// Exit says how the run ended. Without a word of Codex it says nothing, and the kit reads the exit.
func (p *execParser) Exit(exit process.Exit, s *cliagent.Sink) execution.Result {
	res := execution.Result{Model: p.req.Run.Model, SessionID: p.thread, Retries: p.retries}
	if !p.meter.spent.IsZero() {
		u := p.meter.spent
		res.Usage = &u
	}
	o := p.last
	if p.open || o == nil {
		// The turn has no end: only what Codex complained of, or gave up with, tells why.
		o = nil
		switch f := p.err.failure(); {
		case exit.Stopped || exit.Code == 0:
		case p.complaint != "":
			o = newOutcome(p.req, "", failureOf(p.complaint, jsonscan.Value{}))
		case f != nil:
			o = newOutcome(p.req, "", f)
		}
	}
	o.fill(&res)
	return res
}
