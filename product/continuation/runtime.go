package continuation

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// Errors of a runtime, for errors.Is.
var (
	ErrNothing   = errors.New("the result cannot be continued")
	ErrInvalid   = errors.New("the continuation is not valid")
	ErrFinal     = errors.New("the continuation has ended")
	ErrResuming  = errors.New("the continuation is being resumed")
	ErrExpired   = errors.New("the continuation has expired")
	ErrExhausted = errors.New("the continuation was resumed too often")
	ErrMismatch  = errors.New("the trigger does not fit")
)

// Defaults of a runtime.
const (
	usualTTL       = time.Hour
	approvalTTL    = 24 * time.Hour
	usualWake      = time.Hour
	usualAttempts  = 3
	usualHold      = 2 * time.Minute
	deliveryPause  = 10 * time.Second // before the second attempt; doubles
	deliveryMost   = 5
	resumedTurnFmt = "%s:resume:%d"
)

// Keys in the state or the metadata of an execution.Continuation.
const (
	keyApproval  = execution.StateApproval
	keyOperation = "operationId"
	keyWakeAt    = "wakeAt" // RFC 3339; also scheduledWake: true, an hour from now
	keyScheduled = "scheduledWake"
)

// Turn is a turn that is resumed.
type Turn struct {
	Record  Record
	Trigger Trigger
	TurnID  string // of the resumed turn
}

// Request is a request for the resumed turn, of which the product completes instructions, tools and options. Its continuation carries the
// decision about an approval, so that exactly the call is made that the agent asked for, once, or none and the agent hears why.
func (t Turn) Request() execution.Request {
	r := t.Record
	c := r.Continuation
	c.ContinuationID = r.ID
	if t.Trigger.Kind == ApprovalResolution {
		c.Decision = &execution.ContinuationDecision{ApprovalID: t.Trigger.ApprovalID, Approved: t.Trigger.Decision == Approved, By: t.Trigger.By, Reason: t.Trigger.Comment}
	}
	req := execution.Request{SchemaVersion: execution.SchemaVersion, AssistantID: r.AssistantID, TurnID: t.TurnID, SessionID: r.SessionID, UserID: r.UserID, ThreadID: r.ThreadID,
		Continuation: &c, Metadata: map[string]any{"continuationTrigger": t.Trigger}}
	switch {
	case t.Trigger.Message != nil:
		req.Message = *t.Trigger.Message
	case t.Trigger.Kind == ApprovalResolution:
		req.Message = execution.Message{ID: t.TurnID, Text: execution.Prompt("The request was " + t.Trigger.Decision + ".")}
	case t.Trigger.Kind == ExternalResult:
		req.Message = execution.Message{ID: t.TurnID, Text: execution.Prompt("The result has arrived: " + cmp.Or(string(t.Trigger.Payload), "no details") + ".")}
	default:
		req.Message = execution.Message{ID: t.TurnID, Text: "It is time to go on."}
	}
	return req
}

// Options are the collaborators of a runtime.
type Options struct {
	Store Store // required
	// Run runs a resumed turn. Required for Resume and Tick. Its ctx is that of the call.
	Run func(context.Context, Turn) (execution.Result, error)
	// Deliver takes the answer of a resumed turn to a surface, the only one in r.Delivery.Surfaces, or to none if the record names none. It may
	// be called again with the same key after a failure or a crash. nil delivers nothing.
	Deliver func(ctx context.Context, key string, r Record) error
	// Returned reports whether the user is back in the session, so that an answer is not delivered; nil is never.
	Returned func(context.Context, Record) bool
	Now      func() time.Time // nil is time.Now
	// Hold is how long a process that resumes a turn may be silent before others take the record for abandoned; 0 is 2 minutes. The process says
	// every third of it that it lives, however long the turn takes.
	Hold time.Duration
	// Jobs is how many due records Tick looks at at once; 0 is one.
	Jobs  int
	Trace func(event string, r Record) // may be nil
}

