// Package team keeps the record of a run in several clones of a repository. The record travels on a ref of a remote repository, one for
// each run: every commit holds all files of the record, a file that says who may write (the lease), and as a parent the project's commit
// that the run has reached. The ref only moves from the commit that a clone has seen to one that it wrote, in one step; so of two clones
// that write at once, one is refused, whatever their clocks say. The lease only keeps them from working in vain.
//
// What the record is belongs to package ledger, and how git moves it to package workspace.
package team

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/workspace"
)

// tracking are the refs of this repository that remember the remote's.
const tracking = "refs/drawbar/runs/"

// leaseTime is how long a clone that does not answer holds the run.
const leaseTime = 3 * time.Minute

// metaFile is the file of a record's commit that is no file of the record.
const metaFile = "drawbar-record.json"

// meta is its content.
type meta struct {
	Format int           `json:"format"`
	Run    string        `json:"run_id"`
	Code   string        `json:"code"` // the project's commit
	Branch string        `json:"branch,omitempty"`
	Lease  *govern.Lease `json:"lease,omitempty"`
}

const metaFormat = 1

// Options are what a team needs of its caller.
type Options struct {
	Root    string
	Clone   string // the name of this clone
	Remote  string // the name of the git remote
	Refs    string // prefix of the remote's refs, "refs/drawbar/runs/" if empty
	Owner   string // the command, for other people
	Environ []string
	Now     func() time.Time
	// Workspace opens the project's files, and Record the record for writing.
	Workspace func(context.Context) (*workspace.Workspace, error)
	Record    func(context.Context, func(*ledger.Ledger) error) error
	Warn      func(string)
}

// Team is the record of a project and its remote.
type Team struct{ o Options }

// New returns the team of a project. It reads nothing.
func New(o Options) *Team {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	o.Refs = cmp.Or(o.Refs, tracking)
	return &Team{o}
}

// Hold is a lease that this clone has while a command works. It is safe for concurrent use.
type Hold struct {
	t      *Team
	Long   bool // several decisions are made meanwhile, and each is published
	owner  bool // not another command of this clone
	unlock func()
	stop   chan struct{}
	done   sync.WaitGroup

	mu     sync.Mutex
	pushed time.Time // the last time that the remote agreed
}

type holdKey struct{}

// With returns a context that carries the hold.
func (h *Hold) With(ctx context.Context) context.Context { return context.WithValue(ctx, holdKey{}, h) }

// From returns the hold of a context; nil for none.
func From(ctx context.Context) *Hold { h, _ := ctx.Value(holdKey{}).(*Hold); return h }

// Begin brings this clone to where the remote is and takes the lease, which it renews until End.
func (t *Team) Begin(ctx context.Context) (*Hold, error) {
	unlock, taken, err := ledger.TryLock(t.o.Root, "team")
	if err != nil {
		return nil, err
	}
	h := &Hold{t: t, owner: taken, unlock: unlock, stop: make(chan struct{})}
	if _, err = t.exchange(ctx, wish{lease: true}); err != nil {
		unlock()
		return nil, err
	}
	h.pushed = time.Now()
	if taken {
		h.done.Go(func() { h.renew(context.WithoutCancel(ctx)) })
	}
	return h, nil
}

// renew keeps the lease.
func (h *Hold) renew(ctx context.Context) {
	tick := time.NewTicker(leaseTime / 3)
	defer tick.Stop()
	for {
		select {
		case <-h.stop:
			return
		case <-tick.C:
			_ = h.Fence(ctx, true) // the next decision says why
		}
	}
}

// fresh is how long the remote's word is good for what is not a decision.
const fresh = leaseTime / 6

// Fence returns an error unless this clone still has the run. Before a decision, now is true, and the remote is asked; else a recent answer
// is enough.
func (h *Hold) Fence(ctx context.Context, now bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !now && time.Since(h.pushed) < fresh {
		return nil
	}
	_, err := h.t.exchange(ctx, wish{lease: true, only: true})
	if err == nil {
		h.pushed = time.Now()
	}
	return err
}

