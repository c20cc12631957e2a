package runstore

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/secret"
)

const runsName = "runs"

// Options are the settings of a store; the zero value has the defaults.
type Options struct {
	Logger       *slog.Logger   // warnings about the record itself; default: none
	Location     *time.Location // where days begin in cost reports; default: local time
	SegmentBytes int64          // a segment of events is continued in the next one before it gets longer; default 64 MiB
	FlushEvery   time.Duration  // how long an event may wait to be written; default 25 ms
	// LazyIndex is the duration from which a run gets its row in the index at once and its files synced to disk. The rows of
	// shorter runs are written by the next reader, so that they do not wait for the database. Zero: all rows at once.
	LazyIndex time.Duration
	// Price is the price of an agent's model, nil if unknown. It prices the usage of lost runs, whose agents could not
	// state it. Default: unknown.
	Price func(agent, model string) *execution.Price
	// Used is the usage of an agent's session in a period, from the agent's own files, zero if unknown; fork is the session
	// that it was forked from. It is called for lost runs that lack the tokens of a turn. Default: unknown.
	Used func(agent, session, fork string, since, until time.Time) execution.Usage
}

// Store is the record of runs in one state directory. It is safe for concurrent use, and any number of stores and processes
// may use one directory at once.
type Store struct {
	dir   string
	opts  Options
	index *index

	mu      sync.Mutex
	writers map[*Writer]struct{}
	closed  bool
}

// Open opens the record in dir, an absolute path. It touches no file: directories appear with the first run, and the database is
// opened when a list, a sum or an ended run needs it. The caller closes the store.
func Open(dir string, opts Options) (*Store, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("open run store %q: want an absolute path", dir)
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	opts.Location = cmp.Or(opts.Location, time.Local)
	opts.SegmentBytes = cmp.Or(opts.SegmentBytes, 64<<20)
	opts.FlushEvery = cmp.Or(opts.FlushEvery, 25*time.Millisecond)
	s := &Store{dir: filepath.Clean(dir), opts: opts, writers: map[*Writer]struct{}{}}
	s.index = newIndex(s)
	return s, nil
}

// Close waits until everything is written and closes the database. A run that is still being recorded ends as crashed:
// its end can no longer be recorded.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	open := make([]*Writer, 0, len(s.writers))
	for w := range s.writers {
		open = append(open, w)
	}
	s.mu.Unlock()
	var errs []error
	for _, w := range open {
		errs = append(errs, w.Close())
	}
	return errors.Join(append(errs, s.index.close())...)
}

func (s *Store) runDir(id execution.RunID) string { return filepath.Join(s.dir, runsName, string(id)) }

// Begin starts the record of a run: its directory, meta.json and the first segment exist when it returns; the row in the
// database follows. An id that is recorded already is ErrExists. A record that cannot be written does not stop the run: all
// methods of the nil Writer that comes with an error do nothing.
func (s *Store) Begin(meta Meta) (*Writer, error) {
	if err := meta.check(); err != nil {
		return nil, err
	}
	if meta.StartedAt.IsZero() {
		meta.StartedAt = time.Now()
	}
	w := &Writer{store: s, meta: meta.file(secret.New(meta.Secrets)), dir: s.runDir(meta.RunID), done: make(chan struct{}),
		wake: make(chan struct{}, 1), space: make(chan struct{}, 1), stop: make(chan struct{})}
	if err := s.start(w); err != nil {
		return nil, err
	}
	if s.opts.LazyIndex == 0 {
		s.index.put(w.Run())
	}
	return w, nil
}

func (s *Store) start(w *Writer) error {
	if err := w.create(); err != nil {
		if errors.Is(err, ErrExists) {
			return fmt.Errorf("record run %s: %w", w.meta.RunID, err)
		}
		return fmt.Errorf("record run %s: %w; make room in %s or set DRAWBAR_STATE_DIR", w.meta.RunID, err, s.dir)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		w.discard()
		return fmt.Errorf("record run %s: %w", w.meta.RunID, ErrClosed)
	}
	s.writers[w] = struct{}{}
	go w.loop()
	return nil
}

func (s *Store) forget(w *Writer) {
	s.mu.Lock()
	delete(s.writers, w)
	s.mu.Unlock()
}

// Get finds a run by its id or the beginning of it, in either case. It reads the run's directory and needs no database.
func (s *Store) Get(idOrPrefix string) (Run, error) {
	id, err := s.resolve(idOrPrefix)
	if err != nil {
		return Run{}, err
	}
	run, err := s.load(s.runDir(id))
	if errors.Is(err, fs.ErrNotExist) {
		return Run{}, &NotFoundError{ID: string(id)}
	}
	if err != nil {
		return Run{}, fmt.Errorf("get run %s: %w", id, err)
	}
	return run, nil
}

// mkdirs creates the directories above a run's directory.
func (s *Store) mkdirs() error { return os.MkdirAll(filepath.Join(s.dir, runsName), 0o700) }
