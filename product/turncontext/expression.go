package turncontext

import (
	"cmp"
	"fmt"
	"strings"
)

// Expression is how the assistant speaks in a turn. Values are low, medium or high; empty ones are replaced by those of the traits, and then by
// medium.
type Expression struct {
	Tone       string // low is casual, high is formal
	Directness string
	Warmth     string
	Humor      string // off, light or normal; light by default
	Initiative string
	Density    string // of explanations
}

// express decides the expression of a turn: that of the traits, replaced by that of the turn. A slow session gets more explanation, and a
// constraint of tone or sensitivity less humor.
func express(in Input) Expression {
	of := traits(in.Identity.Traits)
	over := in.Shaping.Expression
	e := Expression{
		Tone: cmp.Or(over.Tone, of.Tone, "medium"), Directness: cmp.Or(over.Directness, of.Directness, "medium"), Warmth: cmp.Or(over.Warmth, of.Warmth, "medium"),
		Humor: cmp.Or(over.Humor, of.Humor, "light"), Initiative: cmp.Or(over.Initiative, of.Initiative, "medium"), Density: cmp.Or(over.Density, of.Density, "medium"),
	}
	if s := in.Session; s != nil && s.Momentum == "low" && e.Density == "low" {
		e.Density = "medium"
	}
	for _, g := range in.Guardrails {
		if g.Kind != ToneConstraint && g.Kind != SensitivityConstraint {
			continue
		}
		if g.Priority == High {
			e.Humor = "off"
		} else if e.Humor == "normal" {
			e.Humor = "light"
		}
	}
	return e
}

// traits is the expression of traits.
func traits(t Traits) Expression {
	e := Expression{Initiative: t.Proactivity}
	switch t.Voice {
	case "concise":
		e.Density, e.Directness = "low", "high"
	case "conversational":
		e.Warmth, e.Tone = "high", "low"
	case "formal":
		e.Tone = "high"
	case "technical":
		e.Density, e.Warmth = "high", "low"
	}
	switch t.Formality {
	case "casual":
		e.Tone, e.Humor = "low", "normal"
	case "professional":
		e.Tone = cmp.Or(e.Tone, "medium")
	case "academic":
		e.Tone, e.Humor, e.Density = "high", "off", cmp.Or(e.Density, "high")
	}
	switch t.Risk {
	case "cautious":
		e.Directness = "low"
	case "assertive":
		e.Directness = "high"
	}
	return e
}

// sentence says it to the model.
func (e Expression) sentence(t Traits) string {
	text := fmt.Sprintf("How to speak: formality %s, directness %s, warmth %s, humor %s, initiative %s, detail %s.", e.Tone, e.Directness, e.Warmth, e.Humor, e.Initiative, e.Density)
	if t.Domain != "" {
		text += " Domain: " + t.Domain + "."
	}
	if len(t.Vocabulary) > 0 {
		text += " Preferred words: " + strings.Join(t.Vocabulary, ", ") + "."
	}
	return text
}