// Runtime creates and resumes continuations. It is safe for concurrent use.
type Runtime struct{ o Options }

// New returns a runtime.
func New(o Options) *Runtime {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Hold = cmp.Or(o.Hold, usualHold)
	if o.Trace == nil {
		o.Trace = func(string, Record) {}
	}
	return &Runtime{o}
}

// Create is a continuation to be kept. Zero values are the defaults: an hour, a day for an approval, three attempts.
type Create struct {
	AssistantID, SessionID, ThreadID, UserID string
	TurnID                                   string
	Result                                   execution.Result
	CorrelationKey                           string // of the reply
	ExpiresAt                                time.Time
	MaxAttempts                              int
	Surfaces                                 []string
	SuppressIfReturned                       bool
	Metadata                                 map[string]any
}

// FromResult makes a Create of the result of a request. Ids that the request left to Drawbar are the result's.
func FromResult(req execution.Request, res execution.Result) Create {
	return Create{AssistantID: cmp.Or(req.AssistantID, res.AssistantID), SessionID: req.SessionID, ThreadID: req.ThreadID, UserID: req.UserID,
		TurnID: cmp.Or(req.TurnID, res.TurnID), Result: res}
}

// waitFor is what a result waits for.
func (rt *Runtime) waitFor(res execution.Result, correlation string) (w WaitFor, err error) {
	c := res.Continuation
	if c == nil {
		return w, fmt.Errorf("%w: it has no continuation", ErrNothing)
	}
	text := func(key string) string {
		for _, m := range []map[string]any{c.State, c.Metadata} {
			if s, _ := m[key].(string); s != "" {
				return s
			}
		}
		return ""
	}
	switch res.Status {
	case execution.StatusNeedsClarification:
		return WaitFor{Kind: UserReply, CorrelationKey: correlation}, nil
	case execution.StatusAwaitingApproval:
		if w = (WaitFor{Kind: ApprovalResolution, ApprovalID: text(keyApproval)}); w.ApprovalID == "" {
			return w, fmt.Errorf("%w: an approval without %s", ErrInvalid, keyApproval)
		}
		return w, nil
	case execution.StatusDeferred:
		scheduled := c.State[keyScheduled] == true || c.Metadata[keyScheduled] == true
		switch at := text(keyWakeAt); {
		case text(keyOperation) != "":
			return WaitFor{Kind: ExternalResult, OperationID: text(keyOperation)}, nil
		case at != "":
			w = WaitFor{Kind: ScheduledWake, WakeUpID: "wake_" + rand.Text()}
			if w.WakeAt, err = time.Parse(time.RFC3339, at); err != nil {
				return w, fmt.Errorf("%w: %s %q is not a valid time", ErrInvalid, keyWakeAt, at)
			}
			return w, nil
		case scheduled:
			return WaitFor{Kind: ScheduledWake, WakeUpID: "wake_" + rand.Text(), WakeAt: rt.o.Now().Add(usualWake)}, nil
		}
		return w, fmt.Errorf("%w: deferred without %s, %s or %s", ErrInvalid, keyOperation, keyWakeAt, keyScheduled)
	}
	return w, fmt.Errorf("%w: its status is %s", ErrNothing, res.Status)
}

// ttl is when a record expires without another wish: well after a wake-up.
func (rt *Runtime) ttl(w WaitFor) time.Time {
	switch w.Kind {
	case ApprovalResolution:
		return rt.o.Now().Add(approvalTTL)
	case ScheduledWake:
		return w.WakeAt.Add(usualTTL)
	}
	return rt.o.Now().Add(usualTTL)
}

