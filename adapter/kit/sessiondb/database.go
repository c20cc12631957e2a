package sessiondb

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/internal/base/sqlitefile"
)

const (
	// patience is how long a query waits for the agent to unlock its database.
	patience = 2 * time.Second
	// maxSession is the largest session that is read.
	maxSession = 256 << 20
)

// Database describes an agent's database. A value is safe for concurrent use.
type Database struct {
	Agent string
	// Path returns the database on a machine, absolute.
	Path func(adapter.Host) string
	// Needs lists the columns that the queries use, by table. A database without them has another schema, and is a problem.
	Needs map[string][]string
	// Sessions selects of each session its id, when it changed last in milliseconds since 1970, and an integer that is another
	// one after every change. It must be answered from indexes: every listing asks it.
	Sessions string
	// Records select the rows of the session ?1, in order. Each row is a line: an object of its columns.
	Records []Query
	// JSON lists the columns whose text is JSON and becomes part of the line as it is. It may be compressed with Zstandard.
	JSON []string
}

// Query is a query of records.
type Query struct {
	SQL string
	If  string // a table without which the query is skipped; empty: never
}

// Store returns the store of the sessions. decode is sessionfile.Format.Decode.
func (d *Database) Store(decode func(*sessionfile.Builder, *sessionfile.Conversation) sessionfile.Decoder) sessionfile.Store {
	return sessionfile.New(sessionfile.Format{
		Agent:  d.Agent,
		Roots:  func(h adapter.Host) []string { return []string{d.Path(h)} },
		Mount:  d.Mount,
		Decode: decode,
		List: func(l *sessionfile.Lister) {
			root := d.Path(l.Host)
			if !l.Root(root) {
				return
			}
			for _, e := range l.Dir(root) {
				l.Add(history.File{ID: e.Name}, e)
			}
		},
	})
}

// UsageLog implements adapter.UsageLog with the sessions of a database. A value is safe for concurrent use.
type UsageLog struct {
	Database *Database
	Version  int // see adapter.UsageLog
	Scan     func(session string) adapter.UsageScanner
}

// UsageStores returns the database.
func (u UsageLog) UsageStores(h adapter.Host) []history.UsageStore {
	return []history.UsageStore{{Root: u.Database.Path(h), FS: u.Database.Mount(h).FS, Match: func(rel string) bool { return !strings.Contains(rel, "/") }}}
}

// UsageVersion implements adapter.UsageLog.
func (u UsageLog) UsageVersion() int { return u.Version }

// NewUsageScanner implements adapter.UsageLog.
func (u UsageLog) NewUsageScanner(_ context.Context, _ adapter.Host, f history.UsageFile) adapter.UsageScanner {
	return u.Scan(f.Rel)
}

// read calls f with the database.
func (d *Database) read(ctx context.Context, h adapter.Host, f func(context.Context, *sql.DB) error) error {
	path, err := d.file(h)
	if err != nil {
		return err
	}
	err = sqlitefile.Read(ctx, path, patience, func(ctx context.Context, db *sql.DB) error {
		if err := d.check(ctx, db); err != nil {
			return err
		}
		return f(ctx, db)
	})
	switch {
	case sqlitefile.Busy(err):
		return fmt.Errorf("%s has locked it: try again when %s is idle", d.Agent, d.Agent)
	case sqlitefile.Damaged(err):
		return fmt.Errorf("it is damaged, or not a database: %w", err)
	}
	return err
}

// file returns the database's path for SQLite, which opens it by itself. So h must be the machine of this process.
func (d *Database) file(h adapter.Host) (string, error) {
	path, err := h.Follow(d.Path(h))
	if err != nil {
		return "", err
	}
	name, err := h.Name(path)
	if err != nil {
		return "", err
	}
	there, err := fs.Stat(h.FS, name)
	if err != nil {
		return "", err
	}
	if !there.Mode().IsRegular() {
		return "", errors.New("is not a regular file")
	}
	if here, err := os.Stat(path); err != nil || !os.SameFile(here, there) {
		return "", errors.New("a database can be read on its own machine only")
	}
	return path, nil
}

