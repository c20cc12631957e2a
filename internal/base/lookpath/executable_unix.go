//go:build unix

package lookpath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// executable asks the kernel, because mode bits ignore whose program it is.
func executable(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a directory: %w", file, fs.ErrNotExist)
	}
	err = unix.Faccessat(unix.AT_FDCWD, file, unix.X_OK, unix.AT_EACCESS)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		err = nil // the call itself is refused, as in some sandboxes: the mode bits decide
	}
	if err != nil || info.Mode()&0o111 == 0 {
		return fs.ErrPermission
	}
	return nil
}
