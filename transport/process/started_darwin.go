package process

import (
	"time"

	proc "github.com/drawbar/drawbar/internal/base/pid"
)

// Started returns when a process of this machine started. ok is false if that is unknown.
func Started(pid int) (at time.Time, ok bool) {
	start, ok, _ := proc.Start(pid)
	return time.UnixMicro(int64(start)), ok
}
