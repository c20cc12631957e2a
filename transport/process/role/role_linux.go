// Package role starts this program again as a small supervisor: the keeper of an agent, or the watcher of its host. It imports
// little, so that it is initialized, and can start one, before most packages of a large program.
package role

import (
	"os"
	"sync/atomic"
	"syscall"
)

// The names of the processes. Watcher does not contain the program's name, so that the watcher survives a kill by that name and
// can clean up.
const (
	Keeper  = "drawbar-keeper"
	Watcher = "agent-watcher"
)

// Variable is 1 in the environment of every supervisor.
const Variable = "DRAWBAR_KEEPER"

// self works even if the file was replaced or removed since.
const self = "/proc/self/exe"

// Start starts the role in a directory, and returns its process and our end of its control socket, which is its file 3.
func Start(name, dir string) (proc *os.Process, ctl *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	_ = syscall.SetNonblock(fds[0], true) // for deadlines; a new socket always takes it
	ctl = os.NewFile(uintptr(fds[0]), "keeper")
	theirs := os.NewFile(uintptr(fds[1]), "keeper")
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err == nil {
		defer null.Close()
		proc, err = os.StartProcess(self, []string{name}, &os.ProcAttr{Dir: dir, Env: environ(),
			Files: []*os.File{null, null, null, theirs}, Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGCONT}})
	}
	if err != nil {
		_ = ctl.Close()
		return nil, nil, err
	}
	return proc, ctl, nil
}

func environ() []string {
	env := []string{Variable + "=1", "GOGC=off", "GOMEMLIMIT=64MiB", "GOMAXPROCS=1", "GORACE=atexit_sleep_ms=0"}
	if dir := os.Getenv("GOCOVERDIR"); dir != "" {
		env = append(env, "GOCOVERDIR="+dir)
	}
	return env
}

// ahead is the keeper that was started in advance, nil if there is none.
var ahead atomic.Pointer[started]

type started struct {
	proc *os.Process
	ctl  *os.File
}

// StartAhead starts the next keeper in advance, while the program still initializes its packages and reads its configuration.
// An unused one ends with the program. It does nothing on platforms without keepers.
//
// It does not do so beside its caller: a thread that begins with a fork often waits for the CPU of the other thread, though another
// is idle, and then the keeper starts no sooner than without it.
func StartAhead() {
	if proc, ctl, err := Start(Keeper, ""); err == nil {
		ahead.Store(&started{proc, ctl})
	}
}

// Take is Start for a keeper. It returns the one that was started ahead, if there is one.
func Take() (proc *os.Process, ctl *os.File, err error) {
	if s := ahead.Swap(nil); s != nil {
		return s.proc, s.ctl, nil
	}
	return Start(Keeper, "")
}
