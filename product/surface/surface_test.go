package surface

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"
)

type box struct {
	mu   sync.Mutex
	got  []string
	fail error
}

func (b *box) surface(id string, c Capabilities) Surface {
	return Surface{ID: id, Type: "web", Capabilities: c, Send: func(_ context.Context, e Event) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.got = append(b.got, e.SurfaceID+": "+e.Text)
		return b.fail
	}}
}

// TestRegistry: surfaces have unique ids, a state, and a text that fits.
func TestRegistry(t *testing.T) {
	t.Parallel()
	var r Registry
	b := &box{}
	if err := errors.Join(r.Register(b.surface("a", Capabilities{MaxChars: 5})), r.Register(b.surface("b", Capabilities{}))); err != nil {
		t.Fatal(err)
	}
	if err := r.Register(b.surface("a", Capabilities{})); !errors.Is(err, ErrExists) {
		t.Errorf("%v", err)
	}
	if err := r.Register(Surface{ID: "x"}); err == nil {
		t.Error("a surface that cannot send")
	}
	if _, state, ok := r.Get("a"); !ok || state != Registered {
		t.Error(state)
	}
	if err := errors.Join(r.SetConnected("a", true), r.SetConnected("b", false)); err != nil {
		t.Fatal(err)
	}
	if got := r.List("web", Connected); !slices.Equal(got, []string{"a"}) || len(r.List("", "")) != 2 || len(r.List("phone", "")) != 0 {
		t.Error(got)
	}
	if err := r.SetConnected("x", true); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
	for _, id := range []string{"a", "b"} {
		if err := r.Send(t.Context(), Event{SurfaceID: id, Text: "hällo there"}); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(b.got, []string{"a: häll…", "b: hällo there"}) {
		t.Errorf("%q", b.got)
	}
	b.fail = errors.New("offline")
	if err := r.Send(t.Context(), Event{SurfaceID: "a", Text: "x"}); !errors.Is(err, ErrDelivery) || !errors.Is(err, b.fail) {
		t.Errorf("%v", err)
	}
	if err := r.Send(t.Context(), Event{SurfaceID: "x"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
	odd := b.surface("odd", Capabilities{})
	odd.Format = func(Event, Capabilities) (string, error) { panic("boo") }
	if err := r.Register(odd); err != nil {
		t.Fatal(err)
	}
	if err := r.Send(t.Context(), Event{SurfaceID: "odd"}); !errors.Is(err, ErrDelivery) {
		t.Errorf("%v", err)
	}
	r.Remove("a")
	r.Remove("a")
	if _, _, ok := r.Get("a"); ok {
		t.Error("it is still there")
	}
}

// TestFanout: what is gone or unknown is skipped; a failure ends it, or not.
func TestFanout(t *testing.T) {
	t.Parallel()
	var r Registry
	good, bad := &box{}, &box{fail: errors.New("offline")}
	for id, b := range map[string]*box{"a": good, "bad": bad, "c": good, "gone": good} {
		if err := r.Register(b.surface(id, Capabilities{})); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.SetConnected("gone", false); err != nil {
		t.Fatal(err)
	}
	to := []string{"a", "gone", "nobody", "bad", "c"}
	statuses := func(list []Outcome) (got []Status) {
		for i, o := range list {
			if o.SurfaceID != to[i] || (o.Err != nil) != (o.Status == Failed) {
				t.Errorf("%+v", o)
			}
			got = append(got, o.Status)
		}
		return got
	}
	out, err := r.Fanout(t.Context(), Event{Text: "hi"}, to, Fanout{})
	if err != nil || !slices.Equal(statuses(out), []Status{Sent, Skipped, Skipped, Failed, Sent}) {
		t.Errorf("%v %v", out, err)
	}
	out, err = r.Fanout(t.Context(), Event{Text: "hi"}, to, Fanout{Abort: true, IncludeGone: true})
	if !errors.Is(err, ErrDelivery) || !slices.Equal(statuses(out), []Status{Sent, Sent, Skipped, Failed}) {
		t.Errorf("%v %v", out, err)
	}
	if out, err = r.Fanout(t.Context(), Event{Text: "hi"}, to[:3], Fanout{Abort: true}); err != nil || len(out) != 3 {
		t.Errorf("%v %v", out, err)
	}
}

// TestNormalize: the names of fields vary, and a message of nobody is refused.
func TestNormalize(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m, err := Normalize("web", map[string]any{"id": "m1", "user": map[string]any{"id": "ann"}, "session": map[string]any{"id": "s"}, "workspaceId": "w", "body": "hi", "timestamp": "2025-12-31T00:00:00Z", "type": "review"}, now)
	if err != nil || m.ID != "m1" || m.UserID != "ann" || m.SessionID != "s" || m.WorkspaceID != "w" || m.Text != "hi" || m.Capability != "review" || m.ReceivedAt.Year() != 2025 || m.SurfaceID != "web" {
		t.Errorf("%+v %v", m, err)
	}
	m, err = Normalize("web", map[string]any{"user": "ann", "text": 7, "receivedAt": "yesterday"}, now)
	if err != nil || m.ID == "" || m.Text != "" || m.Capability != "chat" || !m.ReceivedAt.Equal(now) {
		t.Errorf("%+v %v", m, err)
	}
	for _, raw := range []map[string]any{{"text": "hi"}, nil, {"userId": ""}, {"user": map[string]any{"name": "ann"}}} {
		if _, err := Normalize("web", raw, now); !errors.Is(err, ErrNoUser) {
			t.Errorf("%v: %v", raw, err)
		}
	}
	if _, err := Normalize("", map[string]any{"user": "ann"}, now); err == nil {
		t.Error("of no surface")
	}
}
