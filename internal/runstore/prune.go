package runstore

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
)

// prunedPrefix begins the names of directories that are being removed; it is no part of a run id.
const prunedPrefix = ".pruned-"

// birth is the age below which a directory without a readable run may be one that is just being made.
const birth = time.Minute

// Pruned says what Prune removed, or would remove.
type Pruned struct {
	Runs  []execution.RunID // oldest first
	Bytes int64
}

// Prune removes the runs that ended longer ago than olderThan, with their events and rows; a dry run only tells which. A live run
// is never removed, whatever its age. A run that cannot be read is judged by the last change in its directory. Lines
// of the run index stay: that file belongs to the project.
func (s *Store) Prune(olderThan time.Duration, dryRun bool) (Pruned, error) {
	if olderThan < 0 {
		return Pruned{}, fmt.Errorf("prune runs: age %v is negative", olderThan)
	}
	ids, err := s.ids()
	if err != nil {
		return Pruned{}, fmt.Errorf("prune runs: %w", err)
	}
	slices.Sort(ids)
	var errs []error
	if !dryRun {
		errs = append(errs, s.sweep())
	}
	var out Pruned
	limit := time.Now().Add(-olderThan)
	for _, id := range ids {
		dir := s.runDir(id)
		ended, size, live, err := age(dir)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if live || ended.After(limit) {
			continue
		}
		if !dryRun {
			if err := removeRun(dir); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		out.Runs = append(out.Runs, id)
		out.Bytes += size
	}
	if !dryRun && len(out.Runs) > 0 {
		errs = append(errs, s.index.use(false, func(db *sql.DB) error { return deleteRows(db, out.Runs) }))
	}
	if err := errors.Join(errs...); err != nil {
		return out, fmt.Errorf("prune runs: %w", err)
	}
	return out, nil
}

// removeRun takes the run out of sight in one step: a half-removed directory would be taken for a run.
func removeRun(dir string) error {
	aside := filepath.Join(filepath.Dir(dir), prunedPrefix+filepath.Base(dir))
	if err := atomicfile.Rename(dir, aside); err != nil {
		return err
	}
	return os.RemoveAll(aside)
}

// sweep removes what an interrupted Prune left.
func (s *Store) sweep() error {
	entries, err := os.ReadDir(filepath.Join(s.dir, runsName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var errs []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prunedPrefix) {
			errs = append(errs, os.RemoveAll(filepath.Join(s.dir, runsName, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// age gives the end of a run, the size of its directory, and whether it is live.
func age(dir string) (ended time.Time, size int64, live bool, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, 0, true, nil // another prune has it
	}
	if err != nil {
		return time.Time{}, 0, false, err
	}
	var changed time.Time
	if info, err := os.Stat(dir); err == nil {
		changed = info.ModTime()
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		size += info.Size()
		if t := info.ModTime(); t.After(changed) {
			changed = t
		}
	}
	run, err := load(dir, Options{})
	if err != nil {
		held, lockErr := lockHeld(filepath.Join(dir, lockName))
		return changed, size, lockErr == nil && held || time.Since(changed) < birth, nil
	}
	return run.EndedAt, size, run.Live, nil
}
