package runstore

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/drawbar/drawbar/execution"
)

// Reindexed is the result of Reindex.
type Reindexed struct {
	Runs    int                       // rows in the index now
	Skipped map[execution.RunID]error // directories that could not be read; nil for none
}

// Reindex rebuilds the database from the run directories. Other processes see the old rows until it is done.
func (s *Store) Reindex() (Reindexed, error) {
	var report Reindexed
	err := s.index.use(true, func(db *sql.DB) error {
		report = Reindexed{}
		ids, err := s.ids()
		if err != nil {
			return err
		}
		runs := make([]Run, 0, len(ids))
		for _, id := range ids {
			run, err := s.load(s.runDir(id))
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				if report.Skipped == nil {
					report.Skipped = map[execution.RunID]error{}
				}
				report.Skipped[id] = err
			default:
				runs = append(runs, run)
			}
		}
		report.Runs = len(runs)
		return inTx(db, func(tx *sql.Tx) error {
			if _, err := tx.Exec(`DELETE FROM run_tags; DELETE FROM runs`); err != nil {
				return err
			}
			return upsert(tx, runs)
		})
	})
	if err != nil {
		return report, fmt.Errorf("rebuild the index of runs: %w", err)
	}
	return report, nil
}

// reconcile updates the rows from the directories: it adds runs whose row was not written because of a crash, reads running runs
// again, and deletes rows whose directory is gone.
func (s *Store) reconcile(db *sql.DB) error {
	ids, err := s.ids()
	if err != nil {
		return err
	}
	rows, err := knownRows(db, len(ids))
	if err != nil {
		return err
	}
	var changed []Run
	for _, id := range ids {
		final, known := rows[id]
		delete(rows, id)
		if final {
			continue
		}
		run, err := s.load(s.runDir(id))
		switch {
		case errors.Is(err, fs.ErrNotExist): // being created or removed
		case err != nil:
			s.opts.Logger.Warn("a run cannot be read", "run_id", id, "error", err)
		case known && run.Live && run.SessionID == "":
			// The row is up to date.
		default:
			changed = append(changed, run)
		}
	}
	if err := writeRows(db, changed); err != nil {
		return err
	}
	var gone []execution.RunID
	for id := range rows {
		// The directory may have been created after the listing.
		if _, err := os.Lstat(s.runDir(id)); errors.Is(err, fs.ErrNotExist) {
			gone = append(gone, id)
		}
	}
	return deleteRows(db, gone)
}

// knownRows returns the ids in the database and whether their rows are final. They are queried as one string, which is ten times
// faster than separate rows; all ids have the same length.
func knownRows(db *sql.DB, size int) (map[execution.RunID]bool, error) {
	known := make(map[execution.RunID]bool, size)
	for _, final := range []bool{false, true} {
		var all string
		if err := db.QueryRow(`SELECT coalesce(group_concat(id, ''), '') FROM runs WHERE settled = ?`, final).Scan(&all); err != nil {
			return nil, err
		}
		for ; len(all) >= runIDLength; all = all[runIDLength:] {
			known[execution.RunID(all[:runIDLength])] = final
		}
	}
	return known, nil
}

func deleteRows(db *sql.DB, ids []execution.RunID) error {
	if len(ids) == 0 {
		return nil
	}
	return inTx(db, func(tx *sql.Tx) error {
		for _, id := range ids {
			if _, err := tx.Exec(`DELETE FROM runs WHERE id = ?`, string(id)); err != nil {
				return fmt.Errorf("delete row of run %s: %w", id, err)
			}
		}
		return nil
	})
}
