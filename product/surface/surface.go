// Package surface knows where a product talks to people: what each surface can show, whether it is connected, and how a text gets there and a message
// comes from there (BYOH specification, surfaces).
package surface

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"
)

// Capabilities are what a surface can show.
type Capabilities struct {
	Markdown    bool
	RichBlocks  bool
	Attachments bool
	Streaming   bool
	MaxChars    int // of a text; 0 is no limit
}

// State is whether a surface is connected.
type State string

// The states.
const (
	Registered State = "registered" // never connected; it is sent to
	Connected  State = "active"
	Gone       State = "inactive"
)

// Surface is where people are: a web chat, a phone, a channel.
type Surface struct {
	ID, Type     string
	Capabilities Capabilities
	// Send delivers a text, which fits Capabilities if Format made it so.
	Send func(context.Context, Event) error
	// Format makes the text fit the surface; nil leaves it, cut at MaxChars.
	Format func(Event, Capabilities) (string, error)
}

// Event is a text on its way to a surface.
type Event struct {
	SurfaceID, SessionID string
	Text                 string
	Metadata             map[string]any
}

// Errors, for errors.Is.
var (
	ErrExists   = errors.New("the surface is registered")
	ErrNotFound = errors.New("unknown surface")
	ErrDelivery = errors.New("the text did not reach the surface")
)

// Registry holds the surfaces of a product. The zero value is ready; it is safe for concurrent use.
type Registry struct {
	mu       sync.Mutex
	surfaces []entry // in the order of their registration
}

type entry struct {
	surface Surface
	state   State
}

// Register adds a surface; its id must be new.
func (r *Registry) Register(s Surface) error {
	if s.ID == "" || s.Send == nil {
		return errors.New("a surface needs an id and a way to send")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.find(s.ID) >= 0 {
		return fmt.Errorf("%s: %w", s.ID, ErrExists)
	}
	r.surfaces = append(r.surfaces, entry{s, Registered})
	return nil
}

func (r *Registry) find(id string) int {
	return slices.IndexFunc(r.surfaces, func(e entry) bool { return e.surface.ID == id })
}

// Remove removes a surface, if it is there.
func (r *Registry) Remove(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.surfaces = slices.DeleteFunc(r.surfaces, func(e entry) bool { return e.surface.ID == id })
}

// SetConnected notes that a surface has connected, or is gone.
func (r *Registry) SetConnected(id string, connected bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.find(id)
	if i < 0 {
		return fmt.Errorf("%s: %w", id, ErrNotFound)
	}
	r.surfaces[i].state = Gone
	if connected {
		r.surfaces[i].state = Connected
	}
	return nil
}

// Get returns a surface and its state.
func (r *Registry) Get(id string) (Surface, State, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.find(id)
	if i < 0 {
		return Surface{}, "", false
	}
	return r.surfaces[i].surface, r.surfaces[i].state, true
}

// List returns the ids of the surfaces of a type and state; empty ones are any.
func (r *Registry) List(typ string, state State) (ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.surfaces {
		if (typ == "" || e.surface.Type == typ) && (state == "" || e.state == state) {
			ids = append(ids, e.surface.ID)
		}
	}
	return ids
}

// Send sends a text to its surface, connected or not. An error of the surface is an ErrDelivery.
func (r *Registry) Send(ctx context.Context, e Event) error {
	s, _, ok := r.Get(e.SurfaceID)
	if !ok {
		return fmt.Errorf("%s: %w", e.SurfaceID, ErrNotFound)
	}
	format := s.Format
	if format == nil {
		format = cut
	}
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("it panicked: %v", p)
			}
		}()
		if e.Text, err = format(e, s.Capabilities); err != nil {
			return fmt.Errorf("format: %w", err)
		}
		return s.Send(ctx, e)
	}()
	if err != nil {
		return fmt.Errorf("%s: %w: %w", e.SurfaceID, ErrDelivery, err)
	}
	return nil
}

// cut is the usual format.
func cut(e Event, c Capabilities) (string, error) {
	if c.MaxChars > 0 && utf8.RuneCountInString(e.Text) > c.MaxChars {
		return string([]rune(e.Text)[:c.MaxChars-1]) + "…", nil
	}
	return e.Text, nil
}

// Outcome is what became of a text on one surface.
type Outcome struct {
	SurfaceID string
	Status    Status
	Err       error // of Failed
}

// Status is what became of a text.
type Status string

// The statuses.
const (
	Sent    Status = "delivered"
	Skipped Status = "skipped" // it is not registered, or gone
	Failed  Status = "failed"
)

// Fanout is how a text goes to several surfaces.
type Fanout struct {
	Abort       bool // stop at the first failure, one after the other; else all at once, and every outcome counts
	IncludeGone bool // also to surfaces that are gone
}

// Fanout sends a text to several surfaces. The error is that of the first failure with Abort; without, it is nil, and the outcomes say.
func (r *Registry) Fanout(ctx context.Context, e Event, to []string, f Fanout) ([]Outcome, error) {
	out := make([]Outcome, len(to))
	send := func(i int) {
		out[i] = Outcome{to[i], Skipped, nil}
		if _, state, ok := r.Get(to[i]); !ok || state == Gone && !f.IncludeGone {
			return
		}
		one := e
		one.SurfaceID = to[i]
		out[i].Status = Sent
		if err := r.Send(ctx, one); err != nil {
			out[i].Status, out[i].Err = Failed, err
		}
	}
	if f.Abort {
		for i := range to {
			if send(i); out[i].Err != nil {
				return out[:i+1], out[i].Err
			}
		}
		return out, nil
	}
	var all sync.WaitGroup
	for i := range to {
		all.Go(func() { send(i) })
	}
	all.Wait()
	return out, nil
}

// Message is a message from a surface.
type Message struct {
	ID, SurfaceID, SessionID, UserID, WorkspaceID string
	Text                                          string
	Capability                                    string // what it is for; chat by default
	ReceivedAt                                    time.Time
	Raw                                           map[string]any
}

// ErrNoUser is a message that says of nobody that it is from them.
var ErrNoUser = errors.New("the message has no user")

// Normalize reads a message of a common form: its fields may have one of several names (text, content or body), and user, session and workspace may be
// objects with an id. A message without a user is ErrNoUser: it is nobody's.
func Normalize(surface string, raw map[string]any, now time.Time) (Message, error) {
	if surface == "" {
		return Message{}, ErrNotFound
	}
	text := func(keys ...string) string {
		for _, k := range keys {
			switch v := raw[k].(type) {
			case string:
				if v != "" {
					return v
				}
			case map[string]any:
				if id, _ := v["id"].(string); id != "" {
					return id
				}
			}
		}
		return ""
	}
	m := Message{ID: text("messageId", "id"), SurfaceID: surface, SessionID: text("sessionId", "session"), UserID: text("userId", "user"), WorkspaceID: text("workspaceId", "workspace"),
		Text: text("text", "content", "body"), Capability: text("capability", "type"), ReceivedAt: now, Raw: raw}
	if t, err := time.Parse(time.RFC3339, text("timestamp", "receivedAt")); err == nil {
		m.ReceivedAt = t
	}
	if m.ID == "" {
		m.ID = "msg_" + rand.Text()
	}
	if m.Capability == "" {
		m.Capability = "chat"
	}
	if m.UserID == "" {
		return m, ErrNoUser
	}
	return m, nil
}
