package memory

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/drawbar/drawbar/product/turncontext"
)

var (
	chat = Scope{Session, "s1"}
	ann  = Scope{User, "ann"}
	shop = Scope{Workspace, "shop"}
)

// memories runs a test over every store, with a clock that goes on by a second at each look.
func memories(t *testing.T, f func(t *testing.T, m Memory, now *time.Time)) {
	t.Helper()
	run := func(name string, s Store) {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			f(t, Memory{Store: s, Now: func() time.Time { now = now.Add(time.Second); return now }}, &now)
		})
	}
	run("in process", &InProcess{})
	s, err := OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "memory.db"))
	if err != nil {
		t.Fatal(err)
	}
	run("sqlite", s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func write(t *testing.T, m Memory, e Entry) Entry {
	t.Helper()
	e, err := m.Write(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func contents(list []Entry) (out []string) {
	for _, e := range list {
		out = append(out, e.Content)
	}
	return out
}

// TestFind: scope, tags, age and words select; a limit never hides what fits behind what does not.
func TestFind(t *testing.T) {
	t.Parallel()
	memories(t, func(t *testing.T, m Memory, now *time.Time) {
		for i := range 300 {
			write(t, m, Entry{Scope: shop, Content: fmt.Sprint("noise ", i), Tags: []string{"noise"}})
		}
		write(t, m, Entry{Scope: ann, Content: "Ann likes Mondays", Tags: []string{"likes", "days", "likes"}})
		write(t, m, Entry{Scope: ann, Content: "Ann lives in Köln", Tags: []string{"place"}, ExpiresAt: now.Add(time.Hour)})
		write(t, m, Entry{Scope: chat, Content: "We speak of Mondays, and of mondays again", Tags: []string{"days"}})
		write(t, m, Entry{Scope: shop, Content: "closed on Sundays", Tags: []string{"days", "noise"}})
		for name, tt := range map[string]struct {
			q    Query
			want []string
		}{
			"newest first":    {Query{Scopes: []Scope{ann}}, []string{"Ann lives in Köln", "Ann likes Mondays"}},
			"oldest first":    {Query{Scopes: []Scope{ann}, Oldest: true}, []string{"Ann likes Mondays", "Ann lives in Köln"}},
			"limit":           {Query{Scopes: []Scope{ann}, Limit: 1}, []string{"Ann lives in Köln"}},
			"all tags":        {Query{Scopes: []Scope{ann, chat, shop}, Tags: []string{"days", "likes"}}, []string{"Ann likes Mondays"}},
			"behind noise":    {Query{Scopes: []Scope{shop}, Tags: []string{"days"}, Limit: 1, Oldest: true}, []string{"closed on Sundays"}},
			"words":           {Query{Scopes: []Scope{ann, chat}, Words: "MONDAYS!"}, []string{"", ""}},
			"some words":      {Query{Scopes: []Scope{ann}, Words: "where is Köln?"}, []string{"Ann lives in Köln"}},
			"words of tags":   {Query{Scopes: []Scope{ann}, Words: "place"}, []string{"Ann lives in Köln"}},
			"operators":       {Query{Scopes: []Scope{ann}, Words: `NOT " OR ( lives* NEAR`}, []string{"Ann lives in Köln"}},
			"no words":        {Query{Scopes: []Scope{ann}, Words: `?! "`}, nil},
			"nothing like it": {Query{Scopes: []Scope{ann}, Words: "Tuesday"}, nil},
			"another scope":   {Query{Scopes: []Scope{{User, "bob"}}}, nil},
			"expired":         {Query{Scopes: []Scope{ann}, Now: now.Add(2 * time.Hour)}, []string{"Ann likes Mondays"}},
			"since":           {Query{Scopes: []Scope{ann, shop}, Since: now.Add(-1500 * time.Millisecond)}, []string{"closed on Sundays"}},
		} {
			got, err := m.Find(t.Context(), tt.q)
			if err != nil || len(got) != len(tt.want) || len(tt.want) > 0 && tt.want[0] != "" && !slices.Equal(contents(got), tt.want) {
				t.Errorf("%s: %q %v", name, contents(got), err)
			}
			if len(got) > 0 && (got[0].Relevance == 1) != (tt.q.Words != "") {
				t.Errorf("%s: relevance %v", name, got[0].Relevance)
			}
		}
		if got, err := m.Find(t.Context(), Query{Scopes: []Scope{shop}}); err != nil || len(got) != UsualLimit {
			t.Errorf("%d %v", len(got), err)
		}
		for _, q := range []Query{{}, {Scopes: []Scope{{"planet", "x"}}}, {Scopes: []Scope{{User, ""}}}} {
			if _, err := m.Find(t.Context(), q); !errors.Is(err, ErrInvalid) {
				t.Errorf("%+v: %v", q, err)
			}
		}
		if n, err := m.Store.Clear(t.Context(), shop); err != nil || n != 301 {
			t.Errorf("%d %v", n, err)
		}
		if got, _ := m.Find(t.Context(), Query{Scopes: []Scope{shop}, Words: "noise"}); len(got) != 0 {
			t.Errorf("%q", contents(got))
		}
	})
}

// TestChange: what stays of an entry stays, and its words are found as they are now.
func TestChange(t *testing.T) {
	t.Parallel()
	memories(t, func(t *testing.T, m Memory, now *time.Time) {
		ctx := t.Context()
		e := write(t, m, Entry{ID: "mine", Scope: ann, Content: "likes tea", Tags: []string{"a"}, Metadata: map[string]any{"k": "v"}, ExpiresAt: now.Add(time.Hour)})
		if e.ID == "mine" || e.CreatedAt.IsZero() {
			t.Errorf("%+v", e)
		}
		next, err := m.Change(ctx, e.ID, func(e *Entry) {
			e.Content, e.Tags, e.ExpiresAt, e.Scope, e.ID = "likes coffee", []string{"b", "b"}, time.Time{}, shop, "x"
		})
		if err != nil || next.ID != e.ID || next.Scope != ann || !slices.Equal(next.Tags, []string{"b"}) || !next.UpdatedAt.After(e.UpdatedAt) || !next.CreatedAt.Equal(e.CreatedAt) {
			t.Errorf("%+v %v", next, err)
		}
		for words, want := range map[string]int{"tea": 0, "coffee": 1} {
			if got, err := m.Find(ctx, Query{Scopes: []Scope{ann}, Words: words}); err != nil || len(got) != want {
				t.Errorf("%s: %q %v", words, contents(got), err)
			}
		}
		if _, err := m.Change(ctx, e.ID, func(e *Entry) { e.Content = " " }); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v", err)
		}
		if got, err := m.Get(ctx, e.ID); err != nil || got.Content != "likes coffee" || got.Metadata["k"] != "v" {
			t.Errorf("%+v %v", got, err)
		}
		for range 2 {
			if err := m.Delete(ctx, e.ID); err != nil {
				t.Error(err)
			}
		}
		for _, err := range []error{func() error { _, err := m.Get(ctx, e.ID); return err }(), func() error { _, err := m.Change(ctx, e.ID, func(*Entry) {}); return err }()} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("%v", err)
			}
		}
		gone := write(t, m, Entry{Scope: ann, Content: "x", ExpiresAt: now.Add(time.Second)})
		*now = now.Add(time.Minute)
		if _, err := m.Get(ctx, gone.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("%v", err)
		}
		for _, bad := range []Entry{{Scope: ann}, {Scope: Scope{Kind: User}, Content: "x"}, {Content: "x"}} {
			if _, err := m.Write(ctx, bad); !errors.Is(err, ErrInvalid) {
				t.Errorf("%+v: %v", bad, err)
			}
		}
	})
}

