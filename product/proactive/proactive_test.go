package proactive

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/drawbar/drawbar/product/routing"
)

// clock is a scheduler whose wake-ups wait to be fired.
type clock struct {
	mu      sync.Mutex
	n       int
	pending map[string]WakeUp
	fail    error
}

func (c *clock) Wake(_ context.Context, w WakeUp) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return "", c.fail
	}
	if c.pending == nil {
		c.pending = map[string]WakeUp{}
	}
	c.n++
	id := fmt.Sprint("wake-", c.n)
	c.pending[id] = w
	return id, nil
}

func (c *clock) Cancel(_ context.Context, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
	return c.fail
}

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func always(context.Context, Moment) (bool, error) { return true, nil }

// TestFollowUps: a rule fires until it has said enough, not too often, and not to somebody who is there.
func TestFollowUps(t *testing.T) {
	t.Parallel()
	now := start
	asked := 0
	e := New(Options{Now: func() time.Time { return now }, Evidence: func(context.Context, string) ([]Evidence, error) { asked++; return []Evidence{{ID: "e"}}, nil }})
	var saw []Evidence
	for _, f := range []FollowUp{
		{ID: "remind", Condition: func(_ context.Context, m Moment) (bool, error) { saw = m.Evidence; return true, nil }, Template: "still there?"},
		{ID: "never", Condition: func(context.Context, Moment) (bool, error) { return false, nil }},
		{ID: "deep", Condition: always, Mode: routing.Deep, Reminders: Reminders{Most: 1, EvenWhenActive: true}},
		{ID: "broken", Condition: func(context.Context, Moment) (bool, error) { panic("boo") }},
	} {
		if err := e.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Add(FollowUp{ID: "deep", Condition: always}); !errors.Is(err, ErrExists) {
		t.Errorf("%v", err)
	}
	if err := e.Add(FollowUp{ID: "x"}); err == nil {
		t.Error("a rule without a condition")
	}
	ask := func(m Moment) map[string]Decision {
		t.Helper()
		m.SessionID = "s"
		list, err := e.FollowUps(t.Context(), m)
		if err != nil || len(list) != 4 || list[0].RuleID != "remind" {
			t.Fatalf("%+v %v", list, err)
		}
		by := map[string]Decision{}
		for _, d := range list {
			by[d.RuleID] = d
		}
		return by
	}
	d := ask(Moment{ScheduledAt: now})
	if !d["remind"].Fire || d["remind"].Mode != routing.Cheap || d["remind"].Template != "still there?" || d["never"].Fire || d["never"].Why != "" || !d["deep"].Fire || d["deep"].Mode != routing.Deep ||
		d["broken"].Fire || d["broken"].Err == nil || asked != 1 || len(saw) != 1 {
		t.Errorf("%+v, evidence asked %d times", d, asked)
	}
	now = now.Add(59 * time.Minute)
	if d = ask(Moment{ScheduledAt: now, Evidence: []Evidence{}}); d["remind"].Why != Cooldown || d["deep"].Why != MaxReminders || asked != 1 {
		t.Errorf("%+v, evidence asked %d times", d, asked)
	}
	now = now.Add(time.Hour)
	if d = ask(Moment{ScheduledAt: now, LastActivityAt: now.Add(time.Second)}); d["remind"].Why != UserActive || d["deep"].Why != MaxReminders {
		t.Errorf("%+v", d)
	}
	for n := range 3 {
		now = now.Add(time.Hour)
		if d = ask(Moment{ScheduledAt: now}); d["remind"].Fire != (n < 2) || n == 2 && d["remind"].Why != MaxReminders {
			t.Errorf("%d: %+v", n, d["remind"])
		}
	}
	e.Forget("s", "remind")
	if d = ask(Moment{ScheduledAt: now}); !d["remind"].Fire || d["deep"].Fire {
		t.Errorf("%+v", d)
	}
	e.Forget("s", "")
	if d = ask(Moment{ScheduledAt: now}); !d["deep"].Fire {
		t.Errorf("%+v", d)
	}
	if err := errors.Join(e.Remove("deep"), e.Remove("never"), e.Remove("broken")); err != nil {
		t.Fatal(err)
	}
	if err := e.Remove("deep"); !errors.Is(err, ErrNoRule) {
		t.Errorf("%v", err)
	}
	if _, err := e.FollowUps(t.Context(), Moment{}); err == nil {
		t.Error("without a session")
	}
	e.o.Evidence = func(context.Context, string) ([]Evidence, error) { return nil, errors.New("offline") }
	if _, err := e.FollowUps(t.Context(), Moment{SessionID: "s"}); err == nil {
		t.Error("without its evidence")
	}
}

// TestOnce: of many who ask at the same time, one says it.
func TestOnce(t *testing.T) {
	t.Parallel()
	e := New(Options{})
	if err := e.Add(FollowUp{ID: "a", Condition: func(context.Context, Moment) (bool, error) { time.Sleep(time.Millisecond); return true, nil }}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	fired := 0
	for range 16 {
		all.Go(func() {
			list, err := e.FollowUps(t.Context(), Moment{SessionID: "s"})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			} else if list[0].Fire {
				fired++
			}
		})
	}
	all.Wait()
	if fired != 1 {
		t.Errorf("said %d times", fired)
	}
}

func TestQuiet(t *testing.T) {
	t.Parallel()
	h := func(n int) time.Duration { return time.Duration(n) * time.Hour }
	east := time.FixedZone("east", 5*3600)
	for _, tt := range []struct {
		q    Quiet
		hour int
		want bool
	}{
		{Quiet{From: h(22), Until: h(7)}, 22, true}, {Quiet{From: h(22), Until: h(7)}, 6, true}, {Quiet{From: h(22), Until: h(7)}, 7, false}, {Quiet{From: h(22), Until: h(7)}, 21, false},
		{Quiet{From: h(9), Until: h(12)}, 9, true}, {Quiet{From: h(9), Until: h(12)}, 12, false}, {Quiet{From: h(9), Until: h(9)}, 9, false},
		{Quiet{From: h(9), Until: h(12), Zone: east}, 5, true}, {Quiet{From: h(9), Until: h(12), Zone: east}, 9, false},
	} {
		if got := tt.q.holds(time.Date(2026, 1, 1, tt.hour, 0, 0, 0, time.UTC)); got != tt.want {
			t.Errorf("%+v at %d: %v", tt.q, tt.hour, got)
		}
	}
	e := New(Options{Now: func() time.Time { return start }, Reminders: Reminders{Quiet: &Quiet{From: h(12), Until: h(13)}}})
	if err := e.Add(FollowUp{ID: "a", Condition: always}); err != nil {
		t.Fatal(err)
	}
	if list, err := e.FollowUps(t.Context(), Moment{SessionID: "s"}); err != nil || list[0].Why != QuietHours {
		t.Errorf("%+v %v", list, err)
	}
}

// TestWatch: a watch has one look pending, whatever is paused, resumed or breaks, and none once it is cancelled.
func TestWatch(t *testing.T) {
	t.Parallel()
	now := start
	c := &clock{}
	e, ctx := New(Options{Scheduler: c, Now: func() time.Time { return now }}), t.Context()
	holds, broken := true, error(nil)
	w := Watch{ID: "price", Condition: func(context.Context, time.Time) (bool, error) {
		if errors.Is(broken, errPanics) {
			panic("boo")
		}
		return holds, broken
	}, Action: "tell", Payload: map[string]any{"item": 1}, Every: time.Hour}
	if err := e.Watch(ctx, w); err != nil {
		t.Fatal(err)
	}
	if err := e.Watch(ctx, w); !errors.Is(err, ErrExists) {
		t.Errorf("%v", err)
	}
	pending := func(want int) {
		t.Helper()
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.pending) != want {
			t.Errorf("%d looks are pending, want %d", len(c.pending), want)
		}
	}
	pending(1)
	now = now.Add(time.Hour)
	trigger, err := e.Look(ctx, "price")
	if err != nil || trigger == nil || trigger.Action != "tell" || trigger.Payload["item"] != 1 || !trigger.At.Equal(now) {
		t.Errorf("%+v %v", trigger, err)
	}
	pending(1)
	if s := e.Watches()[0]; !s.LookedAt.Equal(now) || s.WakeUpID == "" || c.pending[s.WakeUpID].At != now.Add(time.Hour) {
		t.Errorf("%+v", s)
	}
	holds = false
	if trigger, err := e.Look(ctx, "price"); err != nil || trigger != nil {
		t.Errorf("%+v %v", trigger, err)
	}
	for _, broken = range []error{errors.New("offline"), errPanics} {
		if trigger, err := e.Look(ctx, "price"); err == nil || trigger != nil || e.Watches()[0].Err == nil {
			t.Errorf("%+v %v", trigger, err)
		}
		pending(1) // it is looked at again
	}
	broken, holds = nil, true
	for range 2 {
		if err := e.Pause(ctx, "price"); err != nil {
			t.Error(err)
		}
		pending(0)
	}
	if trigger, err := e.Look(ctx, "price"); err != nil || trigger != nil {
		t.Errorf("while it is paused: %+v %v", trigger, err)
	}
	pending(0)
	for range 2 {
		if err := e.Resume(ctx, "price"); err != nil {
			t.Error(err)
		}
		pending(1)
	}
	c.fail = errors.New("full")
	if _, err := e.Look(ctx, "price"); !errors.Is(err, ErrScheduler) {
		t.Errorf("%v", err)
	}
	c.fail = nil
	if err := e.CancelWatch(ctx, "price"); err != nil {
		t.Error(err)
	}
	pending(0)
	for _, f := range []func(context.Context, string) error{e.Pause, e.Resume, e.CancelWatch, func(ctx context.Context, id string) error { _, err := e.Look(ctx, id); return err }} {
		if err := f(ctx, "price"); !errors.Is(err, ErrNoRule) {
			t.Errorf("%v", err)
		}
		if err := f(ctx, "nothing"); !errors.Is(err, ErrNoRule) {
			t.Errorf("%v", err)
		}
	}
	if s := e.Watches()[0].Status; s != Cancelled {
		t.Error(s)
	}
	if err := e.Watch(ctx, w); err != nil || len(e.Watches()) != 1 {
		t.Errorf("after it was cancelled: %v", err)
	}
	c.fail = errors.New("full")
	w.ID = "other"
	if err := e.Watch(ctx, w); !errors.Is(err, ErrScheduler) || len(e.Watches()) != 1 {
		t.Errorf("%v, %d watches", err, len(e.Watches()))
	}
	if err := e.Watch(ctx, Watch{ID: "x"}); err == nil {
		t.Error("a watch of nothing")
	}
}

var errPanics = errors.New("panics")
