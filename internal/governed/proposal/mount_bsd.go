//go:build unix && !linux

package proposal

import (
	"os"

	"golang.org/x/sys/unix"
)

// mountOf identifies what a file can be moved within.
func mountOf(f *os.File) (device uint64, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return 0, &os.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return uint64(st.Dev), nil //nolint:gosec // an identity: its sign says nothing
}
