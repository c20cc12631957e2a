package traits_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/product/traits"
	"github.com/drawbar/drawbar/product/turncontext"
)

var good = turncontext.Traits{Voice: "concise", Formality: "professional", Proactivity: "medium", Risk: "cautious", Domain: "law", Vocabulary: []string{"brief"}}

// TestNew: every field has its values, an error names field and value, and an unknown voice is allowed.
func TestNew(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*turncontext.Traits){
		"voice":       func(t *turncontext.Traits) { t.Voice = " " },
		"formality":   func(t *turncontext.Traits) { t.Formality = "friendly" },
		"proactivity": func(t *turncontext.Traits) { t.Proactivity = "" },
		"riskPosture": func(t *turncontext.Traits) { t.Risk = "bold" },
		"vocabulary":  func(t *turncontext.Traits) { t.Vocabulary = []string{"a", ""} },
	} {
		bad := good
		change(&bad)
		_, _, err := traits.New(bad, nil)
		var e *traits.Error
		if !errors.As(err, &e) || e.Field != field || execution.CodeOf(err) != execution.CodeValidation {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, _, err := traits.New(good, map[string]traits.Hints{"sms": {MaxChars: -1}}); err == nil {
		t.Error("a negative length")
	}
	odd := good
	odd.Voice = "pirate"
	if _, warn, err := traits.New(odd, nil); err != nil || len(warn) != 1 {
		t.Errorf("%v %v", warn, err)
	}
	if _, warn, err := traits.New(good, nil); err != nil || len(warn) != 0 {
		t.Errorf("%v %v", warn, err)
	}
}

// TestSet: nobody can change a set, and surfaces without hints have the usual ones.
func TestSet(t *testing.T) {
	t.Parallel()
	hints := map[string]traits.Hints{"": {Markdown: true}, "sms": {MaxChars: 160}}
	in := good
	in.Vocabulary = []string{"brief"}
	s, _, err := traits.New(in, hints)
	if err != nil {
		t.Fatal(err)
	}
	in.Vocabulary[0], hints["sms"] = "changed", traits.Hints{}
	s.Traits().Vocabulary[0] = "changed"
	if got := s.Traits(); got.Vocabulary[0] != "brief" || s.Style("sms").MaxAnswerChars != 160 || !s.Style("web").PreferMarkdown || s.Style("sms").PreferMarkdown || !s.Hints("web").Markdown {
		t.Errorf("%+v", got)
	}
	formal, err := s.With(func(t *turncontext.Traits) { t.Formality = "academic" })
	if err != nil || formal.Traits().Formality != "academic" || s.Traits().Formality != "professional" || formal.Hints("sms").MaxChars != 160 {
		t.Errorf("%+v %v", formal, err)
	}
	if _, err := s.With(func(t *turncontext.Traits) { t.Risk = "" }); err == nil {
		t.Error("a change to nothing")
	}
}

func Example() {
	s, _, err := traits.New(turncontext.Traits{Voice: "concise", Formality: "casual", Proactivity: "low", Risk: "moderate"}, map[string]traits.Hints{"sms": {MaxChars: 160}})
	fmt.Println(s.Traits().Voice, s.Style("sms").MaxAnswerChars, err)
	// Output: concise 160 <nil>
}
