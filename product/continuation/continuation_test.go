package continuation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// world is a runtime with a clock of its own.
type world struct {
	*Runtime
	t         *testing.T
	mu        sync.Mutex
	now       time.Time
	ran       []Turn
	result    execution.Result
	fails     error
	during    func()
	delivered []string
	refuses   error
	back      bool
	trace     []string
}

func newWorld(t *testing.T, s Store) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), result: execution.Result{Status: execution.StatusCompleted, Output: &execution.Output{Text: "done"}}}
	w.Runtime = New(Options{Store: s, Now: func() time.Time { return w.now }, Hold: 10 * time.Minute,
		Run: func(_ context.Context, turn Turn) (execution.Result, error) {
			w.mu.Lock()
			w.ran = append(w.ran, turn)
			w.mu.Unlock()
			if w.during != nil {
				w.during()
			}
			return w.result, w.fails
		},
		Deliver: func(_ context.Context, key string, r Record) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.delivered = append(w.delivered, key+" "+r.Delivery.Text)
			return w.refuses
		},
		Returned: func(context.Context, Record) bool { return w.back },
		Trace: func(e string, r Record) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.trace = append(w.trace, e)
		}})
	return w
}

func waits(status execution.Status, state map[string]any) Create {
	return Create{AssistantID: "a", SessionID: "s", TurnID: "t", Result: execution.Result{Status: status, Continuation: &execution.Continuation{Kind: "x", State: state}}}
}

var (
	asks     = func() Create { return waits(execution.StatusNeedsClarification, nil) }
	approval = func() Create { return waits(execution.StatusAwaitingApproval, map[string]any{"approvalId": "q1"}) }
	reply    = Trigger{Kind: UserReply, Message: &execution.Message{ID: "m", Text: "yes"}}
)

func (w *world) create(c Create) Record {
	w.t.Helper()
	r, err := w.Create(w.t.Context(), c)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// resume wants an error, nil for none.
func (w *world) resume(id string, t Trigger, want error) (Record, execution.Result) {
	w.t.Helper()
	r, res, err := w.Resume(w.t.Context(), id, t)
	if !errors.Is(err, want) || want == nil && err != nil {
		w.t.Fatalf("resume: %v, want %v", err, want)
	}
	return r, res
}

func (w *world) get(id string) Record {
	w.t.Helper()
	r, err := w.o.Store.Get(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) tick() time.Time {
	w.t.Helper()
	next, err := w.Tick(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return next
}

func stores(t *testing.T, f func(t *testing.T, s Store)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) { f(t, &Memory{}) })
	t.Run("sqlite", func(t *testing.T) {
		s, err := OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "c.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		f(t, s)
	})
}

// TestStore is what a store has to do.
func TestStore(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s Store) {
		ctx, at := t.Context(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		rec := func(id, session string, minutes int) Record {
			return Record{ID: id, SessionID: session, Status: Pending, WaitFor: WaitFor{Kind: UserReply}, CreatedAt: at.Add(time.Duration(minutes) * time.Minute),
				Bounds: Bounds{ExpiresAt: at.Add(time.Duration(10-minutes) * time.Hour)}, Metadata: map[string]any{"n": 1.0}}
		}
		for i, r := range []Record{rec("b", "one", 2), rec("a", "one", 1), rec("c", "two", 3)} {
			if err := s.Create(ctx, r); err != nil {
				t.Fatal(i, err)
			}
		}
		if err := s.Create(ctx, rec("a", "one", 9)); !errors.Is(err, ErrConflict) {
			t.Errorf("%v", err)
		}
		r, err := s.Get(ctx, "a")
		if err != nil || r.Version != 1 || r.SessionID != "one" || !r.CreatedAt.Equal(at.Add(time.Minute)) || r.Metadata["n"] != 1.0 {
			t.Errorf("%+v %v", r, err)
		}
		r.Status, r.Reason = Cancelled, CancelledByUser
		if err := s.Update(ctx, r); err != nil {
			t.Fatal(err)
		}
		if err := s.Update(ctx, r); !errors.Is(err, ErrConflict) {
			t.Errorf("%v", err)
		}
		if r, err = s.Get(ctx, "a"); err != nil || r.Version != 2 || r.Status != Cancelled {
			t.Errorf("%+v %v", r, err)
		}
		if err := s.Update(ctx, rec("x", "", 0)); !errors.Is(err, ErrNotFound) {
			t.Errorf("%v", err)
		}
		if _, err := s.Get(ctx, "x"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%v", err)
		}
		ids := func(list []Record, err error) string {
			if err != nil {
				t.Error(err)
			}
			var all []string
			for _, r := range list {
				all = append(all, r.ID)
			}
			return strings.Join(all, " ")
		}
		if got := ids(s.List(ctx, "one")); got != "a b" {
			t.Error(got)
		}
		if got := ids(s.List(ctx, "")); got != "a b c" {
			t.Error(got)
		}
		if got := ids(s.Due(ctx, at.Add(7*time.Hour))); got != "c" {
			t.Error(got)
		}
		if got := ids(s.Due(ctx, at.Add(100*time.Hour))); got != "c b" {
			t.Error(got)
		}
	})
}

