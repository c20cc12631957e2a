package process

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/transport/process/internal/supervisor"
)

// Survivors counts the processes of runs, by Spec.Run, that are still running without a host. It reads the process
// table once.
func Survivors(runs ...string) map[string]int {
	count := map[string]int{}
	for _, run := range members(runs) {
		count[run]++
	}
	return count
}

// Memory returns how many bytes of memory the processes of each run have, by Spec.Run: what several of them share counts
// for each. It reads the process table once.
func Memory(runs ...string) map[string]int64 {
	size := map[string]int64{}
	for pid, run := range members(runs) {
		size[run] += resident(pid)
	}
	return size
}

// resident returns how many bytes of memory a process has, 0 if it has ended.
func resident(pid int) int64 {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	fields := strings.Fields(string(b))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64) // the kernel's own number
	return pages * int64(os.Getpagesize())
}

// members returns the run of each process of these runs.
func members(runs []string) map[int]string {
	member := map[int]string{}
	if len(runs) == 0 {
		return member
	}
	tags, marks := map[uint64]string{}, map[string]string{}
	for _, run := range runs {
		mark := markOf(run)
		tags[supervisor.RunOfTag(supervisor.TagOf(mark))], marks[supervisor.RunOf(mark)] = run, run
	}
	all := supervisor.ReadAll()
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
	for grown := true; grown; {
		grown = false
		for pid, s := range all {
			if run, ok := member[s.Parent]; ok && member[pid] == "" && pid != os.Getpid() && !s.Dead() {
				member[pid], grown = run, true
			}
		}
	}
	return member
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
