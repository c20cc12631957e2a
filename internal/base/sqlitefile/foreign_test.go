package sqlitefile

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// other is a database of another program in a journal mode, with one row.
func other(t *testing.T, mode string) (path string, db *sql.DB) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "other.db")
	db, err := sql.Open("sqlite", address(path, ""))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	for _, text := range []string{`PRAGMA journal_mode = ` + mode, `CREATE TABLE a (x)`, `INSERT INTO a VALUES (1)`} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = db.Close() })
	return path, db
}

// rows counts the rows, and fails the test if a file appeared, vanished or changed.
func rows(t *testing.T, path string) (n int, err error) {
	t.Helper()
	before := files(t, path)
	err = Read(t.Context(), path, 20*time.Millisecond, func(ctx context.Context, db *sql.DB) error {
		if _, err := db.ExecContext(ctx, `INSERT INTO a VALUES (9)`); err == nil {
			t.Error("a database of another program was written")
		}
		return db.QueryRowContext(ctx, `SELECT count(*) FROM a`).Scan(&n)
	})
	if after := files(t, path); after != before {
		t.Errorf("the files changed from\n%s to\n%s", before, after)
	}
	return n, err
}

func files(t *testing.T, path string) string {
	t.Helper()
	var s strings.Builder
	list, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		b, err := os.ReadFile(filepath.Join(filepath.Dir(path), e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(e.Name(), "-shm") {
			b = nil // the locks of readers are marked in it
		}
		s.WriteString(e.Name() + " " + string(b) + "\n")
	}
	return s.String()
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"WAL", "DELETE"} {
		t.Run(mode, func(t *testing.T) {
			path, db := other(t, mode)
			if n, err := rows(t, path); n != 1 || err != nil {
				t.Errorf("while its program runs: %d rows, %v", n, err)
			}
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(`INSERT INTO a VALUES (2)`); err != nil {
				t.Fatal(err)
			}
			if n, err := rows(t, path); n != 1 || err != nil {
				t.Errorf("while its program writes: %d rows, %v", n, err)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			copied := filepath.Join(t.TempDir(), "copy.db") // as of a killed program: with a log, and nobody has locked it
			for _, suffix := range []string{"", "-wal", "-shm"} {
				if b, err := os.ReadFile(path + suffix); err == nil {
					if err := os.WriteFile(copied+suffix, b, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			index, _ := os.ReadFile(copied + "-shm") // none without a log
			if n, err := rows(t, copied); n != 2 || err != nil {
				t.Errorf("of a killed program: %d rows, %v", n, err)
			}
			if after, _ := os.ReadFile(copied + "-shm"); !bytes.Equal(index, after) {
				t.Error("the index of a killed program was written")
			}
			if err := os.Remove(copied + "-shm"); err == nil {
				if n, err := rows(t, copied); n != 2 || err != nil {
					t.Errorf("a log without an index: %d rows, %v", n, err)
				}
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if n, err := rows(t, path); n != 2 || err != nil {
				t.Errorf("after its program ended: %d rows, %v", n, err)
			}
		})
	}
}

// TestReadLocked: another program's lock is reported as such.
func TestReadLocked(t *testing.T) {
	t.Parallel()
	path, db := other(t, "DELETE")
	if _, err := db.Exec(`BEGIN EXCLUSIVE`); err != nil {
		t.Fatal(err)
	}
	if _, err := rows(t, path); !Busy(err) {
		t.Errorf("a locked database: %v", err)
	}
}

// TestReadChanging: a program that starts and writes while its database is read as if nobody wrote makes it be read again.
func TestReadChanging(t *testing.T) {
	t.Parallel()
	path, db := other(t, "WAL")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	calls := 0
	change := func(context.Context, *sql.DB) error {
		calls++
		again, err := sql.Open("sqlite", address(path, ""))
		if err != nil {
			return err
		}
		_, err = again.Exec(`INSERT INTO a VALUES (3)`)
		return errors.Join(err, again.Close())
	}
	if err := Read(t.Context(), path, time.Second, change); !errors.Is(err, ErrChanging) || calls != 3 {
		t.Errorf("%d calls, %v", calls, err)
	}
	once := func(ctx context.Context, db *sql.DB) error {
		if calls++; calls == 4 {
			return change(ctx, db)
		}
		return nil
	}
	calls = 3
	if err := Read(t.Context(), path, time.Second, once); err != nil || calls < 5 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func TestReadNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	read := func(path string) error {
		return Read(t.Context(), path, time.Millisecond, func(ctx context.Context, db *sql.DB) error {
			_, err := db.ExecContext(ctx, `SELECT * FROM a`)
			return err
		})
	}
	if err := read(filepath.Join(dir, "none.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := read(dir); err == nil {
		t.Error("a folder was read")
	}
	for name, text := range map[string]string{"text.db": strings.Repeat("this is no database. ", 20), "empty.db": "", "short.db": "SQLite format 3\x00"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := read(path); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}
