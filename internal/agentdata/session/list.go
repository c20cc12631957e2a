package session

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/sessions"
)

// List returns the sessions of all agents, latest first. Changed files are read again.
func (s *Store) List(ctx context.Context, q sessions.Query) (sessions.Listing, error) {
	rows, w, total, err := s.query(ctx, q)
	if err != nil {
		return sessions.Listing{}, err
	}
	out := sessions.Listing{Sessions: make([]history.Summary, len(rows)), Total: total, Problems: w.problems}
	for i, r := range rows {
		out.Sessions[i] = r.summary
	}
	return out, nil
}

// query refreshes the index and queries it.
func (s *Store) query(ctx context.Context, q sessions.Query) ([]row, world, int, error) {
	if q.Agent != "" {
		src, err := s.source(q.Agent)
		if err != nil {
			return nil, world{}, 0, err
		}
		q.Agent = src.Agent
	}
	w, err := s.refresh(ctx, q.Agent)
	if err != nil {
		return nil, w, 0, wrap(err)
	}
	known, err := s.described(ctx)
	if err != nil {
		if len(q.Tags) > 0 {
			return nil, w, 0, err
		}
		s.opts.Logger.Warn("cannot read names and tags of sessions", "error", err)
	}
	var costs map[string]execution.Cost
	if s.opts.Costs != nil && (q.Priced || q.Sort == sessions.ByCost) {
		if costs, err = s.opts.Costs(ctx, q.Agent, nil); err != nil {
			return nil, w, 0, err
		}
	}
	var found []row
	total := 0
	err = s.db.use(ctx, func(db *sql.DB) error {
		where, args, err := where(q, w, known)
		if err != nil {
			return err
		}
		if q.Sort == sessions.ByTurns || q.Counted {
			if err := s.count(ctx, db, w, where, args); err != nil {
				return err
			}
		}
		if err := s.keepCosts(ctx, db, costs); err != nil {
			return err
		}
		if err := db.QueryRowContext(ctx, `SELECT count(*) FROM files`+where, args...).Scan(&total); err != nil {
			return err
		}
		text := `SELECT path, root, summary, cost FROM files` + where + order(q)
		if q.Limit > 0 {
			text += ` LIMIT ?`
			args = append(args, q.Limit)
		}
		found, err = s.rows(ctx, db, w, text, args)
		return err
	})
	if err != nil {
		return nil, w, 0, wrap(err)
	}
	for i := range found {
		known.describe(&found[i].summary)
	}
	return found, w, total, nil
}

func wrap(err error) error {
	if _, ok := errors.AsType[*execution.Error](err); ok || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return execution.Errorf(execution.CodeConfig, "read the session index: %w", err)
}

func (s *Store) rows(ctx context.Context, db *sql.DB, w world, text string, args []any) (found []row, err error) {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var path, root string
		var blob, cost sql.RawBytes
		if err := rows.Scan(&path, &root, &blob, &cost); err != nil {
			return nil, err
		}
		f, ok := w.files[path]
		r := row{located: f}
		if err := json.Unmarshal(blob, &r.summary); err != nil {
			return nil, err
		}
		if !ok {
			if r.located, ok = w.unread[root]; !ok {
				continue // another process has listed it since
			}
			r.ID, r.Path = r.summary.SessionID, path
		}
		if r.priced = cost != nil; r.priced {
			r.summary.Cost = &execution.Cost{}
			if err := json.Unmarshal(cost, r.summary.Cost); err != nil {
				return nil, err
			}
		}
		if r.summary.Tags == nil {
			r.summary.Tags = []string{}
		}
		found = append(found, r)
	}
	return found, rows.Err()
}

// count reads the selected sessions whose turns are unknown.
func (s *Store) count(ctx context.Context, db *sql.DB, w world, where string, args []any) error {
	files, err := s.uncounted(ctx, db, w, where, args)
	if err != nil {
		return err
	}
	return s.index(ctx, db, files, true)
}

func (s *Store) uncounted(ctx context.Context, db *sql.DB, w world, where string, args []any) (files []located, err error) {
	rows, err := db.QueryContext(ctx, `SELECT path FROM files`+where+` AND counted = 0`, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var path string
		if err := rows.Scan(&path); err != nil {
			return nil, err
		}
		if f, ok := w.files[path]; ok {
			files = append(files, f)
		}
	}
	return files, rows.Err()
}

func where(q sessions.Query, w world, known labels) (string, []any, error) {
	roots, err := json.Marshal(w.roots)
	if err != nil {
		return "", nil, err
	}
	terms, args := []string{`root IN (SELECT value FROM json_each(?))`}, []any{string(roots)}
	add := func(term string, values ...any) {
		terms = append(terms, term)
		args = append(args, values...)
	}
	if q.Agent != "" {
		add(`agent = ?`, q.Agent)
	}
	if !q.Since.IsZero() {
		add(`updated >= ?`, q.Since.UnixMilli())
	}
	if !q.Until.IsZero() {
		add(`updated < ?`, q.Until.UnixMilli())
	}
	if q.Model != "" {
		add(`instr(lower(model), lower(?)) > 0`, q.Model)
	}
	if q.Cwd != "" {
		dir := filepath.Clean(q.Cwd)
		prefix := strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator)
		add(`(cwd = ? OR substr(cwd, 1, ?) = ?)`, dir, len([]rune(prefix)), prefix)
	}
	labelled := func(term string, is func(label) bool) error {
		ids := []string{}
		for id, one := range known {
			if is(one) {
				ids = append(ids, id)
			}
		}
		list, err := json.Marshal(ids)
		add(`agent || ':' || id `+term+` (SELECT value FROM json_each(?))`, string(list))
		return err
	}
	if len(q.Tags) > 0 {
		tagged := func(one label) bool {
			return slices.ContainsFunc(q.Tags, func(t string) bool { return slices.Contains(one.Tags, t) })
		}
		if err := labelled(`IN`, tagged); err != nil {
			return "", nil, err
		}
	}
	if q.Current {
		add(`NOT coalesce(json_extract(summary, '$.archived'), 0)`)
		if err := labelled(`NOT IN`, func(one label) bool { return one.Archived }); err != nil {
			return "", nil, err
		}
	}
	return ` WHERE ` + strings.Join(terms, ` AND `), args, nil
}

// order puts unknown values last, in either direction.
func order(q sessions.Query) string {
	direction := ` DESC`
	if q.Ascending {
		direction = ` ASC`
	}
	switch q.Sort {
	case sessions.ByTurns:
		return ` ORDER BY turns IS NULL, turns` + direction + `, updated DESC, path`
	case sessions.ByCost:
		return ` ORDER BY usd IS NULL, usd` + direction + `, updated DESC, path`
	}
	return ` ORDER BY updated` + direction + `, path`
}

func join(list []string) string { return strings.Join(list, ", ") }
