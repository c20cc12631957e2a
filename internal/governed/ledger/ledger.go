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

// Options say how a project is opened.
type Options struct {
	Owner string        // who holds the lock, for others to read: the command line without its values
	Lease time.Duration // how long the lock counts without being renewed; 0 is 30 s. It is renewed while the ledger is open
	Wait  time.Duration // how long Open waits for a lock that somebody else holds

	// ApplyCheckpoint moves the ref of a checkpoint. It is called in a commit, and again by recovery: it must not mind that it
	// has been done. It answers with ErrCheckpointStale when it never can be.
	ApplyCheckpoint func(ctx context.Context, cp Checkpoint) error

	// AdoptState takes state.json as it stands where it is not what the last transaction wrote: a person has said so.
	AdoptState bool
	// Foreign is asked before a state is adopted that another program wrote, by its lines or because a person says so: an error says
	// what in it somebody else has to decide. Nil asks nothing.
	Foreign func(sealed, now *protocol.State) error
	// NoForeign keeps lines of other programs aside instead of adopting them: a turn is under way, and its worker is the only other
	// program that should be here.
	NoForeign bool

	Crash  func(point string) // tests: called after every write, flush, rename and removal
	Getpid func() int         // tests

	noFlush bool   // tests that kill processes, which lose nothing that was written
	boot    string // tests: see disk
}

// Note is something that Open or Commit found and mended, for a person to read.
type Note struct {
	// What is finished (an interrupted transaction was carried out), replayed (one of the original), dropped (a journal that
	// cannot be read), torn (half a line at the end of a file), completed (a line without its newline), adopted (lines of another
	// program), displaced (a file that another program changed), shortened (a file lost lines), stale (a checkpoint), lock (a lock
	// was taken over), restored (the state, which something else had changed).
	What        string `json:"what"`
	Path        string `json:"path,omitempty"` // the file it is about
	Kept        string `json:"kept,omitempty"` // where what was there is kept
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
	prior []string // heads of a chain that is gone, which the next chain names
	// auditForeign is how long the audit of hooks was when the ledger was opened; up to there only others can have added lines.
	auditForeign int64
	// staleErr is the error about the last transaction's checkpoint, until it has been told.
	staleErr error
}

// Open takes the lock of the project, finishes a transaction that a crash interrupted, and mends what a crash of another
// program left. An error that matches ErrLocked names who holds the lock. The caller closes the ledger.
func Open(ctx context.Context, root string, o Options) (*Ledger, error) {
	l, err := lockProject(ctx, root, o)
	if err != nil {
		return nil, err
	}
	if l.auditForeign, _, err = l.disk.stat(protocol.HookAuditFile); err == nil {
		err = l.mend(ctx)
	}
	if err != nil {
		_ = l.abandon()
		return nil, err
	}
	return l, nil
}

// lockProject takes the lock and reads nothing yet.
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

// abandon gives the lock of a ledger back that could not be opened.
func (l *Ledger) abandon() error {
	err := l.lock.release(context.Background())
	l.lock = nil
	_ = l.disk.root.Close()
	return err
}

// GivenUp names the heads of a chain that is gone and that a person goes on without: the chain that begins next names them.
func (l *Ledger) GivenUp(heads []string) { l.prior = heads }

// Close gives the lock back.
func (l *Ledger) Close() error {
	if l.lock == nil {
		return nil
	}
	err := errors.Join(l.closeAudit(), l.lock.release(context.Background()))
	l.lock = nil
	_ = l.disk.root.Close()
	return err
}

// View is the record as it stands after the last commit.
func (l *Ledger) View() *View { return l.view }

// Notes are what Open and Commit found and mended since the last call.
func (l *Ledger) Notes() []Note {
	n := l.notes
	l.notes = nil
	return n
}

func (l *Ledger) note(n Note) { l.notes = append(l.notes, n) }
