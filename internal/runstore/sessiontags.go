package runstore

import (
	"database/sql"
	"fmt"
	"slices"

	"github.com/drawbar/drawbar/execution"
)

// SessionTags returns the tags of the runs in each session, by agent:session.
func (s *Store) SessionTags() (map[string][]string, error) {
	tags := map[string][]string{}
	err := s.read(func(db *sql.DB) error {
		return each(db, `SELECT DISTINCT agent, session, tag FROM runs JOIN run_tags ON run = id WHERE session <> '' ORDER BY tag`, nil, func(rows *sql.Rows) error {
			var agent, session, tag string
			if err := rows.Scan(&agent, &session, &tag); err != nil {
				return err
			}
			id := session
			if owner, _, ok := execution.SplitSession(session); !ok || owner != agent {
				id = execution.UnifiedSession(agent, session)
			}
			if !slices.Contains(tags[id], tag) {
				tags[id] = append(tags[id], tag)
			}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the tags of sessions: %w", err)
	}
	return tags, nil
}
