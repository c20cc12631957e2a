package runstore

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// Filter selects runs; the zero value selects all. A run must match every field.
type Filter struct {
	Agent   string
	Since   time.Time // started at or after it
	Until   time.Time // started before it
	State   execution.Outcome
	Tag     string
	Cwd     string // exactly this directory
	Session string // the agent's own session id, or agent:id
	Limit   int    // at most this many, newest first; 0 means no limit. Sums ignore it.
	Live    bool   // only live runs
	open    bool   // only ended ones that wait for a person and that no later run of their session went on with
}

func (f Filter) where() (string, []any) {
	var terms []string
	var args []any
	add := func(term string, values ...any) {
		terms = append(terms, term)
		args = append(args, values...)
	}
	if f.Agent != "" {
		add(`agent = ?`, f.Agent)
	}
	if !f.Since.IsZero() {
		add(`started >= ?`, f.Since.UnixMilli())
	}
	if !f.Until.IsZero() {
		add(`started < ?`, f.Until.UnixMilli())
	}
	if f.State != "" {
		add(`state = ?`, string(f.State))
	}
	if f.Tag != "" {
		add(`id IN (SELECT run FROM run_tags WHERE tag = ?)`, f.Tag)
	}
	if f.Cwd != "" {
		add(`cwd = ?`, filepath.Clean(f.Cwd))
	}
	if f.Session != "" {
		if agent, native, ok := execution.SplitSession(f.Session); ok {
			add(`(session = ? OR agent = ? AND session = ?)`, f.Session, agent, native)
		} else {
			add(`session = ?`, f.Session)
		}
	}
	if f.Live {
		add(`settled = 0`)
	}
	if f.open {
		add(`settled <> 0 AND state = ?`, string(execution.OutcomeWaiting))
		add(`NOT EXISTS (SELECT 1 FROM runs AS later WHERE later.session = runs.session AND later.session <> '' AND later.agent = runs.agent
			AND later.started > runs.started AND later.state <> ?)`, string(execution.OutcomeRefused))
	}
	if len(terms) == 0 {
		return "", nil
	}
	return ` WHERE ` + strings.Join(terms, ` AND `), args
}

// Changed returns when a run was last begun or removed, zero if none ever was.
func (s *Store) Changed() time.Time {
	info, err := os.Stat(filepath.Join(s.dir, runsName))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// List returns the selected runs, newest first. The state of live runs is read from their directories.
func (s *Store) List(f Filter) ([]Run, error) {
	if f.Limit < 0 {
		return nil, fmt.Errorf("list runs: limit %d is negative", f.Limit)
	}
	var runs []Run
	err := s.read(func(db *sql.DB) error {
		where, args := f.where()
		query := `SELECT id, agent, model, session, project, parent, cwd, prompt, tags, approval, detached, state, status, exit_reason,
			error_code, started, ended, duration, turns, has_cost, usd, unpriced, cost_source, input, output, thinking, cache_read, cache_write, settled,
			assistant, turn, correlation
			FROM runs` + where + ` ORDER BY started DESC, id DESC`
		var size int // runs are large values, so the slice is allocated once
		if err := db.QueryRow(`SELECT count(*) FROM runs`+where, args...).Scan(&size); err != nil {
			return err
		}
		if f.Limit > 0 {
			query += ` LIMIT ?`
			args = append(args, f.Limit)
			size = min(size, f.Limit)
		}
		runs = make([]Run, 0, size)
		return each(db, query, args, func(rows *sql.Rows) error {
			run, err := s.scan(rows)
			runs = append(runs, run)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	for i, r := range runs {
		if !r.Live {
			continue
		}
		if m, err := readMeta(r.dir); err == nil {
			runs[i].process, runs[i].ReservedUSD = m.Process, m.ReservedUSD
		}
	}
	return runs, nil
}

func (s *Store) scan(rows *sql.Rows) (Run, error) {
	var r Run
	var c execution.Cost
	var tags string
	var started, ended int64
	var hasCost, settled bool
	var usd sql.NullFloat64
	if err := rows.Scan((*string)(&r.ID), &r.Agent, &r.Model, &r.SessionID, &r.ProjectID, (*string)(&r.Parent), &r.Cwd, &r.Prompt, &tags,
		(*string)(&r.ApprovalMode), &r.Detached, (*string)(&r.State), (*string)(&r.Status), (*string)(&r.ExitReason), (*string)(&r.ErrorCode),
		&started, &ended, &r.DurationMs, &r.TurnCount, &hasCost, &usd, &c.Unpriced, (*string)(&c.Source), &c.InputTokens, &c.OutputTokens,
		&c.ThinkingTokens, &c.CacheReadTokens, &c.CacheCreationTokens, &settled,
		&r.AssistantID, &r.TurnID, &r.CorrelationID); err != nil {
		return Run{}, err
	}
	r.Live, r.dir = !settled, s.runDir(r.ID)
	r.StartedAt = time.UnixMilli(started).UTC()
	if ended != 0 {
		r.EndedAt = time.UnixMilli(ended).UTC()
	}
	if hasCost {
		if usd.Valid {
			c.TotalUSD = &usd.Float64
		}
		r.Cost = &c
	}
	if tags != "" {
		if err := json.Unmarshal([]byte(tags), &r.Tags); err != nil {
			return Run{}, fmt.Errorf("tags of run %s: %w", r.ID, err)
		}
	}
	return r, nil
}

// read calls f with a database that matches the run directories. If nothing was ever recorded, it does nothing and creates no
// file.
func (s *Store) read(f func(*sql.DB) error) error {
	if _, err := os.Lstat(filepath.Join(s.dir, runsName)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.index.use(true, func(db *sql.DB) error {
		if err := s.reconcile(db); err != nil {
			return err
		}
		return f(db)
	})
}
