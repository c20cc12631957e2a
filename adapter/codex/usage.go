package codex

import (
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// tokensForm is a count of tokens.
type tokensForm struct {
	InputTokens, CachedInputTokens, CacheWriteInputTokens, OutputTokens, ReasoningOutputTokens jsonscan.Value
}

// usage is the count in this project's terms: Codex counts what came from and went to the cache as input. False without a count.
func (f tokensForm) usage() (execution.Usage, bool) {
	u := execution.Usage{Cached: f.CachedInputTokens.Count(), CacheWrite: f.CacheWriteInputTokens.Count(), Output: f.OutputTokens.Count(),
		Thinking: f.ReasoningOutputTokens.Count()}
	if !f.InputTokens.Exists() {
		return execution.Usage{}, false
	}
	u.Input = max(0, f.InputTokens.Count()-u.Cached-u.CacheWrite)
	return u.WithTotal(), true
}

// tokensShape is for counts in files and in what codex exec prints.
var tokensShape jsonscan.Shape[tokensForm]

func usageOf(v jsonscan.Value) (execution.Usage, bool) {
	f, _ := tokensShape.Of(v)
	return f.usage()
}

// meter turns the totals of a thread, which count since its first turn ever, into what this run used.
type meter struct {
	base  bool            // the total from before the run is known; it is part of last
	last  execution.Usage // the total reported last
	spent execution.Usage // by this run
}

// start says what the thread had used before.
func (m *meter) start(before execution.Usage) { m.base, m.last = true, before }

// update takes a new total and returns what came since the last one. Totals are repeated at times; a repetition adds
// nothing, and a total that went back begins anew without a charge.
func (m *meter) update(now execution.Usage) (increment execution.Usage) {
	d := now.Sub(m.last)
	m.base, m.last = true, now
	if d.Input < 0 || d.Output < 0 || d.Cached < 0 || d.CacheWrite < 0 || d.Thinking < 0 {
		return execution.Usage{}
	}
	m.spent = m.spent.Add(d)
	return d
}
