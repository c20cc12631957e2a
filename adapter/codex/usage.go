package codex

import (
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var (
	execUsageKeys = jsonscan.NewKeySet("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens", "reasoning_output_tokens")
	appUsageKeys  = jsonscan.NewKeySet("inputTokens", "cachedInputTokens", "cacheWriteInputTokens", "outputTokens", "reasoningOutputTokens")
)

// usageOf reads a count of tokens in this project's terms: Codex counts what came from and went to the cache as input.
func usageOf(v jsonscan.Value, keys *jsonscan.KeySet) (u execution.Usage, ok bool) {
	var n [5]jsonscan.Value
	if !v.Fields(n[:], keys) || !n[0].Exists() {
		return u, false
	}
	u = execution.Usage{Cached: count(n[1]), CacheWrite: count(n[2]), Output: count(n[3]), Thinking: count(n[4])}
	u.Input = max(0, count(n[0])-u.Cached-u.CacheWrite)
	return total(u), true
}

func total(u execution.Usage) execution.Usage {
	u.Total = u.Input + u.Output + u.Cached + u.CacheWrite
	return u
}

// count is a number of tokens or the like; anything else counts as nothing.
func count(v jsonscan.Value) int64 {
	n, _ := v.Int()
	if n < 0 || n > 1<<50 {
		return 0
	}
	return n
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

func tokenUsage(u execution.Usage) execution.TokenUsage {
	return execution.TokenUsage{InputTokens: u.Input, OutputTokens: u.Output, ThinkingTokens: u.Thinking, CachedTokens: u.Cached, CacheWriteTokens: u.CacheWrite}
}
