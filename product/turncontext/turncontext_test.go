package turncontext

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// plain is the smallest input.
func plain() Input {
	return Input{AssistantID: "a1", TurnID: "t1", Identity: Identity{SystemPrompt: "You help."}}
}

func assemble(t *testing.T, in Input) *Assembly {
	t.Helper()
	a, err := Assembler{}.Assemble(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func texts(list []Segment) (all []string) {
	for _, s := range list {
		all = append(all, s.Text)
	}
	return all
}

func TestInputErrors(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*Input){
		"assistantId":                 func(in *Input) { in.AssistantID = " " },
		"turnId":                      func(in *Input) { in.TurnID = "" },
		"identity":                    func(in *Input) { in.Identity.SystemPrompt = " \n" },
		"maxTokens":                   func(in *Input) { in.MaxTokens = -1 },
		"identity.traits.formality":   func(in *Input) { in.Identity.Traits.Formality = "friendly" },
		"identity.traits.proactivity": func(in *Input) { in.Identity.Traits.Proactivity = "verbose" },
		"identity.traits.risk":        func(in *Input) { in.Identity.Traits.Risk = "balanced" },
		"shaping.expression.humor":    func(in *Input) { in.Shaping.Expression.Humor = "high" },
		"session.momentum":            func(in *Input) { in.Session = &Session{Momentum: "fast"} },
		"session.state":               func(in *Input) { in.Session = &Session{State: "gone"} },
		"enrichment[0].audience":      func(in *Input) { in.Enrichment = []Enrichment{{ID: "e", Content: "x", Audience: "all"}} },
		"enrichment[0].importance":    func(in *Input) { in.Enrichment = []Enrichment{{ID: "e", Content: "x", Importance: "critical"}} },
		"guardrails[0].rule":          func(in *Input) { in.Guardrails = []Guardrail{{ID: "g"}} },
		"guardrails[0].priority":      func(in *Input) { in.Guardrails = []Guardrail{{ID: "g", Rule: "x", Priority: "top"}} },
		"shaping.overlays[0].priority": func(in *Input) {
			in.Shaping.Overlays = []Segment{{ID: "o", Text: "x", Priority: "top"}}
		},
	} {
		in := plain()
		change(&in)
		_, err := Assembler{}.Assemble(t.Context(), in)
		var wrong *InputError
		if !errors.As(err, &wrong) || wrong.Field != field || execution.CodeOf(err) != execution.CodeValidation {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestInstructions: system and developer prompts by priority, in the order of the input within one; guardrails follow everything else.
func TestInstructions(t *testing.T) {
	t.Parallel()
	in := plain()
	in.Identity.DeveloperPrompt = "Be exact."
	in.Shaping = Shaping{Mode: "review", Overlays: []Segment{{ID: "1", Text: "low", Priority: Low}, {ID: "2", Text: "first"}, {ID: "3", Text: "second"}, {ID: "4", Text: "top", Priority: High}, {ID: "5", Text: " "}}}
	in.Guardrails = []Guardrail{{ID: "g1", Rule: "rule"}, {ID: "g2", Rule: "high rule", Priority: High}}
	a := assemble(t, in)
	got := texts(a.Developer)
	speak := slices.IndexFunc(got, func(s string) bool { return strings.HasPrefix(s, "How to speak") })
	want := []string{"Be exact.", "top", "first", "second", "Mode: review", "low", got[speak], "high rule", "rule"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	req := a.Request(execution.Message{ID: "m", Text: "hi"}, With{})
	if req.Instructions.SystemPrompt != "You help." || req.Instructions.DeveloperPrompt != strings.Join(want, "\n\n") {
		t.Errorf("%+v", req.Instructions)
	}
	in = plain()
	in.Identity = Identity{DeveloperPrompt: "Only this."}
	if req := assemble(t, in).Request(execution.Message{}, With{}); req.Instructions.SystemPrompt != "" || !strings.HasPrefix(req.Instructions.DeveloperPrompt, "Only this.") {
		t.Errorf("%+v", req.Instructions)
	}
}

// TestMemory: the ten most relevant; what is left out is known; the retriever is asked only if the input says nothing.
func TestMemory(t *testing.T) {
	t.Parallel()
	in := plain()
	var list []Memory
	for i := range 12 {
		list = append(list, Memory{ID: fmt.Sprint(i), Text: "m", Relevance: float64(i % 6)})
	}
	list = append(list, Memory{ID: "empty", Text: " ", Relevance: 9}, Memory{ID: "old", Text: "x", Relevance: 8, Freshness: Stale, Scope: "user", Source: "store"})
	in.Memory = &list
	a := assemble(t, in)
	if got := a.Used(FromMemory); !slices.Equal(got, []string{"old", "5", "11", "4", "10", "3", "9", "2", "8", "1"}) {
		t.Errorf("%v", got)
	}
	if want := []Dropped{{"empty", FromMemory, DroppedEmpty}, {"7", FromMemory, DroppedLimit}, {"0", FromMemory, DroppedLimit}, {"6", FromMemory, DroppedLimit}}; !slices.Equal(a.Dropped, want) {
		t.Errorf("%v", a.Dropped)
	}
	if b := a.Blocks[0]; b.ID != "memory:old" || b.Label != "Memory user (stale)" || b.Source != "store" {
		t.Errorf("%+v", b)
	}
	if list[0].ID != "0" {
		t.Error("the input was sorted")
	}
	asked := 0
	r := Assembler{Retrieve: func(_ context.Context, q Query) ([]Memory, error) {
		asked++
		if q.AssistantID != "a1" {
			return nil, errors.New("whose?")
		}
		return []Memory{{ID: "r", Text: "r"}}, nil
	}}
	for _, c := range []struct {
		memory *[]Memory
		used   int
	}{{nil, 1}, {&[]Memory{}, 0}} {
		in := plain()
		in.Memory = c.memory
		a, err := r.Assemble(t.Context(), in)
		if err != nil || len(a.Used(FromMemory)) != c.used {
			t.Errorf("%v %v", a, err)
		}
	}
	in.AssistantID, in.Memory = "b", nil
	if _, err := r.Assemble(t.Context(), in); err == nil || asked != 2 {
		t.Errorf("%v, asked %d times", err, asked)
	}
}

// TestEnrichment: the eight most important that are for the assistant.
func TestEnrichment(t *testing.T) {
	t.Parallel()
	in := plain()
	for i := range 9 {
		in.Enrichment = append(in.Enrichment, Enrichment{ID: fmt.Sprint(i), Content: "c", Importance: []Priority{Low, "", High}[i%3], Kind: "review"})
	}
	in.Enrichment = append(in.Enrichment, Enrichment{ID: "p", Content: "c", Audience: ForProduct, Importance: High}, Enrichment{ID: "m", Content: "c", Audience: ForBoth, Importance: High, Title: "Both"})
	a := assemble(t, in)
	if got := a.Used(FromEnrichment); !slices.Equal(got, []string{"2", "5", "8", "m", "1", "4", "7", "0"}) {
		t.Errorf("%v", got)
	}
	if want := []Dropped{{"p", FromEnrichment, DroppedAudience}, {"3", FromEnrichment, DroppedLimit}, {"6", FromEnrichment, DroppedLimit}}; !slices.Equal(a.Dropped, want) {
		t.Errorf("%v", a.Dropped)
	}
	if a.Blocks[3].Label != "Both" || a.Blocks[0].Label != "review" {
		t.Errorf("%+v", a.Blocks)
	}
}

// TestWindow: the least important blocks are left out until the rest fits; instructions and guardrails never are.
func TestWindow(t *testing.T) {
	t.Parallel()
	in := plain()
	in.Session = &Session{State: "active", Summary: strings.Repeat("s", 100)}
	in.Memory = &[]Memory{{ID: "m1", Text: strings.Repeat("m", 400), Relevance: 2}, {ID: "m2", Text: strings.Repeat("m", 400), Relevance: 1}}
	in.Enrichment = []Enrichment{{ID: "low", Content: strings.Repeat("e", 400), Importance: Low}, {ID: "high", Content: strings.Repeat("e", 400), Importance: High}}
	in.Guardrails = []Guardrail{{ID: "g", Rule: strings.Repeat("g", 4000)}}
	for limit, want := range map[int]string{0: "session m1 m2 high low", 1000: "session m1 m2 high low", 400: "session m1 m2 high", 300: "session m1 high", 200: "session high", 60: "session", 1: ""} {
		in.MaxTokens = limit
		a := assemble(t, in)
		if got := strings.Join(slices.Concat(a.Used(FromSession), a.Used(FromMemory), a.Used(FromEnrichment)), " "); got != want {
			t.Errorf("%d tokens: %s, want %s", limit, got, want)
		}
		for _, d := range a.Dropped {
			if d.Reason != DroppedWindow || strings.Contains(d.ID, ":") {
				t.Errorf("%+v", d)
			}
		}
		if req := a.Request(execution.Message{}, With{}); !strings.HasSuffix(req.Instructions.DeveloperPrompt, "gggg") || req.Context == nil {
			t.Error("a guardrail is left out")
		}
	}
}

// TestExpression: traits, then the turn, then the session and guardrails; whatever it is, the model is told.
func TestExpression(t *testing.T) {
	t.Parallel()
	usual := Expression{"medium", "medium", "medium", "light", "medium", "medium"}
	for name, c := range map[string]struct {
		change func(*Input)
		want   func(*Expression)
	}{
		"nothing":          {func(*Input) {}, func(*Expression) {}},
		"concise":          {func(in *Input) { in.Identity.Traits.Voice = "concise" }, func(e *Expression) { e.Density, e.Directness = "low", "high" }},
		"conversational":   {func(in *Input) { in.Identity.Traits.Voice = "conversational" }, func(e *Expression) { e.Warmth, e.Tone = "high", "low" }},
		"formal":           {func(in *Input) { in.Identity.Traits.Voice = "formal" }, func(e *Expression) { e.Tone = "high" }},
		"technical":        {func(in *Input) { in.Identity.Traits.Voice = "technical" }, func(e *Expression) { e.Density, e.Warmth = "high", "low" }},
		"an unknown voice": {func(in *Input) { in.Identity.Traits.Voice = "pirate" }, func(*Expression) {}},
		"casual":           {func(in *Input) { in.Identity.Traits.Formality = "casual" }, func(e *Expression) { e.Tone, e.Humor = "low", "normal" }},
		"academic":         {func(in *Input) { in.Identity.Traits.Formality = "academic" }, func(e *Expression) { e.Tone, e.Humor, e.Density = "high", "off", "high" }},
		"professional":     {func(in *Input) { in.Identity.Traits.Formality = "professional" }, func(*Expression) {}},
		"proactive":        {func(in *Input) { in.Identity.Traits.Proactivity = "high" }, func(e *Expression) { e.Initiative = "high" }},
		"cautious":         {func(in *Input) { in.Identity.Traits.Risk = "cautious" }, func(e *Expression) { e.Directness = "low" }},
		"assertive":        {func(in *Input) { in.Identity.Traits.Risk = "assertive" }, func(e *Expression) { e.Directness = "high" }},
		"the turn wins":    {func(in *Input) { in.Identity.Traits.Voice = "formal"; in.Shaping.Expression.Tone = "low" }, func(e *Expression) { e.Tone = "low" }},
		"a slow session":   {func(in *Input) { in.Identity.Traits.Voice = "concise"; in.Session = &Session{Momentum: "low"} }, func(e *Expression) { e.Directness = "high" }},
		"a sensitive topic": {func(in *Input) {
			in.Shaping.Expression.Humor = "normal"
			in.Guardrails = []Guardrail{{Rule: "x", Kind: SensitivityConstraint}}
		}, func(*Expression) {}},
		"no joke": {func(in *Input) { in.Guardrails = []Guardrail{{Rule: "x", Kind: ToneConstraint, Priority: High}} }, func(e *Expression) { e.Humor = "off" }},
		"another rule": {func(in *Input) {
			in.Shaping.Expression.Humor = "normal"
			in.Guardrails = []Guardrail{{Rule: "x", Priority: High}}
		}, func(e *Expression) { e.Humor = "normal" }},
	} {
		in, want := plain(), usual
		c.change(&in)
		c.want(&want)
		a := assemble(t, in)
		if a.Expression != want {
			t.Errorf("%s: %+v, want %+v", name, a.Expression, want)
		}
		if d := a.Request(execution.Message{}, With{}).Instructions.DeveloperPrompt; !strings.Contains(d, "humor "+want.Humor) {
			t.Errorf("%s: the model is not told: %s", name, d)
		}
	}
}

// TestRequest: everything is passed on, and the request is valid; the same input gives the same request.
func TestRequest(t *testing.T) {
	t.Parallel()
	in := plain()
	in.SessionID, in.UserID, in.ThreadID = "s", "u", "th"
	in.Session = &Session{State: "resumed", Summary: "sum", Unresolved: []string{"why?", "who?"}, Momentum: "high"}
	in.Memory = &[]Memory{{ID: "m", Text: "mem", Source: "store"}}
	in.Metadata = map[string]any{"a": 1, "b": 1}
	in.Identity.Traits = Traits{Domain: "law", Vocabulary: []string{"client", "matter"}}
	with := With{Tools: []execution.Tool{{Name: "t"}}, Requirements: &execution.Requirements{}, Continuation: &execution.Continuation{Kind: "x"},
		ResponseStyle: &execution.ResponseStyle{PreferMarkdown: true}, Metadata: map[string]any{"b": 2}, Run: execution.RunOptions{Agent: "x"}}
	req := assemble(t, in).Request(execution.Message{ID: "m1", Text: "hi", ReceivedAt: time.Unix(1, 0)}, with)
	if !reflect.DeepEqual(req, assemble(t, in).Request(execution.Message{ID: "m1", Text: "hi", ReceivedAt: time.Unix(1, 0)}, with)) {
		t.Error("two requests differ")
	}
	if req.AssistantID != "a1" || req.TurnID != "t1" || req.SessionID != "s" || req.UserID != "u" || req.ThreadID != "th" || req.Run.Agent != "x" || len(req.Tools) != 1 ||
		req.Requirements == nil || req.Continuation == nil || !req.Instructions.ResponseStyle.PreferMarkdown || req.Metadata["a"] != 1 || req.Metadata["b"] != 2 || in.Metadata["b"] != 1 {
		t.Errorf("%+v", req)
	}
	b := req.Context.Blocks
	if len(b) != 2 || b[0].Category != execution.ContextOther || b[0].Metadata["turnContextCategory"] != "session" || b[0].Text != "State: resumed\nSummary: sum\nUnresolved: why?; who?\nMomentum: high" ||
		b[1].Category != execution.ContextMemory || b[1].Metadata["source"] != "store" || b[1].Metadata["importance"] != "medium" {
		t.Errorf("%+v", b)
	}
	if !strings.Contains(req.Instructions.DeveloperPrompt, "Domain: law. Preferred words: client, matter.") {
		t.Errorf("%s", req.Instructions.DeveloperPrompt)
	}
	in = plain()
	if req := assemble(t, in).Request(execution.Message{ID: "m", Text: "hi"}, With{}); req.Context == nil || req.Metadata != nil || req.Validate() != nil {
		t.Errorf("%+v %v", req, req.Validate())
	}
}

func TestFreshness(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]Freshness{0: Current, 24 * time.Hour: Current, 25 * time.Hour: Recent, 7 * 24 * time.Hour: Recent, 8 * 24 * time.Hour: Stale} {
		if got := FreshnessOf(age); got != want {
			t.Errorf("%s: %s", age, got)
		}
	}
}
