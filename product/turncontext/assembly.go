package turncontext

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// Limits of a request.
const (
	mostMemory     = 10
	mostEnrichment = 8
	charsPerToken  = 4
)

// Assembly is what a request is made of.
type Assembly struct {
	input      Input
	Expression Expression
	System     []Segment // of the system prompt, in order
	Developer  []Segment // of the developer prompt, in order; guardrails are last
	Blocks     []Block
	Dropped    []Dropped // what was left out, in the order of the input
}

// Segment is a part of an instruction.
type Segment struct {
	ID, Source, Text string
	Priority         Priority
}

// Block is a part of the context.
type Block struct {
	ID, Label, Content string
	Source             string
	Importance         Priority
	Category           Category
}

// Category is where a block comes from.
type Category string

// The categories.
const (
	FromSession    Category = "session"
	FromMemory     Category = "memory"
	FromEnrichment Category = "enrichment"
)

// Dropped is something that is not part of the request.
type Dropped struct {
	ID       string
	Category Category
	Reason   string // one of the reasons
}

// The reasons.
const (
	DroppedLimit    = "limit"    // others of its kind are more relevant or important
	DroppedAudience = "audience" // it is for the product
	DroppedWindow   = "window"   // Input.MaxTokens
	DroppedEmpty    = "empty"    // it has no text
)

// InputError says which field of an input is wrong. It is a VALIDATION_ERROR.
type InputError struct{ Field, Reason string }

func (e *InputError) Error() string { return e.Field + ": " + e.Reason }

// Unwrap gives it its code.
func (e *InputError) Unwrap() error {
	return execution.Errorf(execution.CodeValidation, "%s", e.Field+": "+e.Reason)
}

// Assemble assembles the parts of a request.
func (a Assembler) Assemble(ctx context.Context, in Input) (*Assembly, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	memory := in.Memory
	if memory == nil && a.Retrieve != nil {
		list, err := a.Retrieve(ctx, Query{in.AssistantID, in.SessionID, in.UserID, in.ThreadID})
		if err != nil {
			return nil, fmt.Errorf("retrieve memory: %w", err)
		}
		memory = &list
	}
	out := &Assembly{input: in}
	out.Expression = express(in)
	out.instruct()
	out.session()
	if memory != nil {
		out.remember(*memory)
	}
	out.enrich()
	out.fit()
	return out, nil
}

// instruct collects the segments, each group by priority.
func (a *Assembly) instruct() {
	in := a.input
	add := func(to *[]Segment, s Segment) {
		if s.Text = strings.TrimSpace(s.Text); s.Text != "" {
			s.Priority = cmp.Or(s.Priority, Medium)
			*to = append(*to, s)
		}
	}
	sorted := func(list []Segment) {
		slices.SortStableFunc(list, func(x, y Segment) int { return x.Priority.rank() - y.Priority.rank() })
	}
	add(&a.System, Segment{ID: "identity", Source: "identity", Text: in.Identity.SystemPrompt, Priority: High})
	add(&a.Developer, Segment{ID: "identity", Source: "identity", Text: in.Identity.DeveloperPrompt, Priority: High})
	for _, o := range in.Shaping.Overlays {
		add(&a.Developer, o)
	}
	if mode := strings.TrimSpace(in.Shaping.Mode); mode != "" {
		add(&a.Developer, Segment{ID: "mode", Source: "shaping", Text: "Mode: " + mode})
	}
	add(&a.Developer, Segment{ID: "expression", Source: "traits", Text: a.Expression.sentence(in.Identity.Traits), Priority: Low})
	sorted(a.Developer)
	var rules []Segment
	for _, g := range in.Guardrails {
		add(&rules, Segment{g.ID, g.Source, g.Rule, g.Priority})
	}
	sorted(rules)
	a.Developer = append(a.Developer, rules...)
}

func (a *Assembly) session() {
	s := a.input.Session
	if s == nil {
		return
	}
	var lines []string
	for _, l := range [][2]string{{"State", s.State}, {"Summary", s.Summary}, {"Unresolved", strings.Join(s.Unresolved, "; ")}, {"Momentum", s.Momentum}} {
		if l[1] != "" {
			lines = append(lines, l[0]+": "+l[1])
		}
	}
	if len(lines) > 0 {
		a.Blocks = append(a.Blocks, Block{ID: "session", Label: "Session", Content: strings.Join(lines, "\n"), Source: "session", Importance: High, Category: FromSession})
	}
}

func (a *Assembly) drop(id string, c Category, reason string) {
	a.Dropped = append(a.Dropped, Dropped{id, c, reason})
}

