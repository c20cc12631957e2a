package supervisor

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	proc "github.com/drawbar/drawbar/internal/base/pid"
	"github.com/drawbar/drawbar/transport/process/role"
)

// init enters the role before later packages are initialized, which saves a keeper of a large program milliseconds. Only a
// process that such a program started for it has the name and the variable.
func init() { enter() }

func enter() {
	if len(os.Args) != 1 || os.Getenv(role.Variable) != "1" {
		return
	}
	switch os.Args[0] {
	case role.Keeper:
		runKeeper()
	case role.Watcher:
		runWatcher()
	}
}

// controlFD is the keeper's socket; 0, 1 and 2 are the agent's streams.
const controlFD = 3

// keeper is the state of a keeper process. It has one goroutine and sleeps when idle.
type keeper struct {
	agent   int
	pidfd   int // of the agent; -1 on a kernel without
	group   Group
	reaped  bool // the agent was reaped; its pid and group must not be signalled any more
	deaf    bool // the socket was closed or no more commands are expected
	killing bool
	killed  map[ProcessID]bool
	orphan  bool     // the host is gone
	scratch []string // folders to remove then
}

func runKeeper() {
	// The agent is killed when the thread that started it ends: this one, which lives as long as the keeper.
	runtime.LockOSThread()
	syscall.CloseOnExec(controlFD)
	// Other files inherited from the host program must not reach the agent.
	closeOnExecFrom(controlFD + 1)
	writeSmall("/proc/self/comm", role.Keeper)
	o, ok := receiveOrder()
	if !ok {
		os.Exit(0) // the host ended before the start, or needs no keeper
	}
	k := &keeper{pidfd: -1, group: Group{fd: -1}, killed: map[ProcessID]bool{}, scratch: o.Scratch}
	if err := becomeSubreaper(); err != nil {
		k.fail(err)
	}
	if signal.Ignored(syscall.SIGINT) || signal.Ignored(syscall.SIGHUP) {
		// Signals that a shell set to ignored would stay ignored in the agent; caught signals do not.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGHUP)
	}
	_ = tagLimit(0, o.Mark)
	if err := k.start(o); err != nil {
		_ = k.group.remove()
		k.fail(err)
	}
	// If the host's whole group is asked to end, the host handles it: the agent gets its grace. Set only now, because
	// the agent would inherit it.
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP)
	letGo()
	s, _ := proc.ReadStat(k.agent)
	send(Message{Op: OpStarted, A: int64(k.agent), B: int64(s.Start)})
	k.run()
}

func (k *keeper) fail(err error) {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		errno = syscall.EINVAL
	}
	send(Message{Op: OpFailed, A: int64(errno)})
	os.Exit(0)
}

// start starts the agent in its own session, in a leaf of the control group if possible.
func (k *keeper) start(o Order) error {
	attr := &syscall.ProcAttr{Dir: o.Dir, Env: o.Env, Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: o.Pty, PidFD: &k.pidfd, Pdeathsig: syscall.SIGKILL}}
	var err error
	if k.group = makeGroup(o.Group); k.group.Path != "" {
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, k.group.fd
		if k.agent, err = syscall.ForkExec(o.Path, o.Argv, attr); err == nil {
			return nil
		}
		// Perhaps only the group failed; the second attempt tells.
		_ = k.group.remove()
		k.group = Group{fd: -1}
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = false, 0
	}
	k.agent, err = syscall.ForkExec(o.Path, o.Argv, attr)
	return err
}

// letGo closes what the keeper shares with the agent, so that streams end and directories can be removed.
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

// The pauses between two checks for children to reap. Nothing reports the end of an adopted child, and a zombie is
// harmless for a while.
const (
	shortPause = 200 * time.Microsecond
	killPause  = 20 * time.Millisecond
	exitPause  = 50 * time.Millisecond
	idlePause  = time.Second
)

// run waits for the end of the agent and for commands of the host, and exits when the tree is gone.
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

// sleep waits until the agent has ended, the host sends a command, or the pause is over.
func (k *keeper) sleep(pause time.Duration) (said bool) {
	fds := make([]pollFD, 0, 2)
	if !k.deaf {
		fds = append(fds, pollFD{fd: controlFD, events: pollIn})
	}
	if !k.reaped && k.pidfd >= 0 {
		fds = append(fds, pollFD{fd: int32(k.pidfd), events: pollIn})
	}
	return poll(fds, pause) > 0 && !k.deaf && fds[0].revents != 0
}

// reap reaps every ended child, including adopted ones. When there is none left the tree is gone, because every
// orphan becomes a child of the keeper; then the keeper reports and exits.
func (k *keeper) reap() (some bool) {
	var news []Message
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
			send(append(news, Message{Op: OpDone, A: int64(k.survivors())})...)
			k.group.RemoveSoon()
			if k.orphan {
				removeAll(k.scratch)
			}
			os.Exit(0)
		}
		some = true
		if pid == k.agent {
			k.reaped = true
			news = append(news, Message{Op: OpExited, A: int64(ws)})
		}
	}
	send(news...)
	return some
}

// obey carries out the host's commands. The end of the socket is the end of the host and equals OpKill.
func (k *keeper) obey() (kill bool) {
	var b [2]byte
	switch {
	case !receive(b[:]):
		k.orphan, k.deaf, k.killing = true, true, true
	case b[0] == OpKill:
		k.deaf, k.killing = true, true
	case b[0] == OpSignal && !k.reaped:
		_ = syscall.Kill(-k.agent, syscall.Signal(b[1]))
	}
	return k.killing
}

// kill kills all current processes of the tree.
func (k *keeper) kill() {
	find := func() []proc.Stat { return Descendants(os.Getpid()) }
	if k.group.Path != "" {
		for _, s := range find() {
			if !s.Exiting {
				k.killed[IDOf(s)] = true
			}
		}
		k.group.Kill()
	}
	FreezeAndKill(find, k.killed) // all of them, or those that left the group
}

// survivors returns the number of processes that the keeper had to kill, except the agent.
func (k *keeper) survivors() (n int) {
	for id := range k.killed {
		if id.PID != k.agent {
			n++
		}
	}
	return n
}

// send sends a message to the host. listen detects that the host is gone.
func send(news ...Message) {
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

// receiveOrder waits for an order. Its files become the standard streams.
func receiveOrder() (Order, bool) {
	var head [OrderHead]byte
	if !receiveHead(head[:]) {
		return Order{}, false
	}
	b := make([]byte, number(head[:]))
	if !receive(b) {
		return Order{}, false
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
