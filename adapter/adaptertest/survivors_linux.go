package adaptertest

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
)

func marked(entry string) ([]int, error) {
	folders, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("read the process table: %w", err)
	}
	var found []int
	for _, f := range folders {
		pid, err := strconv.Atoi(f.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile("/proc/" + f.Name() + "/environ")
		if err != nil {
			continue // gone, or owned by another user
		}
		has := slices.ContainsFunc(bytes.Split(env, []byte{0}), func(e []byte) bool { return string(e) == entry })
		if has && living(pid) {
			found = append(found, pid)
		}
	}
	return found, nil
}

// living reports whether a process is running. A zombie is not: it only waits to be reaped.
func living(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	// The name in parentheses may contain anything, so the state is searched after the last one.
	at := bytes.LastIndexByte(stat, ')')
	return at < 0 || at+2 >= len(stat) || stat[at+2] != 'Z' && stat[at+2] != 'X'
}
