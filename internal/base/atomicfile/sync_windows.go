package atomicfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// syncDir does nothing: folders cannot be flushed here, and the file system journals names.
func syncDir(*os.Root, string) error { return nil }

// Busy reports whether an error of a rename is temporary: another process has the old file open for a moment.
func Busy(err error) bool {
	return errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
}
