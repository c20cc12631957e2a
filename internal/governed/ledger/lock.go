package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/base/flocked"
	"github.com/drawbar/drawbar/internal/base/pid"
	"github.com/gofrs/flock"
)

// The lock consists of three files in the locks folder.
//
// The lock file (protocol.LockFile) names the holder. The original reads and writes it too: owner_pid and acquired_at
// are its fields, and it takes over a lock that is 30 seconds old, so acquired_at is renewed with the lease. It is
// replaced, never written in place, so that a reader never sees half of it.
//
// The hold file of an owner is flocked as long as the owner lives: a process that gets that flock knows that the owner
// is dead, even where process numbers are not comparable.
//
// The guard is flocked for the duration of every change: acquiring, renewing, taking over, releasing, and a whole
// commit. An owner that was suspended past its lease finds under the guard that the lock is no longer its own, and one
// that is suspended within a commit keeps others out.
const (
	guardFile    = protocol.LocksDir + "/ledger.guard"
	holdPrefix   = "ledger-"
	holdSuffix   = ".hold"
	defaultLease = 30 * time.Second
	staleForeign = 30 * time.Second // the age at which the original considers its own lock abandoned
	guardWait    = 5 * time.Second
)

// lockContent is the content of the lock file. Hold is empty in a lock of the original.
type lockContent struct {
	OwnerPID   int           `json:"owner_pid"`
	AcquiredAt protocol.Time `json:"acquired_at"`
	Owner      string        `json:"owner,omitempty"`
	Since      protocol.Time `json:"since,omitzero"`
	LeaseUntil protocol.Time `json:"lease_until,omitzero"`
	Hold       string        `json:"hold,omitempty"`
}

func (c lockContent) holder() *govern.Holder {
	h := &govern.Holder{PID: c.OwnerPID, Owner: c.Owner, Since: c.Since.Time, Until: c.LeaseUntil.Time}
	if c.Hold == "" {
		h.Owner, h.Since, h.Until = "agentxchain", c.AcquiredAt.Time, c.AcquiredAt.Add(staleForeign)
	}
	return h
}

// held is a lock that this process holds.
type held struct {
	root  string
	lease time.Duration
	flock *flock.Flock // of the hold file

	mu      sync.Mutex // held while the guard is flocked
	content lockContent

	stop chan struct{}
	done sync.WaitGroup
}

// acquire takes the lock, waiting at most wait. It returns the dead holder that it took the lock over from, if any.
func acquire(ctx context.Context, root string, o Options) (*held, *govern.Holder, error) {
	if err := os.MkdirAll(filepath.Join(root, filepath.FromSlash(protocol.LocksDir)), 0o755); err != nil {
		return nil, nil, failed("make the folder of locks below", root, err)
	}
	deadline := time.Now().Add(o.Wait)
	for {
		h, from, err := tryAcquire(ctx, root, o)
		if !errors.Is(err, ErrLocked) || !time.Now().Before(deadline) {
			return h, from, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("%w: %w", ctx.Err(), context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func tryAcquire(ctx context.Context, root string, o Options) (*held, *govern.Holder, error) {
	unguard, err := guard(ctx, root)
	if err != nil {
		return nil, nil, err
	}
	defer unguard()
	there, alive, err := lockedBy(root)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	if there != nil && alive && now.Before(there.holder().Until) {
		e := &Locked{Holder: *there.holder(), Path: filepath.Join(root, filepath.FromSlash(protocol.LockFile))}
		return nil, nil, (&execution.Error{Code: execution.CodeConfigLock, Recoverable: true, Message: e.Error(), Cause: e}).
			WithHint("wait for it, or stop process %d; drawbar govern status works meanwhile", e.PID)
	}
	h := &held{root: root, lease: o.Lease, stop: make(chan struct{})}
	h.content = lockContent{OwnerPID: o.Getpid(), Owner: o.Owner, Since: protocol.At(now), Hold: holdPrefix + randomHex() + holdSuffix}
	h.flock = flock.New(h.holdPath(), flock.SetPermissions(0o644))
	if ok, err := h.flock.TryLock(); err != nil || !ok {
		return nil, nil, noLocks(h.holdPath(), err)
	}
	if err := h.write(); err != nil {
		h.drop()
		return nil, nil, err
	}
	var from *govern.Holder
	if there != nil {
		from = there.holder()
		sweep(root)
	}
	h.done.Go(h.renew)
	return h, from, nil
}

func noLocks(path string, err error) error {
	if err == nil {
		err = errors.New("another process holds it")
	}
	e := execution.Errorf(execution.CodeConfigLock, "lock %s: %w", path, err)
	if errors.Is(err, fs.ErrPermission) {
		return e.WithHint("make %s writable for this user", filepath.Dir(path))
	}
	return e.WithHint("a governed project needs a file system with locks: move it to a local disk")
}

// guard keeps other processes from changing the lock and the record until the returned function is called.
func guard(ctx context.Context, root string) (func(), error) {
	path := filepath.Join(root, filepath.FromSlash(guardFile))
	g := flock.New(path, flock.SetPermissions(0o644))
	ctx, cancel := context.WithTimeout(ctx, guardWait)
	defer cancel()
	ok, err := g.TryLockContext(ctx, time.Millisecond)
	if ok {
		return func() { _ = g.Close() }, nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		e := &Locked{Path: path, Holder: govern.Holder{Owner: "a process that is writing the record"}}
		if c, _ := readLock(root); c != nil {
			e.Holder = *c.holder()
		}
		return nil, (&execution.Error{Code: execution.CodeConfigLock, Recoverable: true, Message: e.Error(), Cause: e}).
			WithHint("it has been writing for %s: if process %d is suspended, resume it (kill -CONT %d) or stop it", guardWait, e.PID, e.PID)
	}
	if err != nil && ctx.Err() == nil {
		return nil, noLocks(path, err)
	}
	return nil, fmt.Errorf("%w: %w", ctx.Err(), context.Cause(ctx))
}

// readLock reads the lock file: nil if there is none. An unreadable lock counts as free, as it does for the original.
func readLock(root string) (*lockContent, error) {
	path := filepath.Join(root, filepath.FromSlash(protocol.LockFile))
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failed("read the lock", path, err)
	}
	c := new(lockContent)
	if json.Unmarshal(data, c) != nil {
		return nil, nil
	}
	return c, nil
}

// lockedBy reads the lock file and reports whether its owner is alive.
func lockedBy(root string) (c *lockContent, alive bool, err error) {
	c, err = readLock(root)
	if c == nil || err != nil {
		return nil, false, err
	}
	if c.Hold == "" {
		return c, pid.Alive(c.OwnerPID), nil
	}
	path := filepath.Join(root, filepath.FromSlash(protocol.LocksDir), filepath.Base(c.Hold))
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return c, false, nil
	}
	// Where that cannot be determined, the lease decides.
	return c, !free(path), nil
}

// free reports whether no process holds a hold file.
func free(path string) bool {
	probe := flock.New(path, flock.SetFlag(os.O_RDONLY))
	ok, err := probe.TryRLock()
	_ = probe.Close()
	return ok && err == nil
}

// sweep removes the hold files of dead processes. The caller holds the guard.
func sweep(root string) {
	all, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(protocol.LocksDir), holdPrefix+"*"+holdSuffix+"*"))
	for _, path := range all {
		if free(path) {
			os.Remove(path)
		}
	}
}

