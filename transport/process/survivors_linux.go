package process

import (
	"os"
	"syscall"
	"time"
)

// Survivors counts the processes of runs, by Spec.Run, that are still running without a host. It reads the process
// table once.
func Survivors(runs ...string) map[string]int {
	if len(runs) == 0 {
		return nil
	}
	tags, marks := map[uint64]string{}, map[string]string{}
	for _, run := range runs {
		mark := markOf(run)
		tags[runOfTag(tagOf(mark))], marks[runOf(mark)] = run, run
	}
	all, member := readAll(), map[int]string{}
	for pid, s := range all {
		if pid == os.Getpid() || s.Dead() {
			continue
		}
		if run, ok := tags[runOfTag(tagOn(pid))]; ok {
			member[pid] = run
		} else if run, ok := marks[runOf(markOn(s))]; ok {
			member[pid] = run
		}
	}
	for _, g := range groupsIn(ownGroupDir()) {
		run, ok := marks[runOf(g.mark())]
		for _, pid := range g.members() {
			if s, there := all[pid]; ok && there && !s.Dead() {
				member[pid] = run
			}
		}
	}
	count := map[string]int{}
	for grown := true; grown; {
		grown = false
		for pid, s := range all {
			if run, ok := member[s.Parent]; ok && member[pid] == "" && pid != os.Getpid() && !s.Dead() {
				member[pid], grown = run, true
			}
		}
	}
	for _, run := range member {
		count[run]++
	}
	return count
}

// EndSurvivors kills the processes that Survivors counts, for at most limit, and returns how many it killed.
func EndSurvivors(run string, limit time.Duration) (int, error) {
	t := tree{mark: markOf(run), all: true}
	defer func() {
		for _, g := range t.groups() {
			g.removeSoon()
		}
	}()
	return t.kill(limit)
}

// RemoveGroups removes the empty control groups of runs that are gone. A run whose helpers were killed leaves its
// own.
func RemoveGroups() {
	if base := ownGroupDir(); base != "" {
		removeGroups(base, time.Now())
	}
}

func removeGroups(base string, now time.Time) {
	for _, g := range groupsIn(base) {
		if info, err := os.Lstat(g.path); err == nil && now.Sub(info.ModTime()) > groupAge {
			removeGroups(g.path, now) // of runs that an agent started
			_ = syscall.Rmdir(g.path) // refused while a process is in it
		}
	}
}

// groupAge spares the group of a starting run, which has no process yet.
const groupAge = time.Minute
