//go:build unix && !linux

package adaptertest

import (
	"errors"
	"os"
	"syscall"
)

func marked(string) ([]int, error) {
	return nil, errors.New("the environment of other processes cannot be read on this system: record their ids in a file and use ProcessesIn")
}

// living reports whether a process can be signalled. This includes zombies, so the parent must reap them.
func living(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission)
}