// check reports a schema that the queries do not fit.
func (d *Database) check(ctx context.Context, db *sql.DB) error {
	for _, table := range slices.Sorted(maps.Keys(d.Needs)) {
		have, err := columnsOf(ctx, db, table)
		if err != nil {
			return err
		}
		if len(have) == 0 {
			return fmt.Errorf("has no table %s: %s has not set it up yet, or this version of its schema is unknown here", table, d.Agent)
		}
		for _, column := range d.Needs[table] {
			if !slices.Contains(have, column) {
				return fmt.Errorf("its table %s has no column %s: this version of its schema is unknown here; update drawbar or %s", table, column, d.Agent)
			}
		}
	}
	return nil
}

// columnsOf returns the columns of a table, none if there is no such table.
func columnsOf(ctx context.Context, db queryer, table string) (have []string, err error) {
	err = each(ctx, db, `SELECT name FROM pragma_table_info(?1)`, table, func(_ []string, values []any) error {
		have = append(have, fmt.Sprint(values[0]))
		return nil
	})
	return have, err
}

// list returns the sessions, by id.
func (d *Database) list(ctx context.Context, h adapter.Host) (list []info, err error) {
	err = d.read(ctx, h, func(ctx context.Context, db *sql.DB) error {
		list = nil
		return each(ctx, db, d.Sessions, "", func(_ []string, values []any) error {
			id, _ := values[0].(string)
			changed, _ := values[1].(int64)
			revision, _ := values[2].(int64)
			if id == "" || id == "." || id == ".." || strings.ContainsAny(id, `/\`) {
				return nil // not an id of the agent, and not the name of a file
			}
			list = append(list, info{id, time.UnixMilli(changed), revision})
			return nil
		})
	})
	slices.SortFunc(list, func(a, b info) int { return strings.Compare(a.name, b.name) })
	return list, err
}

// session returns the lines of a session: all from one state of the database.
func (d *Database) session(ctx context.Context, h adapter.Host, id string) ([]byte, error) {
	var lines bytes.Buffer
	err := d.read(ctx, h, func(ctx context.Context, db *sql.DB) error {
		lines.Reset()
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // nothing was written
		for _, query := range d.Records {
			if query.If != "" {
				columns, err := columnsOf(ctx, tx, query.If)
				if err != nil {
					return err
				}
				if len(columns) == 0 {
					continue
				}
			}
			if err := each(ctx, tx, query.SQL, id, func(columns []string, values []any) error { return d.line(&lines, columns, values) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && lines.Len() == 0 {
		return nil, fs.ErrNotExist
	}
	return lines.Bytes(), err
}

// line appends a row. JSON that is none makes a line that is none, which the reader of the lines reports.
func (d *Database) line(out *bytes.Buffer, columns []string, values []any) error {
	for i, name := range columns {
		text, isText := values[i].(string)
		if raw, ok := values[i].([]byte); ok {
			text, isText = string(raw), true
		}
		out.WriteByte("{,"[min(i, 1)])
		if isText && slices.Contains(d.JSON, name) {
			if strings.HasPrefix(text, zstdMagic) {
				unpacked, err := unpack()
				if err != nil {
					return err
				}
				plain, err := unpacked.DecodeAll([]byte(text), nil)
				if err != nil {
					return fmt.Errorf("its column %s is damaged: %w", name, err)
				}
				text = string(plain)
			}
			fmt.Fprintf(out, "%q:%s", name, strings.NewReplacer("\r", " ", "\n", " ").Replace(text))
			continue
		}
		if isText {
			values[i] = text
		}
		value, err := json.Marshal(values[i])
		if err != nil {
			value = []byte("null") // an infinite number
		}
		fmt.Fprintf(out, "%q:%s", name, value)
	}
	out.WriteString("}\n")
	if out.Len() > maxSession {
		return fmt.Errorf("is longer than %d MiB, the limit of a session", maxSession>>20)
	}
	return nil
}

// zstdMagic begins what is compressed.
const zstdMagic = "\x28\xb5\x2f\xfd"

var unpack = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(sessionfile.MaxLine))
})

type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// each calls f for each row of a query whose parameter is arg, if it has one.
func each(ctx context.Context, db queryer, query, arg string, f func(columns []string, values []any) error) (err error) {
	var args []any
	if strings.Contains(query, "?1") {
		args = []any{arg}
	}
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := f(columns, values); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Default returns a Path: the file below a folder of the XDG base directories, which variable relocates.
func Default(variable, folder string, file ...string) func(adapter.Host) string {
	return func(h adapter.Host) string {
		dir := h.Getenv(variable)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(h.Home, folder)
		}
		return filepath.Join(append([]string{dir}, file...)...)
	}
}