// TestCreate: what can be continued, for how long, and what is refused.
func TestCreate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &Memory{})
	wake := w.now.Add(3 * time.Hour).Format(time.RFC3339)
	for name, c := range map[string]struct {
		c       Create
		kind    Kind
		expires time.Duration
	}{
		"clarification": {asks(), UserReply, time.Hour},
		"approval":      {approval(), ApprovalResolution, 24 * time.Hour},
		"operation":     {waits(execution.StatusDeferred, map[string]any{"operationId": "o"}), ExternalResult, time.Hour},
		"wake":          {waits(execution.StatusDeferred, map[string]any{"wakeAt": wake}), ScheduledWake, 4 * time.Hour},
		"usual wake":    {waits(execution.StatusDeferred, map[string]any{"scheduledWake": true}), ScheduledWake, 2 * time.Hour},
	} {
		r := w.create(c.c)
		if r.WaitFor.Kind != c.kind || r.Bounds.ExpiresAt.Sub(w.now) != c.expires || r.Status != Pending || r.Bounds.MaxAttempts != 3 || r.Origin.TurnID != "t" || !strings.HasPrefix(r.ID, "cont_") {
			t.Errorf("%s: %+v", name, r)
		}
		if other := w.create(c.c); other.ID == r.ID {
			t.Errorf("%s: two with the same id", name)
		}
	}
	for name, c := range map[string]struct {
		change func(*Create)
		want   error
	}{
		"completed":              {func(c *Create) { c.Result.Status = execution.StatusCompleted }, ErrNothing},
		"no continuation":        {func(c *Create) { c.Result.Continuation = nil }, ErrNothing},
		"approval without an id": {func(c *Create) { *c = waits(execution.StatusAwaitingApproval, nil) }, ErrInvalid},
		"deferred for nothing":   {func(c *Create) { *c = waits(execution.StatusDeferred, map[string]any{"scheduledWake": false}) }, ErrInvalid},
		"a wrong time":           {func(c *Create) { *c = waits(execution.StatusDeferred, map[string]any{"wakeAt": "soon"}) }, ErrInvalid},
		"expired":                {func(c *Create) { c.ExpiresAt = w.now }, ErrInvalid},
		"attempts":               {func(c *Create) { c.MaxAttempts = -1 }, ErrInvalid},
		"no turn":                {func(c *Create) { c.TurnID = "" }, ErrInvalid},
		"no assistant":           {func(c *Create) { c.AssistantID = "" }, ErrInvalid},
	} {
		create := asks()
		c.change(&create)
		if _, err := w.Create(t.Context(), create); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	req := execution.Request{AssistantID: "a", TurnID: "t", SessionID: "s", UserID: "u", ThreadID: "th"}
	if r := w.create(FromResult(req, asks().Result)); r.AssistantID != "a" || r.SessionID != "s" || r.UserID != "u" || r.ThreadID != "th" || r.Origin.Outcome != execution.StatusNeedsClarification {
		t.Errorf("%+v", r)
	}
}

