package process

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// keeperReady says that this program enters MaybeKeeper when it is started again.
var keeperReady atomic.Bool

// MaybeKeeper turns the process into the keeper of an agent if it was started as one, and then does not return.
// Otherwise it lets Start use keepers. It must be the first call of main: what runs before it runs in every keeper.
// On other systems than Linux it does nothing.
func MaybeKeeper() {
	enterKeeper()
	keeperReady.Store(true)
}

// init enters the keeper's role before the packages that are initialized after this one, which saves a keeper of a large program
// milliseconds. Only a process that such a program started for it has the name and the variable.
func init() { enterKeeper() }

func enterKeeper() {
	if len(os.Args) != 1 || os.Getenv("DRAWBAR_KEEPER") != "1" {
		return
	}
	switch os.Args[0] {
	case keeperArg:
		runKeeper()
	case watcherArg:
		runWatcher()
	}
}

// controlFD is where the keeper finds its socket; 0, 1 and 2 are those of the agent.
const controlFD = 3

// keeper is the whole state of a keeper process. It has one goroutine and, when nothing happens, sleeps.
type keeper struct {
	agent   int
	pidfd   int // of the agent; -1 on a kernel without
	group   cgroup
	reaped  bool // the agent; its number and group must not be signalled any more
	deaf    bool // the socket has ended or nothing more is expected from it
	killing bool
	killed  map[processID]bool
	orphan  bool     // the host is gone
	scratch []string // folders to remove then
}

func runKeeper() {
	// The agent is killed when the thread that started it ends: this one, which stays for as long as the keeper.
	runtime.LockOSThread()
	syscall.CloseOnExec(controlFD)
	// Whatever else the host program let through must not reach the agent.
	_ = unix.CloseRange(controlFD+1, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	writeSmall("/proc/self/comm", keeperArg)
	o, ok := receiveOrder()
	if !ok {
		os.Exit(0) // the host is gone before anything began, or needs no keeper
	}
	k := &keeper{pidfd: -1, group: cgroup{fd: -1}, killed: map[processID]bool{}, scratch: o.scratch}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		k.fail(err)
	}
	if signal.Ignored(syscall.SIGINT) || signal.Ignored(syscall.SIGHUP) {
		// An ignored signal, the gift of some shells, would stay ignored in the agent; a caught one does not.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGHUP)
	}
	_ = tagLimit(0, o.mark)
	if err := k.start(o); err != nil {
		_ = k.group.remove()
		k.fail(err)
	}
	// When the host and its whole group are told to end, that is the host's to do: the agent is owed its grace. Only
	// now, as the agent would inherit it.
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP)
	letGo()
	s, _ := readStat(k.agent)
	send(message{op: opStarted, a: int64(k.agent), b: int64(s.start)})
	k.run()
}

func (k *keeper) fail(err error) {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		errno = syscall.EINVAL
	}
	send(message{op: opFailed, a: int64(errno)})
	os.Exit(0)
}

// start starts the agent in a session of its own, in the leaf of the control group where there can be one.
func (k *keeper) start(o order) error {
	attr := &syscall.ProcAttr{Dir: o.dir, Env: o.env, Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: o.pty, PidFD: &k.pidfd, Pdeathsig: syscall.SIGKILL}}
	var err error
	if k.group = makeGroup(o.group); k.group.path != "" {
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, k.group.fd
		if k.agent, err = syscall.ForkExec(o.path, o.argv, attr); err == nil {
			return nil
		}
		// Perhaps only the group refused; the second attempt tells.
		_ = k.group.remove()
		k.group = cgroup{fd: -1}
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = false, 0
	}
	k.agent, err = syscall.ForkExec(o.path, o.argv, attr)
	return err
}

// letGo drops what the keeper shares with the agent, so that streams end and directories can be removed.
func letGo() {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	for fd := range 3 {
		if err != nil {
			_ = syscall.Close(fd)
			continue
		}
		_ = syscall.Dup3(null, fd, 0)
	}
	if err == nil {
		_ = syscall.Close(null)
	}
	_ = syscall.Chdir("/")
}

// The pauses between two looks for children to reap. Nothing announces the end of an adopted child, and a zombie harms
// nobody for a while.
const (
	shortPause = 200 * time.Microsecond
	killPause  = 20 * time.Millisecond
	exitPause  = 50 * time.Millisecond
	idlePause  = time.Second
)

