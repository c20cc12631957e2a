package acpagent

import (
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var usageShape jsonscan.Shape[struct {
	_                                                                             jsonscan.Camel
	InputTokens, OutputTokens, ThoughtTokens, CachedReadTokens, CachedWriteTokens jsonscan.Value
}]

// Usage reads a token count in the protocol's spelling. Input excludes cached tokens.
func Usage(v jsonscan.Value) (execution.Usage, bool) {
	n, ok := usageShape.Of(v)
	if !ok || !n.InputTokens.Exists() && !n.OutputTokens.Exists() {
		return execution.Usage{}, false
	}
	u := execution.Usage{Input: n.InputTokens.Count(), Output: n.OutputTokens.Count(), Thinking: n.ThoughtTokens.Count(),
		Cached: n.CachedReadTokens.Count(), CacheWrite: n.CachedWriteTokens.Count()}
	return u.WithTotal(), true
}

// DefaultPromptUsage reads the usage in the reply to a prompt, or else the token count in _meta.quota.
func DefaultPromptUsage(result jsonscan.Value) (execution.Usage, bool) {
	if u, ok := Usage(result.Get("usage")); ok {
		return u, true
	}
	quota := result.Get("_meta").Get("quota").Get("token_count")
	if !quota.Exists() {
		return execution.Usage{}, false
	}
	c := cliagent.AssembleCost(quota.Raw())
	if c == nil {
		return execution.Usage{}, false
	}
	return c.Usage(), true
}

// DefaultCallUsage reads the usage in the _meta of an update.
func DefaultCallUsage(update jsonscan.Value) (execution.Usage, bool) {
	return Usage(update.Get("_meta").Get("usage"))
}

// spending is the usage of the run.
type spending struct {
	counted  bool // the usage of the running turn comes with its calls
	spent    execution.Usage
	before   execution.Usage // the running turn
	lastCall execution.Usage // its last model call, see Spec.LastCall
	total    execution.Usage // of the process, if the agent states no other
	cost     costMeter
	full     bool // the warning about a full context was emitted
}

// countTurn counts the usage of a turn, unless its calls reported it.
func (p *parser) countTurn(result jsonscan.Value, s *cliagent.Sink) {
	read := p.spec.PromptUsage
	if read == nil {
		read = DefaultPromptUsage
	}
	if p.counted || p.reporting {
		return
	}
	u, ok := read(result)
	switch {
	case !ok:
	case p.spec.LastCall:
		p.lastCall = u
	case p.spec.RunningTotal:
		u, p.total = u.Sub(p.total), u
		fallthrough
	default:
		p.count(u, s)
	}
}

func (p *parser) count(u execution.Usage, s *cliagent.Sink) { p.countFrom("", u, s) }

func (p *parser) countFrom(parent string, u execution.Usage, s *cliagent.Sink) {
	if u.IsZero() {
		return
	}
	p.spent = p.spent.Add(u)
	s.EmitFrom(parent, u.Event())
}

// countCall looks for the end of a model call in an update.
func (p *parser) countCall(s *cliagent.Sink) {
	if !p.running {
		return
	}
	read := p.spec.CallUsage
	if read == nil {
		read = DefaultCallUsage
	}
	u, ok := read(p.v.Params.Update.Whole)
	if !ok {
		return
	}
	parent := p.parent()
	if parent == "" {
		p.ensureStep(s)
	}
	p.endFlow(p.flowOf(parent), s) // the call's text ends with it
	if !u.IsZero() {
		p.counted = true
		p.countFrom(parent, u, s)
	}
	if parent == "" {
		p.endStep(s, true)
	}
}

// costMeter derives a run's cost from that of the session, which counts from the session's first turn.
type costMeter struct {
	base bool // the session's earlier cost is known
	last float64
}

// begin records whether the session existed before, so that its earlier cost is unknown.
func (m *costMeter) begin(past bool) { m.base, m.last = !past, 0 }

// update takes a new total and returns the increase since the last one. The first total of an existing session is the
// baseline, because its earlier part is unknown.
func (m *costMeter) update(now float64) (increment float64, ok bool) {
	d := now - m.last
	known := m.base
	m.base, m.last = true, now
	return d, known && d > 0
}

// contextFull is the used part of the context window above which a warning is emitted.
const contextFull = 0.9

// usage handles the state of the context window and the session's cost so far.
func (p *parser) usage(s *cliagent.Sink) {
	u := p.v.Params.Update.Whole
	used, size := u.Get("used").Count(), u.Get("size").Count()
	if part := float64(used) / float64(max(size, 1)); size > 0 {
		if part >= contextFull && !p.full && p.running {
			s.Emit(execution.ContextLimitWarning{UsedTokens: used, MaxTokens: size, PctUsed: part * 100})
		}
		p.full = part >= contextFull
	}
	if p.reporting {
		return
	}
	cost := u.Get("cost")
	if amount, ok := cost.Get("amount").Float(); ok && amount >= 0 && cost.Get("currency").IsStr("USD") {
		if spent, ok := p.cost.update(amount); ok && p.open {
			s.Emit(execution.CostEvent{Cost: execution.CostOf(execution.Usage{}, &spent, execution.CostFromAgent)})
		}
	}
}
