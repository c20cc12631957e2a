//go:build !linux

package process

import (
	"os"
	"time"
)

// Survivors counts the processes of runs, by Spec.Run, that are still running without a host. They are unknown on
// this system.
func Survivors(...string) map[string]int { return nil }

// Memory returns how many bytes of memory the processes of each run have, by Spec.Run. It is unknown on this system.
func Memory(...string) map[string]int64 { return nil }

// EndSurvivors kills the processes that Survivors counts, and returns how many it killed.
func EndSurvivors(string, time.Duration) (int, error) { return 0, nil }

// RemoveGroups does nothing on this system: only Linux has control groups.
func RemoveGroups() {}

// RemoveScratch removes a folder that was in Spec.Scratch.
func RemoveScratch(dir string) error { return os.RemoveAll(dir) }
