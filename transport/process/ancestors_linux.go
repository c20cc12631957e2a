package process

import (
	"os"
	"strconv"
	"strings"
)

func ancestors() []string {
	var list []string
	for pid := os.Getppid(); pid > 0 && len(list) < maxAncestors; {
		stat, ok := readStat(pid)
		if !ok {
			break
		}
		// A script is found before the links to it are followed: what it was started by says more than where it is kept.
		line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if err != nil {
			break // of another user, as everything above it
		}
		list = append(list, program(strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")))
		pid = stat.ppid
	}
	return list
}
