package flocked

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"
)

// A locked file is written and read, freed and gone, and another lock is possible at once.
func TestDrop(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	for range 2 {
		l := flock.New(Name(path))
		if ok, err := l.TryLock(); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if err := os.WriteFile(path, []byte("me"), 0o600); err != nil {
			t.Error(err)
		}
		if b, err := os.ReadFile(path); string(b) != "me" || err != nil {
			t.Errorf("%q %v", b, err)
		}
		if err := Drop(l); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(l.Path()); err == nil {
			t.Error("the lock is left")
		}
		if err := Drop(l); err != nil {
			t.Errorf("once more: %v", err)
		}
	}
}
