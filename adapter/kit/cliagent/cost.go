package cliagent

import (
	"math"
	"sync"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// usageNames are the names of tokens and costs that agents and model APIs use, by meaning.
var usageNames = [...]struct {
	into  meaning
	names []string
}{
	{tokensIn, []string{"input_tokens", "inputTokens", "input"}},
	{tokensInWithCache, []string{"prompt_tokens", "promptTokens", "promptTokenCount"}},
	{tokensOut, []string{"output_tokens", "outputTokens", "completion_tokens", "completionTokens", "output"}},
	{tokensOutWithoutThinking, []string{"candidatesTokenCount"}},
	{tokensThinking, []string{"reasoning_output_tokens", "reasoningOutputTokens", "reasoning_tokens", "reasoningTokens",
		"thinking_tokens", "thinkingTokens", "reasoning", "output_tokens_details.reasoning_tokens", "completion_tokens_details.reasoning_tokens"}},
	{tokensThinkingApart, []string{"thoughtsTokenCount"}},
	{cacheRead, []string{"cache_read_input_tokens", "cacheReadInputTokens", "cache_read_tokens", "cacheReadTokens",
		"cacheRead", "cache.read"}},
	{cacheReadInInput, []string{"cached_input_tokens", "cachedInputTokens", "cached_tokens", "cachedTokens", "cachedContentTokenCount",
		"input_tokens_details.cached_tokens", "prompt_tokens_details.cached_tokens"}},
	{cacheWrite, []string{"cache_creation_input_tokens", "cacheCreationInputTokens", "cache_write_tokens", "cacheWriteTokens",
		"cache_creation_tokens", "cacheCreationTokens", "cacheWrite", "cache.write"}},
	{money, []string{"total_cost_usd", "totalCostUsd", "totalCostUSD", "totalUsd", "cost_usd", "costUsd", "costUSD", "total_cost",
		"totalCost", "cost", "cost.total", "cost.total_usd", "cost.totalUsd"}},
}

type meaning int

const (
	tokensIn                 meaning = iota
	tokensInWithCache                // includes cached tokens, wherever they are reported
	tokensOut                        // includes thinking
	tokensOutWithoutThinking         // excludes thinking
	tokensThinking                   // part of the output
	tokensThinkingApart              // not part of the output
	cacheRead                        // not part of the input
	cacheReadInInput                 // part of the input
	cacheWrite
	money
	meanings
)

// usageParts are the members that may contain the tokens.
var usageParts = jsonscan.NewKeySet("usage", "tokenUsage", "token_usage", "tokens", "usageMetadata")

// usageKeys returns the set of every name, and the meaning of the value in each of its slots.
var usageKeys = sync.OnceValues(func() (*jsonscan.KeySet, []meaning) {
	var paths []string
	var means []meaning
	for _, n := range usageNames {
		for _, name := range n.names {
			paths, means = append(paths, name), append(means, n.into)
		}
	}
	return jsonscan.NewKeySet(paths...), means
})

// AssembleCost reads an agent's usage or cost object: JSON in any of the common spellings, flat or with the tokens in
// a member (agent-mux specification, assembleCostRecord). It converts tokens to this project's definitions: cached
// input is not part of the input, thinking is part of the output. It returns nil if raw contains neither tokens nor a
// cost. It keeps no reference to raw.
func AssembleCost(raw []byte) *execution.Cost {
	whole, err := jsonscan.Parse(raw)
	if err != nil {
		return nil
	}
	var a amounts
	a.read(whole)
	var parts [8]jsonscan.Value
	whole.Fields(parts[:], usageParts)
	for _, part := range parts[:usageParts.Len()] {
		a.read(part)
	}
	return a.cost()
}

// amounts are the values found; the first of a meaning counts.
type amounts struct {
	n     [meanings]int64
	found [meanings]bool
	usd   float64
}

func (a *amounts) read(object jsonscan.Value) {
	var values [64]jsonscan.Value
	keys, means := usageKeys()
	if !object.Fields(values[:], keys) {
		return
	}
	for i, m := range means {
		v := values[i]
		switch {
		case a.found[m] || !v.Exists():
		case m == money:
			if f, ok := v.Float(); ok && f >= 0 {
				a.usd, a.found[m] = f, true
			}
		default:
			a.n[m], a.found[m] = count(v)
		}
	}
}

func (a *amounts) cost() *execution.Cost {
	if a.found == [meanings]bool{} {
		return nil
	}
	n, found := a.n, a.found
	cached := n[cacheRead]
	in := n[tokensIn]
	switch {
	case !found[tokensIn]:
		in = n[tokensInWithCache]
		cached = max(cached, n[cacheReadInInput])
		in -= min(in, cached)
	case !found[cacheRead]:
		cached = n[cacheReadInInput]
		in -= min(in, cached)
	}
	out, thinking := n[tokensOut], n[tokensThinking]
	if !found[tokensOut] {
		out = n[tokensOutWithoutThinking]
	}
	if !found[tokensThinking] && found[tokensThinkingApart] {
		thinking = n[tokensThinkingApart]
		out += thinking
	}
	var usd *float64
	if found[money] {
		value := a.usd
		usd = &value
	}
	c := execution.CostOf(execution.Usage{Input: in, Output: out, Thinking: thinking, Cached: cached, CacheWrite: n[cacheWrite]},
		usd, execution.CostFromAgent)
	return &c
}

// maxCount is far above any number of tokens and too small for sums to overflow.
const maxCount = 1 << 50

// count returns a number of tokens; some JSON encoders write it as 12.0.
func count(v jsonscan.Value) (int64, bool) {
	if n, ok := v.Int(); ok {
		if n < 0 || n > maxCount {
			return 0, false
		}
		return n, true
	}
	if f, ok := v.Float(); ok && f >= 0 && f <= maxCount && f == math.Trunc(f) {
		return int64(f), true
	}
	return 0, false
}