// TestPromote: an entry goes to wider scopes alone.
func TestPromote(t *testing.T) {
	t.Parallel()
	memories(t, func(t *testing.T, m Memory, _ *time.Time) {
		scopes := []Scope{chat, ann, shop, {Org, "o"}, {Object, "ticket/1"}}
		for _, from := range scopes {
			for _, to := range scopes {
				e := write(t, m, Entry{Scope: from, Content: "x", Metadata: map[string]any{"k": "v"}})
				got, err := m.Promote(t.Context(), e.ID, to, to.Kind == Org)
				allowed := slices.Contains(wider[from.Kind], to.Kind)
				if (err == nil) != allowed || !allowed && !errors.Is(err, ErrScope) {
					t.Errorf("%s to %s: %v", from, to, err)
					continue
				}
				if !allowed {
					continue
				}
				if got.PromotedFrom != e.ID || got.Scope != to || got.ID == e.ID || got.Metadata["k"] != "v" || (got.Metadata["createdInSessionId"] == "s1") != (from.Kind == Session) {
					t.Errorf("%+v", got)
				}
				if _, err := m.Get(t.Context(), e.ID); (err == nil) == (to.Kind == Org) {
					t.Errorf("the first entry: %v", err)
				}
			}
		}
		if _, err := m.Promote(t.Context(), "none", ann, false); !errors.Is(err, ErrNotFound) {
			t.Errorf("%v", err)
		}
	})
}

