package process

import (
	"os"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/transport/process/internal/supervisor"
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
		tags[supervisor.RunOfTag(supervisor.TagOf(mark))], marks[supervisor.RunOf(mark)] = run, run
	}
	all, member := supervisor.ReadAll(), map[int]string{}
	for pid, s := range all {
		if pid == os.Getpid() || s.Dead() {
			continue
		}
		if run, ok := tags[supervisor.RunOfTag(supervisor.TagOn(pid))]; ok {
			member[pid] = run
		} else if run, ok := marks[supervisor.RunOf(supervisor.MarkOn(s))]; ok {
			member[pid] = run
		}
	}
	for _, g := range supervisor.GroupsIn(supervisor.OwnGroupDir()) {
		run, ok := marks[supervisor.RunOf(g.Mark())]
		for _, pid := range g.Members() {
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
	t := tree{supervisor.Tree{Mark: markOf(run), All: true}}
	defer func() {
		for _, g := range t.Groups() {
			g.RemoveSoon()
		}
	}()
	return t.kill(limit)
}

// RemoveGroups removes the empty control groups of runs that are gone. A run whose helpers were killed leaves its
// own.
func RemoveGroups() {
	if base := supervisor.OwnGroupDir(); base != "" {
		removeGroups(base, time.Now())
	}
}

func removeGroups(base string, now time.Time) {
	for _, g := range supervisor.GroupsIn(base) {
		if info, err := os.Lstat(g.Path); err == nil && now.Sub(info.ModTime()) > groupAge {
			removeGroups(g.Path, now) // of runs that an agent started
			_ = syscall.Rmdir(g.Path) // refused while a process is in it
		}
	}
}

// groupAge spares the group of a starting run, which has no process yet.
const groupAge = time.Minute
