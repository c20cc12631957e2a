package runstore

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// rename tries again for a moment: a reader that has the old file open for an instant makes it fail.
func rename(from, to string) error {
	for wait := time.Millisecond; ; wait *= 2 {
		err := os.Rename(from, to)
		if wait > 100*time.Millisecond || !errors.Is(err, windows.ERROR_ACCESS_DENIED) && !errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
			return err
		}
		time.Sleep(wait)
	}
}

// syncDir does nothing: directories cannot be flushed here, and renames are journaled by the file system.
func syncDir(string) error { return nil }
