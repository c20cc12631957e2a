package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// Started returns when a process of this machine started. ok is false if that is unknown.
func Started(pid int) (at time.Time, ok bool) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(p.Proc.P_pid) != pid {
		return time.Time{}, false
	}
	return time.Unix(p.Proc.P_starttime.Unix()), true
}
