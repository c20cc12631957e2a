// Package traits holds the lasting character of an assistant: what stays the same over its turns and surfaces (BYOH specification, traits). What
// differs from turn to turn is the business of package turncontext.
package traits

import (
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/product/turncontext"
)

// The values that the fields of Traits take; Voice also takes other words.
var (
	Voices        = []string{"concise", "conversational", "formal", "technical"}
	Formalities   = []string{"casual", "professional", "academic"}
	Proactivities = []string{"low", "medium", "high"}
	Risks         = []string{"cautious", "moderate", "assertive"}
)

// Hints are how the assistant's texts are formatted on a surface.
type Hints struct {
	Markdown bool
	Emoji    bool
	MaxChars int // 0 is no limit
}

// Set is the traits of an assistant. It cannot be changed; With makes another one.
type Set struct {
	of    turncontext.Traits
	hints map[string]Hints
}

// Error is a trait with a value that it does not take. It is a VALIDATION_ERROR.
type Error struct{ Field, Value, Want string }

func (e *Error) Error() string {
	return fmt.Sprintf("traits.%s: %q is not one of: %s", e.Field, e.Value, e.Want)
}

// Unwrap gives it its code.
func (e *Error) Unwrap() error { return execution.Errorf(execution.CodeValidation, "%s", e.Error()) }

// New checks traits. hints are by surface; a surface without hints has those of "". A voice that is not among Voices is allowed and named in warn.
func New(t turncontext.Traits, hints map[string]Hints) (s Set, warn []string, err error) {
	if strings.TrimSpace(t.Voice) == "" {
		return s, nil, &Error{"voice", t.Voice, "a word such as " + strings.Join(Voices, ", ")}
	}
	for _, f := range []struct {
		name, value string
		of          []string
	}{{"formality", t.Formality, Formalities}, {"proactivity", t.Proactivity, Proactivities}, {"riskPosture", t.Risk, Risks}} {
		if !slices.Contains(f.of, f.value) {
			return s, nil, &Error{f.name, f.value, strings.Join(f.of, ", ")}
		}
	}
	for _, w := range t.Vocabulary {
		if strings.TrimSpace(w) == "" {
			return s, nil, &Error{"vocabulary", w, "a word"}
		}
	}
	for name, h := range hints {
		if h.MaxChars < 0 {
			return s, nil, &Error{"hints." + name + ".maxChars", fmt.Sprint(h.MaxChars), "0 or more"}
		}
	}
	if !slices.Contains(Voices, t.Voice) {
		warn = append(warn, fmt.Sprintf("the voice %q is known to nobody; these are: %s", t.Voice, strings.Join(Voices, ", ")))
	}
	s = Set{of: t, hints: map[string]Hints{}}
	s.of.Vocabulary = slices.Clone(t.Vocabulary)
	for name, h := range hints {
		s.hints[name] = h
	}
	return s, warn, nil
}

// Traits are what a turn's context is made with.
func (s Set) Traits() turncontext.Traits {
	t := s.of
	t.Vocabulary = slices.Clone(t.Vocabulary)
	return t
}

// Style is how an answer is to look on a surface.
func (s Set) Style(surface string) *execution.ResponseStyle {
	h, ok := s.hints[surface]
	if !ok {
		h = s.hints[""]
	}
	return &execution.ResponseStyle{PreferMarkdown: h.Markdown, MaxAnswerChars: h.MaxChars}
}

// Hints are those of a surface.
func (s Set) Hints(surface string) Hints {
	if h, ok := s.hints[surface]; ok {
		return h
	}
	return s.hints[""]
}

// With returns the set with what change makes of its traits.
func (s Set) With(change func(*turncontext.Traits)) (Set, error) {
	t := s.Traits()
	change(&t)
	next, _, err := New(t, s.hints)
	return next, err
}
