package vendormodel

import (
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
		"gemini-3.5-flash":       {1.5, 9, 0.15},
		"gemini-3-flash-preview": {0.5, 3, 0.05},
		"gemini-3.1-flash-lite":  {0.25, 1.5, 0.025},
		"gemini-2.5-flash":       {0.3, 2.5, 0.03},
		"gemini-2.5-flash-lite":  {0.1, 0.4, 0.01},
	}
})