// Create keeps a continuation.
func (rt *Runtime) Create(ctx context.Context, c Create) (Record, error) {
	w, err := rt.waitFor(c.Result, c.CorrelationKey)
	if err != nil {
		return Record{}, err
	}
	now := rt.o.Now()
	r := Record{ID: "cont_" + rand.Text(), AssistantID: c.AssistantID, SessionID: c.SessionID, ThreadID: c.ThreadID, UserID: c.UserID,
		Origin: Origin{c.TurnID, c.Result.Status, c.Result.ExitReason, now}, Status: Pending, WaitFor: w, Continuation: *c.Result.Continuation,
		Delivery: Delivery{Surfaces: c.Surfaces, SuppressIfReturned: c.SuppressIfReturned, Status: NotApplicable},
		Bounds:   Bounds{ExpiresAt: c.ExpiresAt, MaxAttempts: cmp.Or(c.MaxAttempts, usualAttempts)}, CreatedAt: now, UpdatedAt: now, Metadata: c.Metadata, Version: 1}
	if r.Bounds.ExpiresAt.IsZero() {
		r.Bounds.ExpiresAt = rt.ttl(w)
	}
	switch {
	case c.AssistantID == "" || c.TurnID == "":
		return Record{}, fmt.Errorf("%w: it needs an assistant and a turn", ErrInvalid)
	case !r.Bounds.ExpiresAt.After(now):
		return Record{}, fmt.Errorf("%w: it expires in the past", ErrInvalid)
	case r.Bounds.MaxAttempts < 1:
		return Record{}, fmt.Errorf("%w: %d attempts", ErrInvalid, r.Bounds.MaxAttempts)
	}
	if err := rt.o.Store.Create(ctx, r); err != nil {
		return Record{}, err
	}
	rt.o.Trace("created", r)
	return r, nil
}

// end makes a record final.
func (rt *Runtime) end(ctx context.Context, r Record, why Reason) (Record, error) {
	r.Status, r.Reason, r.UpdatedAt, r.HeldUntil = why.status(), why, rt.o.Now(), time.Time{}
	if err := rt.o.Store.Update(ctx, r); err != nil {
		return r, err
	}
	r.Version++
	rt.o.Trace("terminated", r)
	return r, nil
}

// Resume resumes a continuation for a trigger: of several calls at once, one does. It returns the record as it is then, and the result of
// the resumed turn. A denied approval ends the continuation, and nothing runs.
func (rt *Runtime) Resume(ctx context.Context, id string, t Trigger) (Record, execution.Result, error) {
	var none execution.Result
	r, err := rt.o.Store.Get(ctx, id)
	if err != nil {
		return r, none, err
	}
	now := rt.o.Now()
	refused := func(err error, why string) (Record, execution.Result, error) {
		rt.o.Trace("resume_rejected", r)
		return r, none, fmt.Errorf("%s: %w%s", id, err, why)
	}
	switch {
	case r.Status.Final():
		return refused(ErrFinal, ": "+string(r.Reason))
	case r.Status == Resuming && now.Before(r.HeldUntil):
		return refused(ErrResuming, "")
	case !now.Before(r.Bounds.ExpiresAt):
		if r, err = rt.end(ctx, r, ExpiredTTL); err != nil {
			return r, none, err
		}
		return refused(ErrExpired, "")
	case r.Bounds.Attempts >= r.Bounds.MaxAttempts:
		if r, err = rt.end(ctx, r, AttemptsUsedUp); err != nil {
			return r, none, err
		}
		return refused(ErrExhausted, "")
	case t.SessionID != "" && r.SessionID != "" && t.SessionID != r.SessionID:
		return refused(ErrMismatch, ": it is of another session")
	}
	if why := r.WaitFor.fits(t); why != "" {
		return refused(ErrMismatch, ": "+why)
	}
	if t.Kind == ApprovalResolution && t.Decision == Denied {
		if r, err = rt.end(ctx, r, ApprovalDenied); err != nil {
			return rt.lost(ctx, id, err)
		}
		why := "the approval was denied"
		if t.Comment != "" {
			why += ": " + t.Comment
		}
		return r, execution.Result{Status: execution.StatusFailed, ExitReason: execution.ExitReasonAbort, Error: execution.NewResultError(execution.CodeAborted, why)}, nil
	}
	r.Status, r.LastResumedAt, r.UpdatedAt, r.HeldUntil = Resuming, now, now, now.Add(rt.o.Hold)
	r.Bounds.Attempts++
	if err := rt.o.Store.Update(ctx, r); err != nil {
		return rt.lost(ctx, id, err)
	}
	r.Version++
	rt.o.Trace("resumed_turn_started", r)
	held := rt.hold(context.WithoutCancel(ctx), r)
	res, err := rt.o.Run(ctx, Turn{r, t, fmt.Sprintf(resumedTurnFmt, r.Origin.TurnID, r.Bounds.Attempts)})
	return rt.after(context.WithoutCancel(ctx), held(), res, err)
}

