package adaptertest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/internal/base/sqlitefile"
)

// DatabaseSubject is a store in a SQLite database, to test against the contracts of adapter.SessionStore and adapter.UsageLog.
type DatabaseSubject struct {
	Adapter interface {
		adapter.SessionStore
		adapter.UsageLog
	}
	// Dir has store.sql, a dump of a real database, and the goldens.
	Dir string
	// File is the database below a home. With Variable set to a folder it is Moved in that.
	File, Variable, Moved string
	// Columns are what the adapter cannot do without, as table.column, but for ids.
	Columns []string
}

// Databases runs the checks of such a store.
func Databases(t *testing.T, s DatabaseSubject) {
	if filepath.Separator != '/' {
		t.Skip("SKIPPED: the goldens have names of this system's root only where that is /")
	}
	home := s.home(t)
	subject := SessionSubject{Store: s.Adapter, Home: home, Variable: s.Variable}
	t.Run("goldens", func(t *testing.T) { s.goldens(t, subject) })
	t.Run("usage", func(t *testing.T) { s.usage(t, subject.host(home, nil)) })
	t.Run("a summary says what the session says", func(t *testing.T) { subject.summaries(t, home) })
	t.Run("the bytes hold every text", func(t *testing.T) { subject.bytes(t, home) })
	t.Run("no store is an empty one", func(t *testing.T) {
		if files, problems := s.Adapter.ListSessions(t.Context(), subject.host(t.TempDir(), nil)); len(files) != 0 || len(problems) != 0 {
			t.Errorf("%d sessions, problems %v", len(files), problems)
		}
	})
	t.Run("the variable moves the store", func(t *testing.T) {
		other := t.TempDir()
		copyFile(t, filepath.Join(home, s.File), filepath.Join(other, s.Moved))
		subject.list(t, subject.host(t.TempDir(), map[string]string{s.Variable: other}))
	})
	t.Run("bad databases", s.bad)
	t.Run("bad rows", s.badRows)
	t.Run("locked", s.locked)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err = errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, text, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// home returns a home directory with the dumped database, and checks in the end that nothing appeared beside it.
func (s DatabaseSubject) home(t *testing.T) string {
	t.Helper()
	dump, err := os.ReadFile(filepath.Join(s.Dir, "store.sql"))
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	s.change(t, home, string(dump))
	t.Cleanup(func() {
		list, err := os.ReadDir(filepath.Dir(filepath.Join(home, s.File)))
		if err != nil || len(list) != 1 {
			t.Errorf("beside the database: %v %v", list, err)
		}
	})
	return home
}

// change runs statements in the database, which ends as the agent leaves it.
func (s DatabaseSubject) change(t *testing.T, home, statements string) {
	t.Helper()
	db, err := sqlitefile.Open(t.Context(), filepath.Join(home, s.File), time.Second, func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, statements)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func (s DatabaseSubject) goldens(t *testing.T, subject SessionSubject) {
	h := subject.host(subject.Home, nil)
	for _, f := range subject.list(t, h) {
		if f.Path != filepath.Join(subject.Home, s.File, f.ID) || f.ModTime.IsZero() || f.Size == 0 || f.Problem != "" {
			t.Errorf("listed %+v", f)
		}
		session, err := s.Adapter.ReadSession(t.Context(), h, f)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.MarshalIndent(session, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		compareGolden(t, filepath.Join(s.Dir, session.SessionID+".golden"), append(bytes.ReplaceAll(text, []byte(subject.Home), []byte("/home/user")), '\n'))
		checkSession(t, session)
		if len(session.UnknownRecords)+len(session.Problems) > 0 {
			t.Errorf("%v %v", session.UnknownRecords, session.Problems)
		}
	}
}

func compareGolden(t *testing.T, file string, text []byte) {
	t.Helper()
	if updating() {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || !bytes.Equal(want, text) {
		t.Errorf("%s differs: %v; rewrite it with UPDATE_SESSIONS=1 if that is right:\n%s", file, err, firstDifference(want, text))
	}
}

// usage compares the records of all sessions with usage.golden.
func (s DatabaseSubject) usage(t *testing.T, h adapter.Host) {
	compareGolden(t, filepath.Join(s.Dir, "usage.golden"), s.records(t, h))
}

func (s DatabaseSubject) records(t *testing.T, h adapter.Host) []byte {
	var out bytes.Buffer
	for _, store := range s.Adapter.UsageStores(h) {
		root, err := h.Name(store.Root)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := fs.ReadDir(store.FS, root)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			text, err := fs.ReadFile(store.FS, root+"/"+e.Name())
			if err != nil || !store.Match(e.Name()) {
				t.Fatal(e.Name(), err)
			}
			fmt.Fprintf(&out, "# %s\n", e.Name())
			s.Adapter.NewUsageScanner(t.Context(), h, history.UsageFile{Root: store.Root, Rel: e.Name()}).Scan(text, true, func(r *history.UsageRecord) {
				line, err := json.Marshal(r)
				if err != nil || min(r.Input, r.Output, r.Thinking, r.CacheRead, r.CacheWrite, r.Time) < 0 {
					t.Errorf("%+v %v", r, err)
				}
				out.Write(append(line, '\n'))
			})
		}
	}
	return out.Bytes()
}

// bad: what is no database, or of another schema, is one problem with its path; what has more is read.
func (s DatabaseSubject) bad(t *testing.T) {
	check := func(name, says string, spoil func(t *testing.T, home, path string)) {
		t.Run(name, func(t *testing.T) {
			home := s.home(t)
			path := filepath.Join(home, s.File)
			spoil(t, home, path)
			files, problems := s.Adapter.ListSessions(t.Context(), SessionSubject{}.host(home, nil))
			if len(files) != 0 || len(problems) != 1 || problems[0].Path != path || !strings.Contains(problems[0].Message, says) {
				t.Errorf("%d sessions, problems %v, want one that says %q", len(files), problems, says)
			}
		})
	}
	write := func(text string) func(*testing.T, string, string) {
		return func(t *testing.T, _, path string) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	check("text", "not a database", write(strings.Repeat("no database ", 100)))
	check("empty", "has no table", write(""))
	check("a directory", "", func(t *testing.T, _, path string) {
		if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
			t.Fatal(err)
		}
	})
	for _, c := range s.Columns {
		table, column, _ := strings.Cut(c, ".")
		check("without "+c, "has no column "+column, func(t *testing.T, home, _ string) {
			s.change(t, home, fmt.Sprintf("ALTER TABLE %s RENAME COLUMN %s TO gone", table, column))
		})
		check("without "+table, "has no table "+table, func(t *testing.T, home, _ string) {
			s.change(t, home, fmt.Sprintf("ALTER TABLE %s RENAME TO gone", table))
		})
	}
	t.Run("a later schema", func(t *testing.T) {
		home := s.home(t)
		h := SessionSubject{}.host(home, nil)
		before := s.records(t, h)
		list := []string{"CREATE TABLE later (x)"}
		for _, c := range s.Columns {
			table, _, _ := strings.Cut(c, ".")
			list = append(list, fmt.Sprintf("ALTER TABLE %s ADD COLUMN later%d DEFAULT x'00ff'", table, len(list)))
		}
		s.change(t, home, strings.Join(list, ";"))
		if !bytes.Equal(before, s.records(t, h)) {
			t.Error("columns that nobody asks for change what is read")
		}
	})
}

// badRows spoils every column in turn: nothing panics, every session is listed, and what cannot be read is a problem.
func (s DatabaseSubject) badRows(t *testing.T) {
	for _, c := range s.Columns {
		table, column, _ := strings.Cut(c, ".")
		for _, value := range []string{"NULL", "'}{'", "x'00ff80'", "-1", "9e999", "'[1,{}]'", `'{"role":5,"type":[],"time":0,"tokens":{"input":-3}}'`, "9223372036854775807"} {
			t.Run(c+" "+value, func(t *testing.T) {
				home := s.home(t)
				h := SessionSubject{}.host(home, nil)
				want := len(SessionSubject{Store: s.Adapter}.list(t, h))
				dump := "PRAGMA ignore_check_constraints = ON; PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '') WHERE name = '" + table + "'"
				s.change(t, home, dump)
				s.change(t, home, fmt.Sprintf("UPDATE %s SET %s = %s", table, column, value))
				files, problems := s.Adapter.ListSessions(t.Context(), h)
				if len(files) != want {
					t.Fatalf("%d sessions, want %d: %v", len(files), want, problems)
				}
				for _, f := range files {
					session, err := s.Adapter.ReadSession(t.Context(), h, f)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := json.Marshal(session); err != nil || session.Usage == nil || session.Usage.Input < 0 {
						t.Errorf("%v %+v", err, session.Usage)
					}
					if value == "'}{'" && strings.Contains(column, "data") && !slices.ContainsFunc(session.Problems, func(p history.Problem) bool {
						return p.Path == f.Path && strings.Contains(p.Message, "not a JSON object")
					}) {
						t.Errorf("problems: %v", session.Problems)
					}
				}
				s.records(t, h)
			})
		}
	}
}

// locked: a database that the agent has locked is one problem, which says so.
func (s DatabaseSubject) locked(t *testing.T) {
	home := s.home(t)
	db, err := sql.Open("sqlite", filepath.Join(home, s.File)) // not in the mode in which readers do not wait
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	defer func() {
		if _, err := db.Exec("ROLLBACK"); errors.Join(err, db.Close()) != nil {
			t.Error(err)
		}
	}()
	for _, text := range []string{"PRAGMA journal_mode = DELETE", "BEGIN EXCLUSIVE"} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	files, problems := s.Adapter.ListSessions(t.Context(), SessionSubject{}.host(home, nil))
	if len(files) != 0 || len(problems) != 1 || !strings.Contains(problems[0].Message, "has locked it") {
		t.Errorf("%d sessions, problems %v", len(files), problems)
	}
}
