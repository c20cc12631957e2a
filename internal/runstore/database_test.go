package runstore

import (
	"bytes"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/sqlitefile"
)

func logger() (*slog.Logger, *bytes.Buffer) {
	var b bytes.Buffer
	return slog.New(slog.NewTextHandler(&b, nil)), &b
}

func TestMigrations(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	steps := []string{`CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1)`, `ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 5; UPDATE a SET x = x + 1`, `INSERT INTO a VALUES (10, 20)`}
	for _, n := range []int{1, 1, 3, 3} { // each step once, however often and from whatever version it is opened
		db, err := sqlitefile.Open(t.Context(), path, busy, setUp(path, steps[:n]))
		if err != nil {
			t.Fatal(err)
		}
		if v, err := schemaVersion(t.Context(), db); err != nil || v != n {
			t.Errorf("version %d, %v, want %d", v, err, n)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sqlitefile.Open(t.Context(), path, busy, setUp(path, steps))
	if err != nil {
		t.Fatal(err)
	}
	var sum int
	if err := db.QueryRow(`SELECT sum(x) * 1000 + sum(y) FROM a`).Scan(&sum); err != nil || sum != 12025 {
		t.Errorf("got %d, %v", sum, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlitefile.Open(t.Context(), path, busy, setUp(path, steps[:2])); !errors.Is(err, ErrNewerSchema) {
		t.Errorf("newer schema: %v", err)
	}
	// A step that fails leaves the version it found.
	if _, err := sqlitefile.Open(t.Context(), path, busy, setUp(path, append(steps, `CREATE TABLE b (x); nonsense`))); err == nil {
		t.Error("a broken step was taken")
	}
	db, err = sqlitefile.Open(t.Context(), path, busy, setUp(path, steps))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRow(`SELECT count(*) FROM b`).Scan(&sum); err == nil {
		t.Error("a broken step left half of itself")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func withRaw(t *testing.T, dir string, f func(*sql.DB)) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, databaseName))
	if err != nil {
		t.Fatal(err)
	}
	f(db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// A newer program's database is not touched, and its absence does not keep a run from being recorded.
func TestNewerSchema(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	record(t, s, Meta{}, resultOf(1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	withRaw(t, dir, func(db *sql.DB) {
		if _, err := db.Exec(`INSERT INTO schema_version VALUES (99, 0)`); err != nil {
			t.Fatal(err)
		}
	})
	s = open(t, dir, Options{})
	_, err = s.List(Filter{})
	if !errors.Is(err, ErrNewerSchema) || !strings.Contains(err.Error(), "99") || !strings.Contains(err.Error(), "update drawbar") {
		t.Errorf("list: %v", err)
	}
	w := begin(t, s, Meta{})
	if err := w.Finish(resultOf(1)); !errors.Is(err, ErrNewerSchema) {
		t.Errorf("finish: %v", err)
	}
	if r, err := s.Get(string(w.meta.RunID)); err != nil || r.State != execution.OutcomeCompleted {
		t.Errorf("get: %+v, %v", r, err)
	}
}

func TestDamagedDatabase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, path string)
	}{
		{"no database", func(t *testing.T, path string) {
			if err := os.WriteFile(path, bytes.Repeat([]byte("this is no database. "), 1000), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"broken pages", func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := 4096; i < len(b); i++ {
				b[i] = 0xff
			}
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := stateDir(t)
			s, err := Open(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for range 5 {
				record(t, s, Meta{Tags: []string{"x"}}, resultOf(0.5))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			c.damage(t, filepath.Join(dir, databaseName))
			before, err := os.ReadFile(filepath.Join(dir, databaseName))
			if err != nil {
				t.Fatal(err)
			}
			log, text := logger()
			s = open(t, dir, Options{Logger: log})
			runs, err := s.List(Filter{Tag: "x"})
			if err != nil || len(runs) != 5 {
				t.Fatalf("%d runs, %v", len(runs), err)
			}
			if !strings.Contains(text.String(), "damaged") {
				t.Errorf("no warning: %s", text)
			}
			aside, err := filepath.Glob(filepath.Join(dir, databaseName+".corrupt-*Z"))
			if err != nil || len(aside) != 1 {
				t.Fatalf("moved aside: %v, %v", aside, err)
			}
			if kept, err := os.ReadFile(aside[0]); err != nil || !bytes.Equal(kept, before) {
				t.Errorf("what was moved aside is not what was there: %v", err)
			}
			record(t, s, Meta{}, resultOf(0.5))
			if r, err := s.Cost(Filter{}, GroupNone); err != nil || r.Total.Runs != 6 || r.Total.TotalUSD != 3 {
				t.Errorf("cost: %+v, %v", r, err)
			}
		})
	}
}

// Where the database cannot be used at all, the run directories answer, and runs are still recorded.
func TestUnusableDatabase(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	if err := os.MkdirAll(filepath.Join(dir, databaseName), 0o700); err != nil {
		t.Fatal(err)
	}
	log, text := logger()
	s := open(t, dir, Options{Logger: log})
	w := begin(t, s, Meta{Agent: "a", Cwd: "/w"})
	w.Append(execution.Event{Time: time.Now(), Body: execution.MessageStop{Text: "hello"}})
	if err := w.Finish(resultOf(0.5)); err == nil || !strings.Contains(err.Error(), databaseName) {
		t.Errorf("finish: %v", err)
	}
	runs, err := s.List(Filter{Agent: "a"})
	if err != nil || len(runs) != 1 || runs[0].State != execution.OutcomeCompleted {
		t.Errorf("list: %+v, %v", runs, err)
	}
	if r, err := s.Cost(Filter{}, GroupAgent); err != nil || r.Total.TotalUSD != 0.5 {
		t.Errorf("cost: %+v, %v", r, err)
	}
	if !strings.Contains(text.String(), "reading the run directories instead") {
		t.Errorf("no warning: %s", text)
	}
}

// Rows that were never written, rows that were left behind as running, rows whose directory is gone.
func TestReconcile(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	s := open(t, dir, Options{})
	var ids []execution.RunID
	for range 4 {
		ids = append(ids, record(t, s, Meta{Tags: []string{"x"}}, resultOf(1)))
	}
	withRaw(t, dir, func(db *sql.DB) {
		for _, q := range []string{`DELETE FROM runs WHERE id = '` + string(ids[0]) + `'`, `UPDATE runs SET settled = 0, state = 'running', usd = NULL WHERE id = '` + string(ids[1]) + `'`} {
			if _, err := db.Exec(q); err != nil {
				t.Fatal(err)
			}
		}
	})
	if err := os.RemoveAll(s.runDir(ids[2])); err != nil {
		t.Fatal(err)
	}
	runs, err := s.List(Filter{Tag: "x"})
	if err != nil || len(runs) != 3 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for _, r := range runs {
		if r.State != execution.OutcomeCompleted || r.Live || r.Cost == nil || *r.Cost.TotalUSD != 1 || r.ID == ids[2] {
			t.Errorf("got %+v", r)
		}
	}
	// A run that cannot be read is reported, and hides no other.
	if err := os.WriteFile(filepath.Join(s.runDir(ids[3]), metaName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := s.Reindex()
	if err != nil || report.Runs != 2 || len(report.Skipped) != 1 || report.Skipped[ids[3]] == nil {
		t.Errorf("reindex: %+v, %v", report, err)
	}
	if runs, err := s.List(Filter{}); err != nil || len(runs) != 2 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

// A reader's old look at a run must not undo the row of its end.
func TestFinalRowStays(t *testing.T) {
	t.Parallel()
	s := open(t, stateDir(t), Options{})
	w := begin(t, s, Meta{})
	stale := w.Run()
	if err := w.Finish(resultOf(1)); err != nil {
		t.Fatal(err)
	}
	if err := s.index.putAndWait(stale); err != nil {
		t.Fatal(err)
	}
	var state string
	if err := s.index.use(true, func(db *sql.DB) error { return db.QueryRow(`SELECT state FROM runs`).Scan(&state) }); err != nil || state != "completed" {
		t.Errorf("state %q, %v", state, err)
	}
}

// The first openings of a new database at the same moment must all succeed: SQLite refuses some of them without waiting.
func TestManyFirstOpenings(t *testing.T) {
	t.Parallel()
	for range 20 {
		dir := t.TempDir()
		start, errs := make(chan struct{}), make(chan error)
		const openers = 8
		for range openers {
			go func() {
				<-start
				s, err := Open(dir, Options{})
				if err == nil {
					_, err = s.Reindex()
					err = errors.Join(err, s.Close())
				}
				errs <- err
			}()
		}
		close(start)
		for range openers {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	}
}
