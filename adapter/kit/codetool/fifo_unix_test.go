//go:build unix

package codetool

import (
	"syscall"
	"testing"
)

func fifo(t *testing.T, path string) bool {
	t.Helper()
	return syscall.Mkfifo(path, 0o600) == nil
}
