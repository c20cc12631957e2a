//go:build unix

package process

import (
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/transport/process/internal/supervisor"
)

// direct is a process without a keeper: our own child, and a tree found in the process table.
type direct struct {
	proc *os.Process
	tree tree
	end  chan status

	mu     sync.Mutex
	reaped bool

	limit    time.Duration
	killOnce sync.Once
	killed   chan struct{} // closed when the tree is gone or given up
	count    int
	err      error
}

func startDirect(l launch) (child, error) {
	env := append(l.env[:len(l.env):len(l.env)], supervisor.MarkName+"="+l.mark)
	proc, err := os.StartProcess(l.path, l.argv, &os.ProcAttr{
		Dir: l.dir, Env: env, Files: l.files[:],
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: l.pty},
	})
	if err != nil {
		return nil, err
	}
	d := &direct{proc: proc, tree: newTree(l.mark, proc.Pid), end: make(chan status, 2), limit: l.killLimit, killed: make(chan struct{})}
	d.tree.tag()
	go d.wait()
	return d, nil
}

func (d *direct) wait() {
	state, err := d.proc.Wait()
	d.mu.Lock()
	d.reaped = true
	d.mu.Unlock()
	if err != nil {
		d.end <- status{code: -1, err: err}
		return
	}
	ws, _ := state.Sys().(syscall.WaitStatus)
	d.end <- exitStatus(ws)
}

func (d *direct) pid() int              { return d.proc.Pid }
func (d *direct) exited() <-chan status { return d.end }

func (d *direct) signal(sig os.Signal) error {
	s, ok := sig.(syscall.Signal)
	if !ok {
		return ErrUnsupported
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reaped {
		return ErrEnded
	}
	return syscall.Kill(-d.proc.Pid, s)
}

func (d *direct) kill() {
	d.killOnce.Do(func() {
		go func() {
			defer close(d.killed)
			d.count, d.err = d.tree.kill(d.limit)
		}()
	})
}

// abandon gives up a process that cannot die, and the goroutine that waits for it.
func (d *direct) abandon() { d.end <- status{code: -1, err: ErrSurvivors} }

func (d *direct) finish() (int, error) {
	<-d.killed
	return d.count, d.err
}
