package claude

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/streamjson"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

// outcome is how a turn ended.
type outcome struct {
	cliagent.Outcome
	terminal string // Claude's name of the reason
	stop     string // the model's stop reason
}

func (o *outcome) fail(code execution.ErrorCode, message string) {
	o.Reason, o.Failure = execution.TurnFailed, &cliagent.Failure{Code: code, Message: message, Context: contextExceeded(message)}
	if code == execution.CodeAuth {
		o.Failure.Hint = loginGuidance
	}
}

type resultForm struct {
	Subtype, IsError, Result, TerminalReason, APIErrorStatus, Errors, StopReason, TotalCostUSD, Usage jsonscan.Value
	ModelUsageSinceLastResult, StructuredOutput, PermissionDenials, StartupFailureReason, SessionID   jsonscan.Value
	ModelUsage                                                                                        jsonscan.Value `scan:"modelUsage"`
}

var resultShape jsonscan.Shape[resultForm]

// result handles the end of a turn, or of a run that could not start.
func (p *parser) result(line []byte, s *cliagent.Sink) bool {
	var v resultForm
	if !resultShape.Into(line, &v) || !v.Subtype.Exists() {
		return false
	}
	p.first = false
	o := p.judge(&v)
	p.last, p.synthetic = o, nil
	headless := p.session == "" && p.ran(&v)
	if headless {
		s.Emit(execution.Debug{Level: execution.DebugWarn, Message: "claude: the line that begins the session is missing; the result names it"})
		p.begun(v.SessionID.Str(), s)
	}
	if p.session == "" {
		// No session, no turn: an unknown session, or refused settings.
		p.announce(o, s)
		p.finish(s)
		return true
	}
	p.ensureTurn(s)
	p.endStreams(s)
	p.confirmGuesses(s)
	if headless && o.Reason == execution.TurnCompleted && p.Last == "" && o.Text != "" {
		p.Text(&p.Main, o.Text, s) // its message is missing
	}
	for _, d := range v.PermissionDenials.Array {
		p.deny(d.Get("tool_use_id"), d.Get("tool_name"), "", s)
	}
	cost := p.account(&v, s)
	p.announce(o, s)
	end := o.End(p.Turn)
	end.Cost = cost
	s.Emit(end)
	p.open, p.Last = false, ""
	p.Turn++
	p.Calls.EndTurn()
	p.finish(s)
	return true
}

// ran reports whether a result without a prior session belongs to one: it has usage or an answer. A session that
// Claude could not start also has an id there.
func (p *parser) ran(v *resultForm) bool {
	if v.SessionID.Str() == "" {
		return false
	}
	failed, _ := v.IsError.Bool()
	return !failed && v.Subtype.IsStr("success") || p.open || !usageOf(v.Usage).IsZero()
}

// endStreams ends what the turn leaves open. Background sub-agents continue.
func (p *parser) endStreams(s *cliagent.Sink) {
	p.endMessage(&p.Main, s)
	for _, st := range p.Subs() {
		if c := p.Calls.Open(st.Parent); c != nil && c.Async {
			continue
		}
		p.endMessage(st, s)
		p.Drop(st)
	}
}

// judge derives the outcome of the turn. The subtype alone means little: a failed call of the model API is a
// "success" that is an error.
func (p *parser) judge(v *resultForm) *outcome {
	o := &outcome{Outcome: cliagent.Outcome{Reason: execution.TurnCompleted, Text: v.Result.Str()}, terminal: v.TerminalReason.Str(), stop: v.StopReason.Str()}
	if v.StructuredOutput.Exists() && v.StructuredOutput.Kind() != jsonscan.Null {
		o.Structured = bytes.Clone(v.StructuredOutput.Raw())
	}
	subtype := v.Subtype.Str()
	failed, _ := v.IsError.Bool()
	if strings.HasPrefix(o.terminal, "aborted") {
		o.Reason, o.Text = execution.TurnInterrupted, cmp.Or(o.Text, p.Last)
		return o
	}
	if !failed && subtype == "success" {
		if len(p.req.Run.OutputSchema) > 0 && o.Structured == nil {
			o.fail(execution.CodeInvalidOutput, "claude answered without the structured output that the schema asks for")
		}
		return o
	}
	o.Text = "" // the result is the error, not an answer
	message := failureText(v)
	switch code := p.failureCode(v, subtype, o, message); code {
	case execution.CodeTurnLimit:
		o.Reason, o.Text = execution.TurnLimitReached, p.Last
	case execution.CodeBudgetExceeded:
		o.fail(code, message)
		o.Reason, o.Text = execution.TurnBudget, p.Last
	default:
		o.fail(code, message)
	}
	return o
}

// failureText returns Claude's description of a failure.
func failureText(v *resultForm) string {
	var lines []string
	for _, e := range v.Errors.Array {
		if text := e.Str(); text != "" && !strings.HasPrefix(text, "[ede_diagnostic]") {
			lines = append(lines, strings.TrimPrefix(text, "Error: "))
		}
	}
	return cmp.Or(strings.Join(lines, "; "), v.Result.Str(), "claude ended the turn with an error and did not say which")
}