// TestResume: a reply resumes the turn once, and its answer is delivered once.
func TestResume(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s Store) {
		w := newWorld(t, s)
		id := w.create(asks()).ID
		w.now = w.now.Add(time.Minute)
		r, res := w.resume(id, reply, nil)
		if r.Status != Completed || r.Reason != ReasonCompleted || r.Bounds.Attempts != 1 || res.Output.Text != "done" || r.Delivery.Status != Delivered || !r.LastResumedAt.Equal(w.now) {
			t.Errorf("%+v", r)
		}
		if got := w.get(id); got.Version != r.Version || got.Status != Completed {
			t.Errorf("%+v", got)
		}
		turn := w.ran[0]
		req := turn.Request()
		if turn.TurnID != "t:resume:1" || req.TurnID != turn.TurnID || req.Message.Text != "yes" || req.Continuation.ContinuationID != id || req.Continuation.Kind != "x" || req.Validate() != nil {
			t.Errorf("%+v %v", req, req.Validate())
		}
		if !slices.Equal(w.delivered, []string{id + " done"}) {
			t.Errorf("%q", w.delivered)
		}
		w.resume(id, reply, ErrFinal)
		if len(w.ran) != 1 {
			t.Error("it ran again")
		}
		w.resume("cont_forged", reply, ErrNotFound)
		if want := "created resumed_turn_started resumed_turn_finished terminated delivery_attempted resume_rejected"; strings.Join(w.trace, " ") != want {
			t.Errorf("%v", w.trace)
		}
	})
}

