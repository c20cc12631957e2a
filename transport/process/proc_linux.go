package process

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// procStat is the content of /proc/<pid>/stat.
type procStat struct {
	pid, ppid int
	state     byte
	start     uint64 // in clock ticks since boot; together with pid it identifies a process
	exiting   bool   // exiting; its files may be closed already
	threads   int
}

// dead reports that only the entry in the process table is left. A process whose first thread has ended looks like a
// zombie too, but its other threads still run.
func (s procStat) dead() bool {
	return (s.state == 'Z' || s.state == 'X' || s.state == 'x') && s.threads <= 1
}

type processID struct {
	pid   int
	start uint64
}

func (s procStat) id() processID { return processID{s.pid, s.start} }

func readStat(pid int) (procStat, bool) {
	var path [32]byte
	name := append(strconv.AppendInt(append(path[:0], "/proc/"...), int64(pid), 10), "/stat"...)
	var buf [1024]byte
	n := readSmall(string(name), buf[:])
	s, ok := parseStat(pid, buf[:n])
	if s.exiting && s.threads > 1 {
		s.exiting = !anyThreadRuns(pid)
	}
	return s, ok
}

// anyThreadRuns distinguishes an ended process from one that only lost its first thread.
func anyThreadRuns(pid int) bool {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task/"
	var buf [1024]byte
	for _, tid := range numbers(tasks) {
		n := readSmall(tasks+strconv.Itoa(tid)+"/stat", buf[:])
		if t, ok := parseStat(tid, buf[:n]); ok && !t.exiting {
			return true
		}
	}
	return false
}

// parseStat parses the fields after the command name, which may contain blanks and parentheses.
func parseStat(pid int, b []byte) (procStat, bool) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return procStat{}, false
	}
	f := bytes.Fields(b[i+1:])
	if len(f) < 20 || len(f[0]) != 1 {
		return procStat{}, false
	}
	ppid, err := strconv.Atoi(string(f[1]))
	if err != nil {
		return procStat{}, false
	}
	start, err := strconv.ParseUint(string(f[19]), 10, 64)
	if err != nil {
		return procStat{}, false
	}
	flags, err := strconv.ParseUint(string(f[6]), 10, 64)
	if err != nil {
		return procStat{}, false
	}
	threads, err := strconv.Atoi(string(f[17]))
	if err != nil {
		return procStat{}, false
	}
	const pfExiting = 4
	return procStat{pid: pid, ppid: ppid, state: f[0][0], start: start, exiting: flags&pfExiting != 0, threads: threads}, true
}

// readSmall reads a file of /proc that fits into buf. It avoids os.File, which costs more than the read.
func readSmall(name string, buf []byte) int {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer syscall.Close(fd)
	n := 0
	for n < len(buf) {
		m, err := syscall.Read(fd, buf[n:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil || m <= 0 {
			break
		}
		n += m
	}
	return n
}

// writeSmall writes a file of /proc.
func writeSmall(name, text string) {
	fd, err := syscall.Open(name, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, _ = syscall.Write(fd, []byte(text))
	_ = syscall.Close(fd)
}

// readAll reads the whole process table.
func readAll() map[int]procStat {
	all := map[int]procStat{}
	for _, pid := range numbers("/proc") {
		if s, ok := readStat(pid); ok {
			all[pid] = s
		}
	}
	return all
}

func numbers(dir string) []int {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	out := make([]int, 0, len(names))
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// childrenOf lists the children of a process, including zombies. It reads them per thread, as the kernel stores them;
// false means that this kernel has no such list.
func childrenOf(pid int, buf []byte) ([]int, bool) {
	base := "/proc/" + strconv.Itoa(pid) + "/task/"
	var kids []int
	for _, tid := range numbers(base) {
		fd, err := syscall.Open(base+strconv.Itoa(tid)+"/children", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			if err == syscall.ENOENT && unix.Access("/proc/self/task/"+strconv.Itoa(os.Getpid())+"/children", unix.R_OK) != nil {
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

// descendants lists the live processes below root.
func descendants(root int) []procStat {
	buf := make([]byte, 4096)
	var found []procStat
	seen := map[int]bool{root: true}
	for todo := []int{root}; len(todo) > 0; {
		pid := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		kids, ok := childrenOf(pid, buf)
		if !ok {
			return descendantsByParent(root)
		}
		for _, kid := range kids {
			if seen[kid] {
				continue
			}
			seen[kid] = true
			if s, ok := readStat(kid); ok && !s.dead() {
				found = append(found, s)
				todo = append(todo, kid)
			}
		}
	}
	return found
}

func descendantsByParent(root int) []procStat {
	all := readAll()
	member := map[int]bool{root: true}
	for grown := true; grown; {
		grown = false
		for pid, s := range all {
			if !member[pid] && member[s.ppid] {
				member[pid], grown = true, true
			}
		}
	}
	var found []procStat
	for pid := range member {
		if s := all[pid]; pid != root && !s.dead() {
			found = append(found, s)
		}
	}
	return found
}

// signalTo signals exactly the process that was seen, not a later one with its pid.
func signalTo(s procStat, sig syscall.Signal) bool {
	fd, err := unix.PidfdOpen(s.pid, 0)
	if err != nil {
		if err == unix.ESRCH {
			return false
		}
		now, ok := readStat(s.pid) // a kernel without pidfd
		return ok && now.start == s.start && syscall.Kill(s.pid, sig) == nil
	}
	defer unix.Close(fd)
	now, ok := readStat(s.pid)
	return ok && now.start == s.start && unix.PidfdSendSignal(fd, sig, nil, 0) == nil
}

// freezeRounds bounds the search for a stable set; a tree that grows faster is killed as far as it is known, and
// again.
const freezeRounds = 64

// freeze stops everything that find returns until nothing new appears. A process cannot fork after SIGSTOP, so the
// set is complete when a round adds nothing.
func freeze(find func() []procStat) []procStat {
	var set []procStat
	known := map[processID]bool{}
	for range freezeRounds {
		fresh := false
		for _, s := range find() {
			if !known[s.id()] {
				known[s.id()], fresh = true, true
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

// freezeAndKill freezes and kills what find returns, records in killed which of them were not already exiting, and
// returns how many there were.
func freezeAndKill(find func() []procStat, killed map[processID]bool) int {
	set := freeze(find)
	for _, s := range set {
		if signalTo(s, syscall.SIGKILL) && !s.exiting {
			killed[s.id()] = true
		}
	}
	return len(set)
}
