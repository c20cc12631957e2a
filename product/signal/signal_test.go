package signal

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"
)

func sure(f float64) *float64 { return &f }

func of(class Class) Signal {
	s := Signal{ThreadID: "t", Source: "lawyer", Audience: Coordinator, Class: class, Summary: "look"}
	if m := class.Message(); m == "confidence" || m == "conflict" {
		s.Confidence = sure(map[Class]float64{ConfidenceHigh: 0.9, ConfidenceMedium: 0.5, ConfidenceLow: 0.2}[class])
	}
	return s
}

// TestConfidence: every confidence has a class, and no other.
func TestConfidence(t *testing.T) {
	t.Parallel()
	for c, want := range map[float64]Class{1: ConfidenceHigh, 0.8: ConfidenceHigh, 0.795: ConfidenceMedium, 0.4: ConfidenceMedium, 0.39: ConfidenceLow, 0.05: ConfidenceLow, 0: ConfidenceBlocker} {
		if got := ConfidenceClass(c); got != want {
			t.Errorf("%v is %s", c, got)
		}
		s := of(want)
		s.Confidence = sure(c)
		if _, err := New(Options{}).Emit(s); err != nil {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Signal){
		"no thread": func(s *Signal) { s.ThreadID = " " }, "no source": func(s *Signal) { s.Source = "" }, "no summary": func(s *Signal) { s.Summary = "" },
		"audience": func(s *Signal) { s.Audience = "everyone" }, "class": func(s *Signal) { s.Class = "confidence.huge" }, "priority": func(s *Signal) { s.Priority = "urgent" },
		"step": func(s *Signal) { s.ExpiresAt = -1 }, "no confidence": func(s *Signal) { s.Confidence = nil }, "too sure": func(s *Signal) { s.Confidence = sure(1.1) },
		"not a number": func(s *Signal) { s.Confidence = sure(math.NaN()) }, "another class": func(s *Signal) { s.Confidence = sure(0.1) },
	} {
		s := of(ConfidenceHigh)
		change(&s)
		if _, err := New(Options{}).Emit(s); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := of(ConflictActive)
	s.Confidence = sure(0.33)
	if _, err := New(Options{}).Emit(s); err != nil {
		t.Errorf("a conflict of any confidence: %v", err)
	}
}

// TestRepetition: what was said in the same step is not said again, unless it is critical or an urgent escalation of something else.
func TestRepetition(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := New(Options{Now: func() time.Time { return now }})
	first, err := l.Emit(of(AttentionRaise))
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := l.Emit(of(AttentionRaise)); again.ID != first.ID {
		t.Error("the repetition was sent")
	}
	for name, change := range map[string]func(*Signal){
		"another source": func(s *Signal) { s.Source = "clerk" }, "another audience": func(s *Signal) { s.Audience = All }, "critical": func(s *Signal) { s.Priority = Critical },
		"another thread": func(s *Signal) { s.ThreadID = "u" },
	} {
		s := of(AttentionRaise)
		change(&s)
		if got, err := l.Emit(s); err != nil || got.ID == first.ID {
			t.Errorf("%s: %v", name, err)
		}
	}
	l.Advance("t")
	if next, _ := l.Emit(of(AttentionRaise)); next.ID == first.ID {
		t.Error("a repetition in another step")
	}
	urgent := of(EscalationUncertainty)
	urgent.Priority = High
	a, _ := l.Emit(urgent)
	urgent.Summary = "something else"
	if b, _ := l.Emit(urgent); b.ID == a.ID {
		t.Error("another escalation was taken for a repetition")
	}
	w := New(Options{Now: func() time.Time { return now }, Window: 5 * time.Second})
	a, _ = w.Emit(of(AttentionRaise))
	w.Advance("t")
	now = now.Add(5 * time.Second)
	if b, _ := w.Emit(of(AttentionRaise)); b.ID != a.ID {
		t.Error("within the window")
	}
	now = now.Add(time.Millisecond)
	if b, _ := w.Emit(of(AttentionRaise)); b.ID == a.ID {
		t.Error("after the window")
	}
}

// TestStates: a signal that somebody was told of is active. It ends once: resolved, replaced or expired. Handlers see each change.
func TestStates(t *testing.T) {
	t.Parallel()
	l := New(Options{})
	if s, _ := l.Emit(of(HandoffReady)); s.State != Emitted {
		t.Errorf("nobody was told: %s", s.State)
	}
	var seen []string
	off := l.On(func(s Signal) { seen = append(seen, string(s.Class)+" "+string(s.State)) })
	defer l.On(func(Signal) { panic("boo") })()
	one, _ := l.Emit(of(AttentionRaise))
	if one.State != Active {
		t.Errorf("%+v", one)
	}
	s := of(HandoffPartial)
	s.Replaces, s.ExpiresAt = one.ID, 1
	two, err := l.Emit(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Resolve(one.ID); !errors.Is(err, ErrFinal) {
		t.Errorf("%v", err)
	}
	s.Source = "clerk"
	if _, err := l.Emit(s); !errors.Is(err, ErrFinal) {
		t.Errorf("it was replaced already: %v", err)
	}
	s.Replaces = "sig_x"
	if _, err := l.Emit(s); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
	l.Advance("t")
	l.Advance("t")
	if _, err := l.Resolve(two.ID); !errors.Is(err, ErrFinal) {
		t.Errorf("%v", err)
	}
	three, _ := l.Emit(of(ConflictActive))
	for range 2 {
		if got, err := l.Resolve(three.ID); err != nil || got.State != Resolved {
			t.Errorf("%+v %v", got, err)
		}
	}
	off()
	if _, err := l.Emit(of(ConfidenceHigh)); err != nil {
		t.Error(err)
	}
	want := []string{"attention.raise emitted", "attention.raise superseded", "handoff.partial emitted", "handoff.partial expired", "conflict.active emitted", "conflict.active resolved"}
	if !slices.Equal(seen, want) {
		t.Errorf("%q", seen)
	}
	if _, err := l.Resolve("sig_x"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// TestResolvedMeanwhile: a handler may resolve what it is told of.
func TestResolvedMeanwhile(t *testing.T) {
	t.Parallel()
	l := New(Options{})
	l.On(func(s Signal) {
		if s.State == Emitted {
			if _, err := l.Resolve(s.ID); err != nil {
				t.Error(err)
			}
		}
	})
	if s, err := l.Emit(of(AttentionRaise)); err != nil || s.State != Resolved {
		t.Errorf("%+v %v", s, err)
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := New(Options{Now: func() time.Time { now = now.Add(time.Second); return now }, Kept: 3})
	for i := range 60 {
		s := of(AttentionRaise)
		s.Source, s.Summary = fmt.Sprint("s", i), fmt.Sprint(i)
		if _, err := l.Emit(s); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.Query(Query{ThreadID: "t"}); len(got) != 50 || got[0].Summary != "59" {
		t.Errorf("%d, first %+v", len(got), got[0])
	}
	old := l.Query(Query{ThreadID: "t", Oldest: true, Limit: 2})
	if len(old) != 2 || old[1].Summary != "1" {
		t.Errorf("%+v", old)
	}
	if got := l.Query(Query{ThreadID: "t", Since: old[0].EmittedAt, Before: old[0].EmittedAt.Add(3 * time.Second)}); len(got) != 2 {
		t.Errorf("%d", len(got))
	}
	for name, q := range map[string]Query{"source": {Source: "s7"}, "class": {Class: ConflictActive}, "message": {Message: "conflict"}, "priority": {Priority: High}, "states": {States: []State{Resolved}}, "thread": {}} {
		q.ThreadID = map[bool]string{true: "other", false: "t"}[name == "thread"]
		if got := l.Query(q); len(got) != map[bool]int{true: 1, false: 0}[name == "source"] {
			t.Errorf("%s: %d", name, len(got))
		}
	}
	// Ended signals do not pile up.
	for _, s := range l.Query(Query{ThreadID: "t", Limit: 100}) {
		if _, err := l.Resolve(s.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Emit(of(HandoffReady)); err != nil {
		t.Fatal(err)
	}
	if got := l.Query(Query{ThreadID: "t", States: []State{Resolved}}); len(got) != 3 || got[0].Summary != "59" {
		t.Errorf("%d are kept", len(got))
	}
	l.Forget("t")
	if got := l.Query(Query{ThreadID: "t", States: []State{Resolved, Emitted}}); len(got) != 0 {
		t.Errorf("%d", len(got))
	}
}

func TestRecipients(t *testing.T) {
	t.Parallel()
	l := New(Options{Selected: func(s Signal) []string { return []string{"clerk"} }})
	s, _ := l.Emit(of(AttentionRaise))
	for a, want := range map[Audience][]string{Self: {"lawyer"}, Coordinator: {"coordinator"}, Selected: {"clerk"}, All: {"coordinator", "lawyer"}} {
		s.Audience = a
		if got := l.Recipients(s); !slices.Equal(got, want) {
			t.Errorf("%s: %v", a, got)
		}
	}
	s.Audience = Selected
	if got := New(Options{}).Recipients(s); got != nil {
		t.Errorf("%v", got)
	}
}

// TestAtOnce: for the race detector.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	l := New(Options{})
	l.On(func(s Signal) { _ = l.Query(Query{ThreadID: s.ThreadID}) })
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				s := of(AttentionRaise)
				s.Source = fmt.Sprint(i)
				s, err := l.Emit(s)
				if err != nil {
					t.Error(err)
				}
				_, _ = l.Resolve(s.ID)
				l.Advance("t")
			}
		})
	}
	all.Wait()
}