// Holding returns the living holder of a project's lock; nil if there is none.
func Holding(root string) (*govern.Holder, error) {
	c, alive, err := lockedBy(root)
	if c == nil || !alive || err != nil {
		return nil, err
	}
	return c.holder(), nil
}

func (h *held) holdPath() string {
	return filepath.Join(h.root, filepath.FromSlash(protocol.LocksDir), h.content.Hold)
}

// write writes the lock file with a lease that starts now.
func (h *held) write() error {
	now := time.Now()
	h.content.AcquiredAt = protocol.At(now)
	h.content.LeaseUntil = protocol.At(now.Add(h.lease))
	data, err := protocol.MarshalFile(h.content)
	if err != nil {
		return err
	}
	path := filepath.Join(h.root, filepath.FromSlash(protocol.LockFile))
	if err := atomicfile.Write(path, data, 0o644, false); err != nil {
		return failed("write the lock", path, err)
	}
	return nil
}

// ours reports whether the lock file is still that of h.
func (h *held) ours() bool {
	c, err := readLock(h.root)
	return err == nil && c != nil && c.Hold == h.content.Hold
}

// enter takes the guard for a change of the record and checks that the lock is still held.
func (h *held) enter(ctx context.Context) (leave func(), err error) {
	h.mu.Lock()
	unguard, err := guard(ctx, h.root)
	if err != nil {
		h.mu.Unlock()
		return nil, err
	}
	leave = func() { unguard(); h.mu.Unlock() }
	if h.ours() {
		return leave, nil
	}
	leave()
	who := "nobody"
	if c, _ := readLock(h.root); c != nil {
		who = fmt.Sprintf("%s (process %d)", c.holder().Owner, c.OwnerPID)
	}
	return nil, execution.Errorf(execution.CodeConfigLock, "%w, now held by %s: the lease of process %d expired, nothing was written",
		ErrLockLost, who, h.content.OwnerPID).WithHint("run the command again")
}

// renew extends the lease until the lock is released.
func (h *held) renew() {
	t := time.NewTicker(h.lease / 3)
	defer t.Stop()
	for {
		select {
		case <-h.stop:
			return
		case <-t.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), h.lease/3)
		// The next commit detects that a lease was not renewed.
		if leave, err := h.enter(ctx); err == nil {
			_ = h.write()
			leave()
		}
		cancel()
	}
}

// release releases the lock unless another process has taken it over.
func (h *held) release(ctx context.Context) error {
	close(h.stop)
	h.done.Wait()
	leave, err := h.enter(context.WithoutCancel(ctx))
	if err == nil {
		err = os.Remove(filepath.Join(h.root, filepath.FromSlash(protocol.LockFile)))
		leave()
	} else if errors.Is(err, ErrLockLost) {
		err = nil
	}
	h.drop()
	return err
}

// drop closes and removes the hold file.
func (h *held) drop() {
	_ = flocked.Drop(h.flock) // what is left is removed by the next sweep
}
