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
	SegmentBytes int64          // maximum size of a segment of events; default 64 MiB
	FlushEvery   time.Duration  // maximum delay before an event is written; default 25 ms
	// LazyIndex is the minimum duration of runs whose files are synced and whose rows are written immediately. The rows of shorter
	// runs are written by the next reader, so that they need not wait for the database. Zero includes all runs.
	LazyIndex time.Duration
	// Price returns the price of an agent's model, nil if unknown. It is used for lost runs. Default: unknown.
	Price func(agent, model string) *execution.Price
	// Used returns the usage of an agent's session in a period, from the agent's own files, zero if unknown; fork is the session that
	// it was forked from. It is called for lost runs with a turn without tokens. Default: unknown.
	Used func(agent, session, fork string, since, until time.Time) execution.Usage
}

// Store is the record of runs in a state directory. It is safe for concurrent use. Several stores and processes may use the same
// directory.
type Store struct {
	dir   string
	opts  Options
	index *index

	mu      sync.Mutex
	writers map[*Writer]struct{}
	closed  bool
}

// Open opens the record in dir, an absolute path. It touches no file: the first run creates directories, and the database is opened
// on first use. The caller closes the store.
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

// Close waits until everything is written and closes the database. A run that is still being recorded is recorded as crashed.
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

// Begin starts the record of a run: its directory, meta.json and the first segment exist when it returns; the row in the database
// is written later. An id that is already recorded is ErrExists. With an error the Writer is nil; its methods do nothing, so that
// the run can continue without a record.
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

// Get finds a run by its id or a unique prefix, in upper or lower case. It reads the run's directory, not the database.
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
