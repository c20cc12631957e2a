package ledger

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// processAlive reports whether there is a process of that number. One that belongs to somebody else is there.
func processAlive(pid int) bool {
	if pid <= 0 {
		return false
	}
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return errors.Is(err, windows.ERROR_ACCESS_DENIED)
	}
	defer func() { _ = windows.CloseHandle(h) }()
	state, err := windows.WaitForSingleObject(h, 0)
	return err != nil || state != windows.WAIT_OBJECT_0
}

// rename tries again for a moment: a reader that has the old file open for an instant makes it fail.
func rename(from, to string) error {
	for wait := time.Millisecond; ; wait *= 2 {
		err := os.Rename(from, to)
		if !busy(err) || wait > 100*time.Millisecond {
			return err
		}
		time.Sleep(wait)
	}
}

// busy reports whether an error of a rename passes by itself.
func busy(err error) bool {
	return errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
}
