package orchestrator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/flocked"
	"github.com/drawbar/drawbar/internal/base/pid"
	"github.com/gofrs/flock"
)

// lease says that a turn is running. It is a file lock, so the system releases it when the process dies; the file names
// the holder for people.
type lease struct {
	lock *flock.Flock
	path string
}

var errLeased = errors.New("the turn is being run by another process")

func leasePath(root, turn string) string {
	return filepath.Join(root, filepath.FromSlash(protocol.LocksDir), "turn-"+turn+".lock")
}

// takeLease takes the lease of a turn, or fails at once with errLeased.
func takeLease(root, turn, owner string, now time.Time) (*lease, error) {
	path := leasePath(root, turn)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("lease turn %s: %w", turn, err)
	}
	l := &lease{path: path}
	for {
		l.lock = flock.New(flocked.Name(path))
		ok, err := l.lock.TryLock()
		if err != nil {
			return nil, fmt.Errorf("lease turn %s: %w", turn, err)
		}
		if !ok {
			return nil, errLeased
		}
		// The previous holder may have removed the file between our open and our lock: such a lock excludes nobody.
		held, err := l.lock.Stat()
		if err == nil {
			if now, err := os.Stat(l.lock.Path()); err == nil && os.SameFile(held, now) {
				break
			}
		}
		if err := l.lock.Unlock(); err != nil {
			return nil, fmt.Errorf("lease turn %s: %w", turn, err)
		}
	}
	b, err := json.Marshal(govern.Carrier{PID: os.Getpid(), Owner: owner, Since: now.UTC()})
	if err == nil {
		err = os.WriteFile(path, b, 0o644) //nolint:gosec // the name of a process is not a secret
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lease turn %s: %w", turn, err), l.release())
	}
	return l, nil
}

// release gives up the lease and removes its file, which a worker may have removed already.
func (l *lease) release() error {
	err := os.Remove(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, flocked.Drop(l.lock))
}

// anyLeased reports whether a turn of the project is running.
func anyLeased(root string) bool {
	leases, _ := filepath.Glob(leasePath(root, "*")) // the pattern is well formed
	return slices.ContainsFunc(leases, func(path string) bool {
		id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "turn-"), ".lock")
		return leaseHolder(root, id) != nil
	})
}

// deadHold is how long a lease may outlive its holder: a program that was starting when the holder was killed has
// inherited its open files for a moment.
const deadHold = 2 * time.Second

// leaseHolder returns the process that runs a turn; nil if none does.
func leaseHolder(root, turn string) *govern.Carrier {
	path := leasePath(root, turn)
	for end := time.Now().Add(deadHold); ; time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		l := flock.New(flocked.Name(path), flock.SetFlag(os.O_RDONLY)) // a reader creates no file
		if ok, err := l.TryRLock(); err != nil || ok {
			_ = l.Unlock() // nothing is written through it
			return nil
		}
		c := govern.Carrier{}
		_ = json.Unmarshal(b, &c) // a damaged file does not say who holds the lock, only that somebody does
		if c.PID == 0 || pid.Alive(c.PID) || time.Now().After(end) {
			return &c
		}
	}
}

// leased is the error of a command for a turn that another process runs.
func leased(turn *protocol.Turn, c *govern.Carrier) error {
	return execution.Errorf(execution.CodeInvalidStateTransition, "turn %s of role %s has been run by %s (process %d) since %s",
		turn.TurnID, turn.AssignedRole, c.Owner, c.PID, c.Since.Local().Format(time.TimeOnly)).WithHint("watch it: drawbar govern events -f")
}
