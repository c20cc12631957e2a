package pi

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/pifile"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

// lineForm has the members of records. No type of record has all of them.
type lineForm struct {
	_                                                                 jsonscan.Camel
	Type, ID, Command, Error                                          jsonscan.Value
	ToolCallID, ToolName, Args, Result, IsError                       jsonscan.Value
	Attempt, MaxAttempts, DelayMs, ErrorMessage                       jsonscan.Value
	Method, Title, Placeholder, Options, Prefill, Message, NotifyType jsonscan.Value
	Success, Aborted                                                  jsonscan.Value
	PartialResult                                                     struct{ Content jsonscan.Value }
	AssistantMessageEvent                                             pieceForm
	Data                                                              struct {
		SessionID, Model, Steering, Disposition jsonscan.Value
	}
}

var lineShape jsonscan.Shape[lineForm]

var _ cliagent.Parser = (*parser)(nil)

// parser turns the records of one run in RPC mode into events. It belongs to one run.
type parser struct {
	req    execution.Request
	images []image
	texts  string // of attachments, behind the message
	hooked bool   // every tool call is asked about
	names  *jsonscan.Interner
	v      lineForm
	calls  toolcall.Calls

	// session
	session, model string
	opened         bool // the session is known

	turn
	inbox

	questions cliagent.Questions[question]

	// accounting
	total   execution.Usage
	usd     float64
	retries int
	last    *cliagent.Outcome
}

// turn is the state of the running turn: everything from a prompt until Pi is settled.
type turn struct {
	turns   int  // started
	running bool // a prompt was sent
	inStep  bool
	steps   int
	block   block
	text    string // the last complete text
	stop    stop
	aborted bool // an abort was sent
	shell   map[string]string
}

func newParser(req execution.Request) cliagent.Parser {
	names := jsonscan.NewInterner(256)
	p := &parser{req: req, names: names, calls: toolcall.NewCalls(tools, names), model: req.Run.Model}
	p.calls.Cwd = req.Run.Cwd
	for _, m := range req.Run.MCPServers {
		p.calls.Servers[m.Name] = ""
	}
	return p
}

// Open asks for the session, which RPC mode does not announce.
func (p *parser) Open(s *cliagent.Sink) { send(s, command{ID: idState, Type: "get_state"}) }

// Line is one record of Pi's output.
func (p *parser) Line(src process.Stream, line []byte, s *cliagent.Sink) {
	switch {
	case len(bytes.TrimSpace(line)) == 0:
	case src == process.Stderr:
		p.stderr(line, s)
	case !lineShape.Into(line, &p.v) || !p.record(s):
		s.Unknown(src, line)
	}
}

// record handles a record. It returns false for an unknown one.
func (p *parser) record(s *cliagent.Sink) bool {
	typ, _ := p.v.Type.Plain()
	switch string(typ) {
	case "message_update":
		return p.piece(s)
	case "message_start", "message_end":
		return p.message(string(typ) == "message_end", s)
	case "turn_start":
		p.ensureStep(s)
	case "turn_end":
		p.endStep(s)
	case "tool_execution_start", "tool_execution_update", "tool_execution_end":
		return p.execution(string(typ), s)
	case "agent_settled":
		if p.v.Aborted.IsTrue() {
			p.stop.reason = pifile.StopAborted
		}
		p.settled(s)
	case "response":
		return p.response(s)
	case "extension_ui_request":
		return p.dialog(s)
	case "auto_retry_start":
		p.retry(s)
	case "compaction_end":
		p.compacted(s)
	case "extension_error":
		s.Emit(execution.Debug{Level: execution.DebugWarn, Message: "an extension of pi failed: " + p.v.Error.Str()})
	case "agent_start":
		if p.running && p.aborted { // Pi loses an abort that comes before
			send(s, command{ID: idAbort, Type: "abort"})
		}
	case "session", "agent_end", "queue_update", "auto_retry_end", "entry_appended", "session_info_changed",
		"thinking_level_changed", "compaction_start", "bash_execution_update", "summarization_retry_scheduled",
		"summarization_retry_attempt_start", "summarization_retry_finished":
	default:
		return false
	}
	return true
}

// response handles the reply to a command.
func (p *parser) response(s *cliagent.Sink) bool {
	failed := !p.v.Success.IsTrue()
	switch id := p.v.ID.Str(); {
	case id == idState:
		if failed {
			s.Fail(execution.Errorf(execution.CodeInvalidOutput, "pi did not open a session: %s", p.v.Error.Str()))
			return true
		}
		p.open(s)
	case id == idPrompt && failed && p.running:
		// Nothing was asked of a model: Pi has no login for it, or an extension refused the prompt.
		p.stop = stop{reason: pifile.StopError, message: p.v.Error.Str()}
		p.settled(s)
	case id == idPrompt && p.handled() && p.running:
		p.settled(s)
	case id == idClear:
		p.cleared(s)
	case strings.HasPrefix(id, idSteer):
		p.confirmed(id, s)
	case p.v.Command.IsStr("parse"):
		return false
	}
	return true
}

// handled reports whether an extension took a message, which no model gets then and no run follows (since Pi 1.0, docs/rpc-commands.md).
func (p *parser) handled() bool { return p.v.Data.Disposition.IsStr("handled") }

// open reports the session and sends the request's message.
func (p *parser) open(s *cliagent.Sink) {
	if p.opened {
		return
	}
	p.opened = true
	p.session = p.v.Data.SessionID.Str()
	var m modelForm
	if modelShape.From(p.v.Data.Model, &m) && m.ID.Str() != "" {
		p.model = m.ID.Str()
	}
	s.Begin(p.req, execution.SessionStart{SessionID: p.session, Model: p.model, Cwd: p.req.Run.Cwd})
	p.prompt(nil, s)
}

