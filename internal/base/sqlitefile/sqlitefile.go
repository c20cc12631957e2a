// Package sqlitefile opens SQLite databases: those derived from other files, which are private to their user, shared by
// several processes and moved aside when they are damaged; and those of other programs, which are only read.
package sqlitefile

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

	"github.com/drawbar/drawbar/internal/base/atomicfile"
)

const (
	// patience is how long another process may take to create the file: SQLite reports busy instead of waiting for
	// that.
	patience    = 5 * time.Second
	connections = 4
)

// Open opens the file at path, creating it with mode 0600, and its folder with 0700. busy is how long a statement
// waits for other processes. setup brings the tables up to date; several processes may do so concurrently.
func Open(ctx context.Context, path string, busy time.Duration, setup func(context.Context, *sql.DB) error) (*sql.DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // SQLite would make it readable for everyone
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	dsn := address(path, fmt.Sprintf("_busy_timeout=%d&_synchronous=NORMAL&_foreign_keys=1&_txlock=immediate", busy.Milliseconds()))
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		db, err := connect(ctx, dsn, connections, setup)
		if err == nil || code(err) != busyCode || time.Now().After(deadline) {
			return db, err
		}
	}
}

// OpenTables is Open for tables that never change: schema makes those that are missing. A statement waits ten seconds for other processes.
func OpenTables(ctx context.Context, path, schema string) (*sql.DB, error) {
	return Open(ctx, path, 10*time.Second, func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, schema)
		return err
	})
}

// address returns the URI of a file with parameters.
func address(path, query string) string {
	name := filepath.ToSlash(path)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	return (&url.URL{Scheme: "file", Path: name, RawQuery: query}).String()
}

// Memory opens an empty database in memory, as a replacement for an unusable file. It has one connection, because
// each would have its own database.
func Memory(ctx context.Context, setup func(context.Context, *sql.DB) error) (*sql.DB, error) {
	return connect(ctx, ":memory:", 1, setup)
}

func connect(ctx context.Context, dsn string, conns int, setup func(context.Context, *sql.DB) error) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	if err := useWAL(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := setup(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// useWAL lets readers and writers work concurrently. The mode is a property of the file, so only the first opening
// changes it; a database in memory keeps its own mode.
func useWAL(ctx context.Context, db *sql.DB) error {
	var mode string
	if err := db.QueryRowContext(ctx, `PRAGMA journal_mode`).Scan(&mode); err != nil || mode != "delete" {
		return err
	}
	return db.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode)
}

// MoveAside renames a damaged file and returns the new name. Its journal moves with it: it must not be applied to a
// new file.
func MoveAside(path string) (aside string, err error) {
	aside = path + ".corrupt-" + time.Now().UTC().Format("20060102T150405.000Z")
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if err := atomicfile.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return aside, nil
}

// The primary result codes of SQLite that determine how an error is handled.
const (
	errorCode    = 1
	busyCode     = 5
	lockedCode   = 6
	readOnlyCode = 8
	ioErrCode    = 10
	corruptCode  = 11
	fullCode     = 13
	cantOpenCode = 14
	notADBCode   = 26
)

func code(err error) int {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return 0
	}
	return e.Code() & 0xff
}

// Damaged reports whether the file is not a database, or a broken one.
func Damaged(err error) bool {
	c := code(err)
	return c == corruptCode || c == notADBCode
}

// Foreign reports whether a statement does not fit the tables: the file is a database of something else.
func Foreign(err error) bool { return code(err) == errorCode }

// Unusable reports whether the file cannot be used here, whatever it contains: read-only, no space, missing.
func Unusable(err error) bool {
	switch code(err) {
	case readOnlyCode, ioErrCode, fullCode, cantOpenCode:
		return true
	}
	return false
}

// Unopenable is Unusable for an error of opening, where the file itself may fail.
func Unopenable(err error) bool {
	_, ok := errors.AsType[*fs.PathError](err)
	return ok || Unusable(err)
}
