// Package proactive decides when a product speaks first: to follow up on a conversation that has fallen silent, and when something that it watches has
// happened (BYOH specification, proactive). Whoever speaks then asks package policy.
package proactive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/product/routing"
)

// Errors, for errors.Is.
var (
	ErrNoRule    = errors.New("unknown rule")
	ErrExists    = errors.New("the rule is registered")
	ErrScheduler = errors.New("the wake-up could not be arranged")
)

// Why nothing is said.
type Why string

// The reasons, in the order in which they count. A condition that does not hold has none.
const (
	UserActive   Why = "user_active"
	QuietHours   Why = "quiet_hours"
	MaxReminders Why = "max_reminders"
	Cooldown     Why = "cooldown"
)

// Quiet is a time of the day in which nobody is reminded: from is part of it, until is not; it may pass midnight. Equal times are none.
type Quiet struct {
	From, Until time.Duration // since midnight
	Zone        *time.Location
}

func (q Quiet) holds(now time.Time) bool {
	if q.Zone != nil {
		now = now.In(q.Zone)
	}
	at := time.Duration(now.Hour())*time.Hour + time.Duration(now.Minute())*time.Minute + time.Duration(now.Second())*time.Second
	if q.From <= q.Until {
		return at >= q.From && at < q.Until
	}
	return at >= q.From || at < q.Until
}

// Reminders limit how often a rule fires in a conversation. Zero values are the engine's, and then three reminders, an hour apart, none while the user
// is there.
type Reminders struct {
	Most           int
	Cooldown       time.Duration
	EvenWhenActive bool // also if the user has written since it was scheduled
	Quiet          *Quiet
}

// Moment is when a follow-up is considered.
type Moment struct {
	SessionID      string
	ScheduledAt    time.Time // of the wake-up
	LastActivityAt time.Time // of the user
	Evidence       []Evidence
	Metadata       map[string]any
}

// Evidence is something that happened in the conversation.
type Evidence struct {
	ID, Kind, Text string
	At             time.Time
}

// FollowUp is a rule for silent conversations.
type FollowUp struct {
	ID        string
	Condition func(context.Context, Moment) (bool, error)
	Reminders Reminders
	Mode      routing.Mode // how much the message is worth; empty is Cheap
	Template  string       // of the message
}

// Decision is what a follow-up rule says.
type Decision struct {
	RuleID, SessionID string
	Fire              bool
	Why               Why // it does not fire
	Mode              routing.Mode
	Template          string
	Err               error // of the condition, which then does not hold
}

// Watch is a rule that looks again and again.
type Watch struct {
	ID        string
	Condition func(context.Context, time.Time) (bool, error)
	Action    string
	Payload   map[string]any
	Every     time.Duration
}

// Status is how far a watch is.
type Status string

// The statuses.
const (
	Watching  Status = "active"
	Paused    Status = "paused"
	Cancelled Status = "cancelled"
)

// WatchState is a watch and how it is.
type WatchState struct {
	Watch    Watch
	Status   Status
	LookedAt time.Time
	WakeUpID string // pending; empty if none
	Err      error  // of the last look
}

// Trigger is a watch whose condition holds.
type Trigger struct {
	RuleID, Action string
	Payload        map[string]any
	At             time.Time
}

// WakeUp is what comes back when a time has come.
type WakeUp struct {
	RuleID, SessionID string
	At                time.Time
}

// Scheduler arranges wake-ups, such as over package continuation or cron.
type Scheduler interface {
	Wake(context.Context, WakeUp) (id string, err error)
	Cancel(ctx context.Context, id string) error
}

// Options are the collaborators of an engine.
type Options struct {
	Scheduler Scheduler // required for watches
	// Evidence is asked once for a Moment without any.
	Evidence  func(ctx context.Context, session string) ([]Evidence, error)
	Reminders Reminders
	Now       func() time.Time // nil is time.Now
}

// Engine holds rules and what was said. It is safe for concurrent use; conditions run without its lock.
type Engine struct {
	o       Options
	mu      sync.Mutex
	rules   []FollowUp
	said    map[[2]string]said // by session and rule
	watches []*watch
}

type said struct {
	count int
	last  time.Time
}

type watch struct {
	busy sync.Mutex // one look or change at a time
	WatchState
}

// New returns an engine.
func New(o Options) *Engine {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Engine{o: o, said: map[[2]string]said{}}
}

