//go:build unix

package repofile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestPipesAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := Read(root, "pipe", 9); !errors.Is(err, ErrNotRegular) {
		t.Errorf("got %v", err)
	}
	if _, err := Own(filepath.Join(root, "pipe"), 9); !errors.Is(err, ErrNotRegular) {
		t.Errorf("got %v", err)
	}
}

func TestForeign(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, foreign := Foreign(file); foreign {
		t.Error("my own file is taken for another's")
	}
	if err := os.Chown(file, 4242, 4242); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SUDO_UID", "")
	if uid, foreign := Foreign(file); !foreign || uid != 4242 {
		t.Errorf("got %d, %v", uid, foreign)
	}
	t.Setenv("SUDO_UID", "4242")
	if _, foreign := Foreign(file); foreign {
		t.Error("a file of the user who typed sudo is taken for another's")
	}
}
