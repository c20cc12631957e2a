package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
)

var (
	// ErrLocked matches errors about a lock that another process holds; errors.As with *Locked returns the holder.
	ErrLocked = errors.New("the project is locked")
	// ErrLockLost matches errors about a lock that was taken over because its lease had expired. Nothing was written.
	ErrLockLost = errors.New("the lock was taken over")
	// ErrConflict matches errors about files that another program changed in the meantime. Nothing was written.
	ErrConflict = errors.New("changed by another program")
	// ErrDuplicate matches errors about a turn or a decision that is already in the record. Nothing was written.
	ErrDuplicate = errors.New("already in the record")
	// ErrUnfinished matches errors after the point of no return: the transaction has happened, and the next Open or
	// Commit completes it.
	ErrUnfinished = errors.New("the next command finishes the rest")
	// ErrCheckpointStale is returned by Options.ApplyCheckpoint when the branch has moved so that the commit cannot
	// follow. The rest of the transaction is complete; Commit returns an error that matches it.
	ErrCheckpointStale = errors.New("the branch has moved since the checkpoint was prepared")
)

// Locked is the error about a lock that another process holds.
type Locked struct {
	govern.Holder
	Path string
}

// Error names the holder of the lock and since when it is held.
func (e *Locked) Error() string {
	return fmt.Sprintf("%s is held by %s (process %d) since %s", e.Path, e.Owner, e.PID, e.Since.UTC().Format(time.RFC3339))
}

// Is matches ErrLocked.
func (e *Locked) Is(target error) bool { return target == ErrLocked }

func failed(doing, path string, err error) error {
	e := execution.Errorf(execution.CodeConfig, "%s %s: %w", doing, path, err)
	for _, kind := range []error{syscall.ENOSPC, syscall.EFBIG, syscall.EROFS, fs.ErrPermission} {
		if errors.Is(err, kind) {
			return e.WithHint("check free disk space and write permission, then run the command again: recorded data is kept, and the interrupted work is finished")
		}
	}
	return e
}

func damaged(path string, err error) *execution.Error {
	return execution.Errorf(execution.CodeParse, "cannot read %s: %w", path, err)
}
