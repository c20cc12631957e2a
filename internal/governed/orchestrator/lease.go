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
	"github.com/drawbar/drawbar/internal/base/pid"
	"github.com/gofrs/flock"
)

// lease says that a turn is being carried out. It is a lock of the system, so a process that dies gives it up, whatever it
// dies of; who holds it stands in the file for people.
type lease struct {
	lock *flock.Flock
	path string
}

var errCarried = errors.New("the turn is being run by another process")

func leasePath(root, turn string) string {
	return filepath.Join(root, filepath.FromSlash(protocol.LocksDir), "turn-"+turn+".lock")
}

// takeLease takes the lease of a turn, or fails with errCarried at once.
func takeLease(root, turn, owner string, now time.Time) (*lease, error) {
	path := leasePath(root, turn)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("lease turn %s: %w", turn, err)
	}
	l := &lease{path: path}
	for {
		l.lock = flock.New(path)
		ok, err := l.lock.TryLock()
		if err != nil {
			return nil, fmt.Errorf("lease turn %s: %w", turn, err)
		}
		if !ok {
			return nil, errCarried
		}
		// The holder before may have removed the file between our opening and our locking it: then this lock holds nobody off.
		held, err := l.lock.Stat()
		if err == nil {
			if now, err := os.Stat(path); err == nil && os.SameFile(held, now) {
				break
			}
		}
		if err := l.lock.Unlock(); err != nil {
			return nil, fmt.Errorf("lease turn %s: %w", turn, err)
		}
	}
	b, err := json.Marshal(govern.Carrier{PID: os.Getpid(), Owner: owner, Since: now.UTC()})
	if err == nil {
		err = os.WriteFile(path, b, 0o644) //nolint:gosec // the name of a process is no secret
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lease turn %s: %w", turn, err), l.release())
	}
	return l, nil
}

// release gives the turn up and removes the file, which a worker may have removed already.
func (l *lease) release() error {
	err := os.Remove(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, l.lock.Unlock())
}

// anyCarried reports whether a turn of the project is being carried out.
func anyCarried(root string) bool {
	leases, _ := filepath.Glob(leasePath(root, "*")) // the pattern is well formed
	return slices.ContainsFunc(leases, func(path string) bool {
		id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "turn-"), ".lock")
		return carrier(root, id) != nil
	})
}

// deadHold is how long a lease may outlive its holder: a program that was being started in the moment when the holder was killed
// has its open files for an instant more.
const deadHold = 2 * time.Second

// carrier tells who carries a turn out; nil when nobody does.
func carrier(root, turn string) *govern.Carrier {
	path := leasePath(root, turn)
	for end := time.Now().Add(deadHold); ; time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		l := flock.New(path, flock.SetFlag(os.O_RDONLY)) // a reader makes no file
		if ok, err := l.TryRLock(); err != nil || ok {
			_ = l.Unlock() // nothing is written through it
			return nil
		}
		c := govern.Carrier{}
		_ = json.Unmarshal(b, &c) // who it is cannot be told from a damaged file, that somebody is there can
		if c.PID == 0 || pid.Alive(c.PID) || time.Now().After(end) {
			return &c
		}
	}
}

// carried is the error of a command for a turn that somebody carries out.
func carried(turn *protocol.Turn, c *govern.Carrier) error {
	return execution.Errorf(execution.CodeInvalidStateTransition, "turn %s of role %s has been run by %s (process %d) since %s",
		turn.TurnID, turn.AssignedRole, c.Owner, c.PID, c.Since.Local().Format(time.TimeOnly)).WithHint("watch it: drawbar govern events -f")
}
