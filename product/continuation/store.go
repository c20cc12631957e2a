package continuation

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/drawbar/drawbar/internal/base/sqlitefile"
)

// Errors of stores and runtimes, for errors.Is.
var (
	ErrNotFound = errors.New("unknown continuation")
	ErrConflict = errors.New("the continuation was changed meanwhile")
)

// Store keeps records. Implementations are safe for concurrent use, also by several processes if they outlive one.
type Store interface {
	// Create adds a record with Version 1; ErrConflict if its id exists.
	Create(context.Context, Record) error
	// Get returns a record; ErrNotFound if there is none.
	Get(ctx context.Context, id string) (Record, error)
	// Update replaces the record of that id and Version, and makes the version one higher; ErrConflict if it has another one.
	Update(context.Context, Record) error
	// List returns the records of a session, or all if it is empty, oldest first.
	List(ctx context.Context, session string) ([]Record, error)
	// Due returns the records that have to be looked at by that time, the most urgent first.
	Due(ctx context.Context, by time.Time) ([]Record, error)
}

// Memory is a store that ends with its process. The zero value is ready.
type Memory struct {
	mu  sync.Mutex
	all map[string][]byte // as JSON, so that nobody shares a record
}

// Create implements Store.
func (m *Memory) Create(_ context.Context, r Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all[r.ID] != nil {
		return fmt.Errorf("%s: %w", r.ID, ErrConflict)
	}
	if m.all == nil {
		m.all = map[string][]byte{}
	}
	r.Version = 1
	return m.put(r)
}

func (m *Memory) put(r Record) error {
	b, err := json.Marshal(r)
	if err == nil {
		m.all[r.ID] = b
	}
	return err
}

// Get implements Store.
func (m *Memory) Get(_ context.Context, id string) (r Record, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all[id] == nil {
		return r, fmt.Errorf("%s: %w", id, ErrNotFound)
	}
	return r, json.Unmarshal(m.all[id], &r)
}

// Update implements Store.
func (m *Memory) Update(ctx context.Context, r Record) error {
	now, err := m.Get(ctx, r.ID)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := json.Unmarshal(m.all[r.ID], &now); err != nil {
		return err
	}
	if now.Version != r.Version {
		return fmt.Errorf("%s: %w", r.ID, ErrConflict)
	}
	r.Version++
	return m.put(r)
}

// List implements Store.
func (m *Memory) List(_ context.Context, session string) (list []Record, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.all {
		var r Record
		if err := json.Unmarshal(b, &r); err != nil {
			return nil, err
		}
		if session == "" || r.SessionID == session {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b Record) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
	return list, nil
}

// Due implements Store.
func (m *Memory) Due(ctx context.Context, by time.Time) ([]Record, error) {
	all, err := m.List(ctx, "")
	due := slices.DeleteFunc(all, func(r Record) bool { return r.due().IsZero() || r.due().After(by) })
	slices.SortStableFunc(due, func(a, b Record) int { return a.due().Compare(b.due()) })
	return due, err
}

// SQLite is a store in a file. A change is on the disk when the method returns.
type SQLite struct{ db *sql.DB }

const schema = `CREATE TABLE IF NOT EXISTS continuations (id TEXT PRIMARY KEY, version INTEGER NOT NULL, session TEXT NOT NULL, created INTEGER NOT NULL,
due INTEGER NOT NULL, record TEXT NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS continuations_due ON continuations (due) WHERE due > 0;
CREATE INDEX IF NOT EXISTS continuations_session ON continuations (session, created);`

// OpenSQLite opens the store at path, and makes it if there is none.
func OpenSQLite(ctx context.Context, path string) (*SQLite, error) {
	db, err := sqlitefile.OpenTables(ctx, path, schema)
	if err != nil {
		return nil, fmt.Errorf("open the continuations in %s: %w", path, err)
	}
	db.SetMaxOpenConns(1) // so that the setting below holds for each statement
	if _, err := db.ExecContext(ctx, "PRAGMA synchronous = FULL"); err != nil {
		return nil, errors.Join(fmt.Errorf("open the continuations in %s: %w", path, err), db.Close())
	}
	return &SQLite{db}, nil
}

// Close closes the file.
func (s *SQLite) Close() error { return s.db.Close() }

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Create implements Store.
func (s *SQLite) Create(ctx context.Context, r Record) error {
	r.Version = 1
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return s.one(ctx, r.ID, "INSERT INTO continuations (id, version, session, created, due, record) VALUES (?, 1, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		r.ID, r.SessionID, r.CreatedAt.UnixMilli(), millis(r.due()), string(b))
}

// one runs a statement that has to change one row.
func (s *SQLite) one(ctx context.Context, id, statement string, args ...any) error {
	res, err := s.db.ExecContext(ctx, statement, args...)
	if err != nil {
		return fmt.Errorf("keep %s: %w", id, err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("%s: %w", id, cmp.Or(err, ErrConflict))
	}
	return nil
}

// Get implements Store.
func (s *SQLite) Get(ctx context.Context, id string) (r Record, err error) {
	list, err := s.query(ctx, "SELECT record FROM continuations WHERE id = ?", id)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s: %w", id, ErrNotFound)
	}
	if err != nil {
		return r, err
	}
	return list[0], nil
}

// Update implements Store.
func (s *SQLite) Update(ctx context.Context, r Record) error {
	before := r.Version
	r.Version++
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	err = s.one(ctx, r.ID, "UPDATE continuations SET version = ?, due = ?, record = ? WHERE id = ? AND version = ?", r.Version, millis(r.due()), string(b), r.ID, before)
	if errors.Is(err, ErrConflict) {
		if _, gone := s.Get(ctx, r.ID); gone != nil {
			return gone
		}
	}
	return err
}

// List implements Store.
func (s *SQLite) List(ctx context.Context, session string) ([]Record, error) {
	return s.query(ctx, "SELECT record FROM continuations WHERE ?1 = '' OR session = ?1 ORDER BY created, id", session)
}

// Due implements Store.
func (s *SQLite) Due(ctx context.Context, by time.Time) ([]Record, error) {
	return s.query(ctx, "SELECT record FROM continuations WHERE due > 0 AND due <= ? ORDER BY due, id", by.UnixMilli())
}

func (s *SQLite) query(ctx context.Context, query string, args ...any) (list []Record, err error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read continuations: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var text string
		var r Record
		if err = rows.Scan(&text); err == nil {
			err = json.Unmarshal([]byte(text), &r)
		}
		if err != nil {
			return nil, fmt.Errorf("read continuations: %w", err)
		}
		list = append(list, r)
	}
	return list, rows.Err()
}