// run waits for the end of the agent and for what the host says, and ends the process when the tree is gone.
func (k *keeper) run() {
	for pause := shortPause; ; {
		longest := idlePause
		switch {
		case k.killing:
			longest = killPause
		case k.reaped || k.pidfd < 0:
			longest = exitPause
		}
		said := k.sleep(min(pause, longest))
		if pause *= 2; pause > longest {
			pause = longest
		}
		if k.reap() {
			pause = shortPause
		}
		if said && k.obey() {
			pause = shortPause
		}
		if k.killing {
			k.kill()
		}
	}
}

// sleep waits until the agent has ended, the host says something, or the pause is over.
func (k *keeper) sleep(pause time.Duration) (said bool) {
	fds := make([]unix.PollFd, 0, 2)
	if !k.deaf {
		fds = append(fds, unix.PollFd{Fd: controlFD, Events: unix.POLLIN})
	}
	if !k.reaped && k.pidfd >= 0 {
		fds = append(fds, unix.PollFd{Fd: int32(k.pidfd), Events: unix.POLLIN})
	}
	limit := unix.NsecToTimespec(pause.Nanoseconds())
	n, _ := unix.Ppoll(fds, &limit, nil)
	return n > 0 && !k.deaf && fds[0].Revents != 0
}

// reap collects every child that has ended, adopted ones included. When there is none left the tree is gone, as
// whatever loses its parent becomes a child of the keeper; then the keeper reports and ends.
func (k *keeper) reap() (some bool) {
	var news []message
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG|syscall.WALL, nil)
		if err == syscall.EINTR {
			continue
		}
		if pid <= 0 {
			if err != syscall.ECHILD {
				break
			}
			send(append(news, message{op: opDone, a: int64(k.survivors())})...)
			k.group.removeSoon()
			if k.orphan {
				removeAll(k.scratch)
			}
			os.Exit(0)
		}
		some = true
		if pid == k.agent {
			k.reaped = true
			news = append(news, message{op: opExited, a: int64(ws)})
		}
	}
	send(news...)
	return some
}

// obey carries out what the host says. The end of the socket is the end of the host and means the same as opKill.
func (k *keeper) obey() (kill bool) {
	var b [2]byte
	switch {
	case !receive(b[:]):
		k.orphan, k.deaf, k.killing = true, true, true
	case b[0] == opKill:
		k.deaf, k.killing = true, true
	case b[0] == opSignal && !k.reaped:
		_ = syscall.Kill(-k.agent, syscall.Signal(b[1]))
	}
	return k.killing
}

// kill kills what there is now.
func (k *keeper) kill() {
	find := func() []procStat { return descendants(os.Getpid()) }
	if k.group.path != "" {
		for _, s := range find() {
			if !s.exiting {
				k.killed[s.id()] = true
			}
		}
		k.group.kill()
	}
	freezeAndKill(find, k.killed) // all of them, or those who left the group
}

// survivors counts whom the keeper had to kill, other than the agent.
func (k *keeper) survivors() (n int) {
	for id := range k.killed {
		if id.pid != k.agent {
			n++
		}
	}
	return n
}

// send tells the host. That the host is gone is seen by whoever listens.
func send(news ...message) {
	var b []byte
	for _, m := range news {
		b = appendMessage(b, m)
	}
	for len(b) > 0 {
		n, err := syscall.Write(controlFD, b)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return
		}
		b = b[n:]
	}
}

// receiveOrder waits for an order. The files that come with it become the standard streams.
func receiveOrder() (order, bool) {
	var head [orderHead]byte
	if !receiveHead(head[:]) {
		return order{}, false
	}
	b := make([]byte, number(head[:]))
	if !receive(b) {
		return order{}, false
	}
	return decodeOrder(b)
}

func receiveHead(b []byte) bool {
	oob := make([]byte, syscall.CmsgSpace(3*4))
	for {
		n, oobn, _, _, err := syscall.Recvmsg(controlFD, b, oob, syscall.MSG_CMSG_CLOEXEC)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return false
		}
		messages, _ := syscall.ParseSocketControlMessage(oob[:oobn])
		for i := range messages {
			fds, _ := syscall.ParseUnixRights(&messages[i])
			for to, fd := range fds {
				_ = syscall.Dup3(fd, to, 0)
				_ = syscall.Close(fd)
			}
		}
		return receive(b[n:])
	}
}

func receive(b []byte) bool {
	for len(b) > 0 {
		n, err := syscall.Read(controlFD, b)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return false
		}
		b = b[n:]
	}
	return true
}
