// Package memory keeps what an assistant is to remember, for a conversation, a user, a workspace, an organisation or a thing, and finds it again (BYOH
// specification, memory). Its Candidates are what package turncontext takes.
package memory

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/product/turncontext"
)

// Kind is for whom something is remembered.
type Kind string

// The kinds.
const (
	Session   Kind = "session"
	User      Kind = "user"
	Workspace Kind = "workspace"
	Org       Kind = "org"
	Object    Kind = "object" // a thing, such as a ticket; its id is TYPE/ID
)

// Scope is one of them.
type Scope struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`
}

// String is the scope as text.
func (s Scope) String() string { return string(s.Kind) + ":" + s.ID }

func (s Scope) check() error {
	if s.ID == "" || !slices.Contains([]Kind{Session, User, Workspace, Org, Object}, s.Kind) {
		return fmt.Errorf("%w: the scope %s", ErrInvalid, s)
	}
	return nil
}

// wider are the kinds that an entry of a kind may be promoted to.
var wider = map[Kind][]Kind{Session: {User, Workspace, Org, Object}, User: {Workspace, Org}, Workspace: {Org}, Object: {User, Workspace, Org}}

// Entry is something remembered.
type Entry struct {
	ID            string         `json:"id"`
	Scope         Scope          `json:"scope"`
	Content       string         `json:"content"`
	Tags          []string       `json:"tags,omitempty"`
	CreatedAt     time.Time      `json:"createdAt"`
	UpdatedAt     time.Time      `json:"updatedAt"`
	ExpiresAt     time.Time      `json:"expiresAt,omitzero"`
	PromotedFrom  string         `json:"promotedFromId,omitempty"`
	CompactedFrom []string       `json:"compactedFromIds,omitempty"`
	Metadata      map[string]any `json:"metadata,omitempty"`
	Relevance     float64        `json:"-"` // to the words of the query that found it, from 0 to 1
}

// Errors, for errors.Is.
var (
	ErrNotFound = errors.New("unknown memory")
	ErrInvalid  = errors.New("the memory is not valid")
	ErrScope    = errors.New("the memory does not belong there")
)

// Query selects entries.
type Query struct {
	Scopes []Scope  // at least one
	Words  string   // of the content, any of them; the more and the rarer, the more relevant. Empty is the newest first
	Tags   []string // all of them
	Since  time.Time
	Oldest bool      // first, without words
	Limit  int       // 0 is 20
	Now    time.Time // what has expired then is hidden
}

// UsualLimit is the number of entries of a query without a limit.
const UsualLimit = 20

// Store keeps entries. Implementations are safe for concurrent use. Limits apply after every condition: what fits is found.
type Store interface {
	// Put adds or replaces entries and removes others, as one step.
	Put(ctx context.Context, entries []Entry, remove ...string) error
	// Get returns an entry, also an expired one; ErrNotFound if there is none.
	Get(ctx context.Context, id string) (Entry, error)
	// Find returns what fits a query.
	Find(context.Context, Query) ([]Entry, error)
	// Clear removes the entries of a scope and returns how many.
	Clear(context.Context, Scope) (int, error)
}

// Memory is the rules over a store. It is safe for concurrent use.
type Memory struct {
	Store Store            // required
	Now   func() time.Time // nil is time.Now
}

func (m Memory) now() time.Time {
	if m.Now == nil {
		return time.Now()
	}
	return m.Now()
}

// Write remembers something. Id and times are set here.
func (m Memory) Write(ctx context.Context, e Entry) (Entry, error) {
	e, err := m.draft(e)
	if err != nil {
		return e, err
	}
	return e, m.Store.Put(ctx, []Entry{e})
}

func (m Memory) draft(e Entry) (Entry, error) {
	if strings.TrimSpace(e.Content) == "" {
		return e, fmt.Errorf("%w: it has no content", ErrInvalid)
	}
	e.ID, e.CreatedAt, e.UpdatedAt = "mem_"+rand.Text(), m.now(), m.now()
	e.Tags, e.Metadata = unique(e.Tags), maps.Clone(e.Metadata)
	return e, e.Scope.check()
}

func unique(tags []string) []string {
	var out []string
	for _, t := range tags {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// Get returns an entry that has not expired.
func (m Memory) Get(ctx context.Context, id string) (Entry, error) {
	e, err := m.Store.Get(ctx, id)
	if err == nil && !e.ExpiresAt.IsZero() && e.ExpiresAt.Before(m.now()) {
		err = fmt.Errorf("%s: %w: it has expired", id, ErrNotFound)
	}
	return e, err
}

// Change replaces an entry by what change makes of it. Id, scope and origin stay.
func (m Memory) Change(ctx context.Context, id string, change func(*Entry)) (Entry, error) {
	e, err := m.Get(ctx, id)
	if err != nil {
		return e, err
	}
	next := e
	next.Tags, next.Metadata = slices.Clone(e.Tags), maps.Clone(e.Metadata)
	change(&next)
	if strings.TrimSpace(next.Content) == "" {
		return e, fmt.Errorf("%w: it has no content", ErrInvalid)
	}
	next.ID, next.Scope, next.CreatedAt, next.PromotedFrom, next.CompactedFrom = e.ID, e.Scope, e.CreatedAt, e.PromotedFrom, e.CompactedFrom
	next.Tags, next.UpdatedAt = unique(next.Tags), m.now()
	return next, m.Store.Put(ctx, []Entry{next})
}

// Delete forgets entries; those that are not there are forgotten already.
func (m Memory) Delete(ctx context.Context, ids ...string) error {
	return m.Store.Put(ctx, nil, ids...)
}

// Find returns what fits and has not expired.
func (m Memory) Find(ctx context.Context, q Query) ([]Entry, error) {
	if len(q.Scopes) == 0 {
		return nil, fmt.Errorf("%w: a query needs a scope", ErrInvalid)
	}
	for _, s := range q.Scopes {
		if err := s.check(); err != nil {
			return nil, err
		}
	}
	if q.Limit <= 0 {
		q.Limit = UsualLimit
	}
	if q.Now.IsZero() {
		q.Now = m.now()
	}
	return m.Store.Find(ctx, q)
}

// Promote copies an entry to a wider scope, or moves it there. The copy says where it comes from.
func (m Memory) Promote(ctx context.Context, id string, to Scope, move bool) (Entry, error) {
	from, err := m.Get(ctx, id)
	if err != nil {
		return from, err
	}
	if err := to.check(); err != nil {
		return from, err
	}
	if !slices.Contains(wider[from.Scope.Kind], to.Kind) {
		return from, fmt.Errorf("%w: from %s to %s", ErrScope, from.Scope.Kind, to.Kind)
	}
	e := from
	e.Scope, e.PromotedFrom = to, from.ID
	if from.Scope.Kind == Session {
		e.Metadata = maps.Clone(e.Metadata)
		if e.Metadata == nil {
			e.Metadata = map[string]any{}
		}
		if e.Metadata["createdInSessionId"] == nil {
			e.Metadata["createdInSessionId"] = from.Scope.ID
		}
	}
	if e, err = m.draft(e); err != nil {
		return e, err
	}
	if move {
		return e, m.Store.Put(ctx, []Entry{e}, from.ID)
	}
	return e, m.Store.Put(ctx, []Entry{e})
}

// Compact makes one entry of several of the same scope, and forgets them if remove is set. It keeps their tags, the first values of their metadata, and
// the earliest time at which one of them expires.
func (m Memory) Compact(ctx context.Context, ids []string, remove bool, write func([]Entry) (string, error)) (Entry, error) {
	if len(ids) == 0 {
		return Entry{}, fmt.Errorf("%w: nothing is compacted", ErrInvalid)
	}
	var sources []Entry
	out := Entry{Metadata: map[string]any{}}
	for _, id := range ids {
		e, err := m.Get(ctx, id)
		if err != nil {
			return Entry{}, err
		}
		if len(sources) > 0 && e.Scope != sources[0].Scope {
			return Entry{}, fmt.Errorf("%w: %s is of %s, %s of %s", ErrScope, e.ID, e.Scope, sources[0].ID, sources[0].Scope)
		}
		for k, v := range e.Metadata {
			if _, had := out.Metadata[k]; !had {
				out.Metadata[k] = v
			}
		}
		if !e.ExpiresAt.IsZero() && (out.ExpiresAt.IsZero() || e.ExpiresAt.Before(out.ExpiresAt)) {
			out.ExpiresAt = e.ExpiresAt
		}
		out.Tags, out.CompactedFrom, sources = append(out.Tags, e.Tags...), append(out.CompactedFrom, e.ID), append(sources, e)
	}
	var err error
	if out.Content, err = write(slices.Clone(sources)); err != nil {
		return Entry{}, fmt.Errorf("compact %d memories: %w", len(ids), err)
	}
	out.Scope = sources[0].Scope
	if out, err = m.draft(out); err != nil {
		return Entry{}, err
	}
	if !remove {
		ids = nil
	}
	return out, m.Store.Put(ctx, []Entry{out}, ids...)
}

// Candidates finds what a turn may need, for turncontext.Assembler.Retrieve: of the session, the user, and the workspace if it is known.
func (m Memory) Candidates(workspace, words string) func(context.Context, turncontext.Query) ([]turncontext.Memory, error) {
	return func(ctx context.Context, q turncontext.Query) (list []turncontext.Memory, err error) {
		var scopes []Scope
		for _, s := range []Scope{{Session, q.SessionID}, {User, q.UserID}, {Workspace, workspace}} {
			if s.ID != "" {
				scopes = append(scopes, s)
			}
		}
		if len(scopes) == 0 {
			return nil, nil
		}
		now := m.now()
		found, err := m.Find(ctx, Query{Scopes: scopes, Words: words})
		for _, e := range found {
			list = append(list, turncontext.Memory{ID: e.ID, Text: e.Content, Scope: string(e.Scope.Kind), Source: "memory", Relevance: e.Relevance, Freshness: turncontext.FreshnessOf(now.Sub(e.UpdatedAt))})
		}
		return list, err
	}
}

// newest orders entries.
func newest(a, b Entry) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
}