// Add adds a follow-up rule.
func (e *Engine) Add(f FollowUp) error {
	if f.ID == "" || f.Condition == nil {
		return errors.New("a follow-up rule needs an id and a condition")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if slices.ContainsFunc(e.rules, func(have FollowUp) bool { return have.ID == f.ID }) {
		return fmt.Errorf("%s: %w", f.ID, ErrExists)
	}
	e.rules = append(e.rules, f)
	return nil
}

// Remove removes a follow-up rule and what it said.
func (e *Engine) Remove(id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(e.rules)
	e.rules = slices.DeleteFunc(e.rules, func(f FollowUp) bool { return f.ID == id })
	if len(e.rules) == n {
		return fmt.Errorf("%s: %w", id, ErrNoRule)
	}
	e.forget(func(session, rule string) bool { return rule == id })
	return nil
}

func (e *Engine) forget(which func(session, rule string) bool) {
	for key := range e.said {
		if which(key[0], key[1]) {
			delete(e.said, key)
		}
	}
}

// Forget drops what was said in a session, by a rule or, if it is empty, by all.
func (e *Engine) Forget(session, rule string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.forget(func(s, r string) bool { return s == session && (rule == "" || r == rule) })
}

// limits are those of a rule.
func (e *Engine) limits(r Reminders) Reminders {
	d := e.o.Reminders
	return Reminders{Most: cmp.Or(r.Most, d.Most, 3), Cooldown: cmp.Or(r.Cooldown, d.Cooldown, time.Hour), EvenWhenActive: r.EvenWhenActive || d.EvenWhenActive, Quiet: cmp.Or(r.Quiet, d.Quiet)}
}

// silent says why a rule may say nothing now.
func (e *Engine) silent(f FollowUp, m Moment, now time.Time) Why {
	limits, had := e.limits(f.Reminders), e.said[[2]string{m.SessionID, f.ID}]
	switch {
	case !limits.EvenWhenActive && m.LastActivityAt.After(m.ScheduledAt):
		return UserActive
	case limits.Quiet != nil && limits.Quiet.holds(now):
		return QuietHours
	case had.count >= limits.Most:
		return MaxReminders
	case had.count > 0 && now.Sub(had.last) < limits.Cooldown:
		return Cooldown
	}
	return ""
}

// FollowUps asks every rule, in the order in which they were added. What fires counts as said, once for all who ask at the same time.
func (e *Engine) FollowUps(ctx context.Context, m Moment) (list []Decision, err error) {
	if strings.TrimSpace(m.SessionID) == "" {
		return nil, errors.New("a follow-up needs a session")
	}
	if m.Evidence == nil && e.o.Evidence != nil {
		if m.Evidence, err = e.o.Evidence(ctx, m.SessionID); err != nil {
			return nil, fmt.Errorf("evidence of %s: %w", m.SessionID, err)
		}
	}
	now := e.o.Now()
	e.mu.Lock()
	rules := slices.Clone(e.rules)
	e.mu.Unlock()
	for _, f := range rules {
		d := Decision{RuleID: f.ID, SessionID: m.SessionID, Mode: cmp.Or(f.Mode, routing.Cheap), Template: f.Template}
		e.mu.Lock()
		d.Why = e.silent(f, m, now)
		e.mu.Unlock()
		if d.Why == "" {
			var holds bool
			if holds, d.Err = guarded(func() (bool, error) { return f.Condition(ctx, m) }); holds && d.Err == nil {
				e.mu.Lock()
				if d.Why = e.silent(f, m, now); d.Why == "" { // nobody was faster
					key := [2]string{m.SessionID, f.ID}
					e.said[key] = said{e.said[key].count + 1, now}
					d.Fire = true
				}
				e.mu.Unlock()
			}
		}
		list = append(list, d)
	}
	return list, nil
}

// guarded calls a condition; a panic is an error.
func guarded(f func() (bool, error)) (holds bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			holds, err = false, fmt.Errorf("the condition panicked: %v", p)
		}
	}()
	return f()
}

