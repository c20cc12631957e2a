package pifile

import (
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// Content is an element of a message's content.
type Content struct{ Type, Text, Thinking jsonscan.Value }

// ContentShape reads a Content.
var ContentShape jsonscan.Shape[Content]

// The reasons for the end of a model call.
const (
	StopError   = "error"
	StopAborted = "aborted"
)

// PlainText returns the text of a content.
func PlainText(content jsonscan.Value) string {
	if content.Kind() == jsonscan.String {
		return content.Str()
	}
	var parts []string
	for _, e := range content.Array {
		if e.Get("type").IsStr("text") {
			parts = append(parts, e.Get("text").Str())
		}
	}
	return strings.Join(parts, "\n")
}

// usageForm are the tokens of a model call. Input excludes cached tokens, output includes reasoning. Pi and Oh My Pi
// spell the reasoning differently.
type usageForm struct {
	_                                                                jsonscan.Camel
	Input, Output, CacheRead, CacheWrite, Reasoning, ReasoningTokens jsonscan.Value
	Cttl                                                             struct {
		Hour jsonscan.Value `scan:"ephemeral1h"`
	}
	Cost struct{ Total jsonscan.Value }
}

var usageShape jsonscan.Shape[usageForm]

// Spent is what a model call used.
type Spent struct {
	execution.Usage
	Hour int64   // part of CacheWrite that is cached for an hour
	USD  float64 // the agent's own price; 0 if it knows none
}

// SpentOf reads the usage of a model call; it is zero for any other value.
func SpentOf(v jsonscan.Value) (u Spent) {
	var f usageForm
	if !usageShape.From(v, &f) {
		return u
	}
	u.Usage = execution.Usage{Input: f.Input.Count(), Output: f.Output.Count(), Thinking: max(f.Reasoning.Count(), f.ReasoningTokens.Count()),
		Cached: f.CacheRead.Count(), CacheWrite: f.CacheWrite.Count()}.WithTotal()
	u.Thinking = min(u.Thinking, u.Output)
	u.Hour = min(f.Cttl.Hour.Count(), u.CacheWrite)
	if usd, ok := f.Cost.Total.Float(); ok && usd > 0 {
		u.USD = usd
	}
	return u
}
