//go:build unix

package workspace

import (
	"errors"
	"syscall"
)

// isNotDir recognizes a path whose folder has become a file.
func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
