package sessionfile

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
)

// maxProblems bounds the faults of a file that are listed one by one.
const maxProblems = 20

// maxTitle is the most characters of a title.
const maxTitle = 100

// Sources of a title. The higher one wins; of equal ones the later, except for prompts, where the first wins.
const (
	TitleFromPrompt = iota + 1
	TitleFromAgent
	TitleFromUser
)

// Builder collects the content of a session's records.
type Builder struct {
	Host    adapter.Host
	File    history.File
	Summary history.Summary // a decoder sets Model, Cwd, ForkedFrom, Parent and Cost
	Main    *Conversation

	// Partial reports that only the file's head and tail are read.
	Partial bool

	subagents []*subagent
	byAgent   map[string]*subagent
	unknown   map[string]int
	title     int
	problems  []history.Problem
	omitted   int
	live      bool
	extra     []execution.Body
	turns     int
	ended     bool
}

type subagent struct {
	history.Subagent
	conversation *Conversation
}

// newBuilder starts a session from what its file entry tells.
func newBuilder(h adapter.Host, f history.File) *Builder {
	b := &Builder{Host: h, File: f, byAgent: map[string]*subagent{}, unknown: map[string]int{}}
	b.Main = newConversation(b, "")
	b.Summary = history.Summary{Agent: f.Agent, SessionID: f.ID, UnifiedID: f.Agent + ":" + f.ID, Tags: []string{}, Cwd: f.Cwd,
		Parent: f.Parent, Archived: f.Archived, Path: f.Path, Size: f.Size}
	return b
}

// Subagent returns the conversation of a sub-agent; set describes it when it is new.
func (b *Builder) Subagent(id string, set func(*history.Subagent)) *Conversation {
	s := b.byAgent[id]
	if s == nil {
		s = &subagent{Subagent: history.Subagent{ID: id}, conversation: newConversation(b, id)}
		s.conversation.live = b.live
		b.byAgent[id] = s
		b.subagents = append(b.subagents, s)
	}
	if set != nil {
		set(&s.Subagent)
		if s.ToolCallID != "" {
			s.conversation.parent = s.ToolCallID
		}
	}
	return s.conversation
}

// At records a time of activity, which extends the session's time span.
func (b *Builder) At(t time.Time) {
	if t.IsZero() {
		return
	}
	if b.Summary.CreatedAt.IsZero() || t.Before(b.Summary.CreatedAt) {
		b.Summary.CreatedAt = t
	}
	if t.After(b.Summary.UpdatedAt) {
		b.Summary.UpdatedAt = t
	}
}

// Title proposes a title.
func (b *Builder) Title(from int, text string) {
	if from < b.title || from == TitleFromPrompt && b.title == TitleFromPrompt {
		return
	}
	if text = shorten(text); text != "" {
		b.title, b.Summary.Title = from, text
	}
}

// shorten returns a text as one line of limited length.
func shorten(text string) string {
	if len(text) > 16*maxTitle {
		text = text[:16*maxTitle]
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if utf8.RuneCountInString(text) <= maxTitle {
		return text
	}
	return strings.TrimSpace(string([]rune(text)[:maxTitle-1])) + "…"
}

// AddCost adds the agent's own price of a model call, 0 for none.
func (b *Builder) AddCost(usd float64) {
	if usd <= 0 {
		return
	}
	if c := b.Summary.Cost; c != nil && c.TotalUSD != nil {
		usd += *c.TotalUSD
	}
	b.Summary.Cost = &execution.Cost{TotalUSD: &usd, Source: execution.CostFromAgent}
}

// Unknown counts a record of a type that the decoder does not know.
func (b *Builder) Unknown(kind string) {
	if kind == "" {
		kind = "(no type)"
	}
	if len(b.unknown) >= 100 && b.unknown[kind] == 0 {
		kind = "(others)" // the types come from the file and must not determine memory use
	}
	if len(kind) > 100 {
		kind = kind[:100]
	}
	b.unknown[kind]++
}

// Problem records a fault of a file; line 0 stands for the whole file.
func (b *Builder) Problem(path string, line int, message string) {
	if len(b.problems) == maxProblems {
		b.omitted++
		return
	}
	b.problems = append(b.problems, history.Problem{Path: path, Line: line, Message: message})
}

// TurnEnd records that the agent ended its turn.
func (b *Builder) TurnEnd(reason execution.TurnEndReason) {
	if b.live && b.turns > 0 && !b.ended {
		b.ended = true
		b.extra = append(b.extra, execution.TurnEnd{TurnIndex: b.turns - 1, Reason: reason})
	}
}

// Turns returns the number of prompts emitted as events.
func (b *Builder) Turns() int { return b.turns }

// Event adds an event that corresponds directly to a record.
func (b *Builder) Event(body execution.Body) {
	if b.live {
		b.extra = append(b.extra, body)
	}
}

// headDone reports whether the head of the file contained everything a summary needs.
func (b *Builder) headDone() bool {
	return b.title > 0 && b.Summary.Cwd != "" && !b.Summary.CreatedAt.IsZero()
}

// finish completes the summary.
func (b *Builder) finish() history.Summary {
	s := &b.Summary
	if s.CreatedAt.IsZero() {
		s.CreatedAt = b.File.ModTime
	}
	if s.UpdatedAt.IsZero() {
		s.UpdatedAt = b.File.ModTime
	}
	if !b.Partial {
		b.Main.tree.prune()
		turns, messages, usage := b.Main.totals()
		s.TurnCount, s.MessageCount = &turns, &messages
		if s.Usage == nil { // else the agent states the sum, not the parts
			s.Usage = &usage
		}
		if s.Cost != nil {
			cost := execution.CostOf(*s.Usage, s.Cost.TotalUSD, s.Cost.Source)
			s.Cost = &cost
		}
	}
	s.Problems = b.problems
	if b.omitted > 0 {
		s.Problems = append(s.Problems, history.Problem{Path: b.File.Path, Message: "and " + plural(b.omitted, "more problem")})
	}
	return *s
}

// session completes the session.
func (b *Builder) session() history.Session {
	s := history.Session{Summary: b.finish(), Messages: b.Main.messages()}
	for _, a := range b.subagents {
		a.conversation.tree.prune()
		a.Messages = a.conversation.messages()
		s.Subagents = append(s.Subagents, a.Subagent)
	}
	if len(b.unknown) > 0 {
		s.UnknownRecords = b.unknown
	}
	return s
}
