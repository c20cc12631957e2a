package atomicfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// syncDir does nothing: folders cannot be flushed here, and the file system journals names.
func syncDir(*os.Root, string) error { return nil }

// Busy reports whether an error is temporary: another process has the file open, or replaces it, for a moment.
func Busy(err error) bool {
	return errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
}
