//go:build unix

package workspace

import (
	"errors"
	"syscall"
)

// isNotDir recognizes a path whose folder has become a file.
func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// running reports whether a process is there.
func running(pid int) bool { return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
