package vendormodel

import (
	"strings"
	"sync"

	"github.com/drawbar/drawbar/execution"
)

// Price returns the price that the vendor of a model publishes, nil if it is unknown. A write to the cache of a Claude model has the price of five
// minutes. A date at the end of an id names a release of the same model.
func Price(id string) *execution.Price {
	if n := len(id) - len("-20060102"); n > 0 && id[n] == '-' && strings.Trim(id[n+1:], "0123456789") == "" {
		id = id[:n]
	}
	row, ok := prices()[id]
	if !ok {
		return nil
	}
	p := row.price(id)
	if t, ok := longer[id]; ok {
		long := t.price.price(id)
		p.Long = &execution.LongPrice{Above: t.above, Input: long.Input, Output: long.Output, CacheRead: long.CacheRead, CacheWrite: long.CacheWrite, CacheWrite1h: long.CacheWrite1h}
	}
	return &p
}

// amounts are US dollars per million tokens: input, output, read from the cache, written to it.
type amounts [4]float64

func (a amounts) price(id string) execution.Price {
	p := execution.Price{Input: a[0], Output: a[1], CacheRead: &a[2]}
	if a[3] > 0 {
		p.CacheWrite = &a[3]
		if strings.HasPrefix(id, "claude-") {
			hour := 2 * a[0]
			p.CacheWrite1h = &hour
		}
	}
	return p
}

// longer are the prices of model calls whose prompts have more tokens than above.
var longer = map[string]struct {
	above int64
	price amounts
}{
	"claude-haiku-5-5":       {100_000, amounts{0.5, 2.5, 0.05, 0.625}},
	"gpt-6.2-astra":          {272_000, amounts{16, 60, 0.8, 20}},
	"gpt-6.2-sol":            {272_000, amounts{4, 15, 0.2, 5}},
	"gpt-6.1-sol":            {272_000, amounts{4, 15, 0.2, 5}},
	"gpt-6.1-terra":          {272_000, amounts{2, 7.5, 0.1, 2.5}},
	"gpt-6-astra":            {272_000, amounts{20, 75, 2, 25}},
	"gpt-6-sol":              {272_000, amounts{4, 15, 0.4, 5}},
	"gpt-6-luna":             {272_000, amounts{0.2, 0.75, 0.02, 0.25}},
	"gpt-5.6-sol":            {272_000, amounts{8, 30, 0.8, 10}},
	"gpt-5.6-terra":          {272_000, amounts{4, 18, 0.4, 5}},
	"gpt-5.6-luna":           {272_000, amounts{0.4, 1.8, 0.04, 0.5}},
	"gpt-5.5":                {272_000, amounts{10, 45, 1}},
	"gpt-5.4":                {272_000, amounts{5, 22.5, 0.5}},
	"gemini-3.1-pro-preview": {200_000, amounts{4, 18, 0.4}},
	"gemini-2.5-pro":         {200_000, amounts{2.5, 15, 0.25}},
}

// prices are those that agents state for their vendors' models: Claude Code 2.1.332 and Pi 1.6.0 agree where both state one.
var prices = sync.OnceValue(func() map[string]amounts {
	return map[string]amounts{
		"claude-opus-5-5":        {4, 20, 0.2, 5},
		"claude-fable-5-2":       {8, 40, 0.2, 10},
		"claude-sonnet-5-5":      {2, 10, 0.1, 2.5},
		"claude-haiku-5-5":       {0.1, 0.5, 0.01, 0.125},
		"claude-opus-5":          {5, 25, 0.5, 6.25},
		"claude-opus-4-8":        {5, 25, 0.5, 6.25},
		"claude-opus-4-7":        {5, 25, 0.5, 6.25},
		"claude-fable-5-1":       {10, 50, 0.25, 12.5},
		"claude-fable-5":         {10, 50, 1, 12.5},
		"claude-sonnet-5":        {2, 10, 0.2, 2.5},
		"claude-opus-4-6":        {5, 25, 0.5, 6.25},
		"claude-sonnet-4-6":      {3, 15, 0.3, 3.75},
		"claude-opus-4-5":        {5, 25, 0.5, 6.25},
		"claude-sonnet-4-5":      {3, 15, 0.3, 3.75},
		"claude-haiku-4-5":       {1, 5, 0.1, 1.25},
		"gpt-6.2-astra":          {8, 40, 0.4, 10},
		"gpt-6.2-sol":            {2, 10, 0.1, 2.5},
		"gpt-6.1-sol":            {2, 10, 0.1, 2.5},
		"gpt-6.1-terra":          {1, 5, 0.05, 1.25},
		"gpt-6-astra":            {10, 50, 1, 12.5},
		"gpt-6-sol":              {2, 10, 0.2, 2.5},
		"gpt-6-luna":             {0.1, 0.5, 0.01, 0.125},
		"gpt-5.6-sol":            {4, 20, 0.4, 5},
		"gpt-5.6-terra":          {2, 12, 0.2, 2.5},
		"gpt-5.6-luna":           {0.2, 1.2, 0.02, 0.25},
		"gpt-5.5":                {5, 30, 0.5},
		"gpt-5.4":                {2.5, 15, 0.25},
		"gpt-5.4-mini":           {0.75, 4.5, 0.075},
		"gpt-5-mini":             {0.25, 2, 0.025},
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
		"gemini-3.8-flash":       {0.75, 3.75, 0.075},
		"gemini-3.7-flash":       {0.75, 3.75, 0.075},
		"gemini-3.6-flash":       {0.75, 3.75, 0.075},
		"gemini-3.5-flash":       {1.5, 9, 0.15},
		"gemini-3.5-flash-lite":  {0.3, 2.5, 0.03},
		"gemini-3.1-pro-preview": {2, 12, 0.2},
		"gemini-2.5-pro":         {1.25, 10, 0.125},
		"gemini-3-flash-preview": {0.5, 3, 0.05},
		"gemini-3.1-flash-lite":  {0.25, 1.5, 0.025},
		"gemini-2.5-flash":       {0.3, 2.5, 0.03},
		"gemini-2.5-flash-lite":  {0.1, 0.4, 0.01},
		"gemini-2.0-flash":       {0.1, 0.4, 0.025},
	}
})
