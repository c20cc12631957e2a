package codex

import (
	"cmp"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

// printedShape are the lines of codex exec --json.
var printedShape jsonscan.Shape[printedForm]

type printedForm struct {
	Type, ThreadID, Message jsonscan.Value
	Usage                   tokensForm
	Error                   struct{ Message jsonscan.Value }
	Item                    struct {
		Whole                                jsonscan.Value `scan:"."`
		ID, Type, Text, Status, Server, Tool jsonscan.Value
	}
}

// printedTools are the items that are tool calls, with the tool's name if the item does not state it.
var printedTools = map[string]string{"command_execution": toolShell, "file_change": toolPatch, "web_search": toolSearch, "todo_list": toolPlan,
	"mcp_tool_call": "", "collab_tool_call": ""}

var _ cliagent.Parser = (*printed)(nil)

// printed reads the output of codex exec --json when another program started it: session, messages, tool calls, usage
// and failures. It belongs to one run.
type printed struct {
	thread    string
	running   cliagent.CallSet // open tool calls
	turns     int
	open      bool
	text      string // the last message
	complaint string // the last error that is not a note
	retries   int
	meter     meter
	last      *cliagent.Outcome
}

func newPrinted() cliagent.Parser { return &printed{} }

// Open does nothing: another program started the agent.
func (p *printed) Open(*cliagent.Sink) {}

// Command refuses everything: another program started the agent.
func (p *printed) Command(execution.Command, *cliagent.Sink) error {
	return execution.Errorf(execution.CodeStdinNotAvailable, "codex was started by another program")
}

// Line handles one line of Codex's output.
func (p *printed) Line(src process.Stream, line []byte, s *cliagent.Sink) {
	if v, ok := printedShape.Read(line); !ok || !p.event(&v, s) {
		s.Unknown(src, line)
	}
}

// event handles a line. It returns false for an unknown one.
func (p *printed) event(v *printedForm, s *cliagent.Sink) bool {
	switch v.Type.Str() {
	case "thread.started":
		p.thread = v.ThreadID.Str()
		s.Emit(execution.SessionStart{SessionID: p.thread})
	case "turn.started":
		p.ensureTurn(s)
	case "item.started":
		return p.item(v, false, s)
	case "item.completed":
		return p.item(v, true, s)
	case "item.updated": // the end of the item has the whole content
	case "turn.completed":
		if u, ok := v.Usage.usage(); ok {
			if inc := p.meter.update(u); !inc.IsZero() {
				s.Emit(inc.Event())
			}
		}
		p.endTurn(nil, s)
	case "turn.failed":
		p.endTurn(failureOf(cmp.Or(v.Error.Message.Str(), p.complaint), jsonscan.Value{}), s)
	case "error":
		if attempt, most, why, ok := reconnect(v.Message.Str()); ok {
			p.retries++
			s.Emit(retry(attempt, most, why, jsonscan.Value{}))
		} else {
			p.complaint = v.Message.Str()
		}
	default:
		return false
	}
	return true
}

func (p *printed) ensureTurn(s *cliagent.Sink) {
	if !p.open {
		p.open = true
		p.turns++
		s.Emit(execution.TurnStart{TurnIndex: p.turns - 1})
	}
}

func (p *printed) endTurn(f *cliagent.Failure, s *cliagent.Sink) {
	p.ensureTurn(s)
	p.open = false
	p.running.Clear()
	p.last = newOutcome(execution.Request{}, p.text, f)
	p.last.Report(s)
	s.Emit(p.last.End(p.turns - 1))
	p.text, p.complaint = "", ""
}

// item handles the start or the end of an item. It returns false for an unknown one.
func (p *printed) item(v *printedForm, completed bool, s *cliagent.Sink) bool {
	typ, id := v.Item.Type.Str(), v.Item.ID.Str()
	tool, called := printedTools[typ]
	switch {
	case typ == "agent_message" && completed:
		p.ensureTurn(s)
		p.text = v.Item.Text.Str()
		source{s: s}.message(id, p.text)
	case called:
		p.ensureTurn(s)
		c := toolcall.Call{ID: id, Name: cmp.Or(tool, v.Item.Tool.Str())}
		if typ == "mcp_tool_call" {
			c.Of(v.Item.Server.Str(), v.Item.Tool.Str())
		}
		if p.running.Add(id) {
			c.Called(raw(v.Item.Whole), s)
		}
		if !completed {
			break
		}
		p.running.Remove(id)
		if status := v.Item.Status.Str(); status == "" || status == "completed" {
			c.Done(raw(v.Item.Whole), 0, s)
		} else {
			c.Fail("the call ended as "+status, s)
		}
	default:
		return typ == "agent_message" || typ == "reasoning" || typ == "error"
	}
	return true
}

// Exit returns the outcome that Codex stated. If it is empty, the kit judges by the exit.
func (p *printed) Exit(exit process.Exit, _ *cliagent.Sink) execution.Result {
	res := execution.Result{SessionID: p.thread, Retries: p.retries}
	if !p.meter.spent.IsZero() {
		res.Usage = &p.meter.spent
	}
	o := p.last
	if p.open || o == nil {
		// The turn has no end: only the last error explains it.
		if o = nil; p.complaint != "" && !exit.Stopped && exit.Code != 0 {
			o = newOutcome(execution.Request{}, "", failureOf(p.complaint, jsonscan.Value{}))
		}
	}
	o.Fill(&res)
	return res
}
