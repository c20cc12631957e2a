// Package team shares the record of a run between clones of a repository. Each run has a ref in a remote repository. A commit of that ref
// contains all files of the record and the lease that says which clone may write; one of its parents is the project's commit that the run
// has reached. A push moves the ref atomically from the commit that the clone has seen to its own. If two clones write at the same time,
// one of the pushes fails, regardless of their clocks; the lease only prevents wasted work.
//
// Package ledger defines what belongs to a record, and package workspace runs git.
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

// runRefs is the prefix of the refs of records, on the remote and where a person fetches them.
const runRefs = "refs/drawbar/runs/"

// seen is the prefix of the refs that store the remote's commits as of the last exchange. Nobody fetches into them: a clone may replace only a
// commit that it has compared with its own record.
const seen = "refs/drawbar/seen/"

// fetched is the prefix of the refs that protect fetched commits from garbage collection.
const fetched = "refs/drawbar/fetched/"

// leaseTime is how long a lease is valid unless it is renewed.
const leaseTime = 3 * time.Minute

// metaFile describes a commit of the record; it is not part of the record.
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

// Options are the dependencies of a team.
type Options struct {
	Root    string
	Clone   string // the name of this clone
	Remote  string // the name of the git remote
	Refs    string // prefix of the remote's refs, "refs/drawbar/runs/" if empty
	Owner   string // the command, for other people
	Environ []string
	Now     func() time.Time
	// Workspace opens the project's files. Record opens the record for writing.
	Workspace func(context.Context) (*workspace.Workspace, error)
	Record    func(context.Context, func(*ledger.Ledger) error) error
}

// Team is the record of a project and its remote.
type Team struct{ o Options }

// New returns the team of a project. It reads nothing.
func New(o Options) *Team {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Refs = cmp.Or(o.Refs, runRefs)
	return &Team{o}
}

// Hold is the lease of this clone while a command runs. It is safe for concurrent use.
type Hold struct {
	t      *Team
	Long   bool // the command makes several decisions and publishes each
	owner  bool // this command acquired the lease, not another one of this clone
	unlock func()
	stop   chan struct{}
	done   sync.WaitGroup

	mu     sync.Mutex
	pushed time.Time // of the last successful push
}

type holdKey struct{}

// With returns a context that carries the hold.
func (h *Hold) With(ctx context.Context) context.Context { return context.WithValue(ctx, holdKey{}, h) }

// From returns the hold of a context; nil for none.
func From(ctx context.Context) *Hold { h, _ := ctx.Value(holdKey{}).(*Hold); return h }

// Begin pulls the record and acquires the lease, which is renewed until End.
func (t *Team) Begin(ctx context.Context) (*Hold, error) {
	unlock, taken, err := ledger.TryLock(t.o.Root, "team")
	if err != nil {
		return nil, err
	}
	h := &Hold{t: t, owner: taken, unlock: unlock, stop: make(chan struct{})}
	if _, err = t.exchange(ctx, request{lease: true}); err != nil {
		unlock()
		return nil, err
	}
	h.pushed = time.Now()
	if taken {
		h.done.Go(func() { h.renew(context.WithoutCancel(ctx)) })
	}
	return h, nil
}

// renew renews the lease until End.
func (h *Hold) renew(ctx context.Context) {
	tick := time.NewTicker(leaseTime / 3)
	defer tick.Stop()
	for {
		select {
		case <-h.stop:
			return
		case <-tick.C:
			_ = h.Fence(ctx, true) // the next decision reports the error
		}
	}
}

// fresh is how long a push counts as proof of the lease, except for decisions.
const fresh = leaseTime / 6

// Fence returns an error if this clone no longer has the lease. With now, for decisions, it always renews the lease on the remote; otherwise a
// recent push is sufficient.
func (h *Hold) Fence(ctx context.Context, now bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !now && time.Since(h.pushed) < fresh {
		return nil
	}
	_, err := h.t.exchange(ctx, request{lease: true, leaseOnly: true})
	if err == nil {
		h.pushed = time.Now()
	}
	return err
}

// Publish pushes the record.
func (h *Hold) Publish(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.t.exchange(ctx, request{lease: true, push: true})
	if err == nil {
		h.pushed = time.Now()
	}
	return err
}

// End pushes the record and releases the lease, unless another command of this clone acquired it.
func (h *Hold) End(ctx context.Context) error {
	close(h.stop)
	h.done.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.t.exchange(ctx, request{lease: !h.owner, push: true})
	h.unlock()
	return err
}

// Abandon stops renewing the lease without releasing it, as if the process had died.
func (h *Hold) Abandon() {
	close(h.stop)
	h.done.Wait()
	h.unlock()
}

// Sync pulls and pushes the record.
func (t *Team) Sync(ctx context.Context, o govern.SyncOptions) (govern.Synced, error) {
	if o.Theirs && o.Ours {
		return govern.Synced{}, execution.Errorf(execution.CodeValidation, "theirs and ours contradict each other").WithHint("use one of them")
	}
	unlock, taken, err := ledger.TryLock(t.o.Root, "team")
	if err != nil {
		return govern.Synced{}, err
	}
	defer unlock()
	if !taken && (o.Theirs || o.TakeOver) {
		return govern.Synced{}, execution.Errorf(execution.CodeConfigLock, "another command of this clone is working on the run").WithHint("wait for it: drawbar govern status")
	}
	return t.exchange(ctx, request{lease: !taken, sync: o})
}

// Status returns what this clone knows, without connecting to the remote.
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
	if s.Commit, err = w.Ref(ctx, seen+s.Run); err != nil || s.Commit == "" {
		return s, err
	}
	then, err := load(ctx, w, s.Commit)
	if err != nil {
		return s, err
	}
	s.Lease = then.meta.Lease
	s.LeaseHere = s.Lease != nil && s.Lease.Clone == t.o.Clone
	if c, err := t.compare(ctx, then); err == nil { // otherwise a command is writing or was killed
		s.Unpushed = c.differs()
	}
	return s, nil
}

// lease returns a lease of this clone that starts now, or its renewed one.
func (x *exchange) lease(before *govern.Lease) *govern.Lease {
	now := x.t.o.Now().UTC().Truncate(time.Second)
	l := &govern.Lease{Clone: x.t.o.Clone, Name: x.name, Email: x.email, Owner: x.t.o.Owner, Since: now, Until: now.Add(leaseTime)}
	if before != nil && before.Clone == l.Clone {
		l.Since = before.Since
	}
	l.Host, _ = os.Hostname()
	return l
}

// heldError is the error about a run that another clone holds.
func heldError(l *govern.Lease, run string, now time.Time) error {
	return (&execution.Error{Code: execution.CodeConfigLock, Recoverable: true, Message: fmt.Sprintf("run %s is locked by %s (%s) since %s, until %s unless renewed",
		run, l.Who(), l.Owner, l.Since.Local().Format(time.DateTime), l.Until.Local().Format(time.TimeOnly)), Cause: ErrHeld}).
		WithHint("wait %s; if that clone is gone: drawbar govern sync --take-over", l.Until.Sub(now).Round(time.Second))
}

// ErrHeld matches errors about a run that another clone holds.
var ErrHeld = errors.New("another clone holds the run")
