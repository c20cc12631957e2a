package process

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	proc "github.com/drawbar/drawbar/internal/base/pid"
	"golang.org/x/sys/unix"
)

// cgroup is a leaf below our own control group that holds one run. If the own group cannot be divided, its path is
// empty and every method does nothing.
type cgroup struct {
	path string
	fd   int // file descriptor of the directory in the keeper; -1 otherwise
}

const groupPrefix = "drawbar-"

// ownGroup names the leaf of a run without creating it.
func ownGroup(mark string) cgroup {
	base := ownGroupDir()
	if base == "" {
		return cgroup{fd: -1}
	}
	return cgroup{path: base + "/" + groupPrefix + mark, fd: -1}
}

// groupsIn returns the leaves of all runs in a folder, or of one run.
func groupsIn(base string) (all []cgroup) {
	list, _ := os.ReadDir(base) // unreadable: none is ours
	for _, d := range list {
		if g := (cgroup{path: base + "/" + d.Name(), fd: -1}); g.mark() != "" {
			all = append(all, g)
		}
	}
	return all
}

// mark returns the mark in the leaf's name; empty for a foreign leaf.
func (g cgroup) mark() string {
	mark, ours := strings.CutPrefix(filepath.Base(g.path), groupPrefix)
	if b, err := hex.DecodeString(mark); !ours || err != nil || len(b) != 16 {
		return ""
	}
	return mark
}

// makeGroup creates the leaf, or returns an empty one.
func makeGroup(path string) cgroup {
	none := cgroup{fd: -1}
	if path == "" || syscall.Mkdir(path, 0o700) != nil {
		return none
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil || unix.Access(path+"/cgroup.kill", unix.W_OK) != nil {
		if err == nil {
			_ = syscall.Close(fd)
		}
		_ = syscall.Rmdir(path)
		return none
	}
	return cgroup{path: path, fd: fd}
}

// kill ends every process of the group at once.
func (g cgroup) kill() {
	if g.path == "" {
		return
	}
	writeSmall(g.path+"/cgroup.kill", "1")
}

// members returns the processes in the group.
func (g cgroup) members() (pids []int) {
	if g.path == "" {
		return nil
	}
	list, _ := os.ReadFile(g.path + "/cgroup.procs") // it does not exist, so it has no members
	for f := range strings.FieldsSeq(string(list)) {
		if pid, err := strconv.Atoi(f); err == nil && pid > 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// remove removes an empty group, and those of runs that an agent started within it and that were killed with it.
func (g cgroup) remove() bool {
	if g.path == "" || syscall.Rmdir(g.path) != syscall.EBUSY {
		return true
	}
	for _, inner := range groupsIn(g.path) {
		inner.remove()
	}
	return syscall.Rmdir(g.path) != syscall.EBUSY
}

// removeSoon removes the group of processes that were just killed: they stay in it until they are fully gone.
func (g cgroup) removeSoon() {
	for deadline := time.Now().Add(time.Second); !g.remove() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

// ownGroupDir returns the directory of our own group in the unified hierarchy if we may create groups in it and move
// processes there, else empty.
func ownGroupDir() string {
	own := ""
	var buf [4096]byte
	n := proc.ReadSmall("/proc/self/cgroup", buf[:])
	for line := range strings.Lines(string(buf[:n])) {
		if p, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			own = p
		}
	}
	m := unifiedMount()
	below, ok := strings.CutPrefix(own, strings.TrimSuffix(m.root, "/"))
	if own == "" || m.dir == "" || !ok || strings.Contains(own, "..") {
		return ""
	}
	dir := strings.TrimSuffix(m.dir+below, "/")
	if unix.Access(dir, unix.W_OK) != nil || unix.Access(dir+"/cgroup.procs", unix.W_OK) != nil {
		return ""
	}
	return dir
}

type mount struct{ root, dir string }

// unifiedMount finds the mount of the unified hierarchy once: it does not change during the life of a program.
var unifiedMount = sync.OnceValue(func() mount {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return mount{}
	}
	for line := range strings.Lines(string(data)) {
		left, right, ok := strings.Cut(line, " - ")
		f := strings.Fields(left)
		if ok && strings.HasPrefix(right, "cgroup2 ") && len(f) >= 6 && !strings.Contains(f[5], "ro,") {
			return mount{root: f[3], dir: f[4]}
		}
	}
	return mount{}
})
