package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/internal/base/sqlitefile"
)

// SQLite is a store in a file with a full-text index, for several processes.
type SQLite struct{ db *sql.DB }

const schema = `CREATE TABLE IF NOT EXISTS memories (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, scope TEXT NOT NULL, created INTEGER NOT NULL, expires INTEGER NOT NULL, entry TEXT NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS memories_scope ON memories (scope, created);
CREATE VIRTUAL TABLE IF NOT EXISTS memories_words USING fts5 (content, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2');`

// OpenSQLite opens the store at path, and makes it if there is none.
func OpenSQLite(ctx context.Context, path string) (*SQLite, error) {
	db, err := sqlitefile.OpenTables(ctx, path, schema)
	if err != nil {
		return nil, fmt.Errorf("open the memories in %s: %w", path, err)
	}
	return &SQLite{db}, nil
}

// Close closes the file.
func (s *SQLite) Close() error { return s.db.Close() }

// Put implements Store.
func (s *SQLite) Put(ctx context.Context, entries []Entry, remove ...string) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("keep memories: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	do := func(query string, args ...any) {
		if err == nil {
			_, err = tx.ExecContext(ctx, query, args...)
		}
	}
	for _, id := range remove {
		do("DELETE FROM memories_words WHERE rowid = (SELECT n FROM memories WHERE id = ?)", id)
		do("DELETE FROM memories WHERE id = ?", id)
	}
	for _, e := range entries {
		text, failed := json.Marshal(e)
		if failed != nil {
			return failed
		}
		var expires int64
		if !e.ExpiresAt.IsZero() {
			expires = e.ExpiresAt.UnixMilli()
		}
		do("DELETE FROM memories_words WHERE rowid = (SELECT n FROM memories WHERE id = ?)", e.ID)
		do("INSERT INTO memories (id, scope, created, expires, entry) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO UPDATE SET scope = ?2, created = ?3, expires = ?4, entry = ?5",
			e.ID, e.Scope.String(), e.CreatedAt.UnixMilli(), expires, string(text))
		do("INSERT INTO memories_words (rowid, content) SELECT n, ? FROM memories WHERE id = ?", e.Content+" "+strings.Join(e.Tags, " "), e.ID)
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return fmt.Errorf("keep memories: %w", err)
	}
	return nil
}

// Get implements Store.
func (s *SQLite) Get(ctx context.Context, id string) (e Entry, err error) {
	var text string
	err = s.db.QueryRowContext(ctx, "SELECT entry FROM memories WHERE id = ?", id).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return e, fmt.Errorf("%s: %w", id, ErrNotFound)
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &e)
	}
	return e, err
}

// Find implements Store.
func (s *SQLite) Find(ctx context.Context, q Query) (list []Entry, err error) {
	where, args := "m.scope IN (?"+strings.Repeat(", ?", len(q.Scopes)-1)+") AND (m.expires = 0 OR m.expires >= ?) AND m.created >= ?", []any{}
	for _, scope := range q.Scopes {
		args = append(args, scope.String())
	}
	since := int64(0)
	if !q.Since.IsZero() {
		since = q.Since.UnixMilli()
	}
	args = append(args, q.Now.UnixMilli(), since)
	for _, tag := range q.Tags {
		where += " AND EXISTS (SELECT 1 FROM json_each(m.entry, '$.tags') WHERE value = ?)"
		args = append(args, tag)
	}
	query := "SELECT m.entry, 0 FROM memories m WHERE " + where + " ORDER BY m.created DESC, m.id DESC LIMIT ?"
	if q.Oldest {
		query = strings.ReplaceAll(query, " DESC", "")
	}
	if words := expression(q.Words); words != "" {
		query = "SELECT m.entry, -bm25(memories_words) AS rank FROM memories_words JOIN memories m ON m.n = memories_words.rowid WHERE " + where +
			" AND memories_words MATCH ? ORDER BY rank DESC, m.created DESC, m.id DESC LIMIT ?"
		args = append(args, words)
	} else if strings.TrimSpace(q.Words) != "" {
		return nil, nil // no word is among them
	}
	rows, err := s.db.QueryContext(ctx, query, append(args, q.Limit)...)
	if err != nil {
		return nil, fmt.Errorf("find memories: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var text string
		var rank float64
		var e Entry
		if err = rows.Scan(&text, &rank); err == nil {
			err = json.Unmarshal([]byte(text), &e)
		}
		if err != nil {
			return nil, fmt.Errorf("find memories: %w", err)
		}
		e.Relevance = rank
		list = append(list, e)
	}
	relate(list)
	return list, rows.Err()
}

// relate brings the ranks of what was found, of which the first is the highest, to 0 to 1.
func relate(list []Entry) {
	if len(list) == 0 || list[0].Relevance <= 0 {
		return
	}
	most := list[0].Relevance
	for i := range list {
		list[i].Relevance /= most
	}
}

// expression is the full-text query for any of the words: each is quoted, so that nothing in it is an operator.
func expression(words string) string {
	list := unique(tokens(words))
	for i, w := range list {
		list[i] = `"` + w + `"`
	}
	return strings.Join(list, " OR ")
}

// Clear implements Store.
func (s *SQLite) Clear(ctx context.Context, scope Scope) (int, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("clear %s: %w", scope, err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if _, err := tx.ExecContext(ctx, "DELETE FROM memories_words WHERE rowid IN (SELECT n FROM memories WHERE scope = ?)", scope.String()); err != nil {
		return 0, fmt.Errorf("clear %s: %w", scope, err)
	}
	res, err := tx.ExecContext(ctx, "DELETE FROM memories WHERE scope = ?", scope.String())
	if err != nil {
		return 0, fmt.Errorf("clear %s: %w", scope, err)
	}
	n, err := res.RowsAffected()
	return int(n), errors.Join(err, tx.Commit())
}