// hold keeps a resuming record from being taken for abandoned until the returned function is called, which returns the record as it is then.
func (rt *Runtime) hold(ctx context.Context, r Record) (end func() Record) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(max(rt.o.Hold/3, time.Second))
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			next := r
			next.HeldUntil = rt.o.Now().Add(rt.o.Hold)
			if err := rt.o.Store.Update(ctx, next); errors.Is(err, ErrConflict) {
				return // it was cancelled or given up: after sees it
			} else if err == nil {
				next.Version++
				r = next
			}
		}
	}()
	return func() Record {
		close(over)
		<-ended
		return r
	}
}

// lost is the answer to somebody who was not the first.
func (rt *Runtime) lost(ctx context.Context, id string, err error) (Record, execution.Result, error) {
	r, getErr := rt.o.Store.Get(ctx, id)
	if errors.Is(err, ErrConflict) && getErr == nil {
		err = fmt.Errorf("%s: %w", id, ErrResuming)
		if r.Status.Final() {
			err = fmt.Errorf("%s: %w", id, ErrFinal)
		}
	}
	return r, execution.Result{}, err
}

// after records how a resumed turn ended.
func (rt *Runtime) after(ctx context.Context, r Record, res execution.Result, failed error) (Record, execution.Result, error) {
	rt.o.Trace("resumed_turn_finished", r)
	next := r
	next.UpdatedAt, next.HeldUntil = rt.o.Now(), time.Time{}
	w, again := rt.waitFor(res, r.WaitFor.CorrelationKey)
	switch {
	case failed != nil:
		next.Status, next.Reason = Failed, ResumeFailed
	case again == nil:
		next.Status, next.WaitFor, next.Continuation = Pending, w, *res.Continuation
		next.Bounds.ExpiresAt = rt.ttl(w)
	case res.Status == execution.StatusCompleted:
		next.Status, next.Reason = Completed, ReasonCompleted
		next.Delivery.Status = PendingDelivery
		if next.Delivery.Text = res.Text; res.Text == "" && res.Output != nil {
			next.Delivery.Text = res.Output.Text
		}
		if rt.o.Deliver == nil || next.Delivery.Text == "" {
			next.Delivery.Status = NotApplicable
		}
	default:
		next.Status, next.Reason = Failed, ResumedTurnFailed
	}
	switch err := rt.o.Store.Update(ctx, next); {
	case errors.Is(err, ErrConflict): // it was cancelled meanwhile, or given up: that stands
		now, err := rt.o.Store.Get(ctx, r.ID)
		return now, res, errors.Join(failed, err)
	case err != nil:
		return r, res, errors.Join(failed, err)
	}
	next.Version++
	if next.Status.Final() {
		rt.o.Trace("terminated", next)
	}
	if next.Delivery.Status == PendingDelivery {
		var err error
		if next, err = rt.deliver(ctx, next); err != nil {
			return next, res, err
		}
	}
	if failed != nil {
		failed = fmt.Errorf("resume %s: %w", r.ID, failed)
	}
	return next, res, failed
}

