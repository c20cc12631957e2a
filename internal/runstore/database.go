package runstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
)

const databaseName = "runs.db"

// migrations bring a database from the version that is their index to the next. A published one is never changed.
var migrations = []string{`
CREATE TABLE runs (
	id             TEXT PRIMARY KEY CHECK (length(id) = 26),
	agent          TEXT NOT NULL,
	model          TEXT NOT NULL,
	session        TEXT NOT NULL,
	project        TEXT NOT NULL,
	parent         TEXT NOT NULL,
	cwd            TEXT NOT NULL,
	prompt         TEXT NOT NULL,
	tags           TEXT NOT NULL, -- a JSON array, empty for none
	approval       TEXT NOT NULL,
	detached       INTEGER NOT NULL,
	state          TEXT NOT NULL,
	status         TEXT NOT NULL,
	exit_reason    TEXT NOT NULL,
	error_code     TEXT NOT NULL,
	started        INTEGER NOT NULL, -- milliseconds since 1970, as all times
	ended          INTEGER NOT NULL,
	duration       INTEGER NOT NULL,
	turns          INTEGER NOT NULL,
	has_cost       INTEGER NOT NULL,
	usd            REAL,             -- NULL: no price is known
	unpriced       INTEGER NOT NULL,
	cost_source    TEXT NOT NULL,
	input          INTEGER NOT NULL,
	output         INTEGER NOT NULL,
	thinking       INTEGER NOT NULL,
	cache_read     INTEGER NOT NULL,
	cache_write    INTEGER NOT NULL,
	settled        INTEGER NOT NULL  -- the run is over and the row final
) STRICT;
CREATE INDEX runs_started ON runs (started);
CREATE INDEX runs_session ON runs (agent, cwd, started) WHERE session <> '';
CREATE INDEX runs_unsettled ON runs (id) WHERE settled = 0;
CREATE TABLE run_tags (
	run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
	tag TEXT NOT NULL,
	PRIMARY KEY (run, tag)
) WITHOUT ROWID, STRICT;
CREATE INDEX run_tags_tag ON run_tags (tag);
`, `
-- The states have other words: the rows are made again from the directories of the runs.
DELETE FROM runs;
`}

// openDatabase opens the file at path, made with mode 0600, and brings it to the newest schema.
func openDatabase(ctx context.Context, path string, steps []string) (*sql.DB, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // SQLite would make it readable for all
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	name := filepath.ToSlash(path)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	u := url.URL{Scheme: "file", Path: name, RawQuery: "_busy_timeout=5000&_synchronous=NORMAL&_foreign_keys=1&_txlock=immediate"}
	return openDSN(ctx, u.String(), path, 4, steps)
}

// openMemory opens an empty database in memory. It has one connection, because each would have a database of its own.
func openMemory(ctx context.Context) (*sql.DB, error) {
	return openDSN(ctx, ":memory:", "memory", 1, migrations)
}

func openDSN(ctx context.Context, dsn, path string, conns int, steps []string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	if err := useWAL(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := migrate(ctx, db, path, steps); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// useWAL lets readers and writers work at once. The mode is a property of the file, so only the first opening changes it; a
// database in memory has another and keeps it.
func useWAL(ctx context.Context, db *sql.DB) error {
	var mode string
	if err := db.QueryRowContext(ctx, `PRAGMA journal_mode`).Scan(&mode); err != nil || mode != "delete" {
		return err
	}
	return db.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode)
}

// migrate does what is missing in one transaction. Several processes may do it at once: the first one does it.
func migrate(ctx context.Context, db *sql.DB, path string, steps []string) error {
	version, err := schemaVersion(ctx, db)
	if err != nil {
		return err
	}
	if version == len(steps) {
		return nil
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, applied INTEGER NOT NULL) STRICT`); err != nil {
		return err
	}
	if version, err = schemaVersion(ctx, tx); err != nil {
		return err
	}
	if version > len(steps) {
		return fmt.Errorf("%w: %s has version %d, this program knows %d; update drawbar, or set DRAWBAR_STATE_DIR to another directory", ErrNewerSchema, path, version, len(steps))
	}
	for ; version < len(steps); version++ {
		if _, err := tx.ExecContext(ctx, steps[version]); err != nil {
			return fmt.Errorf("bring %s to schema %d: %w", path, version+1, err)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO schema_version VALUES (?, ?)`, version+1, time.Now().UnixMilli()); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func schemaVersion(ctx context.Context, q interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}) (version int, err error) {
	var tables int
	if err := q.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE name = 'schema_version'`).Scan(&tables); err != nil || tables == 0 {
		return 0, err
	}
	err = q.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM schema_version`).Scan(&version)
	return version, err
}

// The primary result codes of SQLite that decide what is done about an error.
const (
	sqliteBusy     = 5
	sqliteReadOnly = 8
	sqliteIOErr    = 10
	sqliteCorrupt  = 11
	sqliteFull     = 13
	sqliteCantOpen = 14
	sqliteNotADB   = 26
)

func sqliteCode(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff
}

var errDamaged = errors.New("database is damaged")

// isDamaged reports that the file is no database, or a broken one.
func isDamaged(err error) bool {
	c := sqliteCode(err)
	return errors.Is(err, errDamaged) || c == sqliteCorrupt || c == sqliteNotADB
}

// isUnusable reports that the file cannot be used here, whatever it contains: read-only, no space, not there.
func isUnusable(err error) bool {
	switch sqliteCode(err) {
	case sqliteReadOnly, sqliteIOErr, sqliteFull, sqliteCantOpen:
		return true
	}
	return false
}

// isUnopenable is isUnusable for the error of opening, where the file itself may refuse.
func isUnopenable(err error) bool {
	var p *fs.PathError
	return isUnusable(err) || errors.As(err, &p)
}
