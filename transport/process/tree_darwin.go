package process

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/transport/process/internal/supervisor"
	"golang.org/x/sys/unix"
)

// tree finds the processes of one run in the process table: the group and the children of the agent, and those with
// the marker in their environment. Best effort: a process that left both, or whose environment the system hides, is
// not found.
type tree struct {
	mark  string
	agent int
}

func newTree(mark string, agent int) tree { return tree{mark: mark, agent: agent} }

func (t tree) tag() {}

// kill kills until nothing is found any more, or the limit is over. It returns how many processes it killed, except
// the agent itself.
func (t tree) kill(limit time.Duration) (int, error) {
	deadline, late := time.Now().Add(limit), false
	killed := map[int]bool{}
	for pause := time.Millisecond; ; pause = supervisor.NextPause(pause) {
		found := t.find()
		for _, pid := range found {
			_ = syscall.Kill(pid, syscall.SIGSTOP) // so that it starts nothing more during the search
		}
		if len(found) > 0 {
			found = append(found, t.find()...)
		}
		for _, pid := range found {
			if syscall.Kill(pid, syscall.SIGKILL) == nil && pid != t.agent {
				killed[pid] = true
			}
		}
		if len(found) == 0 {
			return len(killed), nil
		}
		if late {
			return len(killed), fmt.Errorf("%w: %d left of the tree of process %d", ErrSurvivors, len(found), t.agent)
		}
		late = time.Now().After(deadline) // what this round killed in time is not left: one more looks
		time.Sleep(pause)
	}
}

const stateZombie = 5 // SZOMB of sys/proc.h

func (t tree) find() []int {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	self := os.Getpid()
	member := map[int]bool{}
	mark := []byte(supervisor.MarkName + "=" + t.mark)
	for i := range all {
		p := &all[i]
		pid := int(p.Proc.P_pid)
		if pid == self || p.Proc.P_stat == stateZombie {
			continue
		}
		if pid == t.agent && int(p.Eproc.Ppid) == self || int(p.Eproc.Pgid) == t.agent || hasMark(pid, mark) {
			member[pid] = true
		}
	}
	for grown := true; grown; {
		grown = false
		for i := range all {
			pid := int(all[i].Proc.P_pid)
			if !member[pid] && member[int(all[i].Eproc.Ppid)] && pid != self && all[i].Proc.P_stat != stateZombie {
				member[pid], grown = true, true
			}
		}
	}
	return slices.Collect(maps.Keys(member))
}

// hasMark searches the arguments and the environment of a process, which the system stores together.
func hasMark(pid int, mark []byte) bool {
	data, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return false
	}
	for v := range bytes.SplitSeq(data, []byte{0}) {
		if bytes.Equal(v, mark) {
			return true
		}
	}
	return false
}
