package runstore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// processStart returns the start time of a process in clock ticks since boot. ok is false if it does not exist or is a zombie.
func processStart(pid int) (start uint64, ok bool, err error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
		if _, err := os.Stat("/proc/self/stat"); err != nil {
			return 0, false, fmt.Errorf("find process %d: %w", pid, err)
		}
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("find process %d: %w", pid, err)
	}
	return parseStat(stat)
}

// parseStat parses state and start time. The second field is the command's name in parentheses and may contain spaces and
// parentheses, so fields are counted after the last one.
func parseStat(stat []byte) (start uint64, ok bool, err error) {
	i := bytes.LastIndexByte(stat, ')')
	fields := bytes.Fields(stat[i+1:])
	if i < 0 || len(fields) < 20 {
		return 0, false, errors.New("process status has an unknown form")
	}
	if s := fields[0][0]; s == 'Z' || s == 'X' || s == 'x' {
		return 0, false, nil
	}
	start, err = strconv.ParseUint(string(fields[19]), 10, 64)
	return start, err == nil, err
}

func pidNamespace() string {
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return ns
}
