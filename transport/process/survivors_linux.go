package process

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
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
	for mark, run := range marks {
		for _, pid := range ownGroup(mark).members() {
			if s, ok := all[pid]; ok && !s.dead() {
				member[pid] = run
			}
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
	mark := markOf(run)
	defer ownGroup(mark).removeSoon()
	return newTreeOf(mark, 0, 0).kill(limit)
}

// RemoveGroups removes the empty control groups of runs that are gone. A run whose helpers were killed left its own.
func RemoveGroups() {
	if base := ownGroupDir(); base != "" {
		removeGroups(base, time.Now())
	}
}

func removeGroups(base string, now time.Time) {
	list, _ := os.ReadDir(base) // unreadable: none is ours
	for _, d := range list {
		mark, ours := strings.CutPrefix(d.Name(), groupPrefix)
		if b, err := hex.DecodeString(mark); !ours || err != nil || len(b) != 16 {
			continue
		}
		if info, err := d.Info(); err == nil && now.Sub(info.ModTime()) > groupAge {
			_ = syscall.Rmdir(filepath.Join(base, d.Name())) // refused where somebody lives in it
		}
	}
}

// groupAge spares the group of a run that is just starting, which has no process yet.
const groupAge = time.Minute