// remember adds the most relevant memory.
func (a *Assembly) remember(all []Memory) {
	list := slices.Clone(all)
	slices.SortStableFunc(list, func(x, y Memory) int { return cmp.Compare(y.Relevance, x.Relevance) })
	n := 0
	for _, m := range list {
		switch {
		case strings.TrimSpace(m.Text) == "":
			a.drop(m.ID, FromMemory, DroppedEmpty)
		case n == mostMemory:
			a.drop(m.ID, FromMemory, DroppedLimit)
		default:
			n++
			label := strings.TrimSpace("Memory " + m.Scope)
			if m.Freshness == Stale {
				label += " (stale)"
			}
			a.Blocks = append(a.Blocks, Block{ID: "memory:" + m.ID, Label: label, Content: m.Text, Source: m.Source, Importance: Medium, Category: FromMemory})
		}
	}
}

// enrich adds the most important enrichment.
func (a *Assembly) enrich() {
	list := slices.Clone(a.input.Enrichment)
	slices.SortStableFunc(list, func(x, y Enrichment) int { return x.Importance.rank() - y.Importance.rank() })
	n := 0
	for _, e := range list {
		switch {
		case e.Audience == ForProduct:
			a.drop(e.ID, FromEnrichment, DroppedAudience)
		case strings.TrimSpace(e.Content) == "":
			a.drop(e.ID, FromEnrichment, DroppedEmpty)
		case n == mostEnrichment:
			a.drop(e.ID, FromEnrichment, DroppedLimit)
		default:
			n++
			a.Blocks = append(a.Blocks, Block{ID: "enrichment:" + e.ID, Label: cmp.Or(e.Title, e.Kind, "Enrichment"), Content: e.Content, Source: e.Source,
				Importance: cmp.Or(e.Importance, Medium), Category: FromEnrichment})
		}
	}
}

// fit leaves out blocks until the rest fits: the least important, and of these the last.
func (a *Assembly) fit() {
	if a.input.MaxTokens == 0 {
		return
	}
	left := a.input.MaxTokens * charsPerToken
	for _, b := range a.Blocks {
		left -= len(b.Label) + len(b.Content)
	}
	for left < 0 && len(a.Blocks) > 0 {
		worst := 0
		for i, b := range a.Blocks {
			if b.Importance.rank() >= a.Blocks[worst].Importance.rank() {
				worst = i
			}
		}
		b := a.Blocks[worst]
		left += len(b.Label) + len(b.Content)
		_, id, named := strings.Cut(b.ID, ":")
		if !named {
			id = b.ID
		}
		a.drop(id, b.Category, DroppedWindow)
		a.Blocks = slices.Delete(a.Blocks, worst, worst+1)
	}
}

// Used lists the ids of what is part of the request, of one category.
func (a *Assembly) Used(c Category) (ids []string) {
	for _, b := range a.Blocks {
		if b.Category == c {
			ids = append(ids, strings.TrimPrefix(b.ID, string(c)+":"))
		}
	}
	return ids
}

// With is the rest of a request.
type With struct {
	Tools         []execution.Tool
	Requirements  *execution.Requirements
	Continuation  *execution.Continuation
	ResponseStyle *execution.ResponseStyle
	Metadata      map[string]any // wins over that of the input
	Run           execution.RunOptions
}

// Request is the request of the turn.
func (a *Assembly) Request(m execution.Message, with With) execution.Request {
	text := func(list []Segment) string {
		texts := make([]string, len(list))
		for i, s := range list {
			texts[i] = s.Text
		}
		return strings.Join(texts, "\n\n")
	}
	blocks := make([]execution.ContextBlock, len(a.Blocks))
	for i, b := range a.Blocks {
		blocks[i] = execution.ContextBlock{ID: b.ID, Label: b.Label, Text: b.Content, Category: execution.ContextCategory(b.Category), Metadata: map[string]any{"importance": string(b.Importance)}}
		if b.Source != "" {
			blocks[i].Metadata["source"] = b.Source
		}
		if b.Category == FromSession {
			blocks[i].Category = execution.ContextOther
			blocks[i].Metadata["turnContextCategory"] = string(FromSession)
		}
	}
	in := a.input
	req := execution.Request{SchemaVersion: execution.SchemaVersion, AssistantID: in.AssistantID, TurnID: in.TurnID, SessionID: in.SessionID, UserID: in.UserID, ThreadID: in.ThreadID,
		Message: m, Instructions: execution.Instructions{SystemPrompt: text(a.System), DeveloperPrompt: text(a.Developer), ResponseStyle: with.ResponseStyle},
		Context: &execution.Context{Blocks: blocks}, Continuation: with.Continuation, Tools: with.Tools, Requirements: with.Requirements, Run: with.Run}
	if len(in.Metadata)+len(with.Metadata) > 0 {
		req.Metadata = maps.Clone(in.Metadata)
		if req.Metadata == nil {
			req.Metadata = map[string]any{}
		}
		maps.Copy(req.Metadata, with.Metadata)
	}
	return req
}
