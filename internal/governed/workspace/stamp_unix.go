//go:build unix

package workspace

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// stampOf looks at a file, by way of links; false where that cannot be told.
func stampOf(path string) (fileStamp, bool) {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return fileStamp{}, errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)
	}
	if s.Mode&unix.S_IFMT == unix.S_IFDIR { // what is in a folder is not looked at
		return fileStamp{there: true, mode: uint32(s.Mode), device: uint64(s.Dev), file: s.Ino}, true //nolint:unconvert // other systems have other widths
	}
	return fileStamp{true, time.Unix(s.Ctim.Unix()), time.Unix(s.Mtim.Unix()), s.Size, uint32(s.Mode), uint64(s.Dev), s.Ino}, true //nolint:unconvert // other systems have other widths
}

// ownFolder reports whether path is a folder, no link to one, of the user that this program runs as, and the file system it is on.
func ownFolder(path string) (device uint64, ok bool) {
	var s unix.Stat_t
	err := unix.Lstat(path, &s)
	return uint64(s.Dev), err == nil && s.Mode&unix.S_IFMT == unix.S_IFDIR && int(s.Uid) == os.Geteuid() //nolint:unconvert // other systems have other widths
}
