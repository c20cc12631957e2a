package workspace

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// abandoned reports whether a lock of the repository was left by a git that was killed, as agents that end in the middle of a
// command leave them: it is as old as the wait for it, and no git is at work in the repository. When that cannot be told it
// is not.
func (w *Workspace) abandoned(lock string) bool {
	info, err := os.Lstat(lock)
	if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < lockTries*lockPause {
		return false
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil && w.worksHere(filepath.Join("/proc", e.Name())) {
			return false
		}
	}
	return true
}

// worksHere reports whether a process is a git that may be at work in the repository.
func (w *Workspace) worksHere(proc string) bool {
	name, err := os.ReadFile(filepath.Join(proc, "comm"))
	if err != nil || !strings.HasPrefix(string(name), "git") {
		return false // or it is gone
	}
	cwd, err := os.Readlink(filepath.Join(proc, "cwd"))
	if err != nil {
		return !ended(err) // of somebody else, or gone
	}
	if within(w.top, cwd) || within(w.common, cwd) || within(w.gitDir, cwd) {
		return true
	}
	for _, of := range []string{"cmdline", "environ"} {
		if text, err := os.ReadFile(filepath.Join(proc, of)); err != nil || bytes.Contains(text, []byte(w.top)) || bytes.Contains(text, []byte(w.common)) {
			return !ended(err)
		}
	}
	return false
}

// ended recognizes what is said of a process that ended while it was looked at.
func ended(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) }
