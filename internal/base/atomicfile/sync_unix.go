//go:build unix

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

func syncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) {
		err = nil // a file system that persists names by itself
	}
	return errors.Join(err, d.Close())
}

// Busy reports whether an error is temporary: none is on this system.
func Busy(error) bool { return false }
