// Package chat holds the conversations of a product's users: which one a message belongs to, whether it is still going on, and on which surfaces (BYOH
// specification, sessions). A conversation is the product's; the sessions of agents are another thing, and package sessions reads those.
package chat

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// State is how far a conversation is.
type State string

// The states. A message makes a created or suspended conversation active; an expired one stays so.
const (
	Created   State = "created"
	Active    State = "active"
	Suspended State = "suspended"
	Expired   State = "expired"
)

// Session is a conversation.
type Session struct {
	ID             string         `json:"id"`
	UserID         string         `json:"userId"`
	WorkspaceID    string         `json:"workspaceId,omitempty"`
	State          State          `json:"state"`
	Surfaces       []string       `json:"attachedSurfaces"`
	CreatedAt      time.Time      `json:"createdAt"`
	LastActivityAt time.Time      `json:"lastActivityAt"`
	StateChangedAt time.Time      `json:"stateChangedAt,omitzero"`
	Metadata       map[string]any `json:"metadata,omitempty"`
}

// Errors, for errors.Is.
var (
	ErrExists   = errors.New("the session exists")
	ErrNotFound = errors.New("unknown session")
	ErrExpired  = errors.New("the session has expired")
)

// Filter selects sessions; zero values select all.
type Filter struct {
	UserID, WorkspaceID, SurfaceID string
	States                         []State
	ActiveAfter                    time.Time
	Limit                          int // 0 is 50
}

const (
	usualLimit = 50
	usualTTL   = time.Hour
)

func (f Filter) fits(s Session) bool {
	return (f.UserID == "" || s.UserID == f.UserID) && (f.WorkspaceID == "" || s.WorkspaceID == f.WorkspaceID) && (f.SurfaceID == "" || slices.Contains(s.Surfaces, f.SurfaceID)) &&
		(len(f.States) == 0 || slices.Contains(f.States, s.State)) && (f.ActiveAfter.IsZero() || s.LastActivityAt.After(f.ActiveAfter))
}

// Store keeps sessions. Implementations are safe for concurrent use.
type Store interface {
	// Create adds a session; ErrExists if its id is taken.
	Create(context.Context, Session) error
	// Get returns a session; ErrNotFound if there is none.
	Get(ctx context.Context, id string) (Session, error)
	// Change replaces a session by what change makes of it, as one step.
	Change(ctx context.Context, id string, change func(*Session) error) (Session, error)
	// List returns sessions, the most recently active first.
	List(context.Context, Filter) ([]Session, error)
}

// Sessions are the rules over a store. It is safe for concurrent use.
type Sessions struct {
	Store Store            // required
	Now   func() time.Time // nil is time.Now
	TTL   time.Duration    // of a silent conversation, for Sweep; 0 is an hour
}

func (s Sessions) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// Create begins a conversation; an empty id is replaced by a random one.
func (s Sessions) Create(ctx context.Context, n Session) (Session, error) {
	if n.UserID == "" {
		return n, errors.New("a session needs a user")
	}
	if n.ID == "" {
		n.ID = "sess_" + rand.Text()
	}
	n.State, n.CreatedAt, n.LastActivityAt, n.StateChangedAt = Created, s.now(), s.now(), time.Time{}
	n.Surfaces, n.Metadata = slices.Clone(n.Surfaces), maps.Clone(n.Metadata)
	return n, s.Store.Create(ctx, n)
}

func (s Sessions) move(n *Session, to State) {
	if n.State != to {
		n.State, n.StateChangedAt = to, s.now()
	}
}

// Touch notes a message: the conversation is active from now on. An expired one is ErrExpired.
func (s Sessions) Touch(ctx context.Context, id string) (Session, error) {
	return s.Store.Change(ctx, id, func(n *Session) error {
		if n.State == Expired {
			return fmt.Errorf("%s: %w", id, ErrExpired)
		}
		n.LastActivityAt = s.now()
		s.move(n, Active)
		return nil
	})
}

// Attach adds a surface, Detach removes one; both do nothing if it is so already.
func (s Sessions) Attach(ctx context.Context, id, surface string) (Session, error) {
	return s.Store.Change(ctx, id, func(n *Session) error {
		if !slices.Contains(n.Surfaces, surface) {
			n.Surfaces = append(n.Surfaces, surface)
		}
		return nil
	})
}

