// Package supervisor is what keepers and watchers do: the processes that hold an agent's tree on Linux and end it, also when the
// host is gone. It imports no package that needs package strings or fmt, and so is initialized, and entered, before most
// packages of a large program.
package supervisor

import "time"

// MarkName is the variable that identifies the processes of a run without a keeper.
const MarkName = "DRAWBAR_RUN_MARK"

// KillLimit bounds the killing of a tree; a process in an uninterruptible wait cannot be waited for.
const KillLimit = 10 * time.Second

// A mark identifies one start of a run: 32 hexadecimal digits, of which those from StartFrom to StartTo belong to the
// start and the others to the run. The remains of one start are ended by its mark, and the next start of the same
// run, which may be running, has another.
const (
	StartFrom = 9
	StartTo   = 15 // also the end of what fits into a tag
)

// RunOf returns the common part of all marks of a run.
func RunOf(mark string) string {
	if len(mark) < StartTo {
		return mark
	}
	return mark[:StartFrom] + mark[StartTo:]
}

// NextPause is the pause between two checks of a dying tree.
func NextPause(d time.Duration) time.Duration { return min(d*2, 20*time.Millisecond) }
