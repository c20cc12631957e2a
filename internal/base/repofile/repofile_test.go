package repofile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := filepath.Join(dir, "repo")
	write(t, filepath.Join(root, "sub", "a.json"), "{}")
	write(t, filepath.Join(dir, "secret"), "s3cret")
	if b, err := Read(root, "sub/a.json", 2); err != nil || string(b) != "{}" {
		t.Errorf("got %q, %v", b, err)
	}
	if _, err := Read(root, "sub/a.json", 1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if _, err := Read(root, "none", 9); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := Read(root, "sub", 9); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Read(root, "../secret", 9); err == nil {
		t.Error("a path that leads out was read")
	}
	if runtime.GOOS == "windows" {
		return
	}
	for link, to := range map[string]string{"in": "sub/a.json", "out": "../secret", "zero": "/dev/zero", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := Read(root, "in", 9); err != nil || string(b) != "{}" {
		t.Errorf("a link inside: %q, %v", b, err)
	}
	for _, name := range []string{"out", "zero", "loop"} {
		if _, err := Read(root, name, 9); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read(root, "out", 9); !errors.Is(err, ErrOutside) {
		t.Errorf("out: %v", err)
	}
	if _, err := Input("/dev/zero", 9); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a device: %v", err)
	}
	if _, err := Own(filepath.Join(root, "out"), 9); err != nil {
		t.Errorf("the user's own link: %v", err)
	}
}

func TestInputReadsPipes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no /dev/fd")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("from a pipe"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	name := filepath.Join("/dev/fd", strconv.Itoa(int(r.Fd())))
	if b, err := Input(name, 100); err != nil || string(b) != "from a pipe" {
		t.Errorf("got %q, %v", b, err)
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, filepath.Join(root, "hooks", "check.sh"), "x")
	for _, tt := range []struct{ dir, word, want string }{
		{root, "./hooks/check.sh", "hooks/check.sh"}, {filepath.Join(root, "hooks"), "check.sh", "hooks/check.sh"},
		{root, filepath.Join(root, "hooks", "check.sh"), "hooks/check.sh"}, {root, "hooks", ""}, {root, "true", ""}, {root, "../x", ""}, {root, "", ""},
	} {
		if got := Named(root, tt.dir, tt.word); got != tt.want {
			t.Errorf("%s from %s: %q, want %q", tt.word, tt.dir, got, tt.want)
		}
	}
	a, err := Digest(root, "hooks/check.sh")
	write(t, filepath.Join(root, "hooks", "check.sh"), "y")
	if b, errB := Digest(root, "hooks/check.sh"); err != nil || errB != nil || a == b || len(a) != 64 {
		t.Errorf("%s %s %v %v", a, b, err, errB)
	}
}
