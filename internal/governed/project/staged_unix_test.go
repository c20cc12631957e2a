//go:build unix

package project

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe would block whoever opens it until somebody writes.
func TestReadStagedOpensNoPipe(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, filepath.Dir(ownFile)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(root, ownFile), 0o600); err != nil {
		t.Fatal(err)
	}
	data, where, err := ReadStaged(root, "turn_1")
	if data != nil || !errors.Is(err, ErrNotRegular) {
		t.Fatalf("got %q, %v", data, err)
	}
	check(t, err, where)
}
