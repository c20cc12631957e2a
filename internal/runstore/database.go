package runstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/drawbar/drawbar/internal/base/sqlitefile"
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
`, `
-- The caller's ids: the rows are made again from the directories of the runs.
DELETE FROM runs;
ALTER TABLE runs ADD COLUMN assistant TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN turn TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN correlation TEXT NOT NULL DEFAULT '';
`}

// busy is how long a statement waits for other processes.
const busy = 5 * time.Second

// setUp returns a function that migrates a database; errors name path.
func setUp(path string, steps []string) func(context.Context, *sql.DB) error {
	return func(ctx context.Context, db *sql.DB) error { return migrate(ctx, db, path, steps) }
}

// migrate applies the missing steps in one transaction. If several processes try at once, the first one does it.
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
			return fmt.Errorf("upgrade %s to schema %d: %w", path, version+1, err)
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

var errDamaged = errors.New("database is damaged")

// isDamaged reports whether err says that the file is not a database or is corrupt.
func isDamaged(err error) bool { return errors.Is(err, errDamaged) || sqlitefile.Damaged(err) }
