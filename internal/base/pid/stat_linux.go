package pid

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
)

// Stat is the content of /proc/<pid>/stat.
type Stat struct {
	PID, Parent int
	State       byte
	Start       uint64 // in clock ticks since boot; together with PID it identifies a process
	Exiting     bool   // its files may be closed already
	Threads     int
}

// Dead reports that only the entry in the process table is left. A process whose first thread has ended looks like a
// zombie too, but its other threads still run.
func (s Stat) Dead() bool {
	return (s.State == 'Z' || s.State == 'X' || s.State == 'x') && s.Threads <= 1
}

// Start returns the start time of a process in clock ticks since boot. ok is false if it does not exist or has ended.
func Start(pid int) (start uint64, ok bool, err error) {
	s, ok := ReadStat(pid)
	if !ok && Alive(pid) {
		return 0, false, errors.New("find process " + strconv.Itoa(pid) + ": it cannot be read from /proc")
	}
	return s.Start, ok && !s.Dead(), nil
}

// ReadStat reads the status of a process. It returns false if there is none.
func ReadStat(pid int) (Stat, bool) {
	var path [32]byte
	name := append(strconv.AppendInt(append(path[:0], "/proc/"...), int64(pid), 10), "/stat"...)
	var buf [1024]byte
	n := ReadSmall(string(name), buf[:])
	s, ok := parseStat(pid, buf[:n])
	if s.Exiting && s.Threads > 1 {
		s.Exiting = !anyThreadRuns(pid)
	}
	return s, ok
}

// anyThreadRuns distinguishes an ended process from one that only lost its first thread.
func anyThreadRuns(pid int) bool {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task/"
	var buf [1024]byte
	for _, tid := range Numbers(tasks) {
		n := ReadSmall(tasks+strconv.Itoa(tid)+"/stat", buf[:])
		if t, ok := parseStat(tid, buf[:n]); ok && !t.Exiting {
			return true
		}
	}
	return false
}

// parseStat parses the fields after the command name, which may contain blanks and parentheses.
func parseStat(pid int, b []byte) (Stat, bool) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return Stat{}, false
	}
	f := bytes.Fields(b[i+1:])
	if len(f) < 20 || len(f[0]) != 1 {
		return Stat{}, false
	}
	parent, err1 := strconv.Atoi(string(f[1]))
	flags, err2 := strconv.ParseUint(string(f[6]), 10, 64)
	threads, err3 := strconv.Atoi(string(f[17]))
	start, err4 := strconv.ParseUint(string(f[19]), 10, 64)
	if errors.Join(err1, err2, err3, err4) != nil {
		return Stat{}, false
	}
	const pfExiting = 4
	return Stat{PID: pid, Parent: parent, State: f[0][0], Start: start, Exiting: flags&pfExiting != 0, Threads: threads}, true
}

// ReadSmall reads a file of /proc that fits into buf. It avoids os.File, which costs more than the read.
func ReadSmall(name string, buf []byte) int {
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

// Numbers lists the entries of a directory that are numbers.
func Numbers(dir string) []int {
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
