package supervisor

import (
	"bytes"
	"os"
	"strconv"
	"time"

	proc "github.com/drawbar/drawbar/internal/base/pid"
)

// Tree finds the processes of one run in the process table without being their parent: by the marker in their
// environment, by the resource limit that tags them, by the run's control group, and as children of such. Best
// effort: a process that drops both marks and whose parent has ended is not found without such a group.
type Tree struct {
	Mark  string
	All   bool // of every start of the run
	Agent int
	Start uint64 // start time of the agent, so that its pid is not mistaken after reuse
}

// Tag sets the limit on the agent itself; its later children inherit it. What it started before, in the moment since
// its own start, only has the environment.
func (t Tree) Tag() { _ = tagLimit(t.Agent, t.Mark) }

// Kill kills until nothing is found any more, or the limit is over. It returns how many processes it killed, except
// the agent itself, and how many are left.
func (t Tree) Kill(limit time.Duration) (count, left int) {
	killed := map[ProcessID]bool{}
	deadline, late := time.Now().Add(limit), false
	for pause := time.Millisecond; ; pause = NextPause(pause) {
		left = FreezeAndKill(t.Find, killed)
		delete(killed, ProcessID{t.Agent, t.Start})
		if left == 0 || late {
			return len(killed), left
		}
		late = time.Now().After(deadline) // what the last round killed in time is not left: one more looks
		time.Sleep(pause)
	}
}

// Find lists the live processes of the run.
func (t Tree) Find() []proc.Stat {
	all := ReadAll()
	self := os.Getpid()
	member := make(map[int]bool)
	for pid, s := range all {
		if pid == self || s.Dead() || s.Start < t.Start {
			continue // a process older than the agent is not a descendant
		}
		if pid == t.Agent && s.Start == t.Start || t.marked(s) {
			member[pid] = true
		}
	}
	for _, g := range t.Groups() {
		for _, pid := range g.Members() {
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
func (t Tree) marked(s proc.Stat) bool {
	mark, tag := MarkOn(s), TagOn(s.PID)
	if t.All {
		return RunOf(mark) == RunOf(t.Mark) || RunOfTag(tag) == RunOfTag(TagOf(t.Mark))
	}
	return mark == t.Mark || tag == TagOf(t.Mark)
}

// Groups are the control groups of the tree.
func (t Tree) Groups() (all []Group) {
	if !t.All {
		return []Group{OwnGroup(t.Mark)}
	}
	for _, g := range GroupsIn(OwnGroupDir()) {
		if RunOf(g.Mark()) == RunOf(t.Mark) {
			all = append(all, g)
		}
	}
	return all
}

// The tag is a soft limit on the real-time CPU time of a process, too high to limit anything. Unlike a variable it
// survives an emptied environment, and unlike a parent it survives a double fork.

// TagOf returns the limit, in microseconds, that tags the run: more than 73,000 years.
func TagOf(mark string) uint64 {
	n, _ := strconv.ParseUint(mark[:min(len(mark), StartTo)], 16, 60)
	return n | 1<<61
}

// tagLimit sets the tag on pid (0 is the caller) unless the limit is really used.
func tagLimit(pid int, mark string) error {
	var old rlimit
	if err := prlimit(pid, rlimitRTTime, nil, &old); err != nil {
		return err
	}
	if old.max != rlimInfinity || old.cur < 1<<61 {
		return nil
	}
	return prlimit(pid, rlimitRTTime, &rlimit{cur: TagOf(mark), max: old.max}, nil)
}

// RunOfTag returns the common part of the tags of all starts of a run.
func RunOfTag(tag uint64) uint64 { return tag >> (4 * (StartTo - StartFrom)) }

// TagOn returns the tag of a process; another number for one without.
func TagOn(pid int) uint64 {
	limits, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	if err != nil {
		return 0
	}
	_, line, _ := bytes.Cut(limits, []byte("Max realtime timeout"))
	tag, _, _ := bytes.Cut(bytes.TrimLeft(line, " "), []byte(" "))
	n, _ := strconv.ParseUint(string(tag), 10, 64) // "unlimited" is not a tag
	return n
}

// MarkOn returns the mark in the environment of a process, empty for none. If the first thread has ended, only the
// others still show the environment.
func MarkOn(s proc.Stat) string {
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
		if mark, ok := bytes.CutPrefix(v, []byte(MarkName+"=")); ok {
			return string(mark)
		}
	}
	return ""
}
