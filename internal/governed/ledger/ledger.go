package ledger

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// Options configure Open.
type Options struct {
	Owner string        // describes the holder of the lock to other processes: the command line without its values
	Lease time.Duration // how long the lock is valid unless it is renewed; 0 is 30 s. It is renewed while the ledger is open
	Wait  time.Duration // how long Open waits for a lock that another process holds

	// ApplyCheckpoint moves the ref of a checkpoint. It is called by a commit and again by recovery, so it must be
	// idempotent. It returns ErrCheckpointStale if the ref can never be moved there.
	ApplyCheckpoint func(ctx context.Context, cp Checkpoint) error

	// AdoptState accepts state.json as it is, although it differs from what the last transaction wrote. A person asked
	// for that.
	AdoptState bool
	// Foreign is called before a state that another program wrote is adopted, because of its lines or at a person's
	// request. It returns an error if the state contains a decision that another person has to make. Nil allows all.
	Foreign func(sealed, now *protocol.State) error
	// NoForeign displaces lines of other programs instead of adopting them: a turn is active, and the only other
	// program that should be running is its worker.
	NoForeign bool

	Crash  func(point string) // for tests: called after every write, flush, rename and removal
	Getpid func() int         // for tests

	noFlush bool   // tests that kill processes, which lose nothing that was written
	boot    string // tests: see disk
}

// Note describes something that Open or Commit found and repaired.
type Note struct {
	// What is finished (an interrupted transaction was carried out), replayed (one of the original), dropped (an
	// unreadable journal), torn (an incomplete last line), completed (a line without its newline), adopted (lines of
	// another program), displaced (a file that another program changed), shortened (a file lost lines), stale (a
	// checkpoint), lock (a lock was taken over) or restored (the state, which another program had changed).
	What        string `json:"what"`
	Path        string `json:"path,omitempty"` // the affected file
	Kept        string `json:"kept,omitempty"` // where the previous content is kept
	Transaction string `json:"transaction,omitempty"`
	TurnID      string `json:"turn_id,omitempty"`
	Message     string `json:"message"`
}

// Ledger is the record of a project, open for writing. It is not safe for concurrent use.
type Ledger struct {
	root  string
	opts  Options
	disk  *disk
	lock  *held
	view  *View
	tail  *chainTail
	redo  redo
	notes []Note
	prior []string // heads of a lost chain, which the next chain names
	// auditForeign is the length of the hook audit when the ledger was opened; lines up to there were added by others.
	auditForeign int64
	// staleErr is the error about the last transaction's checkpoint, until it is returned.
	staleErr error
}

// Open takes the lock of the project, completes an interrupted transaction, and repairs what a crash of another program
// left. An error that matches ErrLocked names the holder of the lock. The caller closes the ledger.
func Open(ctx context.Context, root string, o Options) (*Ledger, error) {
	l, err := lockProject(ctx, root, o)
	if err != nil {
		return nil, err
	}
	if l.auditForeign, _, err = l.disk.stat(protocol.HookAuditFile); err == nil {
		err = l.repair(ctx)
	}
	if err != nil {
		_ = l.abandon()
		return nil, err
	}
	return l, nil
}

// lockProject takes the lock without reading the record.
func lockProject(ctx context.Context, root string, o Options) (*Ledger, error) {
	if o.Lease <= 0 {
		o.Lease = defaultLease
	}
	if o.Getpid == nil {
		o.Getpid = os.Getpid
	}
	if o.Owner == "" {
		o.Owner = "drawbar"
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil, execution.Errorf(execution.CodeConfig, "%s is not a folder", root).WithHint("change to a project folder, or create a project: drawbar govern init")
	}
	if info, err := os.Lstat(filepath.Join(root, protocol.Dir)); err == nil && !info.IsDir() {
		return nil, execution.Errorf(execution.CodeConfig, "%s is %s, not a folder: the record does not follow links", filepath.Join(root, protocol.Dir), kindOf(info)).
			WithHint("replace it with the folder itself, then: drawbar govern status")
	}
	d, err := openDisk(root, o.Crash)
	if err != nil {
		return nil, err
	}
	d.noFlush = o.noFlush
	d.boot = cmp.Or(o.boot, d.boot)
	if err := d.makeDir(protocol.LocksDir); err != nil {
		_ = d.root.Close()
		return nil, err
	}
	if err := d.hideOwn(); err != nil {
		_ = d.root.Close()
		return nil, err
	}
	l := &Ledger{root: root, opts: o, disk: d}
	var from *govern.Holder
	if l.lock, from, err = acquire(ctx, root, o); err != nil {
		_ = d.root.Close()
		return nil, err
	}
	if from != nil {
		l.note(Note{What: "lock", Path: protocol.LockFile, Message: "took over the lock that " + from.Owner + " left behind"})
	}
	return l, nil
}

func kindOf(info os.FileInfo) string {
	if info.Mode()&os.ModeSymlink != 0 {
		return "a link"
	}
	return "a file"
}

// abandon releases the lock of a ledger that could not be opened.
func (l *Ledger) abandon() error {
	err := l.lock.release(context.Background())
	l.lock = nil
	_ = l.disk.root.Close()
	return err
}

// GivenUp records the heads of a lost chain that a person chose to continue without: the next chain that starts names
// them.
func (l *Ledger) GivenUp(heads []string) { l.prior = heads }

// Close releases the lock.
func (l *Ledger) Close() error {
	if l.lock == nil {
		return nil
	}
	err := errors.Join(l.closeAudit(), l.lock.release(context.Background()))
	l.lock = nil
	_ = l.disk.root.Close()
	return err
}

// View is the record after the last commit.
func (l *Ledger) View() *View { return l.view }

// Notes returns what Open and Commit found and repaired since the last call.
func (l *Ledger) Notes() []Note {
	n := l.notes
	l.notes = nil
	return n
}

func (l *Ledger) note(n Note) { l.notes = append(l.notes, n) }