type modelForm struct{ ID, Provider jsonscan.Value }

var modelShape jsonscan.Shape[modelForm]

// prompt starts a turn with the request's message, or a later one.
func (p *parser) prompt(say *execution.Say, s *cliagent.Sink) {
	text := string(p.req.Message.Text) + p.texts
	c := command{ID: idPrompt, Type: "prompt"}
	if say != nil {
		text = say.Text
		s.Emit(execution.InputTaken{ID: say.ID})
	} else {
		c.Images = p.images
	}
	c.Message = text
	n := p.turns
	p.turn = turn{turns: n + 1, running: true, shell: map[string]string{}}
	s.Emit(execution.TurnStart{TurnIndex: n})
	send(s, c)
	if p.interrupt {
		p.abort(s)
	}
}

// ensureStep starts a model call at its first sign.
func (p *parser) ensureStep(s *cliagent.Sink) {
	if p.running && !p.inStep {
		p.inStep = true
		s.Emit(execution.StepStart{TurnIndex: p.turns - 1, StepIndex: p.steps, StepType: "model"})
	}
}

// endStep ends a model call and its tools.
func (p *parser) endStep(s *cliagent.Sink) {
	p.closeBlock(s)
	if p.inStep {
		p.inStep = false
		s.Emit(execution.StepEnd{TurnIndex: p.turns - 1, StepIndex: p.steps})
		p.steps++
	}
}

// settled ends the turn: no retry, compaction or queued message of Pi's follows.
func (p *parser) settled(s *cliagent.Sink) {
	if !p.running {
		return
	}
	p.endStep(s)
	p.questions.Withdraw("the turn is over", s, nil)
	o := p.judge()
	p.calls.EndTurn()
	o.Report(s)
	s.Emit(o.End(p.turns - 1))
	p.last, p.running = o, false
	p.next(s)
}

// judge derives the outcome from how the last model call ended. After an abort Pi may call that an error.
func (p *parser) judge() *cliagent.Outcome {
	o := &cliagent.Outcome{Reason: execution.TurnCompleted, Text: p.text}
	switch {
	case p.stop.reason == pifile.StopAborted, p.aborted && p.stop.reason != stopDone:
		o.Reason = execution.TurnInterrupted
	case p.stop.reason == pifile.StopError:
		o.Reason, o.Text, o.Failure = execution.TurnFailed, "", failureOf(p.stop.message)
	case p.stop.reason == stopLength:
		o.Reason, o.Cut = execution.TurnLimitReached, true
	}
	return o
}

// Exit returns the outcome of the last turn. Without one the kit judges by the exit; Pi says on standard error why it
// did not start.
func (p *parser) Exit(exit process.Exit, s *cliagent.Sink) execution.Result {
	res := execution.Result{Model: p.model, SessionID: p.session, Retries: p.retries}
	if !p.total.IsZero() {
		u := p.total
		res.Usage = &u
		res.Cost = p.cost(u, p.usd)
	}
	switch {
	case p.last == nil && !p.opened:
		code, message := failures.Phrases.Complaint(exit)
		if code != "" {
			f := &cliagent.Failure{Code: code, Message: message}
			switch code {
			case execution.CodeAgentNotInstalled:
				f.Message, f.Hint = "pi does not run in this version of Node.js", "put Node.js "+neededNode+" or later before it on PATH"
			case execution.CodeAuth:
				f.Hint = loginGuidance
			}
			o := cliagent.Outcome{Reason: execution.TurnFailed, Failure: f}
			o.Report(s)
			o.Fill(&res)
		}
	case !p.running:
		p.last.Fill(&res)
	}
	return res
}

// stderr handles a line of standard error, which has warnings at the start and the reason of a failed start.
func (p *parser) stderr(line []byte, s *cliagent.Sink) {
	text := strings.TrimSpace(string(line))
	if warning, ok := strings.CutPrefix(text, "Warning: "); ok {
		s.Emit(execution.Debug{Level: execution.DebugWarn, Message: "pi: " + strings.ToValidUTF8(warning, "\uFFFD")})
		return
	}
	if p.opened || !slices.ContainsFunc(startFailures, func(start string) bool { return strings.HasPrefix(text, start) }) {
		s.Unknown(process.Stderr, line)
	}
}

// compacted reports a shortened context.
func (p *parser) compacted(s *cliagent.Sink) {
	var v compactionForm
	if compactionShape.From(p.v.Result, &v) {
		s.Emit(execution.ContextCompacted{Summary: v.Summary.Str(), TokensSaved: max(0, v.TokensBefore.Count()-v.EstimatedTokensAfter.Count())})
		p.count(pifile.SpentOf(v.Usage), s)
	}
}

type compactionForm struct {
	_                                                  jsonscan.Camel
	Summary, TokensBefore, EstimatedTokensAfter, Usage jsonscan.Value
}

var compactionShape jsonscan.Shape[compactionForm]

// retry reports that a model call failed and is tried again.
func (p *parser) retry(s *cliagent.Sink) {
	p.retries++
	f := failureOf(p.v.ErrorMessage.Str())
	if f.Code == execution.CodeRateLimited {
		s.Emit(execution.RateLimited{Status: "rate_limit"})
	}
	s.Emit(execution.Retry{Attempt: int(p.v.Attempt.Count()), MaxAttempts: int(p.v.MaxAttempts.Count()), DelayMs: p.v.DelayMs.Count(),
		Reason: cmp.Or(f.Message, "the model call failed"), Code: f.Code})
}
