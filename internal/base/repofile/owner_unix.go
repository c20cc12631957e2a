//go:build unix

package repofile

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// Foreign reports whether a file belongs neither to this user nor to root, and to whom. For a root shell of sudo,
// files of the user who ran sudo are its own. A link is judged by itself and by its target.
func Foreign(path string) (uid int, foreign bool) {
	for _, look := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} {
		info, err := look(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return -1, true
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok && !ours(int(s.Uid)) {
			return int(s.Uid), true
		}
	}
	return 0, false
}

func ours(uid int) bool {
	me := os.Geteuid()
	if uid == me || uid == 0 {
		return true
	}
	by, err := strconv.Atoi(os.Getenv("SUDO_UID"))
	return me == 0 && err == nil && uid == by
}
