package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// Started is when a process of this machine began, by the clock as it is now. ok is false where that cannot be told.
func Started(pid int) (at time.Time, ok bool) {
	const tick = time.Second / 100 // of /proc, whatever the kernel's own is
	var up unix.Timespec
	stat, ok := readStat(pid)
	if !ok || unix.ClockGettime(unix.CLOCK_BOOTTIME, &up) != nil {
		return time.Time{}, false
	}
	return time.Now().Add(time.Duration(stat.start)*tick - time.Duration(up.Nano())), true
}
