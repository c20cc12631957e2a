package pid

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

const zombie = 5 // SZOMB of sys/proc.h

// Start returns the start time of a process in microseconds since 1970. ok is false if it does not exist or is a zombie.
func Start(pid int) (start uint64, ok bool, err error) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	switch {
	case errors.Is(err, unix.EIO), errors.Is(err, unix.ESRCH): // an empty answer is reported as EIO
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("find process %d: %w", pid, err)
	case p.Proc.P_stat == zombie || int(p.Proc.P_pid) != pid:
		return 0, false, nil
	}
	t := p.Proc.P_starttime
	return uint64(t.Sec)*1e6 + uint64(t.Usec), true, nil
}