// deliver makes one attempt.
func (rt *Runtime) deliver(ctx context.Context, r Record) (Record, error) {
	now := rt.o.Now()
	d := &r.Delivery
	d.LastAttemptAt = now
	d.Attempts++
	if d.SuppressIfReturned && rt.o.Returned != nil && rt.o.Returned(ctx, r) {
		d.Status = SuppressedBack
	} else if failed := rt.deliverTo(ctx, r, d); failed == nil {
		d.Status, d.DeliveredAt, d.Error = Delivered, now, ""
	} else if d.Error = failed.Error(); d.Attempts >= deliveryMost {
		d.Status = DeliveryFailed
	}
	rt.o.Trace("delivery_attempted", r)
	r.UpdatedAt = now
	if err := rt.o.Store.Update(ctx, r); err != nil {
		return r, err
	}
	r.Version++
	return r, nil
}

// deliverTo takes the answer to the surfaces that do not have it, and notes those that got it.
func (rt *Runtime) deliverTo(ctx context.Context, r Record, d *Delivery) error {
	if len(d.Surfaces) == 0 {
		return rt.o.Deliver(ctx, r.ID, r)
	}
	var errs []error
	done := slices.Clone(d.Done)
	for _, s := range d.Surfaces {
		if slices.Contains(done, s) {
			continue
		}
		r.Delivery.Surfaces = []string{s}
		if err := rt.o.Deliver(ctx, r.ID, r); err != nil {
			errs = append(errs, err)
			continue
		}
		done = append(done, s)
	}
	d.Done = done
	return errors.Join(errs...)
}

// Cancel ends a continuation; one that has ended stays as it is. A turn that is being resumed is not stopped, but what it returns does not
// count.
func (rt *Runtime) Cancel(ctx context.Context, id string, why Reason) (Record, error) {
	for {
		r, err := rt.o.Store.Get(ctx, id)
		if err != nil || r.Status.Final() {
			return r, err
		}
		if r, err = rt.end(ctx, r, why); !errors.Is(err, ErrConflict) {
			return r, err
		}
	}
}

// Tick does what is due: it expires records, takes up those whose process is gone, fires wake-ups and repeats deliveries. Call it when the time
// that it returns has come, or regularly; several processes may do so. next is zero if nothing is planned.
func (rt *Runtime) Tick(ctx context.Context) (next time.Time, err error) {
	now := rt.o.Now()
	due, err := rt.o.Store.Due(ctx, now)
	if err != nil {
		return next, err
	}
	var mu sync.Mutex
	var errs []error
	var all sync.WaitGroup
	room := make(chan struct{}, max(rt.o.Jobs, 1))
	for _, r := range due {
		room <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-room }()
			if err := rt.look(ctx, r, now); err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrResuming) && !errors.Is(err, ErrFinal) {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	all.Wait()
	rest, err := rt.o.Store.Due(ctx, now.Add(100*365*24*time.Hour))
	if err == nil && len(rest) > 0 {
		next = rest[0].due()
	}
	return next, errors.Join(append(errs, err)...)
}

func (rt *Runtime) look(ctx context.Context, r Record, now time.Time) error {
	expired := !now.Before(r.Bounds.ExpiresAt)
	switch {
	case r.Status == Resuming: // its process is gone
		if r.Bounds.Attempts >= r.Bounds.MaxAttempts {
			_, err := rt.end(ctx, r, AttemptsUsedUp)
			return err
		}
		r.Status, r.HeldUntil, r.UpdatedAt = Pending, time.Time{}, now
		return rt.o.Store.Update(ctx, r)
	case r.Status == Pending && expired:
		_, err := rt.end(ctx, r, ExpiredTTL)
		return err
	case r.Status == Pending && rt.o.Run != nil:
		_, _, err := rt.Resume(ctx, r.ID, Trigger{Kind: ScheduledWake, WakeUpID: r.WaitFor.WakeUpID})
		return err
	case r.Delivery.Status == PendingDelivery && rt.o.Deliver != nil:
		_, err := rt.deliver(ctx, r)
		return err
	}
	return nil
}
