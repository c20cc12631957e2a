package turncontext

import (
	"context"
	"time"
)

// Input is what a product knows about a turn.
type Input struct {
	AssistantID string // required
	TurnID      string // required
	SessionID   string
	UserID      string
	ThreadID    string

	Identity   Identity
	Shaping    Shaping
	Session    *Session
	Memory     *[]Memory // nil asks Assembler.Retrieve; an empty list does not
	Enrichment []Enrichment
	Guardrails []Guardrail
	Metadata   map[string]any

	// MaxTokens limits the context blocks to a part of the model's window, at four characters a token; 0 is no limit. Blocks of least
	// importance are left out first.
	MaxTokens int
}

// Identity is who the assistant is. At least one prompt is required.
type Identity struct {
	Name            string
	Traits          Traits
	SystemPrompt    string
	DeveloperPrompt string
}

// Traits are the lasting character of an assistant. Empty ones say nothing.
type Traits struct {
	Voice       string // concise, conversational, formal, technical, or another word
	Formality   string // casual, professional or academic
	Proactivity string // low, medium or high
	Risk        string // cautious, moderate or assertive
	Domain      string
	Vocabulary  []string
}

// Shaping is how this turn differs from others.
type Shaping struct {
	Mode       string     // such as review; becomes a line of the developer prompt
	Overlays   []Segment  // instructions for this turn
	Expression Expression // its values replace those of the traits
}

// Priority orders segments and blocks.
type Priority string

// The priorities; empty is Medium.
const (
	High   Priority = "high"
	Medium Priority = "medium"
	Low    Priority = "low"
)

// rank is the order: high first.
func (p Priority) rank() int {
	switch p {
	case High:
		return 0
	case Low:
		return 2
	}
	return 1
}

// Session is the conversation that the turn belongs to.
type Session struct {
	State      string // cold, active or resumed
	Summary    string
	Unresolved []string // recent questions
	Momentum   string   // low, medium or high
}

// Freshness is how old something is: current (a day at most), recent (a week), stale.
type Freshness string

// The freshnesses.
const (
	Current Freshness = "current"
	Recent  Freshness = "recent"
	Stale   Freshness = "stale"
)

// FreshnessOf is the freshness of something that was updated so long ago.
func FreshnessOf(age time.Duration) Freshness {
	switch day := 24 * time.Hour; {
	case age <= day:
		return Current
	case age <= 7*day:
		return Recent
	}
	return Stale
}

// Memory is a remembered text.
type Memory struct {
	ID, Text  string
	Scope     string // session, user, workspace, org or object
	Source    string
	Relevance float64
	Freshness Freshness
}

// Audience says for whom an enrichment is.
type Audience string

// The audiences; empty is ForAssistant.
const (
	ForAssistant Audience = "assistant"
	ForProduct   Audience = "product" // never part of a request
	ForBoth      Audience = "mixed"
)

// Enrichment is something that others contribute: memos of specialists, handoffs, the state of a workspace.
type Enrichment struct {
	ID, Kind, Source string
	Title, Content   string
	Importance       Priority
	Audience         Audience
}

// Kinds of guardrails that limit the expression.
const (
	ToneConstraint        = "tone_constraint"
	SensitivityConstraint = "sensitivity_constraint"
)

// Guardrail is a rule that the assistant has to follow. It is never left out.
type Guardrail struct {
	ID, Source, Rule string
	Kind             string
	Priority         Priority
}

// Query is what is asked of a memory.
type Query struct{ AssistantID, SessionID, UserID, ThreadID string }

// Assembler assembles requests. The zero value has no memory; it is safe for concurrent use.
type Assembler struct {
	// Retrieve is asked for memory if the input has none. Its error ends the assembly.
	Retrieve func(context.Context, Query) ([]Memory, error)
}
