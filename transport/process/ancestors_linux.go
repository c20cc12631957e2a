package process

import (
	"os"
	"strconv"
	"strings"

	proc "github.com/drawbar/drawbar/internal/base/pid"
)

func ancestors() []string {
	var list []string
	for pid := os.Getppid(); pid > 0 && len(list) < maxAncestors; {
		stat, ok := proc.ReadStat(pid)
		if !ok {
			break
		}
		// A script's name is determined before links are resolved: the name it was started by is more informative.
		line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if err != nil {
			break // owned by another user, like everything above it
		}
		list = append(list, program(strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")))
		pid = stat.Parent
	}
	return list
}
