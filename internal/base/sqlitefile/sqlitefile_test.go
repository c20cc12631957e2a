package sqlitefile

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

func table(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS a (x)`)
	return err
}

func TestOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "folder with space", "a?b.db")
	if runtime.GOOS == "windows" {
		path = filepath.Join(filepath.Dir(path), "a.db")
	}
	var wg sync.WaitGroup
	for range 8 { // several at once make it
		wg.Go(func() {
			db, err := Open(t.Context(), path, time.Second, table)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := db.ExecContext(t.Context(), `INSERT INTO a VALUES (1)`); err != nil {
				t.Error(err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	db, err := Open(t.Context(), path, time.Second, table)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`SELECT y FROM a`); !Foreign(err) || Damaged(err) || Unusable(err) {
		t.Errorf("other tables: %v", err)
	}
}

func TestDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.db")
	if err := os.WriteFile(path, []byte("this is no database, and it is longer than a header of one, which has a hundred bytes at its very beginning"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), path, time.Second, table)
	if !Damaged(err) || Unopenable(err) {
		t.Errorf("damaged: %v", err)
	}
	aside, err := MoveAside(path)
	if _, statErr := os.Stat(aside); err != nil || statErr != nil {
		t.Errorf("%v, %v", err, statErr)
	}
	if db, err := Open(t.Context(), path, time.Second, table); err != nil || db.Close() != nil {
		t.Errorf("after it was moved aside: %v", err)
	}
	if _, err := Open(t.Context(), filepath.Join(aside, "b.db"), time.Second, table); !Unopenable(err) || Damaged(err) {
		t.Errorf("a folder that is a file: %v", err)
	}
	db, err := Memory(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`INSERT INTO a VALUES (1)`); err != nil || db.Close() != nil {
		t.Error(err)
	}
}
