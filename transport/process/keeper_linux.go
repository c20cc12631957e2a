package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	keeperArg  = "drawbar-keeper"
	keeperEnv  = "DRAWBAR_KEEPER=1"
	keeperSelf = "/proc/self/exe" // also when the file was replaced or removed since

	// keeperStart bounds the time until the keeper reports the agent. It is generous: hundreds may start at once.
	keeperStart = time.Minute
)

// kept is a process that lives under a keeper.
type kept struct {
	keeper *os.Process
	ctl    *os.File // our end of the control socket
	agent  int
	tree   tree // for the case that the keeper is lost
	group  cgroup
	end    chan status
	limit  time.Duration
	watch  string // the watcher's id of it

	mu    sync.Mutex // orders writes to ctl
	gone  chan struct{}
	heard struct { // written before gone is closed
		done      bool
		survivors int
		reported  bool
	}
}

func startChild(ctx context.Context, l launch) (child, error) {
	if !keeperReady.Load() || l.withoutKeeper {
		return startDirect(l)
	}
	ctl, theirs, err := controlPair()
	if err != nil {
		return nil, err
	}
	proc, err := os.StartProcess(keeperSelf, []string{keeperArg}, &os.ProcAttr{
		Env: keeperEnviron(), Files: []*os.File{l.files[0], l.files[1], l.files[2], theirs},
		Sys: keeperAttr(),
	})
	_ = theirs.Close()
	if err != nil {
		_ = ctl.Close()
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return startDirect(l) // no /proc, or no right to run again: best effort
		}
		return nil, fmt.Errorf("start the keeper: %w", err)
	}
	k := &kept{keeper: proc, ctl: ctl, group: cgroup{fd: -1}, limit: l.killLimit,
		end: make(chan status, 1), gone: make(chan struct{})}
	if !l.withoutGroup {
		k.group = ownGroup(l.mark)
	}
	watching := make(chan string, 1)
	go func() { watching <- hostWatcher.add(watched{l.mark, l.scratch}) }()
	refused, err := k.handshake(ctx, l)
	k.watch = <-watching
	if err != nil {
		defer hostWatcher.ended(k.watch)
		_ = ctl.Close() // tells a living keeper to end what it may have started
		k.reap()
		if !refused {
			_, _ = newTreeOf(l.mark, 0, 0).kill(k.limit)
			k.group.removeSoon()
		}
		return nil, err
	}
	go k.listen()
	return k, nil
}

// keeperAttr is for keepers and watchers. One that was stopped goes on when its host dies: it has work to do then.
func keeperAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGCONT}
}

// keeperEnviron is the environment of keepers and watchers.
func keeperEnviron() []string {
	env := []string{keeperEnv, "GOGC=off", "GOMEMLIMIT=64MiB", "GOMAXPROCS=1", "GORACE=atexit_sleep_ms=0"}
	if dir := os.Getenv("GOCOVERDIR"); dir != "" {
		env = append(env, "GOCOVERDIR="+dir)
	}
	return env
}

// handshake hands the order to the keeper and waits until the agent runs; refused says that the keeper knows that it
// does not.
func (k *kept) handshake(ctx context.Context, l launch) (refused bool, err error) {
	if err := k.ctl.SetDeadline(time.Now().Add(keeperStart)); err != nil {
		return false, fmt.Errorf("reach the keeper: %w", err)
	}
	release := context.AfterFunc(ctx, func() { _ = k.ctl.SetDeadline(time.Unix(1, 0)) })
	m := message{}
	_, err = k.ctl.Write(encodeOrder(order{
		path: l.path, argv: l.argv, dir: l.dir, env: l.env, pty: l.pty, mark: l.mark, group: k.group.path, scratch: l.scratch,
	}))
	if err == nil {
		m, err = readMessage(k.ctl)
	}
	if !release() {
		return false, fmt.Errorf("%w: %w", ctx.Err(), context.Cause(ctx))
	}
	if err != nil {
		return false, fmt.Errorf("the keeper ended before it started the program (is process.MaybeKeeper the first call of main?): %w", err)
	}
	if m.op == opFailed {
		return true, syscall.Errno(m.a)
	}
	_ = k.ctl.SetDeadline(time.Time{})
	k.agent = int(m.a)
	k.tree = newTreeOf(l.mark, k.agent, uint64(m.b))
	return false, nil
}

// listen follows what the keeper says until it is gone.
func (k *kept) listen() {
	defer close(k.gone)
	for {
		m, err := readMessage(k.ctl)
		if err != nil {
			if !k.heard.reported {
				k.end <- status{code: -1, err: ErrKeeperLost}
			}
			return
		}
		switch m.op {
		case opExited:
			k.heard.reported = true
			k.end <- exitStatus(syscall.WaitStatus(m.a))
		case opDone:
			k.heard.done, k.heard.survivors = true, int(m.a)
			return
		}
	}
}

func (k *kept) pid() int              { return k.agent }
func (k *kept) exited() <-chan status { return k.end }

func (k *kept) signal(sig os.Signal) error {
	s, ok := sig.(syscall.Signal)
	if !ok {
		return ErrUnsupported
	}
	if k.command(opSignal, byte(s)) != nil {
		return ErrEnded
	}
	return nil
}

func (k *kept) kill() { _ = k.command(opKill, 0) }

// abandon gives up a keeper that does not answer; listen then reports it as lost.
func (k *kept) abandon() { _ = k.keeper.Kill() }

func (k *kept) command(op, arg byte) error {
	select {
	case <-k.gone:
		return ErrEnded
	default:
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	_, err := k.ctl.Write([]byte{op, arg})
	return err
}

func (k *kept) finish() (int, error) {
	defer hostWatcher.ended(k.watch)
	limit := time.NewTimer(k.limit)
	defer limit.Stop()
	select {
	case <-k.gone:
	case <-limit.C: // stopped itself, or waits for a process that cannot die
		_ = k.keeper.Kill()
		<-k.gone
	}
	if k.heard.done {
		_ = k.ctl.Close()
		k.reap()
		return k.heard.survivors, nil
	}
	_ = k.keeper.Kill()
	k.reap()
	_ = k.ctl.Close()
	k.group.kill()
	survivors, err := k.tree.kill(k.limit)
	k.group.removeSoon()
	if k.heard.reported {
		err = errors.Join(ErrKeeperLost, err) // otherwise the status says it
	}
	return survivors, err
}

// reap waits for the end of the keeper, which is on its way or was killed.
func (k *kept) reap() {
	late := time.AfterFunc(k.limit, func() { _ = k.keeper.Kill() })
	_, _ = k.keeper.Wait()
	late.Stop()
}

// controlPair makes the control socket. Our end has deadlines; theirs blocks, as the keeper reads it only
// when there is something.
func controlPair() (ours, theirs *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open a socket pair: %w", err)
	}
	if err := syscall.SetNonblock(fds[0], true); err != nil {
		_ = syscall.Close(fds[0])
		_ = syscall.Close(fds[1])
		return nil, nil, fmt.Errorf("open a socket pair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "keeper"), os.NewFile(uintptr(fds[1]), "keeper"), nil
}
