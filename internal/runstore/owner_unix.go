//go:build unix

package runstore

import (
	"io/fs"
	"syscall"
)

const noFollow = syscall.O_NOFOLLOW

func ownerOf(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
