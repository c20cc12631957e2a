package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	proc "github.com/drawbar/drawbar/internal/base/pid"
	"golang.org/x/sys/unix"
)

// tree finds the processes of one run in the process table without being their parent: by the marker in their
// environment, by the resource limit that tags them, by the run's control group, and as children of such. Best
// effort: a process that drops both marks and whose parent has ended is not found without such a group.
type tree struct {
	mark  string
	all   bool // of every start of the run
	agent int
	start uint64 // start time of the agent, so that its pid is not mistaken after reuse
}

func newTree(mark string, agent int) tree {
	s, _ := proc.ReadStat(agent)
	return newTreeOf(mark, agent, s.Start)
}

func newTreeOf(mark string, agent int, start uint64) tree {
	return tree{mark: mark, agent: agent, start: start}
}

// tag sets the limit on the agent itself; its later children inherit it. What it started before, in the moment since
// its own start, only has the environment.
func (t tree) tag() { _ = tagLimit(t.agent, t.mark) }

// kill kills until nothing is found any more, or the limit is over. It returns how many processes it killed, except
// the agent itself.
func (t tree) kill(limit time.Duration) (int, error) {
	killed := map[processID]bool{}
	deadline := time.Now().Add(limit)
	for pause := time.Millisecond; ; pause = nextPause(pause) {
		left := freezeAndKill(t.find, killed)
		delete(killed, processID{t.agent, t.start})
		if left == 0 {
			return len(killed), nil
		}
		if time.Now().After(deadline) {
			return len(killed), fmt.Errorf("%w: %d left of the tree of process %d", ErrSurvivors, left, t.agent)
		}
		time.Sleep(pause)
	}
}

// find lists the live processes of the run.
func (t tree) find() []proc.Stat {
	all := readAll()
	self := os.Getpid()
	member := make(map[int]bool)
	for pid, s := range all {
		if pid == self || s.Dead() || s.Start < t.start {
			continue // a process older than the agent is not a descendant
		}
		if pid == t.agent && s.Start == t.start || t.marked(s) {
			member[pid] = true
		}
	}
	for _, g := range t.groups() {
		for _, pid := range g.members() {
			member[pid] = pid != self
		}
	}
	for grown := true; grown; {
		grown = false
		for pid, s := range all {
			if !member[pid] && member[s.Parent] && pid != self {
				member[pid], grown = true, true
			}
		}
	}
	var found []proc.Stat
	for pid, is := range member {
		if s, ok := all[pid]; is && ok && !s.Dead() {
			found = append(found, s)
		}
	}
	return found
}

// marked reports whether a process carries the mark or the tag of the tree.
func (t tree) marked(s proc.Stat) bool {
	mark, tag := markOn(s), tagOn(s.PID)
	if t.all {
		return runOf(mark) == runOf(t.mark) || runOfTag(tag) == runOfTag(tagOf(t.mark))
	}
	return mark == t.mark || tag == tagOf(t.mark)
}

// groups are the control groups of the tree.
func (t tree) groups() (all []cgroup) {
	if !t.all {
		return []cgroup{ownGroup(t.mark)}
	}
	for _, g := range groupsIn(ownGroupDir()) {
		if runOf(g.mark()) == runOf(t.mark) {
			all = append(all, g)
		}
	}
	return all
}

// The tag is a soft limit on the real-time CPU time of a process, too high to limit anything. Unlike a variable it
// survives an emptied environment, and unlike a parent it survives a double fork.
const rlimitRTTime = 15

// tagOf returns the limit, in microseconds, that tags the run: more than 73,000 years.
func tagOf(mark string) uint64 {
	n, _ := strconv.ParseUint(mark[:min(len(mark), startTo)], 16, 60)
	return n | 1<<61
}

// tagLimit sets the tag on pid (0 is the caller) unless the limit is really used.
func tagLimit(pid int, mark string) error {
	var old unix.Rlimit
	if err := unix.Prlimit(pid, rlimitRTTime, nil, &old); err != nil {
		return err
	}
	if old.Max != unix.RLIM_INFINITY || old.Cur < 1<<61 {
		return nil
	}
	return unix.Prlimit(pid, rlimitRTTime, &unix.Rlimit{Cur: tagOf(mark), Max: old.Max}, nil)
}

// runOfTag returns the common part of the tags of all starts of a run.
func runOfTag(tag uint64) uint64 { return tag >> (4 * (startTo - startFrom)) }

// tagOn returns the tag of a process; another number for one without.
func tagOn(pid int) uint64 {
	limits, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	if err != nil {
		return 0
	}
	_, line, _ := bytes.Cut(limits, []byte("Max realtime timeout"))
	tag, _, _ := bytes.Cut(bytes.TrimLeft(line, " "), []byte(" "))
	n, _ := strconv.ParseUint(string(tag), 10, 64) // "unlimited" is not a tag
	return n
}

// markOn returns the mark in the environment of a process, empty for none. If the first thread has ended, only the
// others still show the environment.
func markOn(s proc.Stat) string {
	dir := "/proc/" + strconv.Itoa(s.PID)
	mark := markIn(dir)
	if mark == "" && s.Threads > 1 && s.State == 'Z' {
		for _, tid := range proc.Numbers(dir + "/task/") {
			if mark = markIn(dir + "/task/" + strconv.Itoa(tid)); mark != "" {
				break
			}
		}
	}
	return mark
}

func markIn(dir string) string {
	env, err := os.ReadFile(dir + "/environ")
	if err != nil {
		return ""
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if mark, ok := bytes.CutPrefix(v, []byte(markName+"=")); ok {
			return string(mark)
		}
	}
	return ""
}
