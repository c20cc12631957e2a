//go:build unix

package workspace

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// stampOf describes a file, following links; false if it cannot be read.
func stampOf(path string) (fileStamp, bool) {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return fileStamp{}, errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)
	}
	if s.Mode&unix.S_IFMT == unix.S_IFDIR { // the entries of a folder do not matter
		return fileStamp{there: true, mode: uint32(s.Mode), device: uint64(s.Dev), file: s.Ino}, true //nolint:unconvert // the width differs between systems
	}
	return fileStamp{true, time.Unix(s.Ctim.Unix()), time.Unix(s.Mtim.Unix()), s.Size, uint32(s.Mode), uint64(s.Dev), s.Ino}, true //nolint:unconvert // the width differs between systems
}

// ownFolder reports whether path is a folder (not a link to one) owned by the current user, and on which file system it
// is.
func ownFolder(path string) (device uint64, ok bool) {
	var s unix.Stat_t
	err := unix.Lstat(path, &s)
	return uint64(s.Dev), err == nil && s.Mode&unix.S_IFMT == unix.S_IFDIR && int(s.Uid) == os.Geteuid() //nolint:unconvert // the width differs between systems
}
