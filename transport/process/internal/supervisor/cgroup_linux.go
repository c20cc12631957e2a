package supervisor

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	proc "github.com/drawbar/drawbar/internal/base/pid"
)

// Group is a leaf below our own control group that holds one run. If the own group cannot be divided, its path is
// empty and every method does nothing.
type Group struct {
	Path string
	fd   int // file descriptor of the directory in the keeper; -1 otherwise
}

const GroupPrefix = "drawbar-"

// OwnGroup names the leaf of a run without creating it.
func OwnGroup(mark string) Group {
	base := OwnGroupDir()
	if base == "" {
		return Group{fd: -1}
	}
	return Group{Path: base + "/" + GroupPrefix + mark, fd: -1}
}

// GroupsIn returns the leaves of all runs in a folder, or of one run.
func GroupsIn(base string) (all []Group) {
	list, _ := os.ReadDir(base) // unreadable: none is ours
	for _, d := range list {
		if g := (Group{Path: base + "/" + d.Name(), fd: -1}); g.Mark() != "" {
			all = append(all, g)
		}
	}
	return all
}

// Mark returns the mark in the leaf's name; empty for a foreign leaf.
func (g Group) Mark() string {
	path := []byte(g.Path)
	mark, ours := bytes.CutPrefix(path[bytes.LastIndexByte(path, '/')+1:], []byte(GroupPrefix))
	if !ours || len(mark) != 32 || len(bytes.TrimLeft(mark, "0123456789abcdefABCDEF")) > 0 {
		return ""
	}
	return string(mark)
}

// makeGroup creates the leaf, or returns an empty one.
func makeGroup(path string) Group {
	none := Group{fd: -1}
	if path == "" || syscall.Mkdir(path, 0o700) != nil {
		return none
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil || syscall.Access(path+"/cgroup.kill", writable) != nil {
		if err == nil {
			_ = syscall.Close(fd)
		}
		_ = syscall.Rmdir(path)
		return none
	}
	return Group{Path: path, fd: fd}
}

// Kill ends every process of the group at once.
func (g Group) Kill() {
	if g.Path == "" {
		return
	}
	writeSmall(g.Path+"/cgroup.kill", "1")
}

// Members returns the processes in the group.
func (g Group) Members() (pids []int) {
	if g.Path == "" {
		return nil
	}
	list, _ := os.ReadFile(g.Path + "/cgroup.procs") // it does not exist, so it has no members
	for f := range bytes.FieldsSeq(list) {
		if pid, err := strconv.Atoi(string(f)); err == nil && pid > 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// remove removes an empty group, and those of runs that an agent started within it and that were killed with it.
func (g Group) remove() bool {
	if g.Path == "" || syscall.Rmdir(g.Path) != syscall.EBUSY {
		return true
	}
	for _, inner := range GroupsIn(g.Path) {
		inner.remove()
	}
	return syscall.Rmdir(g.Path) != syscall.EBUSY
}

// RemoveSoon removes the group of processes that were just killed: they stay in it until they are fully gone.
func (g Group) RemoveSoon() {
	for deadline := time.Now().Add(time.Second); !g.remove() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

// OwnGroupDir returns the directory of our own group in the unified hierarchy if we may create groups in it and move
// processes there, else empty.
func OwnGroupDir() string {
	var own []byte
	var buf [4096]byte
	n := proc.ReadSmall("/proc/self/cgroup", buf[:])
	for line := range bytes.Lines(buf[:n]) {
		if p, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("0::")); ok {
			own = p
		}
	}
	m := unifiedMount()
	below, ok := bytes.CutPrefix(own, bytes.TrimSuffix(m.root, []byte("/")))
	if len(own) == 0 || len(m.dir) == 0 || !ok || bytes.Contains(own, []byte("..")) {
		return ""
	}
	dir := string(bytes.TrimSuffix(append(m.dir[:len(m.dir):len(m.dir)], below...), []byte("/")))
	if syscall.Access(dir, writable) != nil || syscall.Access(dir+"/cgroup.procs", writable) != nil {
		return ""
	}
	return dir
}

type mount struct{ root, dir []byte }

// unifiedMount finds the mount of the unified hierarchy once: it does not change during the life of a program.
var unifiedMount = sync.OnceValue(func() mount {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return mount{}
	}
	for line := range bytes.Lines(data) {
		left, right, ok := bytes.Cut(line, []byte(" - "))
		f := bytes.Fields(left)
		if ok && bytes.HasPrefix(right, []byte("cgroup2 ")) && len(f) >= 6 && !bytes.Contains(f[5], []byte("ro,")) {
			return mount{root: f[3], dir: f[4]}
		}
	}
	return mount{}
})
