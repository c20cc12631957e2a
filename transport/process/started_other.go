//go:build !linux && !darwin

package process

import "time"

// Started returns when a process started. It is unknown on this system.
func Started(int) (at time.Time, ok bool) { return time.Time{}, false }
