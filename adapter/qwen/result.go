package qwen

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

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
	if o.Reason != execution.TurnCompleted && p.notice != nil {
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

func (p *parser) endTurn(o *cliagent.Outcome, s *cliagent.Sink) {
	if !p.open {
		return
	}
	p.open = false
	s.Emit(o.End(0))
}

// judge derives the outcome of the turn. Old versions report a failed call of the model API as a success whose text
// is the notice.
func (p *parser) judge(v *resultForm) *cliagent.Outcome {
	o := &cliagent.Outcome{Reason: execution.TurnCompleted, Text: v.Result.Str()}
	var message string
	isError, _ := v.IsError.Bool()
	switch {
	case isError || !v.Subtype.IsStr("success"):
		message = cmp.Or(v.Error.Message.Str(), "qwen ended the turn with an error and did not say which")
	case p.notice != nil && strings.HasSuffix(o.Text, p.notice.text):
		message = p.notice.text
	case strings.HasPrefix(o.Text, noticeMark) && p.Last == "":
		message = o.Text // the notice's line is missing
	default:
		p.structuredOf(o, v.StructuredResult)
		return o
	}
	return failed(codeOf(message))
}

// structuredOf returns the structured output, which a run with a schema must have.
func (p *parser) structuredOf(o *cliagent.Outcome, v jsonscan.Value) {
	if v.Exists() && v.Kind() != jsonscan.Null {
		o.Structured = bytes.Clone(v.Raw())
	}
	if len(p.req.Run.OutputSchema) > 0 && o.Structured == nil {
		o.Reason = execution.TurnFailed
		o.Failure = &cliagent.Failure{Code: execution.CodeInvalidOutput, Message: "qwen answered without the structured output that the schema asks for"}
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
func (p *parser) announce(o *cliagent.Outcome, s *cliagent.Sink) {
	if o.Reason == execution.TurnLimitReached {
		s.Emit(execution.TurnLimit{MaxTurns: p.req.Run.MaxTurns})
	}
	o.Report(s)
}

// failed is the outcome of a turn that failed.
func failed(code execution.ErrorCode, message string) *cliagent.Outcome {
	f := &cliagent.Failure{Code: code, Message: message}
	switch code {
	case execution.CodeAuth:
		f.Hint = loginGuidance
	case execution.CodeAgentNotInstalled:
		f.Hint = nodeGuidance
	}
	return &cliagent.Outcome{Reason: execution.TurnFailed, Failure: f}
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
	o.Fill(&res)
	return res
}
