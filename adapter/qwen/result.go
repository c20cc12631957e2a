package qwen

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

// outcome is how the turn ended.
type outcome struct {
	reason     execution.TurnEndReason
	text       string
	structured json.RawMessage
	code       execution.ErrorCode // empty for a completed turn
	message    string
}

type resultForm struct {
	Subtype, IsError, Result, Usage, StructuredResult, PermissionDenials, NumTurns, DurationMs jsonscan.Value
	Error                                                                                      struct{ Message jsonscan.Value }
}

var resultShape jsonscan.Shape[resultForm]

// result handles the end of the turn, or of a run that could not start. The failure of a sub-agent has the same form.
func (p *parser) result(line []byte, s *cliagent.Sink) bool {
	var v resultForm
	if !resultShape.Into(line, &v) || !v.Subtype.Exists() {
		return false
	}
	if p.ofSubagent(&v, s) {
		return true
	}
	o := p.judge(&v)
	p.last = o
	if p.session == "" {
		p.announce(o, s) // no session, no turn: no login, or refused settings
		return true
	}
	if o.code != "" && p.notice != nil {
		p.notice = nil // the result is the error, not an answer
	}
	p.flush(s)
	p.endStreams(s)
	for _, d := range v.PermissionDenials.Array {
		p.Calls.Deny(p.Calls.Expect(d.Get("tool_use_id").Str(), ""), d.Get("tool_name").Str(), "", s)
	}
	p.account(usageOf(v.Usage), s)
	p.announce(o, s)
	p.endTurn(o, s)
	return true
}

// ofSubagent recognizes the failure of a sub-agent: no time, no turns, and the call that started it has no result
// yet, which never happens at the end of a turn. The result of that call does not state the failure.
func (p *parser) ofSubagent(v *resultForm, s *cliagent.Sink) bool {
	if failed, _ := v.IsError.Bool(); !failed || cliagent.Count(v.NumTurns) != 0 || cliagent.Count(v.DurationMs) != 0 || p.session == "" {
		return false
	}
	var open []*toolcall.Call
	for c := range p.Calls.All() {
		if c.Kind == toolcall.Agent && c.Ready && !c.Async {
			open = append(open, c)
		}
	}
	message := v.Error.Message.Str()
	switch len(open) {
	case 0:
		return false
	case 1:
		open[0].Failure = message
	default: // the result does not say which
		s.Emit(execution.Debug{Level: execution.DebugWarn, Message: "a sub-agent of qwen failed: " + message})
	}
	return true
}

// endStreams ends what the turn leaves open.
func (p *parser) endStreams(s *cliagent.Sink) {
	for _, st := range p.Subs() {
		p.endStep(st, s)
		p.Drop(st)
	}
	p.endStep(&p.Main, s)
}

func (p *parser) endTurn(o *outcome, s *cliagent.Sink) {
	if !p.open {
		return
	}
	p.open = false
	end := execution.TurnEnd{Reason: o.reason, Text: o.text, Structured: o.structured}
	if o.reason == execution.TurnFailed {
		end.Error = o.failure().Result()
	}
	s.Emit(end)
}

// judge derives the outcome of the turn. Old versions report a failed call of the model API as a success whose text
// is the notice.
func (p *parser) judge(v *resultForm) *outcome {
	o := &outcome{reason: execution.TurnCompleted, text: v.Result.Str()}
	isError, _ := v.IsError.Bool()
	switch {
	case isError || !v.Subtype.IsStr("success"):
		o.message = cmp.Or(v.Error.Message.Str(), "qwen ended the turn with an error and did not say which")
	case p.notice != nil && strings.HasSuffix(o.text, p.notice.text):
		o.message = p.notice.text
	case strings.HasPrefix(o.text, noticeMark) && p.Last == "":
		o.message = o.text // the notice's line is missing
	default:
		p.structuredOf(o, v.StructuredResult)
		return o
	}
	o.reason, o.text = execution.TurnFailed, ""
	o.code, o.message = codeOf(o.message)
	return o
}

// structuredOf returns the structured output, which a run with a schema must have.
func (p *parser) structuredOf(o *outcome, v jsonscan.Value) {
	if v.Exists() && v.Kind() != jsonscan.Null {
		o.structured = bytes.Clone(v.Raw())
	}
	if len(p.req.Run.OutputSchema) > 0 && o.structured == nil {
		o.reason, o.code = execution.TurnFailed, execution.CodeInvalidOutput
		o.message = "qwen answered without the structured output that the schema asks for"
	}
}

// account counts the session's usage besides the agent's own model calls: of sub-agents and in the background. Of a
// resumed session only the increase counts. If the earlier usage is unknown, only the agent's own calls count.
func (p *parser) account(stated execution.Usage, s *cliagent.Sink) {
	if p.req.Run.SessionID != "" || p.req.Run.ForkSessionID != "" {
		if p.req.SessionUsage == nil {
			return
		}
		stated = stated.Sub(*p.req.SessionUsage)
	}
	rest := stated.Sub(p.Counted)
	if rest.Input < 0 || rest.Output < 0 || rest.IsZero() {
		return // the sum belongs to something else
	}
	p.Count("", rest, s)
}

// announce emits the event of a turn that did not complete.
func (p *parser) announce(o *outcome, s *cliagent.Sink) {
	switch o.code {
	case "":
	case execution.CodeTurnLimit:
		s.Emit(execution.TurnLimit{MaxTurns: p.req.Run.MaxTurns})
	default:
		s.Emit(o.failure().Event())
	}
}

// failure returns why the turn failed.
func (o *outcome) failure() *cliagent.Failure {
	f := &cliagent.Failure{Code: o.code, Message: o.message}
	switch o.code {
	case execution.CodeAuth:
		f.Hint = loginGuidance
	case execution.CodeAgentNotInstalled:
		f.Hint = nodeGuidance
	}
	return f
}

// Exit returns the outcome that Qwen stated, on either stream. Without one the kit judges by the exit; exit code 0
// after a signal proves nothing.
func (p *parser) Exit(exit process.Exit, s *cliagent.Sink) execution.Result {
	res := execution.Result{Model: p.model, SessionID: p.session, Retries: p.retries}
	o := p.last
	if o == nil {
		if o = p.startFailure(exit); o != nil {
			p.flush(s)
			p.endStreams(s)
			p.announce(o, s)
			p.endTurn(o, s)
		}
	}
	if !p.Total.IsZero() {
		u := p.Total
		res.Usage = &u
	}
	if o == nil {
		return res
	}
	if p.session != "" {
		res.TurnCount = 1
	}
	res.Metadata = map[string]any{}
	if p.version != "" {
		res.Metadata["qwenVersion"] = p.version
	}
	if o.text != "" || o.structured != nil {
		res.Output = &execution.Output{Text: o.text, Structured: o.structured}
	}
	switch o.reason {
	case execution.TurnCompleted:
		res.Status, res.ExitReason = execution.StatusCompleted, execution.ExitCompleted
	case execution.TurnLimitReached:
		res.Status, res.ExitReason = execution.StatusDeferred, execution.ExitTurnLimit
	default:
		res.Status, res.ExitReason, res.Error = execution.StatusFailed, execution.ExitCompleted, o.failure().Result()
	}
	return res
}
