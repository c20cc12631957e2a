package supervisor

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	proc "github.com/drawbar/drawbar/internal/base/pid"
)

// ProcessID identifies a process, also after its pid is used again.
type ProcessID struct {
	PID   int
	Start uint64
}

// IDOf identifies the process of s.
func IDOf(s proc.Stat) ProcessID { return ProcessID{s.PID, s.Start} }

// writeSmall writes a file of /proc.
func writeSmall(name, text string) {
	fd, err := syscall.Open(name, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, _ = syscall.Write(fd, []byte(text))
	_ = syscall.Close(fd)
}

// ReadAll reads the whole process table.
func ReadAll() map[int]proc.Stat {
	all := map[int]proc.Stat{}
	for _, pid := range proc.Numbers("/proc") {
		if s, ok := proc.ReadStat(pid); ok {
			all[pid] = s
		}
	}
	return all
}

// childrenOf lists the children of a process, including zombies. It reads them per thread, as the kernel stores them;
// false means that this kernel has no such list.
func childrenOf(pid int, buf []byte) ([]int, bool) {
	base := "/proc/" + strconv.Itoa(pid) + "/task/"
	var kids []int
	for _, tid := range proc.Numbers(base) {
		fd, err := syscall.Open(base+strconv.Itoa(tid)+"/children", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			if err == syscall.ENOENT && syscall.Access("/proc/self/task/"+strconv.Itoa(os.Getpid())+"/children", readable) != nil {
				return nil, false
			}
			continue // the thread has ended
		}
		number, digits := 0, false
		for {
			n, err := syscall.Read(fd, buf)
			if err == syscall.EINTR {
				continue
			}
			if err != nil || n <= 0 {
				break
			}
			for _, c := range buf[:n] {
				if c >= '0' && c <= '9' {
					number, digits = number*10+int(c-'0'), true
				} else if digits {
					kids = append(kids, number)
					number, digits = 0, false
				}
			}
		}
		if digits {
			kids = append(kids, number)
		}
		_ = syscall.Close(fd)
	}
	return kids, true
}

// Descendants lists the live processes below root.
func Descendants(root int) []proc.Stat {
	buf := make([]byte, 4096)
	var found []proc.Stat
	seen := map[int]bool{root: true}
	for todo := []int{root}; len(todo) > 0; {
		pid := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		kids, ok := childrenOf(pid, buf)
		if !ok {
			return DescendantsByParent(root)
		}
		for _, kid := range kids {
			if seen[kid] {
				continue
			}
			seen[kid] = true
			if s, ok := proc.ReadStat(kid); ok && !s.Dead() {
				found = append(found, s)
				todo = append(todo, kid)
			}
		}
	}
	return found
}

func DescendantsByParent(root int) []proc.Stat {
	all := ReadAll()
	member := map[int]bool{root: true}
	for grown := true; grown; {
		grown = false
		for pid, s := range all {
			if !member[pid] && member[s.Parent] {
				member[pid], grown = true, true
			}
		}
	}
	var found []proc.Stat
	for pid := range member {
		if s := all[pid]; pid != root && !s.Dead() {
			found = append(found, s)
		}
	}
	return found
}

// signalTo signals exactly the process that was seen, not a later one with its pid.
func signalTo(s proc.Stat, sig syscall.Signal) bool {
	fd, err := pidfdOpen(s.PID)
	if err != nil {
		if errors.Is(err, syscall.ESRCH) {
			return false
		}
		now, ok := proc.ReadStat(s.PID) // a kernel without pidfd
		return ok && now.Start == s.Start && syscall.Kill(s.PID, sig) == nil
	}
	defer syscall.Close(fd)
	now, ok := proc.ReadStat(s.PID)
	return ok && now.Start == s.Start && pidfdSendSignal(fd, sig) == nil
}

// freezeRounds bounds the search for a stable set; a tree that grows faster is killed as far as it is known, and
// again.
const freezeRounds = 64

// Freeze stops everything that find returns until nothing new appears. A process cannot fork after SIGSTOP, so the
// set is complete when a round adds nothing.
func Freeze(find func() []proc.Stat) []proc.Stat {
	var set []proc.Stat
	known := map[ProcessID]bool{}
	for range freezeRounds {
		fresh := false
		for _, s := range find() {
			if !known[IDOf(s)] {
				known[IDOf(s)], fresh = true, true
				set = append(set, s)
				signalTo(s, syscall.SIGSTOP)
			}
		}
		if !fresh {
			break
		}
	}
	return set
}

// FreezeAndKill freezes and kills what find returns, records in killed which of them were not already exiting, and
// returns how many there were.
func FreezeAndKill(find func() []proc.Stat, killed map[ProcessID]bool) int {
	set := Freeze(find)
	for _, s := range set {
		if signalTo(s, syscall.SIGKILL) && !s.Exiting {
			killed[IDOf(s)] = true
		}
	}
	return len(set)
}
