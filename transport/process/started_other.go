//go:build !linux && !darwin

package process

import "time"

// Started is when a process began. Here it cannot be told.
func Started(int) (at time.Time, ok bool) { return time.Time{}, false }