// TestMismatch: a trigger that does not fit changes nothing.
func TestMismatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &Memory{})
	keyed := asks()
	keyed.CorrelationKey = "k"
	operation := waits(execution.StatusDeferred, map[string]any{"operationId": "o"})
	wake := waits(execution.StatusDeferred, map[string]any{"scheduledWake": true})
	for name, c := range map[string]struct {
		c Create
		t Trigger
	}{
		"another kind":        {approval(), reply},
		"another approval":    {approval(), Trigger{Kind: ApprovalResolution, ApprovalID: "q2", Decision: Approved}},
		"no decision":         {approval(), Trigger{Kind: ApprovalResolution, ApprovalID: "q1", Decision: "perhaps"}},
		"another session":     {asks(), Trigger{Kind: UserReply, SessionID: "other", Message: reply.Message}},
		"another key":         {keyed, reply},
		"no message":          {asks(), Trigger{Kind: UserReply}},
		"another operation":   {operation, Trigger{Kind: ExternalResult, OperationID: "p"}},
		"another wake-up":     {wake, Trigger{Kind: ScheduledWake, WakeUpID: "wake_x"}},
		"a wake-up unnamed":   {wake, Trigger{Kind: ScheduledWake}},
		"an approval besides": {asks(), Trigger{Kind: UserReply, ApprovalID: "q1", Message: reply.Message}},
	} {
		id := w.create(c.c).ID
		before := w.get(id)
		w.resume(id, c.t, ErrMismatch)
		if got := w.get(id); got.Version != before.Version || got.Status != Pending {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if len(w.ran) != 0 {
		t.Errorf("%d ran", len(w.ran))
	}
	w.resume(w.create(keyed).ID, Trigger{Kind: UserReply, SessionID: "s", CorrelationKey: "k", Message: reply.Message}, nil)
	payload := json.RawMessage(`{"n":1}`)
	w.resume(w.create(operation).ID, Trigger{Kind: ExternalResult, OperationID: "o", Payload: payload}, nil)
	if text := w.ran[1].Request().Message.Text; !strings.Contains(string(text), `{"n":1}`) {
		t.Errorf("%s", text)
	}
}

// TestApproval: a denied approval runs nothing; an approved one runs; a turn that then asks for another approval waits for that one.
func TestApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &Memory{})
	id := w.create(approval()).ID
	r, res := w.resume(id, Trigger{Kind: ApprovalResolution, ApprovalID: "q1", Decision: Denied, Comment: "too dear"}, nil)
	if r.Status != Cancelled || r.Reason != ApprovalDenied || len(w.ran) != 0 || res.Status != execution.StatusFailed || !strings.Contains(res.Error.Message, "too dear") || len(w.delivered) != 0 {
		t.Errorf("%+v %+v", r, res)
	}
	id = w.create(approval()).ID
	w.result = approval().Result
	w.result.Continuation.State["approvalId"] = "q2"
	r, _ = w.resume(id, Trigger{Kind: ApprovalResolution, ApprovalID: "q1", Decision: Approved}, nil)
	if r.Status != Pending || r.WaitFor != (WaitFor{Kind: ApprovalResolution, ApprovalID: "q2"}) || r.Bounds.Attempts != 1 || len(w.delivered) != 0 {
		t.Errorf("%+v", r)
	}
	w.resume(id, reply, ErrMismatch)
	w.resume(id, Trigger{Kind: ApprovalResolution, ApprovalID: "q1", Decision: Approved}, ErrMismatch)
	req := w.ran[0].Request()
	if d := req.Continuation.Decision; d == nil || !d.Approved || d.ApprovalID != w.ran[0].Record.WaitFor.ApprovalID || w.ran[0].Record.Continuation.Decision != nil || req.Message.Text != "The request was approved." {
		t.Errorf("%+v", req)
	}
	if len(w.ran) != 1 {
		t.Errorf("%d ran", len(w.ran))
	}
}

// TestBounds: what has expired or was resumed too often is not resumed.
func TestBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &Memory{})
	id := w.create(asks()).ID
	w.now = w.now.Add(time.Hour)
	if r, _ := w.resume(id, reply, ErrExpired); r.Status != Expired || r.Reason != ExpiredTTL {
		t.Errorf("%+v", r)
	}
	w.resume(id, reply, ErrFinal)
	id = w.create(asks()).ID
	w.result = asks().Result
	for range 3 {
		w.resume(id, reply, nil)
	}
	if r, _ := w.resume(id, reply, ErrExhausted); r.Status != Failed || r.Reason != AttemptsUsedUp || len(w.ran) != 3 {
		t.Errorf("%+v", r)
	}
	// nobody has to resume it for it to expire
	id = w.create(asks()).ID
	if next := w.tick(); !next.Equal(w.now.Add(time.Hour)) {
		t.Errorf("next %s", next)
	}
	w.now = w.now.Add(time.Hour)
	if next := w.tick(); w.get(id).Status != Expired || !next.IsZero() {
		t.Errorf("%+v, next %s", w.get(id), next)
	}
}

// TestFailures: an error of the runtime and a failed turn end the continuation, and deliver nothing.
func TestFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &Memory{})
	w.fails = errors.New("no network")
	id := w.create(asks()).ID
	if r, _ := w.resume(id, reply, w.fails); r.Status != Failed || r.Reason != ResumeFailed {
		t.Errorf("%+v", r)
	}
	w.fails, w.result = nil, execution.Result{Status: execution.StatusFailed, Text: "half"}
	id = w.create(asks()).ID
	if r, _ := w.resume(id, reply, nil); r.Status != Failed || r.Reason != ResumedTurnFailed || len(w.delivered) != 0 {
		t.Errorf("%+v %v", r, w.delivered)
	}
}

