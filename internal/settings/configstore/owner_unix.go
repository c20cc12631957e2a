//go:build unix

package configstore

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// owned reports whether a file belongs to this user.
func owned(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(s.Uid) == os.Geteuid()
}

// keepOwner gives a new file the owner of the old one.
func keepOwner(f *os.File, info fs.FileInfo) error {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(s.Uid) == os.Geteuid() && int(s.Gid) == os.Getegid() {
		return nil
	}
	return f.Chown(int(s.Uid), int(s.Gid))
}

func mayWrite(path string) bool { return unix.Access(path, unix.W_OK) == nil }

func noSpace(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}