// Detach removes a surface.
func (s Sessions) Detach(ctx context.Context, id, surface string) (Session, error) {
	return s.Store.Change(ctx, id, func(n *Session) error {
		n.Surfaces = slices.DeleteFunc(n.Surfaces, func(have string) bool { return have == surface })
		return nil
	})
}

// Note adds metadata to a session.
func (s Sessions) Note(ctx context.Context, id string, metadata map[string]any) (Session, error) {
	return s.Store.Change(ctx, id, func(n *Session) error {
		if n.Metadata == nil {
			n.Metadata = map[string]any{}
		}
		maps.Copy(n.Metadata, metadata)
		return nil
	})
}

// Expire ends a conversation for good; again, it does nothing.
func (s Sessions) Expire(ctx context.Context, id string) (Session, error) {
	return s.Store.Change(ctx, id, func(n *Session) error { s.move(n, Expired); return nil })
}

// Sweep suspends active conversations that were silent for the TTL, and returns them.
func (s Sessions) Sweep(ctx context.Context) (swept []Session, err error) {
	list, err := s.Store.List(ctx, Filter{States: []State{Active}, Limit: 1 << 30})
	if err != nil {
		return nil, err
	}
	cut := s.now().Add(-cmp.Or(s.TTL, usualTTL))
	for _, n := range list {
		if !n.LastActivityAt.Before(cut) {
			continue
		}
		suspended := false
		n, err := s.Store.Change(ctx, n.ID, func(n *Session) error {
			if suspended = n.State == Active && n.LastActivityAt.Before(cut); suspended { // nobody spoke meanwhile
				s.move(n, Suspended)
			}
			return nil
		})
		if err != nil {
			return swept, err
		}
		if suspended {
			swept = append(swept, n)
		}
	}
	return swept, nil
}

// Resolve returns the conversation that a user's message on a surface belongs to, made active: the most recent one that is attached to the surface,
// else the user's most recent one, else a new one.
func (s Sessions) Resolve(ctx context.Context, user, workspace, surface string) (Session, error) {
	list, err := s.Store.List(ctx, Filter{UserID: user, States: []State{Created, Active, Suspended}})
	if err != nil {
		return Session{}, err
	}
	i := slices.IndexFunc(list, func(n Session) bool { return surface != "" && slices.Contains(n.Surfaces, surface) })
	if i < 0 && len(list) > 0 {
		i = 0
	}
	if i >= 0 {
		n, err := s.Touch(ctx, list[i].ID)
		if !errors.Is(err, ErrExpired) { // it expired meanwhile: a new one
			return n, err
		}
	}
	n := Session{UserID: user, WorkspaceID: workspace}
	if surface != "" {
		n.Surfaces = []string{surface}
	}
	if n, err = s.Create(ctx, n); err != nil {
		return n, err
	}
	return s.Touch(ctx, n.ID)
}

// Memory is a store that ends with its process. The zero value is ready.
type Memory struct {
	mu  sync.Mutex
	all map[string][]byte // as JSON, so that nobody shares a session
}

// Create implements Store.
func (m *Memory) Create(_ context.Context, n Session) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all[n.ID] != nil {
		return fmt.Errorf("%s: %w", n.ID, ErrExists)
	}
	return m.put(n)
}

func (m *Memory) put(n Session) error {
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if m.all == nil {
		m.all = map[string][]byte{}
	}
	m.all[n.ID] = b
	return nil
}

func (m *Memory) get(id string) (n Session, err error) {
	if m.all[id] == nil {
		return n, fmt.Errorf("%s: %w", id, ErrNotFound)
	}
	return n, json.Unmarshal(m.all[id], &n)
}

// Get implements Store.
func (m *Memory) Get(_ context.Context, id string) (Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.get(id)
}

// Change implements Store.
func (m *Memory) Change(_ context.Context, id string, change func(*Session) error) (Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.get(id)
	if err == nil {
		err = change(&n)
	}
	if err == nil {
		err = m.put(n)
	}
	return n, err
}

// List implements Store.
func (m *Memory) List(_ context.Context, f Filter) (list []Session, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.all {
		n, err := m.get(id)
		if err != nil {
			return nil, err
		}
		if f.fits(n) {
			list = append(list, n)
		}
	}
	return recent(list, f), nil
}

// recent sorts and cuts a list.
func recent(list []Session, f Filter) []Session {
	slices.SortFunc(list, func(a, b Session) int {
		return cmp.Or(b.LastActivityAt.Compare(a.LastActivityAt), b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return list[:min(len(list), cmp.Or(f.Limit, usualLimit))]
}