// TestOneWins: of many resumes at once, one runs.
func TestOneWins(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s Store) {
		w := newWorld(t, s)
		for range 20 {
			id := w.create(asks()).ID
			var won atomic.Int64
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					switch _, _, err := w.Resume(t.Context(), id, reply); {
					case err == nil:
						won.Add(1)
					case !errors.Is(err, ErrResuming) && !errors.Is(err, ErrFinal):
						t.Error(err)
					}
				})
			}
			all.Wait()
			if won.Load() != 1 {
				t.Errorf("%d won", won.Load())
			}
		}
		if len(w.ran) != 20 || len(w.delivered) != 20 {
			t.Errorf("%d ran, %d were delivered", len(w.ran), len(w.delivered))
		}
	})
}

// TestCancelledMeanwhile: a cancellation during a resumed turn stands, and its answer is not delivered.
func TestCancelledMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &Memory{})
	id := w.create(asks()).ID
	w.during = func() {
		if r, err := w.Cancel(t.Context(), id, SupersededByTurn); err != nil || r.Status != Superseded {
			t.Errorf("%+v %v", r, err)
		}
	}
	r, res := w.resume(id, reply, nil)
	if r.Status != Superseded || len(w.delivered) != 0 || res.Status != execution.StatusCompleted {
		t.Errorf("%+v %v", r, w.delivered)
	}
	if r, err := w.Cancel(t.Context(), id, CancelledByUser); err != nil || r.Status != Superseded {
		t.Errorf("%+v %v", r, err)
	}
	for why, want := range map[Reason]Status{CancelledByUser: Cancelled, CancelledByUs: Cancelled, ExpiredTTL: Expired, ResumeFailed: Failed, ReasonCompleted: Completed} {
		if r, err := w.Cancel(t.Context(), w.create(asks()).ID, why); err != nil || r.Status != want || r.Reason != why {
			t.Errorf("%s: %+v %v", why, r, err)
		}
	}
}

// TestGone: a record whose process died while it resumed can be resumed again, and what the dead one says later does not count.
func TestGone(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s Store) {
		w := newWorld(t, s)
		id := w.create(approval()).ID
		approve := Trigger{Kind: ApprovalResolution, ApprovalID: "q1", Decision: Approved}
		second := newWorld(t, s)
		w.during = func() { // the process hangs while time goes on
			second.now = w.now.Add(5 * time.Minute)
			second.resume(id, approve, ErrResuming)
			second.tick()
			second.resume(id, approve, ErrResuming)
			second.now = w.now.Add(10 * time.Minute)
			second.tick()
			if r := second.get(id); r.Status != Pending || r.Bounds.Attempts != 1 {
				t.Errorf("%+v", r)
			}
			second.resume(id, approve, nil)
		}
		r, _ := w.resume(id, approve, nil)
		if r.Status != Completed || r.Bounds.Attempts != 2 || len(second.delivered) != 1 || len(w.delivered) != 0 {
			t.Errorf("%+v, delivered %v and %v", r, w.delivered, second.delivered)
		}
	})
}

// TestWake: a wake-up fires when its time has come, before the record expires, and once.
func TestWake(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &Memory{})
	id := w.create(waits(execution.StatusDeferred, map[string]any{"scheduledWake": true})).ID
	at := w.get(id).WaitFor.WakeAt
	if next := w.tick(); !next.Equal(at) || len(w.ran) != 0 {
		t.Errorf("next %s, %d ran", next, len(w.ran))
	}
	w.now = at.Add(time.Second)
	w.tick()
	w.tick()
	if r := w.get(id); r.Status != Completed || len(w.ran) != 1 || w.ran[0].Request().Message.Text != "It is time to go on." {
		t.Errorf("%+v", r)
	}
}

