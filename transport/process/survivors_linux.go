package process

import (
	"os"
	"strconv"
	"time"
)

// Survivors counts the processes of runs, by Spec.Run, that are still there although nobody drives the run any more. It reads
// the process table once.
func Survivors(runs ...string) map[string]int {
	if len(runs) == 0 {
		return nil
	}
	tags, marks := map[string]string{}, map[string]string{}
	for _, run := range runs {
		tags[strconv.FormatUint(tagOf(markOf(run)), 10)], marks[markOf(run)] = run, run
	}
	all, member := readAll(), map[int]string{}
	for pid, s := range all {
		if pid == os.Getpid() || s.dead() {
			continue
		}
		if run, ok := tags[tagOn(pid)]; ok {
			member[pid] = run
		} else if run, ok := marks[markOn(pid)]; ok {
			member[pid] = run
		}
	}
	count := map[string]int{}
	for grown := true; grown; {
		grown = false
		for pid, s := range all {
			if run, ok := member[s.ppid]; ok && member[pid] == "" && pid != os.Getpid() && !s.dead() {
				member[pid], grown = run, true
			}
		}
	}
	for _, run := range member {
		count[run]++
	}
	return count
}

// EndSurvivors kills the processes that Survivors counts, and says how many it killed. limit bounds how long it tries.
func EndSurvivors(run string, limit time.Duration) (int, error) {
	return newTreeOf(markOf(run), 0, 0).kill(limit)
}