// TestCompact: several of one scope become one, in one step.
func TestCompact(t *testing.T) {
	t.Parallel()
	memories(t, func(t *testing.T, m Memory, now *time.Time) {
		late, soon := now.Add(2*time.Hour), now.Add(time.Hour)
		a := write(t, m, Entry{Scope: ann, Content: "likes tea", Tags: []string{"x", "y"}, Metadata: map[string]any{"k": "a"}, ExpiresAt: late})
		b := write(t, m, Entry{Scope: ann, Content: "likes coffee", Tags: []string{"y"}, Metadata: map[string]any{"k": "b", "l": "b"}, ExpiresAt: soon})
		other := write(t, m, Entry{Scope: shop, Content: "x"})
		join := func(list []Entry) (string, error) { return fmt.Sprintf("%q", contents(list)), nil }
		for name, tt := range map[string]struct {
			ids  []string
			want error
		}{"nothing": {nil, ErrInvalid}, "two scopes": {[]string{a.ID, other.ID}, ErrScope}, "unknown": {[]string{a.ID, "none"}, ErrNotFound}} {
			if _, err := m.Compact(t.Context(), tt.ids, true, join); !errors.Is(err, tt.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		failure := errors.New("no words")
		if _, err := m.Compact(t.Context(), []string{a.ID, b.ID}, true, func([]Entry) (string, error) { return "", failure }); !errors.Is(err, failure) {
			t.Errorf("%v", err)
		}
		for _, remove := range []bool{false, true} {
			got, err := m.Compact(t.Context(), []string{a.ID, b.ID}, remove, join)
			if err != nil || got.Content != `["likes tea" "likes coffee"]` || !slices.Equal(got.Tags, []string{"x", "y"}) || got.Metadata["k"] != "a" || got.Metadata["l"] != "b" ||
				!got.ExpiresAt.Equal(soon) || !slices.Equal(got.CompactedFrom, []string{a.ID, b.ID}) || got.Scope != ann {
				t.Errorf("%+v %v", got, err)
			}
			if _, err := m.Get(t.Context(), a.ID); (err == nil) == remove {
				t.Errorf("remove %v: %v", remove, err)
			}
		}
	})
}

// TestCandidates: what is remembered becomes part of a turn, from the narrow to the wide.
func TestCandidates(t *testing.T) {
	t.Parallel()
	memories(t, func(t *testing.T, m Memory, _ *time.Time) {
		write(t, m, Entry{Scope: chat, Content: "we speak of tea"})
		write(t, m, Entry{Scope: ann, Content: "Ann likes tea"})
		write(t, m, Entry{Scope: shop, Content: "the shop sells tea"})
		write(t, m, Entry{Scope: Scope{User, "bob"}, Content: "Bob hates tea"})
		a, err := turncontext.Assembler{Retrieve: m.Candidates("shop", "tea?")}.Assemble(t.Context(), turncontext.Input{AssistantID: "x", TurnID: "t", SessionID: "s1", UserID: "ann",
			Identity: turncontext.Identity{SystemPrompt: "s"}})
		if err != nil || len(a.Used(turncontext.FromMemory)) != 3 {
			t.Errorf("%+v %v", a, err)
		}
		list, err := m.Candidates("", "")(t.Context(), turncontext.Query{UserID: "ann"})
		if err != nil || len(list) != 1 || list[0].Freshness != turncontext.Current || list[0].Scope != "user" {
			t.Errorf("%+v %v", list, err)
		}
		if list, err := m.Candidates("", "")(t.Context(), turncontext.Query{}); err != nil || list != nil {
			t.Errorf("%+v %v", list, err)
		}
	})
}

// TestAtOnce: nothing is lost when many write.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	memories(t, func(t *testing.T, m Memory, _ *time.Time) {
		m.Now = nil
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() { write(t, m, Entry{Scope: ann, Content: fmt.Sprint("tea ", i)}) })
		}
		all.Wait()
		if got, err := m.Find(t.Context(), Query{Scopes: []Scope{ann}, Words: "tea", Limit: 100}); err != nil || len(got) != 20 {
			t.Errorf("%d %v", len(got), err)
		}
	})
}
