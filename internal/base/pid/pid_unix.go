//go:build unix

// Package pid tells whether processes live.
package pid

import (
	"errors"
	"syscall"
)

// Alive reports whether there is a process of that number. One that belongs to somebody else is there.
func Alive(pid int) bool {
	return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