// account reports the turn's usage beyond that of the single calls, and its cost.
func (p *parser) account(v *resultForm, s *cliagent.Sink) *execution.Cost {
	used, usd := p.used(v)
	p.Count("", used.Sub(p.Counted), s)
	p.Counted = execution.Usage{}
	if used.IsZero() && (usd == nil || *usd == 0) {
		return nil
	}
	cost := execution.CostOf(used, usd, execution.CostFromAgent)
	if usd != nil {
		sum := *usd
		if p.totalUSD != nil {
			sum += *p.totalUSD
		}
		p.totalUSD = &sum
	}
	s.Emit(execution.CostEvent{Cost: cost})
	return &cost
}

// used returns the usage since the last result. Claude's totals grow over the process, and in newer versions over the
// whole session, including earlier processes; these versions also state the difference.
func (p *parser) used(v *resultForm) (execution.Usage, *float64) {
	if v.ModelUsageSinceLastResult.Kind() == jsonscan.Object {
		return modelUsage(v.ModelUsageSinceLastResult)
	}
	var usd *float64
	if total, ok := v.TotalCostUSD.Float(); ok {
		delta := max(0, total-p.spent)
		p.spent, usd = total, &delta
	}
	if v.ModelUsage.Kind() == jsonscan.Object {
		for name := range v.ModelUsage.Object { // a single result states nothing else about the model
			p.priced = cmp.Or(p.priced, string(name))
		}
		total, known := modelUsage(v.ModelUsage)
		if known == nil {
			usd = nil
		}
		delta := total.Sub(p.stated)
		p.stated = total
		return delta, usd
	}
	return usageOf(v.Usage), usd
}

var modelShape jsonscan.Shape[struct {
	_                                                                                         jsonscan.Camel
	InputTokens, OutputTokens, CacheReadInputTokens, CacheCreationInputTokens, ThinkingTokens jsonscan.Value
	CostBasis                                                                                 jsonscan.Value
	CostUSD                                                                                   jsonscan.Value `scan:"costUSD"`
}]

// modelUsage sums a usage object by model. usd is nil if Claude guessed a price.
func modelUsage(models jsonscan.Value) (u execution.Usage, usd *float64) {
	total, guessed := 0.0, false
	for _, m := range models.Object {
		f, _ := modelShape.Of(m)
		u = u.Add(execution.Usage{Input: cliagent.Count(f.InputTokens), Output: cliagent.Count(f.OutputTokens),
			Cached: cliagent.Count(f.CacheReadInputTokens), CacheWrite: cliagent.Count(f.CacheCreationInputTokens),
			Thinking: cliagent.Count(f.ThinkingTokens)}.WithTotal())
		c, _ := f.CostUSD.Float()
		total += c
		guessed = guessed || f.CostBasis.IsStr(guessedCost)
	}
	if !guessed {
		usd = &total
	}
	return u, usd
}

// guessedCost marks a cost whose model has no price that Claude knows.
const guessedCost = "unknown"

// announce emits the event of a turn that did not complete.
func (p *parser) announce(o *outcome, s *cliagent.Sink) {
	if o.Reason == execution.TurnLimitReached {
		s.Emit(execution.TurnLimit{MaxTurns: p.req.Run.MaxTurns})
	}
	o.Report(s)
}

// Exit returns the outcome of the last turn. An unfinished turn, or none, has no outcome: the kit then judges by the
// exit.
func (p *parser) Exit(exit process.Exit, s *cliagent.Sink) execution.Result {
	for _, in := range p.pending {
		s.Emit(execution.InputCancelled{ID: in.id, Reason: "claude ended before it took the message"})
	}
	p.pending = nil
	for _, st := range p.Subs() {
		p.loseStream(st, s)
	}
	p.loseStream(&p.Main, s)

	res := execution.Result{Model: cmp.Or(p.model, p.priced), SessionID: p.session, TurnCount: p.Turn, Retries: p.retries}
	if !p.Total.IsZero() {
		u := p.Total
		cost := execution.CostOf(u, p.totalUSD, execution.CostFromAgent)
		res.Usage, res.Cost = &u, &cost
	}
	o := p.last
	if o == nil || p.open && !p.done {
		switch o = p.startFailure(exit); {
		case o != nil:
		case p.stopped && !exit.Stopped && exit.Signal == "":
			o = &outcome{Outcome: cliagent.Outcome{Reason: execution.TurnInterrupted}}
		default:
			return res
		}
	}
	res.Metadata = map[string]any{}
	for key, value := range map[string]string{"claudeVersion": p.version, "terminalReason": o.terminal, "stopReason": o.stop} {
		if value != "" {
			res.Metadata[key] = value
		}
	}
	o.Fill(&res)
	return res
}

// loseStream counts a call that the end of the process interrupted, because no result will. Its text and step stay
// open: no event of the agent follows the event of the exit.
func (p *parser) loseStream(st *streamjson.Stream, s *cliagent.Sink) {
	if st.Open && st.Streamed && p.open {
		p.Count(st.Parent, st.Usage, s)
	}
}
