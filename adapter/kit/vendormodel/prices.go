package vendormodel

import (
	"strings"
	"sync"

	"github.com/drawbar/drawbar/execution"
)

// Price returns the price that the vendor of a model publishes, nil if it is unknown or not one number: some models cost more for
// long prompts. A write to the cache has the price of five minutes.
func Price(id string) *execution.Price {
	row, ok := prices()[id]
	if !ok {
		return nil
	}
	p := &execution.Price{Input: row[0], Output: row[1], CacheRead: &row[2]}
	if row[3] > 0 {
		hour := 2 * row[0] // the price for an hour, for every model with a price for writing
		p.CacheWrite, p.CacheWrite1h = &row[3], &hour
	}
	return p
}

// PriceOf returns the price of a prompt of so many tokens: models whose price is not one number have one there. A date at the
// end of an id names a release of the same model.
func PriceOf(id string, prompt int64) *execution.Price {
	if n := len(id) - len("-20060102"); n > 0 && id[n] == '-' && strings.Trim(id[n+1:], "0123456789") == "" {
		id = id[:n]
	}
	if t, ok := tiers[id]; ok {
		row := t.short
		if prompt > t.above {
			row = t.long
		}
		return &execution.Price{Input: row[0], Output: row[1], CacheRead: &row[2]}
	}
	return Price(id)
}

// TwoPrices returns the prices of a model that costs more for prompts of more than above tokens; ok is false for any other.
func TwoPrices(id string) (short, long execution.Price, above int64, ok bool) {
	t, ok := tiers[id]
	if !ok {
		return short, long, 0, false
	}
	return *PriceOf(id, 0), *PriceOf(id, t.above+1), t.above, true
}

// tiers are models that cost more for prompts above so many tokens.
var tiers = map[string]struct {
	above       int64
	short, long [3]float64
}{
	"gemini-2.5-pro": {200_000, [3]float64{1.25, 10, 0.125}, [3]float64{2.5, 15, 0.25}},
}

// prices are US dollars per million tokens: input, output, read from the cache, written to it.
var prices = sync.OnceValue(func() map[string][4]float64 {
	return map[string][4]float64{
		"claude-opus-5-5":        {4, 20, 0.2, 5},
		"claude-fable-5-2":       {8, 40, 0.2, 10},
		"claude-sonnet-5-5":      {2, 10, 0.1, 2.5},
		"claude-opus-4-8":        {5, 25, 0.5, 6.25},
		"claude-sonnet-5":        {2, 10, 0.2, 2.5},
		"claude-opus-4-6":        {5, 25, 0.5, 6.25},
		"claude-sonnet-4-6":      {3, 15, 0.3, 3.75},
		"claude-opus-4-5":        {5, 25, 0.5, 6.25},
		"claude-sonnet-4-5":      {3, 15, 0.3, 3.75},
		"claude-haiku-4-5":       {1, 5, 0.1, 1.25},
		"gpt-5.4":                {2.5, 15, 0.25},
		"gpt-5.3-codex":          {1.75, 14, 0.175},
		"gpt-5-codex":            {1.25, 10, 0.125},
		"gpt-5.1-codex-mini":     {0.25, 2, 0.025},
		"gpt-4o":                 {2.5, 10, 1.25},
		"gpt-4o-mini":            {0.15, 0.6, 0.075},
		"gpt-4.1":                {2, 8, 0.5},
		"gpt-4.1-mini":           {0.4, 1.6, 0.1},
		"gpt-4.1-nano":           {0.1, 0.4, 0.025},
		"o3":                     {2, 8, 0.5},
		"o3-mini":                {1.1, 4.4, 0.55},
		"o4-mini":                {1.1, 4.4, 0.275},
		"gemini-3.5-flash":       {1.5, 9, 0.15},
		"gemini-3-flash-preview": {0.5, 3, 0.05},
		"gemini-3.1-flash-lite":  {0.25, 1.5, 0.025},
		"gemini-2.5-flash":       {0.3, 2.5, 0.03},
		"gemini-2.5-flash-lite":  {0.1, 0.4, 0.01},
		"gemini-2.0-flash":       {0.1, 0.4, 0.025},
	}
})
