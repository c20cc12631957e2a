package chat

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/drawbar/drawbar/internal/base/sqlitefile"
)

// SQLite is a store in a file, for several processes.
type SQLite struct{ db *sql.DB }

const schema = `CREATE TABLE IF NOT EXISTS chats (id TEXT PRIMARY KEY, user TEXT NOT NULL, session TEXT NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS chats_user ON chats (user);`

// OpenSQLite opens the store at path, and makes it if there is none.
func OpenSQLite(ctx context.Context, path string) (*SQLite, error) {
	db, err := sqlitefile.OpenTables(ctx, path, schema)
	if err != nil {
		return nil, fmt.Errorf("open the sessions in %s: %w", path, err)
	}
	return &SQLite{db}, nil
}

// Close closes the file.
func (s *SQLite) Close() error { return s.db.Close() }

// Create implements Store.
func (s *SQLite) Create(ctx context.Context, n Session) error {
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	res, err := s.db.ExecContext(ctx, "INSERT INTO chats (id, user, session) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", n.ID, n.UserID, string(b))
	if err != nil {
		return fmt.Errorf("keep %s: %w", n.ID, err)
	}
	if rows, err := res.RowsAffected(); err != nil || rows != 1 {
		return errors.Join(fmt.Errorf("%s: %w", n.ID, ErrExists), err)
	}
	return nil
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func get(ctx context.Context, q querier, id string) (n Session, err error) {
	var text string
	err = q.QueryRowContext(ctx, "SELECT session FROM chats WHERE id = ?", id).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return n, fmt.Errorf("%s: %w", id, ErrNotFound)
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &n)
	}
	return n, err
}

// Get implements Store.
func (s *SQLite) Get(ctx context.Context, id string) (Session, error) { return get(ctx, s.db, id) }

// Change implements Store.
func (s *SQLite) Change(ctx context.Context, id string, change func(*Session) error) (n Session, err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return n, err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if n, err = get(ctx, tx, id); err != nil {
		return n, err
	}
	if err := change(&n); err != nil {
		return n, err
	}
	b, err := json.Marshal(n)
	if err != nil {
		return n, err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE chats SET session = ?, user = ? WHERE id = ?", string(b), n.UserID, id); err != nil {
		return n, err
	}
	return n, tx.Commit()
}

// List implements Store.
func (s *SQLite) List(ctx context.Context, f Filter) (list []Session, err error) {
	rows, err := s.db.QueryContext(ctx, "SELECT session FROM chats WHERE ?1 = '' OR user = ?1", f.UserID)
	if err != nil {
		return nil, fmt.Errorf("read sessions: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var text string
		var n Session
		if err = rows.Scan(&text); err == nil {
			err = json.Unmarshal([]byte(text), &n)
		}
		if err != nil {
			return nil, fmt.Errorf("read sessions: %w", err)
		}
		if f.fits(n) {
			list = append(list, n)
		}
	}
	return recent(list, f), rows.Err()
}
