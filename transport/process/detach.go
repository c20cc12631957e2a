package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Detached is a process that outlives its parent.
type Detached struct {
	mu   sync.Mutex
	done bool
}

// Alive reports whether the process is still running, as far as its parent can tell.
func (d *Detached) Alive() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.done
}

// Detach starts a process in a session of its own, without keeper and streams; nobody stops it or waits for it. Standard output
// and error go to the file output. Stdin is passed in an unlinked file; Windows unlinks no open file, so there it stays in the
// output's folder, which the process removes when it has closed both. It uses Path, Args, Dir, Env and Stdin of s.
func Detach(s Spec, output string) (*Detached, error) {
	in, err := os.CreateTemp(filepath.Dir(output), "input-*")
	if err != nil {
		return nil, fmt.Errorf("detach %s: %w", s.Path, err)
	}
	defer func() { in.Close(); os.Remove(in.Name()) }()
	if _, err := in.Write(s.Stdin); err != nil {
		return nil, fmt.Errorf("detach %s: %w", s.Path, err)
	}
	if _, err := in.Seek(0, 0); err != nil {
		return nil, fmt.Errorf("detach %s: %w", s.Path, err)
	}
	out, err := os.OpenFile(output, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("detach %s: %w", s.Path, err)
	}
	defer out.Close()
	p, err := os.StartProcess(s.Path, append([]string{s.Path}, s.Args...), &os.ProcAttr{Dir: s.Dir, Env: s.Env,
		Files: []*os.File{in, out, out}, Sys: detachedAttr()})
	if err != nil {
		return nil, fmt.Errorf("detach %s: %w", s.Path, err)
	}
	d := &Detached{}
	// The wait reaps the child if it ends before this process; it ends with this process at the latest.
	go func() {
		_, _ = p.Wait() // its outcome is in what it left, not its exit code
		d.mu.Lock()
		d.done = true
		d.mu.Unlock()
	}()
	return d, nil
}

// SignalPID asks the process to end, or ends it. The caller must ensure that the pid still belongs to that process.
func SignalPID(pid int, kill bool) error {
	if pid <= 1 {
		return fmt.Errorf("signal process %d: no such process of ours", pid)
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("signal process %d: %w", pid, err)
	}
	defer func() { _ = p.Release() }() // it was never waited for
	if kill {
		err = p.Kill()
	} else {
		err = askToEnd(p)
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal process %d: %w", pid, err)
	}
	return nil
}
