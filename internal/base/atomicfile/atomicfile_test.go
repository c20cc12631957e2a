package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// alone fails when anything but the named file is in the folder.
func alone(t *testing.T, path string) {
	t.Helper()
	list, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Name() != filepath.Base(path) {
			t.Errorf("%s is left", e.Name())
		}
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a.json", strings.Repeat("long", 60)} {
		path := filepath.Join(t.TempDir(), name)
		for _, text := range []string{"one", "two, which is longer", ""} {
			if err := Write(path, []byte(text), 0o600, text != ""); err != nil || content(t, path) != text {
				t.Fatalf("%q: %v, %q", text, err, content(t, path))
			}
		}
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		alone(t, path)
	}
}

func TestWriteIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.Mkdir("sub", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteIn(root, "sub/a", []byte("x"), 0o600, true); err != nil || content(t, filepath.Join(dir, "sub", "a")) != "x" {
		t.Error(err)
	}
	if err := WriteIn(root, "../a", nil, 0o600, false); err == nil {
		t.Error("a file outside the root was written")
	}
	alone(t, filepath.Join(dir, "sub", "a"))
}

func TestNothingIsReplacedByNew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a")
	if err := New(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := New(path, []byte("two"), 0o600); !errors.Is(err, fs.ErrExist) || content(t, path) != "one" {
		t.Errorf("%v, %q", err, content(t, path))
	}
	alone(t, path)
}

func TestDiscard(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a")
	if err := Write(path, []byte("old"), 0o600, false); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("half"); err != nil {
		t.Fatal(err)
	}
	if content(t, path) != "old" {
		t.Error("half of a file is seen")
	}
	f.Discard()
	f.Discard()
	if content(t, path) != "old" {
		t.Error("the old content is gone")
	}
	alone(t, path)
	if f, err = Create(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(false); err != nil {
		t.Fatal(err)
	}
	f.Discard() // does nothing any more
	if content(t, path) != "" {
		t.Error("what was put in place is gone")
	}
}

// TestWhatTheKilledLeftGoes: what a killed writer left goes with the next writing of the same file; that of a living one stays, and
// so does what only looks like it.
func TestWhatTheKilledLeftGoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dead := ".a.drawbar-2147483647-ABCDEFGHIJ"
	stay := []string{fmt.Sprintf(".a.drawbar-%d-ABCDEFGHIJ", os.Getpid()), ".b.drawbar-2147483647-ABCDEFGHIJ", ".a.drawbar-mine"}
	for _, name := range append(stay, dead) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !IsTemp(dead) || !IsTemp(stay[0]) || IsTemp(stay[2]) || IsTemp("a.drawbar-2147483647-ABCDEFGHIJ") {
		t.Error("IsTemp is wrong")
	}
	if err := Write(filepath.Join(dir, "a"), nil, 0o600, false); err != nil {
		t.Fatal(err)
	}
	for _, name := range stay {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, dead)); err == nil {
		t.Error("what a killed writer left is there")
	}
}
