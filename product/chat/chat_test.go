package chat

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func stores(t *testing.T, f func(t *testing.T, s Store)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) { f(t, &Memory{}) })
	t.Run("sqlite", func(t *testing.T) {
		s, err := OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "chats.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		f(t, s)
	})
}

// TestLife: a message makes a conversation active, silence suspends it, and what has expired stays so.
func TestLife(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, st Store) {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		s, ctx := Sessions{Store: st, Now: func() time.Time { return now }}, t.Context()
		n, err := s.Create(ctx, Session{ID: "a", UserID: "ann", Surfaces: []string{"web"}})
		if err != nil || n.State != Created {
			t.Fatalf("%+v %v", n, err)
		}
		if _, err := s.Create(ctx, Session{ID: "a", UserID: "bob"}); !errors.Is(err, ErrExists) {
			t.Errorf("again: %v", err)
		}
		if _, err := s.Create(ctx, Session{ID: "b"}); err == nil {
			t.Error("without a user")
		}
		if _, err := s.Touch(ctx, "nobody"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%v", err)
		}
		if swept, err := s.Sweep(ctx); err != nil || len(swept) != 0 {
			t.Errorf("%v %v", swept, err)
		}
		now = now.Add(time.Minute)
		if n, err = s.Touch(ctx, "a"); err != nil || n.State != Active || !n.StateChangedAt.Equal(now) || !n.LastActivityAt.Equal(now) {
			t.Errorf("%+v %v", n, err)
		}
		now = now.Add(time.Hour)
		if swept, _ := s.Sweep(ctx); len(swept) != 0 {
			t.Errorf("%v", swept)
		}
		now = now.Add(time.Second)
		if swept, err := s.Sweep(ctx); err != nil || len(swept) != 1 || swept[0].State != Suspended {
			t.Errorf("%v %v", swept, err)
		}
		if swept, _ := s.Sweep(ctx); len(swept) != 0 {
			t.Errorf("twice: %v", swept)
		}
		if n, _ = s.Touch(ctx, "a"); n.State != Active {
			t.Errorf("%+v", n)
		}
		if n, err = s.Attach(ctx, "a", "phone"); err != nil || len(n.Surfaces) != 2 {
			t.Errorf("%+v %v", n, err)
		}
		if n, _ = s.Attach(ctx, "a", "phone"); len(n.Surfaces) != 2 {
			t.Errorf("%+v", n)
		}
		if n, _ = s.Detach(ctx, "a", "web"); len(n.Surfaces) != 1 || n.Surfaces[0] != "phone" {
			t.Errorf("%+v", n)
		}
		if n, err = s.Note(ctx, "a", map[string]any{"topic": "x"}); err != nil || n.Metadata["topic"] != "x" {
			t.Errorf("%+v %v", n, err)
		}
		for range 2 {
			if n, err = s.Expire(ctx, "a"); err != nil || n.State != Expired {
				t.Errorf("%+v %v", n, err)
			}
		}
		if _, err := s.Touch(ctx, "a"); !errors.Is(err, ErrExpired) {
			t.Errorf("%v", err)
		}
		if n, err := st.Get(ctx, "a"); err != nil || n.State != Expired {
			t.Errorf("%+v %v", n, err)
		}
	})
}

// TestResolve: the conversation on the surface, else the most recent one, else a new one.
func TestResolve(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, st Store) {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		s, ctx := Sessions{Store: st, Now: func() time.Time { return now }}, t.Context()
		first, err := s.Resolve(ctx, "ann", "w", "web")
		if err != nil || first.State != Active || first.WorkspaceID != "w" {
			t.Fatalf("%+v %v", first, err)
		}
		now = now.Add(time.Minute)
		second, err := s.Create(ctx, Session{UserID: "ann", Surfaces: []string{"phone"}})
		if err != nil {
			t.Fatal(err)
		}
		for surface, want := range map[string]string{"web": first.ID, "phone": second.ID} {
			if n, err := s.Resolve(ctx, "ann", "w", surface); err != nil || n.ID != want {
				t.Errorf("%s: %+v %v", surface, n, err)
			}
		}
		now = now.Add(time.Minute)
		if _, err := s.Touch(ctx, first.ID); err != nil {
			t.Fatal(err)
		}
		if n, _ := s.Resolve(ctx, "ann", "w", "mail"); n.ID != first.ID {
			t.Errorf("%+v", n)
		}
		if n, _ := s.Resolve(ctx, "bob", "w", "web"); n.ID == first.ID || n.UserID != "bob" {
			t.Errorf("%+v", n)
		}
		for _, id := range []string{first.ID, second.ID} {
			if _, err := s.Expire(ctx, id); err != nil {
				t.Fatal(err)
			}
		}
		if n, _ := s.Resolve(ctx, "ann", "w", "web"); n.ID == first.ID || n.ID == second.ID {
			t.Errorf("an expired one: %+v", n)
		}
		if list, err := st.List(ctx, Filter{UserID: "ann", States: []State{Expired}, Limit: 1}); err != nil || len(list) != 1 {
			t.Errorf("%v %v", list, err)
		}
	})
}

// TestAtOnce: no change is lost.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, st Store) {
		s := Sessions{Store: st}
		if _, err := s.Create(t.Context(), Session{ID: "a", UserID: "ann"}); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				if _, err := s.Attach(t.Context(), "a", fmt.Sprint("surface-", i)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n, err := st.Get(t.Context(), "a"); err != nil || len(n.Surfaces) != 20 {
			t.Errorf("%d surfaces, %v", len(n.Surfaces), err)
		}
	})
}
