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

// Usage reads a count of tokens in the protocol's own spelling. Input is what was neither read from nor written to a cache.
func Usage(v jsonscan.Value) (execution.Usage, bool) {
	n, ok := usageShape.Of(v)
	if !ok || !n.InputTokens.Exists() && !n.OutputTokens.Exists() {
		return execution.Usage{}, false
	}
	u := execution.Usage{Input: n.InputTokens.Count(), Output: n.OutputTokens.Count(), Thinking: n.ThoughtTokens.Count(),
		Cached: n.CachedReadTokens.Count(), CacheWrite: n.CachedWriteTokens.Count()}
	return u.WithTotal(), true
}

// DefaultPromptUsage reads the usage in the answer to a prompt, and where there is none the token count in _meta.quota.
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

// spending is what the run used.
type spending struct {
	counted bool // the usage of the running turn comes with its calls
	spent   execution.Usage
	total   execution.Usage // of the process, where the agent states no other
	cost    costMeter
	full    bool // that the context fills up has been said
}

// countTurn counts what a turn used, unless its calls have said so.
func (p *parser) countTurn(result jsonscan.Value, s *cliagent.Sink) {
	read := p.spec.PromptUsage
	if read == nil {
		read = DefaultPromptUsage
	}
	if p.counted {
		return
	}
	if u, ok := read(result); ok {
		if p.spec.RunningTotal {
			u, p.total = u.Sub(p.total), u
		}
		p.count(u, s)
	}
}

func (p *parser) count(u execution.Usage, s *cliagent.Sink) { p.countFrom("", u, s) }

func (p *parser) countFrom(parent string, u execution.Usage, s *cliagent.Sink) {
	if u.IsZero() {
		return
	}
	p.spent = p.spent.Add(u)
	emit(s, parent, u.Event())
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
	p.endFlow(p.flowOf(parent), s) // what the call said ends with it
	if !u.IsZero() {
		p.counted = true
		p.countFrom(parent, u, s)
	}
	if parent == "" {
		p.endStep(s, true)
	}
}

// costMeter turns the cost of a session, which counts since its first turn, into what this run spent.
type costMeter struct {
	base bool // what the session had cost before is known
	last float64
}

// begin notes whether the session has a past, whose cost is not known.
func (m *costMeter) begin(past bool) { m.base, m.last = !past, 0 }

// update takes a new total and returns what came since the last one. The first total of a session with a past is where
// counting begins, because nobody knows what of it is old.
func (m *costMeter) update(now float64) (increment float64, ok bool) {
	d := now - m.last
	known := m.base
	m.base, m.last = true, now
	return d, known && d > 0
}

// contextFull is the part of the context window from which on its filling up is worth a word.
const contextFull = 0.9

// usage is the state of the context window, and what the session has cost so far.
func (p *parser) usage(s *cliagent.Sink) {
	u := p.v.Params.Update.Whole
	used, size := u.Get("used").Count(), u.Get("size").Count()
	if part := float64(used) / float64(max(size, 1)); size > 0 {
		if part >= contextFull && !p.full && p.running {
			s.Emit(execution.ContextLimitWarning{UsedTokens: used, MaxTokens: size, PctUsed: part * 100})
		}
		p.full = part >= contextFull
	}
	cost := u.Get("cost")
	if amount, ok := cost.Get("amount").Float(); ok && amount >= 0 && cost.Get("currency").IsStr("USD") {
		if spent, ok := p.cost.update(amount); ok && p.open {
			s.Emit(execution.CostEvent{Cost: execution.CostOf(execution.Usage{}, &spent, execution.CostFromAgent)})
		}
	}
}
