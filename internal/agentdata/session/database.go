package session

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/drawbar/drawbar/internal/base/sqlitefile"
)

const (
	databaseName = "sessions.db"
	// schema is the version of the table. An index of another version is deleted and rebuilt.
	schema = 3
	// busy is how long a statement waits for other processes.
	busy = 30 * time.Second
)

const createTable = `
CREATE TABLE files (
	path     TEXT PRIMARY KEY,
	size     INTEGER NOT NULL,
	mtime    INTEGER NOT NULL, -- nanoseconds since 1970
	parts    INTEGER NOT NULL, -- files of sub-agents
	root     TEXT NOT NULL,    -- of the store
	agent    TEXT NOT NULL,
	id       TEXT NOT NULL,
	created  INTEGER NOT NULL, -- milliseconds since 1970
	updated  INTEGER NOT NULL,
	turns    INTEGER,          -- NULL: not counted
	usd      REAL,             -- NULL: no price is known
	model    TEXT NOT NULL,
	cwd      TEXT NOT NULL,
	counted  INTEGER NOT NULL, -- the whole file was read for this row
	summary  BLOB NOT NULL,    -- JSON
	cost     BLOB              -- JSON, as the report of costs tells it; NULL: not reckoned
) STRICT;
CREATE INDEX files_key ON files (root, path, size, mtime, parts); -- every listing reads all of it
CREATE INDEX files_updated ON files (updated, path);
CREATE INDEX files_id ON files (id);
`

// database is the index, opened on first use.
type database struct {
	path   string // empty: in memory only
	logger *slog.Logger

	mu     sync.Mutex
	db     *sql.DB
	memory bool
	closed bool
}

var errClosed = errors.New("the session index is closed")

// use calls f with the index. A damaged index is moved aside and f is called again with an empty one; an
// unusable one is replaced with one in memory.
func (d *database) use(ctx context.Context, f func(*sql.DB) error) error {
	for attempt := 0; ; attempt++ {
		db, err := d.open(ctx)
		if err == nil {
			if err = f(db); err == nil {
				return nil
			}
		}
		if ctx.Err() != nil || errors.Is(err, errClosed) || attempt == 3 {
			return err
		}
		switch {
		case sqlitefile.Damaged(err), sqlitefile.Foreign(err):
			if moveErr := d.replace(db); moveErr != nil {
				err = errors.Join(err, moveErr)
				if standErr := d.standIn(ctx, db, err); standErr != nil {
					return standErr
				}
			}
		case sqlitefile.Unopenable(err):
			if standErr := d.standIn(ctx, db, err); standErr != nil {
				return standErr
			}
		default:
			return err
		}
	}
}

func (d *database) open(ctx context.Context) (*sql.DB, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return nil, errClosed
	case d.db != nil:
		return d.db, nil
	}
	var err error
	if d.path == "" {
		d.db, err = sqlitefile.Memory(ctx, makeTable)
		d.memory = true
		return d.db, err
	}
	d.db, err = sqlitefile.Open(ctx, d.path, busy, makeTable)
	return d.db, err
}

func makeTable(ctx context.Context, db *sql.DB) error {
	var version int
	if err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil || version == schema {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil || version == schema {
		return err // another process created it meanwhile
	}
	if _, err := tx.ExecContext(ctx, `DROP TABLE IF EXISTS files;`+createTable+fmt.Sprintf(`PRAGMA user_version = %d`, schema)); err != nil {
		return err
	}
	return tx.Commit()
}

// replace moves a damaged index aside, unless another process did. broken is the one in use, nil if none could
// be opened.
func (d *database) replace(broken *sql.DB) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.db != broken {
		return nil
	}
	if d.db != nil {
		_ = d.db.Close() // it is damaged
		d.db = nil
	}
	aside, err := sqlitefile.MoveAside(d.path)
	if err != nil {
		return fmt.Errorf("move the damaged session index aside: %w", err)
	}
	d.logger.Warn("the session index was damaged; it was moved aside and is being rebuilt", "moved_to", aside)
	return nil
}

func (d *database) standIn(ctx context.Context, broken *sql.DB, cause error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.memory {
		return cause
	}
	if d.db != broken {
		return nil
	}
	if d.db != nil {
		_ = d.db.Close() // it cannot be used
	}
	db, err := sqlitefile.Memory(ctx, makeTable)
	if err != nil {
		return errors.Join(cause, err)
	}
	d.db, d.memory = db, true
	d.logger.Warn("the session index cannot be used; every session is read again", "path", d.path, "error", cause)
	return nil
}

func (d *database) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.db == nil {
		return nil
	}
	db := d.db
	d.db = nil
	return db.Close()
}
