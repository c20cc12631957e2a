package configstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/base/flocked"
)

// staleDir is how long a directory used as a lock is valid: programs that lock this way update its time every
// few seconds.
const staleDir = 15 * time.Second

// heldLock is the lock of a file: an advisory lock on FILE.lock, which names the holder. It ends with the
// process.
type heldLock struct {
	path string
	lock *flock.Flock
	ours bool // we created the lock file and must remove it
}

const (
	lockMark   = "drawbar "
	lockSuffix = ".lock"
)

// lock waits for the lock of a file. Some agents lock by creating a directory of the lock's name: their locks
// are respected, and they respect ours while the lock file exists, so it is removed at the end.
func lock(ctx context.Context, target string, patience time.Duration) (*heldLock, error) {
	path := target + lockSuffix
	deadline := time.Now().Add(patience)
	for {
		l, err := tryLock(path)
		if l != nil || err != nil {
			return l, err
		}
		if time.Now().After(deadline) {
			return nil, (&execution.Error{Code: execution.CodeConfigLock, Recoverable: true,
				Message: fmt.Sprintf("%s is locked by %s (waited %s)", target, holder(path), patience)}).
				WithHint("try again; if no program holds it, remove %s", path)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ctx.Err(), context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// tryLock returns nil without an error if another process holds the lock.
func tryLock(path string) (*heldLock, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, failed("check the lock", path, err)
	case info.IsDir():
		if time.Since(info.ModTime()) < staleDir {
			return nil, nil
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, failed("remove the stale lock", path, err)
		}
	case !info.Mode().IsRegular():
		return nil, execution.Errorf(execution.CodeConfig, "the lock %s is not a regular file", path).WithHint("remove it")
	}
	if err := makeLock(path); err != nil {
		return nil, failed("create the lock", path, err)
	}
	content, _ := os.ReadFile(path) // also before it is locked: Windows lets nobody read a locked file
	l := &heldLock{path: path, lock: flock.New(path, flock.SetFlag(os.O_RDWR), flock.SetPermissions(0o600))}
	ok, err := l.lock.TryLock()
	if err != nil {
		if info, serr := os.Lstat(path); errors.Is(err, fs.ErrNotExist) || serr == nil && info.IsDir() {
			return nil, nil // just removed or replaced
		}
		return nil, failed("lock", path, err)
	}
	if !ok {
		_ = l.lock.Close() // not held
		return nil, nil
	}
	// The previous holder may have removed the file that is locked here.
	locked, err := l.lock.Stat()
	if err != nil {
		_ = l.lock.Close()
		return nil, failed("check the lock", path, err)
	}
	if now, err := os.Lstat(path); err != nil || !os.SameFile(locked, now) {
		_ = l.lock.Close() // a lock that nobody else can see
		return nil, nil
	}
	if now, err := os.ReadFile(path); err == nil {
		content = now
	}
	if l.ours = strings.HasPrefix(string(content), lockMark); l.ours && string(content) != marked() {
		sign(path)
	}
	return l, nil
}

// marked returns the content of this process's lock files. It has a fixed length, so that one can overwrite
// another.
func marked() string { return fmt.Sprintf("%s%10d\n", lockMark, os.Getpid()) }

// sign writes this process's number into a lock file that a killed process left, for those who wait.
func sign(path string) {
	if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
		_, _ = f.WriteAt([]byte(marked()), 0)
		_ = f.Close()
	}
}

// makeLock creates a missing lock file together with its mark, which distinguishes it from other programs'
// files.
func makeLock(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	err := atomicfile.New(path, []byte(marked()), 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process created it meanwhile
	}
	return err
}

func (l *heldLock) release() error {
	free := l.lock.Close
	if l.ours {
		free = func() error { return flocked.Drop(l.lock) }
	}
	if err := free(); err != nil {
		return failed("unlock", l.path, err)
	}
	return nil
}

// holder returns who holds a lock, as far as known.
func holder(path string) string {
	info, err := os.Lstat(path)
	if err == nil && info.IsDir() {
		return "a program that created the directory " + path
	}
	content, err := os.ReadFile(path)
	if pid, ok := strings.CutPrefix(strings.TrimSpace(string(content)), lockMark); ok && err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(pid)); err == nil {
			return fmt.Sprintf("drawbar, process %d", n)
		}
	}
	return "another program"
}
