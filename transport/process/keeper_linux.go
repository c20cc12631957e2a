package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/transport/process/internal/supervisor"
	"github.com/drawbar/drawbar/transport/process/role"
)

// keeperStart bounds the time until the keeper reports the agent. It is generous, because hundreds may start at once.
const keeperStart = time.Minute

// kept is a process with a keeper.
type kept struct {
	keeper *os.Process
	ctl    *os.File // our end of the control socket
	agent  int
	tree   tree // in case the keeper is lost
	group  supervisor.Group
	end    chan status
	limit  time.Duration
	watch  string // the watcher's id of it

	mu    sync.Mutex // orders writes to ctl
	gone  chan struct{}
	heard struct { // set before gone is closed
		done      bool
		survivors int
		reported  bool
	}
}

// keeperReady records that this program calls MaybeKeeper.
var keeperReady atomic.Bool

// MaybeKeeper lets Start use keepers. A process that was started as one never gets here: it entered its role when package
// process was initialized. It must be the first call of main: everything before it also runs in every keeper. It does
// nothing on other systems than Linux.
func MaybeKeeper() { keeperReady.Store(true) }

func startChild(ctx context.Context, l launch) (child, error) {
	if !keeperReady.Load() || l.withoutKeeper {
		return startDirect(l)
	}
	k, err := startKeeper()
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return startDirect(l) // no /proc, or the program cannot be executed again: best effort
		}
		return nil, err
	}
	k.limit = l.killLimit
	if !l.withoutGroup {
		k.group = supervisor.OwnGroup(l.mark)
	}
	k.watch = hostWatcher.add(supervisor.Watched{Mark: l.mark, Scratch: l.scratch})
	refused, err := k.handshake(ctx, l)
	if err != nil {
		defer hostWatcher.ended(k.watch)
		_ = k.ctl.Close() // tells a live keeper to end what it may have started
		k.reap()
		if !refused {
			_, _ = newTreeOf(l.mark, 0, 0).kill(k.limit)
			k.group.RemoveSoon()
		}
		return nil, err
	}
	go k.listen()
	return k, nil
}

// startKeeper returns a keeper that waits for its order.
func startKeeper() (*kept, error) {
	proc, ctl, err := role.Take()
	if err != nil {
		return nil, fmt.Errorf("start the keeper: %w", err)
	}
	return &kept{keeper: proc, ctl: ctl, end: make(chan status, 1), gone: make(chan struct{})}, nil
}

// handshake sends the order to the keeper and waits until the agent runs; refused means that the keeper reported a
// failed start.
func (k *kept) handshake(ctx context.Context, l launch) (refused bool, err error) {
	if err := k.ctl.SetDeadline(time.Now().Add(keeperStart)); err != nil {
		return false, fmt.Errorf("reach the keeper: %w", err)
	}
	release := context.AfterFunc(ctx, func() { _ = k.ctl.SetDeadline(time.Unix(1, 0)) })
	m := supervisor.Message{}
	o := supervisor.Order{Path: l.path, Argv: l.argv, Dir: l.dir, Env: l.env, Pty: l.pty, Mark: l.mark, Group: k.group.Path,
		Scratch: l.scratch}.Encode()
	if err = sendFiles(k.ctl, o[:supervisor.OrderHead], l.files); err == nil {
		_, err = k.ctl.Write(o[supervisor.OrderHead:])
	}
	if err == nil {
		m, err = supervisor.ReadMessage(k.ctl)
	}
	if !release() {
		return false, fmt.Errorf("%w: %w", ctx.Err(), context.Cause(ctx))
	}
	if err != nil {
		return false, fmt.Errorf("the keeper ended before it started the program (is process.MaybeKeeper the first call of main?): %w", err)
	}
	if m.Op == supervisor.OpFailed {
		return true, syscall.Errno(m.A)
	}
	_ = k.ctl.SetDeadline(time.Time{})
	k.agent = int(m.A)
	k.tree = newTreeOf(l.mark, k.agent, uint64(m.B))
	return false, nil
}

// listen handles the keeper's messages until it is gone.
func (k *kept) listen() {
	defer close(k.gone)
	for {
		m, err := supervisor.ReadMessage(k.ctl)
		if err != nil {
			if !k.heard.reported {
				k.end <- status{code: -1, err: ErrKeeperLost}
			}
			return
		}
		switch m.Op {
		case supervisor.OpExited:
			k.heard.reported = true
			k.end <- exitStatus(syscall.WaitStatus(m.A))
		case supervisor.OpDone:
			k.heard.done, k.heard.survivors = true, int(m.A)
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
	if k.command(supervisor.OpSignal, byte(s)) != nil {
		return ErrEnded
	}
	return nil
}

func (k *kept) kill() { _ = k.command(supervisor.OpKill, 0) }

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
		go k.reap() // it is done, and ends
		return k.heard.survivors, nil
	}
	_ = k.keeper.Kill()
	k.reap()
	_ = k.ctl.Close()
	k.group.Kill()
	survivors, err := k.tree.kill(k.limit)
	k.group.RemoveSoon()
	if k.heard.reported {
		err = errors.Join(ErrKeeperLost, err) // otherwise the status tells
	}
	return survivors, err
}

// reap waits for the end of the keeper, which is ending or was killed.
func (k *kept) reap() {
	late := time.AfterFunc(k.limit, func() { _ = k.keeper.Kill() })
	_, _ = k.keeper.Wait()
	late.Stop()
}

// sendFiles writes b together with files.
func sendFiles(ctl *os.File, b []byte, files [3]*os.File) error {
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	conn, err := ctl.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	if err := conn.Write(func(fd uintptr) bool {
		sent = syscall.Sendmsg(int(fd), b, syscall.UnixRights(fds...), nil, 0)
		return sent != syscall.EAGAIN
	}); err != nil {
		return err
	}
	return sent
}
