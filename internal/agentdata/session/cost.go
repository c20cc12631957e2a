package session

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
)

// cost returns what a session cost: from the index, else from the session's own files, else the agent's figure.
func (s *Store) cost(ctx context.Context, r row, session history.Session) *execution.Cost {
	if r.priced {
		return r.summary.Cost
	}
	if s.opts.Costs == nil {
		return session.Cost
	}
	costs, err := s.opts.Costs(ctx, r.Agent, append(slices.Clone(r.Parts), r.Path))
	if err != nil {
		if ctx.Err() == nil {
			s.opts.Logger.Warn("compute the cost of the session", "error", err)
		}
		return session.Cost
	}
	if c, ok := costs[session.UnifiedID]; ok && (c.TotalUSD != nil || session.Cost == nil || session.Cost.TotalUSD == nil) {
		return &c
	}
	return session.Cost
}

// keepCosts writes costs into the index, so that listings need not compute them. A row loses its cost when its
// file changes.
func (s *Store) keepCosts(ctx context.Context, db *sql.DB, costs map[string]execution.Cost) error {
	if len(costs) == 0 {
		return nil
	}
	type change struct {
		path string
		usd  *float64
		cost []byte
	}
	changes, err := func() (list []change, err error) {
		rows, err := db.QueryContext(ctx, `SELECT path, agent || ':' || id, usd, cost FROM files`)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			var path, id string
			var stated *float64
			var old sql.RawBytes
			if err := rows.Scan(&path, &id, &stated, &old); err != nil {
				return nil, err
			}
			c, ok := costs[id]
			if !ok || c.TotalUSD == nil && old == nil && stated != nil {
				continue // the agent's total is better than nothing
			}
			text, err := json.Marshal(c)
			if err != nil {
				return nil, err
			}
			if string(text) != string(old) {
				list = append(list, change{path, c.TotalUSD, text})
			}
		}
		return list, rows.Err()
	}()
	for err == nil && len(changes) > 0 {
		n := min(len(changes), batchRows)
		err = transact(ctx, db, `UPDATE files SET usd = ?, cost = ? WHERE path = ?`, func(stmt *sql.Stmt) error {
			for _, c := range changes[:n] {
				if _, err := stmt.ExecContext(ctx, c.usd, c.cost, c.path); err != nil {
					return err
				}
			}
			return nil
		})
		changes = changes[n:]
	}
	return err
}

func transact(ctx context.Context, db *sql.DB, text string, do func(*sql.Stmt) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	stmt, err := tx.PrepareContext(ctx, text)
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Close() }()
	if err := do(stmt); err != nil {
		return err
	}
	return tx.Commit()
}
