package pid

import (
	"errors"
	"fmt"

	"golang.org/x/sys/windows"
)

// Start returns the creation time of a process in units of 100 ns since 1601. ok is false if it does not exist, has ended,
// or belongs to another user.
func Start(pid int) (start uint64, ok bool, err error) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, uint32(pid))
	switch {
	case errors.Is(err, windows.ERROR_INVALID_PARAMETER), errors.Is(err, windows.ERROR_ACCESS_DENIED):
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("find process %d: %w", pid, err)
	}
	defer func() { _ = windows.CloseHandle(h) }()
	if state, err := windows.WaitForSingleObject(h, 0); err == nil && state == windows.WAIT_OBJECT_0 {
		return 0, false, nil
	}
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return 0, false, fmt.Errorf("read times of process %d: %w", pid, err)
	}
	return uint64(created.HighDateTime)<<32 | uint64(created.LowDateTime), true, nil
}
