//go:build !windows

package ledger

import (
	"errors"
	"os"
	"syscall"
)

// processAlive reports whether there is a process of that number. One that belongs to somebody else is there.
func processAlive(pid int) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

func rename(from, to string) error { return os.Rename(from, to) }

// busy reports whether an error of a rename passes by itself.
func busy(error) bool { return false }
