package turncontext

import (
	"fmt"
	"slices"
	"strings"
)

var (
	priorities = []string{"", string(High), string(Medium), string(Low)}
	levels     = []string{"", "low", "medium", "high"}
)

// check returns the first fault of an input.
func (in Input) check() error {
	switch {
	case strings.TrimSpace(in.AssistantID) == "":
		return &InputError{"assistantId", "it is required"}
	case strings.TrimSpace(in.TurnID) == "":
		return &InputError{"turnId", "it is required"}
	case strings.TrimSpace(in.Identity.SystemPrompt)+strings.TrimSpace(in.Identity.DeveloperPrompt) == "":
		return &InputError{"identity", "a system prompt or a developer prompt is required"}
	case in.MaxTokens < 0:
		return &InputError{"maxTokens", "it is negative"}
	}
	type word struct {
		field, value string
		allowed      []string
	}
	t, e := in.Identity.Traits, in.Shaping.Expression
	words := []word{
		{"identity.traits.formality", t.Formality, []string{"", "casual", "professional", "academic"}},
		{"identity.traits.proactivity", t.Proactivity, levels},
		{"identity.traits.risk", t.Risk, []string{"", "cautious", "moderate", "assertive"}},
		{"shaping.expression.tone", e.Tone, levels}, {"shaping.expression.directness", e.Directness, levels}, {"shaping.expression.warmth", e.Warmth, levels},
		{"shaping.expression.humor", e.Humor, []string{"", "off", "light", "normal"}}, {"shaping.expression.initiative", e.Initiative, levels},
		{"shaping.expression.density", e.Density, levels},
	}
	if s := in.Session; s != nil {
		words = append(words, word{"session.state", s.State, []string{"", "cold", "active", "resumed"}}, word{"session.momentum", s.Momentum, levels})
	}
	for i, o := range in.Shaping.Overlays {
		words = append(words, word{fmt.Sprintf("shaping.overlays[%d].priority", i), string(o.Priority), priorities})
	}
	for i, x := range in.Enrichment {
		words = append(words, word{fmt.Sprintf("enrichment[%d].importance", i), string(x.Importance), priorities},
			word{fmt.Sprintf("enrichment[%d].audience", i), string(x.Audience), []string{"", string(ForAssistant), string(ForProduct), string(ForBoth)}})
	}
	for i, g := range in.Guardrails {
		if strings.TrimSpace(g.Rule) == "" {
			return &InputError{fmt.Sprintf("guardrails[%d].rule", i), "it is required"}
		}
		words = append(words, word{fmt.Sprintf("guardrails[%d].priority", i), string(g.Priority), priorities})
	}
	for _, w := range words {
		if !slices.Contains(w.allowed, w.value) {
			return &InputError{w.field, fmt.Sprintf("%q is not one of %s", w.value, strings.Join(w.allowed[1:], ", "))}
		}
	}
	return nil
}