// Publish pushes the record.
func (h *Hold) Publish(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.t.exchange(ctx, wish{lease: true, push: true})
	if err == nil {
		h.pushed = time.Now()
	}
	return err
}

// End publishes the record and gives the lease back, if no other command of this clone needs it.
func (h *Hold) End(ctx context.Context) error {
	close(h.stop)
	h.done.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.t.exchange(ctx, wish{lease: !h.owner, push: true})
	h.unlock()
	return err
}

// Abandon ends the hold as the end of the process would: the lease stays.
func (h *Hold) Abandon() {
	close(h.stop)
	h.done.Wait()
	h.unlock()
}

// Sync brings both sides to the same state.
func (t *Team) Sync(ctx context.Context, o govern.SyncOptions) (govern.Synced, error) {
	if o.Theirs && o.Ours {
		return govern.Synced{}, execution.Errorf(execution.CodeValidation, "the run can continue with one record only").WithHint("give theirs or ours")
	}
	unlock, taken, err := ledger.TryLock(t.o.Root, "team")
	if err != nil {
		return govern.Synced{}, err
	}
	defer unlock()
	if !taken && (o.Theirs || o.TakeOver) {
		return govern.Synced{}, execution.Errorf(execution.CodeConfigLock, "another command of this clone is working on the run").WithHint("wait for it: drawbar govern status")
	}
	return t.exchange(ctx, wish{lease: !taken, sync: o, explicit: true})
}

// Status returns what this clone knows, without asking the remote; the zero value without a run.
func (t *Team) Status(ctx context.Context) (s govern.Share, err error) {
	s.Remote = t.o.Remote
	w, err := t.o.Workspace(ctx)
	if err != nil || w.Kind() != workspace.Git {
		return s, err
	}
	v, err := ledger.Read(t.o.Root)
	if err != nil || v.State.ID() == "" {
		return s, err
	}
	s.Run = v.State.ID()
	s.Ref = t.o.Refs + s.Run
	s.Unpushed = true
	if s.Commit, err = w.Ref(ctx, tracking+s.Run); err != nil || s.Commit == "" {
		return s, err
	}
	then, err := t.load(ctx, w, s.Commit)
	if err != nil {
		return s, err
	}
	s.Lease = then.meta.Lease
	s.LeaseHere = s.Lease != nil && s.Lease.Clone == t.o.Clone
	if here, err := t.here(ctx, then); err == nil { // else a command is writing, or was killed: there is more
		s.Unpushed = here.differs()
	}
	return s, nil
}

// lease is a lease of this clone from now on.
func (x *exchange) lease(before *govern.Lease) *govern.Lease {
	now := x.t.o.Now().UTC().Truncate(time.Second)
	l := &govern.Lease{Clone: x.t.o.Clone, Name: x.name, Email: x.email, Owner: x.t.o.Owner, Since: now, Until: now.Add(leaseTime)}
	if before != nil && before.Clone == l.Clone {
		l.Since = before.Since
	}
	l.Host, _ = os.Hostname()
	return l
}

// held is the error about a run that another clone holds.
func held(l *govern.Lease, run string, now time.Time) error {
	return (&execution.Error{Code: execution.CodeConfigLock, Recoverable: true, Message: fmt.Sprintf("run %s is held by %s (%s) since %s; without a sign of life until %s",
		run, l.Who(), l.Owner, l.Since.Local().Format(time.DateTime), l.Until.Local().Format(time.TimeOnly)), Cause: ErrHeld}).
		WithHint("wait %s, or, if nobody works there: drawbar govern sync --take-over", l.Until.Sub(now).Round(time.Second))
}

// ErrHeld matches errors about a run that another clone holds.
var ErrHeld = errors.New("another clone holds the run")
