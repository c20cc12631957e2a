package runstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestLazyIndex: a short run opens no database, and the next one who reads makes its row; a long one has its row at once.
func TestLazyIndex(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	s := open(t, dir, Options{LazyIndex: time.Minute})
	id := record(t, s, Meta{StartedAt: time.Now()}, resultOf(0.5))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, databaseName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a short run opened the database: %v", err)
	}
	s = open(t, dir, Options{LazyIndex: time.Minute})
	runs, err := s.List(Filter{})
	if err != nil || len(runs) != 1 || runs[0].ID != id || runs[0].Live || runs[0].Cost == nil {
		t.Errorf("list: %+v, %v", runs, err)
	}
	report, err := s.Cost(Filter{}, GroupNone)
	if err != nil || report.Total.Runs != 1 || report.Total.TotalUSD != 0.5 {
		t.Errorf("cost: %+v, %v", report, err)
	}

	other := stateDir(t)
	s = open(t, other, Options{LazyIndex: time.Minute})
	record(t, s, Meta{StartedAt: time.Now().Add(-time.Hour)}, resultOf(0.5))
	if _, err := os.Stat(filepath.Join(other, databaseName)); err != nil {
		t.Errorf("a long run has no row: %v", err)
	}
}
