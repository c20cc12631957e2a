//go:build unix

package control

import (
	"os"
	"syscall"
)

// private reports whether a directory belongs to this user and nobody else may write to it.
func private(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid() && info.Mode().Perm()&0o022 == 0
}