// TestDelivery: a delivery that fails is repeated with the same key, less and less often, and given up; nobody is told who is back.
func TestDelivery(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &Memory{})
	w.refuses = errors.New("busy")
	id := w.create(asks()).ID
	r, _ := w.resume(id, reply, nil)
	if r.Status != Completed || r.Delivery.Status != PendingDelivery || r.Delivery.Error != "busy" {
		t.Errorf("%+v", r.Delivery)
	}
	w.tick()
	if len(w.delivered) != 1 {
		t.Error("too early")
	}
	for n := 2; n <= 5; n++ {
		w.now = w.tick()
		w.tick()
		if len(w.delivered) != n {
			t.Errorf("%d attempts, want %d", len(w.delivered), n)
		}
	}
	if r := w.get(id); r.Delivery.Status != DeliveryFailed || r.Delivery.Attempts != 5 || !w.tick().IsZero() {
		t.Errorf("%+v", r.Delivery)
	}
	for _, d := range w.delivered {
		if d != id+" done" {
			t.Error(d)
		}
	}
	w.refuses, w.back = nil, true
	c := asks()
	c.SuppressIfReturned, c.Surfaces = true, []string{"mail"}
	r, _ = w.resume(w.create(c).ID, reply, nil)
	if r.Delivery.Status != SuppressedBack || len(w.delivered) != 5 || !slices.Equal(r.Delivery.Surfaces, []string{"mail"}) {
		t.Errorf("%+v", r.Delivery)
	}
	w.result = execution.Result{Status: execution.StatusCompleted}
	if r, _ = w.resume(w.create(asks()).ID, reply, nil); r.Delivery.Status != NotApplicable {
		t.Errorf("%+v", r.Delivery)
	}
}

// TestSurfaces: a surface that has the answer does not get it again because another one failed.
func TestSurfaces(t *testing.T) {
	t.Parallel()
	var got []string
	var broken error
	rt := New(Options{Store: &Memory{}, Run: func(context.Context, Turn) (execution.Result, error) {
		return execution.Result{Status: execution.StatusCompleted, Text: "done"}, nil
	}, Deliver: func(_ context.Context, _ string, r Record) error {
		got = append(got, r.Delivery.Surfaces...)
		if r.Delivery.Surfaces[0] == "b" {
			return broken
		}
		return nil
	}})
	broken = errors.New("busy")
	c := asks()
	c.Surfaces = []string{"a", "b", "c"}
	r, err := rt.Create(t.Context(), c)
	if err == nil {
		r, _, err = rt.Resume(t.Context(), r.ID, reply)
	}
	if err != nil || r.Delivery.Status != PendingDelivery || r.Delivery.Error != "busy" || !slices.Equal(r.Delivery.Done, []string{"a", "c"}) {
		t.Fatalf("%+v %v", r.Delivery, err)
	}
	broken = nil
	r, err = rt.deliver(t.Context(), r)
	if err != nil || r.Delivery.Status != Delivered || !slices.Equal(got, []string{"a", "b", "c", "b"}) || len(r.Delivery.Surfaces) != 3 {
		t.Errorf("%+v %v, delivered to %v", r.Delivery, err, got)
	}
}

// TestLongTurn: a turn may take as long as it wants, as long as its process lives.
func TestLongTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &Memory{}
		first := New(Options{Store: store, Hold: time.Minute, Run: func(context.Context, Turn) (execution.Result, error) {
			time.Sleep(time.Hour)
			return execution.Result{Status: execution.StatusCompleted, Text: "done"}, nil
		}})
		other := New(Options{Store: store, Hold: time.Minute, Run: func(context.Context, Turn) (execution.Result, error) {
			t.Error("it runs twice")
			return execution.Result{}, nil
		}})
		c := approval()
		r, err := first.Create(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		approve := Trigger{Kind: ApprovalResolution, ApprovalID: "q1", Decision: Approved}
		done := make(chan Record)
		go func() {
			r, _, err := first.Resume(t.Context(), r.ID, approve)
			if err != nil {
				t.Error(err)
			}
			done <- r
		}()
		for range 100 {
			time.Sleep(30 * time.Second)
			if _, err := other.Tick(t.Context()); err != nil {
				t.Error(err)
			}
			if _, _, err := other.Resume(t.Context(), r.ID, approve); !errors.Is(err, ErrResuming) {
				t.Fatalf("%v", err)
			}
		}
		if r := <-done; r.Status != Completed || r.Bounds.Attempts != 1 {
			t.Errorf("%+v", r)
		}
	})
}

