package session

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/sessions"
)

// maxCandidates limits how many sessions an error lists.
const maxCandidates = 5

// find resolves an id: a name, agent:native, the agent's own id, a prefix of it that is unique, or the id of a run.
func (s *Store) find(ctx context.Context, id string) (row, error) {
	l, err := s.labels()
	if err != nil {
		return row{}, err
	}
	r, err := s.findID(ctx, cmp.Or(l.named(id), id))
	if execution.CodeOf(err) == execution.CodeSessionNotFound && s.opts.OfRun != nil {
		if unified := s.opts.OfRun(id); unified != "" {
			return s.findID(ctx, unified)
		}
	}
	return r, err
}

// Find returns the session with a name, an id, a prefix of it that is unique, or that of a run.
func (s *Store) Find(ctx context.Context, id string) (history.Summary, error) {
	r, err := s.find(ctx, id)
	if err != nil {
		return r.summary, err
	}
	known, err := s.described(ctx)
	if err != nil {
		return r.summary, err
	}
	known.describe(&r.summary)
	return r.summary, nil
}

func (s *Store) findID(ctx context.Context, id string) (row, error) {
	agent, native, ok := strings.Cut(id, ":")
	if !ok {
		agent, native = "", id
	}
	if native == "" {
		return row{}, execution.Errorf(execution.CodeValidation, "%q is not a valid session id", id).WithHint("agent:id, as listed by drawbar sessions list")
	}
	if agent != "" {
		src, err := s.source(agent)
		if err != nil {
			return row{}, err
		}
		agent = src.Agent
	}
	w, err := s.refresh(ctx, agent)
	if err != nil {
		return row{}, wrap(err)
	}
	var found []row
	err = s.db.use(ctx, func(db *sql.DB) error {
		where, args, err := where(sessions.Query{Agent: agent}, w, nil)
		if err != nil {
			return err
		}
		where += ` AND substr(id, 1, ?) = ?`
		found, err = s.rows(ctx, db, w, `SELECT path, root, summary, cost FROM files`+where+` ORDER BY updated DESC`, append(args, len([]rune(native)), native))
		return err
	})
	if err != nil {
		return row{}, wrap(err)
	}
	return choose(id, native, found)
}

func choose(id, native string, found []row) (row, error) {
	var exact []row
	for _, r := range found {
		if r.summary.SessionID == native {
			exact = append(exact, r)
		}
	}
	list := found
	if len(exact) > 0 {
		list = exact
	}
	agents := map[string]bool{}
	ids := map[string]bool{}
	for _, r := range list {
		agents[r.summary.Agent] = true
		ids[r.summary.UnifiedID] = true
	}
	switch {
	case len(list) == 0:
		return row{}, execution.Errorf(execution.CodeSessionNotFound, "there is no session %s", id).WithHint("drawbar sessions list")
	case len(ids) > 1:
		names := make([]string, 0, maxCandidates)
		for _, r := range list {
			if name := r.summary.UnifiedID; !slices.Contains(names, name) && len(names) < maxCandidates {
				names = append(names, name)
			}
		}
		more := ""
		if n := len(ids) - len(names); n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		return row{}, execution.Errorf(execution.CodeValidation, "%s is the beginning of %d sessions: %s%s", id, len(ids), join(names), more).WithHint("use more of the id, with the agent in front of it")
	}
	// If one session has several files, the latest is the live one; the others are reported.
	r := list[0]
	for _, other := range list[1:] {
		r.summary.Problems = append(r.summary.Problems, history.Problem{Path: other.Path, Message: "has the same session id and is not shown"})
	}
	return r, nil
}

// Get reads a whole session.
func (s *Store) Get(ctx context.Context, id string) (history.Session, error) {
	r, err := s.find(ctx, id)
	if err != nil {
		return history.Session{}, err
	}
	session, err := r.store.ReadSession(ctx, s.opts.Host, r.File)
	if err != nil {
		if ctx.Err() != nil {
			return session, err
		}
		return session, execution.Errorf(execution.CodeSessionNotFound, "read session %s: %w", r.summary.UnifiedID, err).WithHint("check the file %s", r.Path)
	}
	for _, p := range r.summary.Problems {
		if p.Path != r.Path && !slices.Contains(session.Problems, p) {
			session.Problems = append(session.Problems, p)
		}
	}
	known, err := s.described(ctx)
	if err != nil {
		s.opts.Logger.Warn("cannot read names and tags of sessions", "error", err)
	}
	known.describe(&session.Summary)
	s.remember(ctx, r, session)
	session.Cost = s.cost(ctx, r, session)
	return session, nil
}

// remember keeps the counts of a session that was read completely.
func (s *Store) remember(ctx context.Context, r row, session history.Session) {
	summary := session.Summary
	summary.Tags = []string{}
	err := s.db.use(ctx, func(db *sql.DB) error {
		var counted bool
		if err := db.QueryRowContext(ctx, `SELECT counted FROM files WHERE path = ?`, r.Path).Scan(&counted); err != nil || counted {
			return err
		}
		return write(ctx, db, []row{{located: r.located, summary: summary, counted: true}})
	})
	if err != nil && ctx.Err() == nil {
		s.opts.Logger.Warn("cannot write the session index", "error", err)
	}
}
