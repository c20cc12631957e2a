package codex

import (
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// tokensForm is a count of tokens.
type tokensForm struct {
	InputTokens, CachedInputTokens, CacheWriteInputTokens, OutputTokens, ReasoningOutputTokens jsonscan.Value
}

// usage converts the count to this project's definitions: Codex's input includes cached tokens. It returns false
// without a count.
func (f tokensForm) usage() (execution.Usage, bool) {
	u := execution.Usage{Cached: f.CachedInputTokens.Count(), CacheWrite: f.CacheWriteInputTokens.Count(), Output: f.OutputTokens.Count(),
		Thinking: f.ReasoningOutputTokens.Count()}
	if !f.InputTokens.Exists() {
		return execution.Usage{}, false
	}
	u.Input = max(0, f.InputTokens.Count()-u.Cached-u.CacheWrite)
	return u.WithTotal(), true
}

// tokensShape is for counts in files and in the output of codex exec.
var tokensShape jsonscan.Shape[tokensForm]

func usageOf(v jsonscan.Value) (execution.Usage, bool) {
	f, _ := tokensShape.Of(v)
	return f.usage()
}

// meter derives a run's usage from a thread's totals, which count since its first turn.
type meter struct {
	base  bool            // the total before the run is known and included in last
	last  execution.Usage // the total last reported
	spent execution.Usage // by this run
}

// start sets the thread's prior usage.
func (m *meter) start(before execution.Usage) { m.base, m.last = true, before }

// update takes a new total and returns the increase since the last one. A repeated total adds nothing; a smaller
// total restarts the count without a charge.
func (m *meter) update(now execution.Usage) (increment execution.Usage) {
	d := now.Sub(m.last)
	m.base, m.last = true, now
	if d.Input < 0 || d.Output < 0 || d.Cached < 0 || d.CacheWrite < 0 || d.Thinking < 0 {
		return execution.Usage{}
	}
	m.spent = m.spent.Add(d)
	return d
}