// TestJobs: due records are looked at as many at once as the options say.
func TestJobs(t *testing.T) {
	t.Parallel()
	for jobs, want := range map[int]int{0: 1, 1: 1, 3: 3} {
		synctest.Test(t, func(t *testing.T) {
			var running, most atomic.Int32
			rt := New(Options{Store: &Memory{}, Jobs: jobs, Run: func(context.Context, Turn) (execution.Result, error) {
				most.Store(max(most.Load(), running.Add(1)))
				time.Sleep(time.Second)
				running.Add(-1)
				return execution.Result{Status: execution.StatusCompleted}, nil
			}})
			for range 6 {
				if _, err := rt.Create(t.Context(), waits(execution.StatusDeferred, map[string]any{"scheduledWake": true})); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(usualWake)
			if _, err := rt.Tick(t.Context()); err != nil || int(most.Load()) != want {
				t.Errorf("%d jobs: %d at once, %v", jobs, most.Load(), err)
			}
			all, err := rt.o.Store.List(t.Context(), "")
			for _, r := range all {
				if r.Status != Completed || err != nil {
					t.Errorf("%+v %v", r, err)
				}
			}
		})
	}
}

// TestSurvives: what a store in a file has is there for another process.
func TestSurvives(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dir", "c.db")
	var id string
	for i := range 2 {
		s, err := OpenSQLite(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, s)
		if i == 0 {
			id = w.create(asks()).ID
		} else if r, _ := w.resume(id, reply, nil); r.Status != Completed {
			t.Errorf("%+v", r)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := OpenSQLite(t.Context(), t.TempDir()); err == nil {
		t.Error("a folder is no file")
	}
}

func BenchmarkSQLite(b *testing.B) {
	s, err := OpenSQLite(b.Context(), filepath.Join(b.TempDir(), "c.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	rt := New(Options{Store: s, Run: func(context.Context, Turn) (execution.Result, error) {
		return execution.Result{Status: execution.StatusCompleted}, nil
	}})
	for b.Loop() {
		r, err := rt.Create(b.Context(), asks())
		if err == nil {
			_, _, err = rt.Resume(b.Context(), r.ID, reply)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rounds/s")
}

// A turn that asked is resumed when the answer comes, days later and in another process if need be.
func Example() {
	ctx := context.Background()
	rt := New(Options{Store: &Memory{}, Run: func(_ context.Context, turn Turn) (execution.Result, error) {
		// A product completes the request and runs it: client.Run(ctx, turn.Request(), ...)
		return execution.Result{Status: execution.StatusCompleted, Text: "Booked for " + string(turn.Trigger.Message.Text)}, nil
	}, Deliver: func(_ context.Context, _ string, r Record) error {
		fmt.Println("delivered:", r.Delivery.Text)
		return nil
	}})
	request := execution.Request{AssistantID: "travel", TurnID: "turn-1", SessionID: "s1"}
	result := execution.Result{Status: execution.StatusNeedsClarification, Continuation: &execution.Continuation{Kind: execution.ContinuationClarification}}
	record, err := rt.Create(ctx, FromResult(request, result))
	if err != nil {
		fmt.Println(err)
		return
	}
	record, _, err = rt.Resume(ctx, record.ID, Trigger{Kind: UserReply, SessionID: "s1", Message: &execution.Message{ID: "m2", Text: "Friday"}})
	fmt.Println(record.Status, err)
	// Output:
	// delivered: Booked for Friday
	// completed <nil>
}