// Watch adds a watch, and arranges its first look.
func (e *Engine) Watch(ctx context.Context, w Watch) error {
	if w.ID == "" || w.Condition == nil || w.Every <= 0 || e.o.Scheduler == nil {
		return errors.New("a watch needs an id, a condition, an interval and a scheduler")
	}
	n := &watch{WatchState: WatchState{Watch: w, Status: Watching}}
	n.busy.Lock()
	defer n.busy.Unlock()
	e.mu.Lock()
	for i, have := range e.watches {
		if have.Watch.ID != w.ID {
			continue
		}
		if have.Status != Cancelled {
			e.mu.Unlock()
			return fmt.Errorf("%s: %w", w.ID, ErrExists)
		}
		e.watches = slices.Delete(e.watches, i, i+1)
		break
	}
	e.watches = append(e.watches, n)
	e.mu.Unlock()
	if err := e.arrange(ctx, n); err != nil {
		e.mu.Lock()
		e.watches = slices.DeleteFunc(e.watches, func(have *watch) bool { return have == n })
		e.mu.Unlock()
		return err
	}
	return nil
}

// arrange arranges the next look of a watch that has none pending.
func (e *Engine) arrange(ctx context.Context, w *watch) error {
	id, err := e.o.Scheduler.Wake(ctx, WakeUp{RuleID: w.Watch.ID, At: e.o.Now().Add(w.Watch.Every)})
	if err != nil {
		return fmt.Errorf("%s: %w: %w", w.Watch.ID, ErrScheduler, err)
	}
	e.set(func() { w.WakeUpID = id })
	return nil
}

// drop cancels the pending look of a watch.
func (e *Engine) drop(ctx context.Context, w *watch) error {
	if w.WakeUpID == "" {
		return nil
	}
	if err := e.o.Scheduler.Cancel(ctx, w.WakeUpID); err != nil {
		return fmt.Errorf("%s: %w: %w", w.Watch.ID, ErrScheduler, err)
	}
	e.set(func() { w.WakeUpID = "" })
	return nil
}

func (e *Engine) set(change func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change()
}

// take returns a watch that is not cancelled, locked for one change.
func (e *Engine) take(id string) (*watch, error) {
	e.mu.Lock()
	i := slices.IndexFunc(e.watches, func(w *watch) bool { return w.Watch.ID == id })
	if i < 0 {
		e.mu.Unlock()
		return nil, fmt.Errorf("%s: %w", id, ErrNoRule)
	}
	w := e.watches[i]
	e.mu.Unlock()
	w.busy.Lock()
	if w.Status == Cancelled {
		w.busy.Unlock()
		return nil, fmt.Errorf("%s: %w", id, ErrNoRule)
	}
	return w, nil
}

// Pause ends the looks of a watch until Resume; again, it does nothing.
func (e *Engine) Pause(ctx context.Context, id string) error { return e.turn(ctx, id, Paused) }

// Resume goes on with a paused watch: one look is pending, however often it is called.
func (e *Engine) Resume(ctx context.Context, id string) error { return e.turn(ctx, id, Watching) }

// CancelWatch ends a watch for good.
func (e *Engine) CancelWatch(ctx context.Context, id string) error {
	return e.turn(ctx, id, Cancelled)
}

func (e *Engine) turn(ctx context.Context, id string, to Status) error {
	w, err := e.take(id)
	if err != nil {
		return err
	}
	defer w.busy.Unlock()
	if to != Watching {
		err = e.drop(ctx, w)
	} else if w.WakeUpID == "" {
		err = e.arrange(ctx, w)
	}
	if err == nil {
		e.set(func() { w.Status = to })
	}
	return err
}

// Watches returns the watches in the order in which they were added.
func (e *Engine) Watches() (list []WatchState) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.watches {
		list = append(list, w.WatchState)
	}
	return list
}

// Look is for a wake-up of a watch: it asks the condition and arranges the next look, whatever the condition says or does. A paused watch says nothing. The
// trigger is nil if the condition does not hold.
func (e *Engine) Look(ctx context.Context, id string) (*Trigger, error) {
	w, err := e.take(id)
	if err != nil {
		return nil, err
	}
	defer w.busy.Unlock()
	if w.Status == Paused {
		return nil, nil //nolint:nilnil // nothing is said
	}
	now := e.o.Now()
	holds, failed := guarded(func() (bool, error) { return w.Watch.Condition(ctx, now) })
	e.set(func() { w.LookedAt, w.Err = now, failed })
	err = errors.Join(failed, e.drop(ctx, w), e.arrange(ctx, w))
	if !holds || failed != nil {
		return nil, err
	}
	return &Trigger{w.Watch.ID, w.Watch.Action, w.Watch.Payload, now}, err
}
