package runstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/sqlitefile"
)

const (
	// startDelay keeps database writes away from the start of an agent; the row of a shorter run is written once.
	startDelay = 250 * time.Millisecond
	batchRows  = 500 // rows per transaction, so that other processes need not wait long
)

// index is the database, opened on first use, and a goroutine that writes rows in the background. At most one row per run of this
// process is waiting.
type index struct {
	store *Store

	mu      sync.Mutex
	waiting map[execution.RunID]row
	running bool // the goroutine
	closed  bool
	wake    chan struct{}
	done    chan struct{}

	dbMu   sync.RWMutex // held for reading while the database is used, for writing while it is opened or replaced
	db     *sql.DB
	memory bool // in memory, because the file cannot be used
	over   bool
}

type row struct {
	run  Run
	done []chan error
}

func newIndex(s *Store) *index {
	return &index{store: s, waiting: map[execution.RunID]row{}, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// put queues a row.
func (x *index) put(r Run) { x.enqueue(r, nil) }

// putAndWait queues a row and waits until it is written.
func (x *index) putAndWait(r Run) error {
	done := make(chan error, 1)
	if !x.enqueue(r, done) {
		return ErrClosed
	}
	return <-done
}

func (x *index) enqueue(r Run, done chan error) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return false
	}
	w := x.waiting[r.ID]
	w.run = r
	if done != nil {
		w.done = append(w.done, done)
	}
	x.waiting[r.ID] = w
	if !x.running {
		x.running = true
		go x.loop()
	}
	if done != nil {
		poke(x.wake)
	}
	return true
}

// loop writes waiting rows: immediately if putAndWait was called, otherwise after startDelay. It ends when no rows are waiting, so
// an idle store has no goroutine.
func (x *index) loop() {
	timer := time.NewTimer(startDelay)
	defer timer.Stop()
	for {
		select {
		case <-x.wake:
		case <-timer.C:
		}
		x.mu.Lock()
		batch := x.waiting
		x.waiting = map[execution.RunID]row{}
		x.mu.Unlock()
		runs := make([]Run, 0, len(batch))
		for _, w := range batch {
			runs = append(runs, w.run)
		}
		err := x.write(runs)
		waiters := 0
		for _, w := range batch {
			for _, c := range w.done {
				waiters++
				c <- err
			}
		}
		if err != nil && waiters == 0 {
			x.store.opts.Logger.Warn("the index of runs could not be written", "error", err)
		}
		x.mu.Lock()
		if len(x.waiting) == 0 {
			x.running = false
			if x.closed {
				close(x.done)
			}
			x.mu.Unlock()
			return
		}
		x.mu.Unlock()
		timer.Reset(startDelay)
	}
}

func (x *index) close() error {
	x.mu.Lock()
	first := !x.closed
	x.closed = true
	running := x.running
	x.mu.Unlock()
	if first && !running {
		close(x.done)
	}
	poke(x.wake)
	<-x.done
	x.dbMu.Lock()
	defer x.dbMu.Unlock()
	x.over = true
	if x.db == nil {
		return nil
	}
	db := x.db
	x.db = nil
	if err := db.Close(); err != nil {
		return fmt.Errorf("close %s: %w", x.path(), err)
	}
	return nil
}

func (x *index) path() string { return filepath.Join(x.store.dir, databaseName) }

