package process

import (
	"time"

	proc "github.com/drawbar/drawbar/internal/base/pid"
	"golang.org/x/sys/unix"
)

// Started returns when a process of this machine started, by the current clock. ok is false if that is unknown.
func Started(pid int) (at time.Time, ok bool) {
	const tick = time.Second / 100 // of /proc, whatever the kernel uses internally
	var up unix.Timespec
	stat, ok := proc.ReadStat(pid)
	if !ok || unix.ClockGettime(unix.CLOCK_BOOTTIME, &up) != nil {
		return time.Time{}, false
	}
	return time.Now().Add(time.Duration(stat.Start)*tick - time.Duration(up.Nano())), true
}
