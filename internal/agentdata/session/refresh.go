package session

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/history"
)

// batchRows limits the rows of one transaction, so that none delays other processes for long.
const batchRows = 500

// world is the state of all stores at one moment.
type world struct {
	files    map[string]located // by path
	roots    []string
	problems []history.Problem
	unread   map[string]located // stores that could not be listed, by root: their sessions stay in the index
}

type located struct {
	history.File
	root  string
	store adapter.SessionStore
}

// key identifies the version of a file that a row was made from.
type key struct {
	size, mtime int64
	parts       int
}

func (l located) key() key {
	return key{l.Size, l.ModTime.UnixNano(), len(l.Parts)}
}

// look lists all stores concurrently.
func (s *Store) look(ctx context.Context, agent string) (world, error) {
	w := world{files: map[string]located{}, unread: map[string]located{}}
	sources := s.opts.Sources
	if agent != "" {
		src, err := s.source(agent)
		if err != nil {
			return w, err
		}
		sources = []Source{src}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, src := range sources {
		wg.Go(func() {
			files, problems := src.Store.ListSessions(ctx, s.opts.Host)
			roots := src.Store.SessionRoots(s.opts.Host)
			mu.Lock()
			defer mu.Unlock()
			w.roots = append(w.roots, roots...)
			w.problems = append(w.problems, problems...)
			for _, p := range problems {
				if len(files) == 0 && slices.Contains(roots, p.Path) {
					w.unread[p.Path] = located{history.File{Agent: src.Agent, Problem: p.Message}, p.Path, src.Store}
				}
			}
			for _, f := range files {
				root := ""
				for _, r := range roots {
					if strings.HasPrefix(f.Path, r+string(filepath.Separator)) {
						root = r
					}
				}
				if root == "" { // not in the roots: left by an early release
					root = filepath.Dir(f.Path)
					w.roots = append(w.roots, root)
				}
				w.files[f.Path] = located{f, root, src.Store}
			}
		})
	}
	wg.Wait()
	return w, ctx.Err()
}

// refresh updates the index from disk.
func (s *Store) refresh(ctx context.Context, agent string) (world, error) {
	w, err := s.look(ctx, agent)
	if err != nil {
		return w, err
	}
	err = s.db.use(ctx, func(db *sql.DB) error {
		roots, err := json.Marshal(w.roots)
		if err != nil {
			return err
		}
		have := make(map[string]key, len(w.files))
		gone, err := s.known(ctx, db, string(roots), w, have)
		if err != nil {
			return err
		}
		var stale []located
		for path, f := range w.files {
			if k, ok := have[path]; !ok || k != f.key() {
				stale = append(stale, f)
			}
		}
		if err := s.drop(ctx, db, gone); err != nil {
			return err
		}
		return s.index(ctx, db, stale, false)
	})
	return w, err
}

// known fills have with the index's rows of existing files and returns the paths of those that no longer exist.
func (s *Store) known(ctx context.Context, db *sql.DB, roots string, w world, have map[string]key) (gone []string, err error) {
	rows, err := db.QueryContext(ctx, `SELECT path, size, mtime, parts, root FROM files WHERE root IN (SELECT value FROM json_each(?))`, roots)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var path, root string
		var k key
		if err := rows.Scan(&path, &k.size, &k.mtime, &k.parts, &root); err != nil {
			return nil, err
		}
		if _, unread := w.unread[root]; unread {
			continue
		}
		if _, ok := w.files[path]; ok {
			have[path] = k
		} else {
			gone = append(gone, path)
		}
	}
	return gone, rows.Err()
}

func (s *Store) drop(ctx context.Context, db *sql.DB, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	list, err := json.Marshal(paths)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `DELETE FROM files WHERE path IN (SELECT value FROM json_each(?))`, string(list))
	return err
}

// row is what the index keeps of a file.
type row struct {
	located
	summary history.Summary
	counted bool
	priced  bool // the summary's cost is that of the cost report
}

// index reads files and writes their rows: heads and tails, or the whole files with count.
func (s *Store) index(ctx context.Context, db *sql.DB, files []located, count bool) error {
	for len(files) > 0 {
		n := min(len(files), batchRows)
		rows := make([]row, n)
		if err := parallel(ctx, n, func(i int) { rows[i] = s.summarize(ctx, files[i], count) }); err != nil {
			return err
		}
		if err := write(ctx, db, rows); err != nil {
			return err
		}
		files = files[n:]
	}
	return nil
}

func (s *Store) summarize(ctx context.Context, f located, count bool) row {
	var summary history.Summary
	var err error
	if count {
		var whole history.Session
		whole, err = f.store.ReadSession(ctx, s.opts.Host, f.File)
		summary = whole.Summary
	} else {
		summary, err = f.store.SummarizeSession(ctx, s.opts.Host, f.File)
	}
	if err != nil {
		// An unreadable file is listed with the reason.
		summary.Agent, summary.SessionID, summary.UnifiedID = f.Agent, f.ID, f.Agent+":"+f.ID
		summary.Path, summary.Size, summary.Archived, summary.Parent = f.Path, f.Size, f.Archived, f.Parent
		summary.CreatedAt, summary.UpdatedAt = f.ModTime.UTC(), f.ModTime.UTC()
		summary.Problems = []history.Problem{{Path: f.Path, Message: strings.TrimPrefix(strings.TrimPrefix(err.Error(), "read "), f.Path+": ")}}
	}
	return row{located: f, summary: summary, counted: count || summary.TurnCount != nil || err != nil}
}

// unchanged is the SQL condition that a file is the version of its row: its cost is then kept.
const unchanged = `size = excluded.size AND mtime = excluded.mtime AND parts = excluded.parts`

func write(ctx context.Context, db *sql.DB, rows []row) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	stmt, err := tx.PrepareContext(ctx, `INSERT INTO files VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,NULL)
		ON CONFLICT (path) DO UPDATE SET size=excluded.size, mtime=excluded.mtime, parts=excluded.parts, root=excluded.root, agent=excluded.agent,
		id=excluded.id, created=excluded.created, updated=excluded.updated, turns=excluded.turns,
		usd=CASE WHEN `+unchanged+` AND cost IS NOT NULL THEN usd ELSE excluded.usd END, cost=CASE WHEN `+unchanged+` THEN cost END, model=excluded.model,
		cwd=excluded.cwd, counted=excluded.counted, summary=excluded.summary`)
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Close() }()
	for _, r := range rows {
		text, err := json.Marshal(r.summary)
		if err != nil {
			return err
		}
		var turns, usd any
		if r.summary.TurnCount != nil {
			turns = *r.summary.TurnCount
		}
		if r.summary.Cost != nil && r.summary.Cost.TotalUSD != nil {
			usd = *r.summary.Cost.TotalUSD
		}
		k := r.key()
		if _, err := stmt.ExecContext(ctx, r.Path, k.size, k.mtime, k.parts, r.root, r.summary.Agent, r.summary.SessionID, r.summary.CreatedAt.UnixMilli(),
			r.summary.UpdatedAt.UnixMilli(), turns, usd, r.summary.Model, r.summary.Cwd, r.counted, text); err != nil {
			return err
		}
	}
	return tx.Commit()
}
