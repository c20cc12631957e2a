package worktree

import (
	"os"
	"path/filepath"
)

// livedIn reports whether the working directory of a process of this user is in a directory.
func livedIn(dir string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	links, _ := filepath.Glob("/proc/[0-9]*/cwd") // the pattern is valid
	for _, link := range links {
		at, err := os.Readlink(link)
		if err != nil {
			continue // of another user, or ended
		}
		if rel, err := filepath.Rel(dir, at); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}
