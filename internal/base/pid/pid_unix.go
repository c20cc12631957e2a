//go:build unix

// Package pid checks whether processes are alive.
package pid

import (
	"errors"
	"syscall"
)

// Alive reports whether a process with the pid exists, whoever owns it.
func Alive(pid int) bool {
	return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
