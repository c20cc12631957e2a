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

// abandoned reports whether a lock of the repository was left by a killed git, as agents that end in the middle of a
// command leave them: it is as old as the wait for it, and no git is working in the repository. If that cannot be
// determined, it is not abandoned.
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

// worksHere reports whether a process is a git that may be working in the repository.
func (w *Workspace) worksHere(proc string) bool {
	name, err := os.ReadFile(filepath.Join(proc, "comm"))
	if err != nil || !strings.HasPrefix(string(name), "git") {
		return false // or it has exited
	}
	cwd, err := os.Readlink(filepath.Join(proc, "cwd"))
	if err != nil {
		return !ended(err) // another user's, or exited
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

// ended recognizes errors about a process that exited while it was inspected.
func ended(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) }