// use calls f with the open database. A damaged database is moved aside and rebuilt from the run directories, and f is called
// again. If the file cannot be used, readers get a database in memory.
func (x *index) use(reading bool, f func(*sql.DB) error) error {
	for attempt := 0; ; attempt++ {
		db, memory, release, err := x.open(reading)
		unusable := sqlitefile.Unopenable(err)
		if err == nil {
			if memory && !reading {
				release()
				return fmt.Errorf("write %s: it cannot be opened for writing", x.path())
			}
			err = f(db)
			release()
			if err == nil || memory {
				return err
			}
			unusable = sqlitefile.Unusable(err)
		}
		switch {
		case isDamaged(err) && attempt == 0:
			if err := x.replace(db); err != nil {
				return err
			}
		case unusable && reading && attempt < 2:
			if err := x.standIn(err); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// open returns the database, which stays open until release is called.
func (x *index) open(reading bool) (db *sql.DB, memory bool, release func(), err error) {
	x.dbMu.RLock()
	if x.db != nil && (reading || !x.memory) {
		return x.db, x.memory, x.dbMu.RUnlock, nil
	}
	x.dbMu.RUnlock()
	x.dbMu.Lock()
	switch {
	case x.over:
		err = ErrClosed
	case x.db == nil:
		x.db, err = x.openFile()
	}
	x.dbMu.Unlock()
	if err != nil {
		return nil, false, nil, err
	}
	x.dbMu.RLock()
	if x.db == nil {
		x.dbMu.RUnlock()
		return nil, false, nil, ErrClosed
	}
	return x.db, x.memory, x.dbMu.RUnlock, nil
}

// warm opens the database before a row is written. Errors are reported by that write.
func (x *index) warm() {
	if _, _, release, err := x.open(false); err == nil {
		release()
	}
}

func (x *index) openFile() (*sql.DB, error) {
	db, err := sqlitefile.Open(context.Background(), x.path(), busy, setUp(x.path(), migrations))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", x.path(), err)
	}
	return db, nil
}

// replace moves a damaged database aside and opens a new one, filled from the run directories. If several processes notice the
// damage, one of them replaces it. broken is the database in use, nil if none could be opened.
func (x *index) replace(broken *sql.DB) error {
	x.dbMu.Lock()
	if x.over {
		x.dbMu.Unlock()
		return ErrClosed
	}
	if x.db != broken { // another goroutine of this process did it
		x.dbMu.Unlock()
		return nil
	}
	aside, err := x.replaceFile()
	x.dbMu.Unlock()
	if err != nil {
		return fmt.Errorf("replace the damaged %s: %w", x.path(), err)
	}
	if aside == "" {
		return nil
	}
	report, err := x.store.Reindex()
	x.store.opts.Logger.Warn("the index of runs was damaged; it was moved aside and rebuilt", "moved_to", aside, "runs", report.Runs, "error", err)
	return err
}

func (x *index) replaceFile() (aside string, err error) {
	lock, err := acquire(x.path()+".lock", 10*time.Second)
	if err != nil && (errors.Is(err, errLocked) || !isNoLock(err)) {
		return "", err
	}
	if lock != nil {
		defer func() { _ = lock.Close() }()
	}
	if x.db != nil {
		_ = x.db.Close()
		x.db = nil
	}
	if err := x.examine(); err == nil {
		x.db, err = x.openFile()
		return "", err
	} else if !isDamaged(err) {
		return "", err
	}
	if aside, err = sqlitefile.MoveAside(x.path()); err != nil {
		return "", err
	}
	x.db, err = x.openFile()
	return aside, err
}

// examine checks whether the database file is damaged. It is not if another process just replaced it, and an
// unrelated error is not a reason to replace it.
func (x *index) examine() error {
	db, err := x.openFile()
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var verdict string
	if err := db.QueryRow(`PRAGMA quick_check(1)`).Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return errDamaged
	}
	return nil
}

// standIn replaces an unusable file by a database in memory, filled from the run directories.
func (x *index) standIn(cause error) error {
	x.dbMu.Lock()
	if x.over || x.memory {
		x.dbMu.Unlock()
		return cause
	}
	db, err := sqlitefile.Memory(context.Background(), setUp("memory", migrations))
	if err != nil {
		x.dbMu.Unlock()
		return errors.Join(cause, err)
	}
	if x.db != nil {
		_ = x.db.Close()
	}
	x.db, x.memory = db, true
	x.dbMu.Unlock()
	x.store.opts.Logger.Warn("the index of runs cannot be used; reading the run directories instead", "path", x.path(), "error", cause)
	return nil
}

// write puts rows into the database file.
func (x *index) write(runs []Run) error {
	if len(runs) == 0 {
		return nil
	}
	return x.use(false, func(db *sql.DB) error { return writeRows(db, runs) })
}

func writeRows(db *sql.DB, runs []Run) error {
	for len(runs) > 0 {
		n := min(len(runs), batchRows)
		if err := inTx(db, func(tx *sql.Tx) error { return upsert(tx, runs[:n]) }); err != nil {
			return err
		}
		runs = runs[n:]
	}
	return nil
}

func inTx(db *sql.DB, f func(*sql.Tx) error) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// upsert never replaces a final row with an unfinished one: a reader may have read the run just before it ended.
func upsert(tx *sql.Tx, runs []Run) error {
	put, err := tx.Prepare(`INSERT INTO runs VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
		ON CONFLICT (id) DO UPDATE SET agent=excluded.agent, model=excluded.model, session=excluded.session, project=excluded.project,
		parent=excluded.parent, cwd=excluded.cwd, prompt=excluded.prompt, tags=excluded.tags, approval=excluded.approval, detached=excluded.detached,
		state=excluded.state, status=excluded.status, exit_reason=excluded.exit_reason, error_code=excluded.error_code, started=excluded.started,
		ended=excluded.ended, duration=excluded.duration, turns=excluded.turns, has_cost=excluded.has_cost, usd=excluded.usd, unpriced=excluded.unpriced,
		cost_source=excluded.cost_source, input=excluded.input, output=excluded.output, thinking=excluded.thinking, cache_read=excluded.cache_read,
		cache_write=excluded.cache_write, settled=excluded.settled,
		assistant=excluded.assistant, turn=excluded.turn, correlation=excluded.correlation WHERE settled = 0 OR excluded.settled = 1`)
	if err != nil {
		return err
	}
	defer func() { _ = put.Close() }()
	for _, r := range runs {
		tags := ""
		if len(r.Tags) > 0 {
			b, err := json.Marshal(r.Tags)
			if err != nil {
				return err
			}
			tags = string(b)
		}
		var c execution.Cost
		if r.Cost != nil {
			c = *r.Cost
		}
		var ended int64
		if !r.EndedAt.IsZero() {
			ended = r.EndedAt.UnixMilli()
		}
		if _, err := put.Exec(string(r.ID), r.Agent, r.Model, r.SessionID, r.ProjectID, string(r.Parent), r.Cwd, r.Prompt, tags,
			string(r.ApprovalMode), r.Detached, string(r.State), string(r.Status), string(r.ExitReason), string(r.ErrorCode),
			r.StartedAt.UnixMilli(), ended, r.DurationMs, r.TurnCount, r.Cost != nil, c.TotalUSD, c.Unpriced || r.Cost != nil && c.TotalUSD == nil,
			string(c.Source), c.InputTokens, c.OutputTokens, c.ThinkingTokens, c.CacheReadTokens, c.CacheCreationTokens, !r.Live,
			r.AssistantID, r.TurnID, r.CorrelationID); err != nil {
			return fmt.Errorf("write row of run %s: %w", r.ID, err)
		}
		for _, t := range r.Tags {
			if _, err := tx.Exec(`INSERT OR IGNORE INTO run_tags VALUES (?, ?)`, string(r.ID), t); err != nil {
				return fmt.Errorf("write tags of run %s: %w", r.ID, err)
			}
		}
	}
	return nil
}
