package process

import (
	"context"
	"fmt"
	"os"
	"time"
)

// Attached runs a program to its end in this process's own session with the given files, usually a person's terminal:
// the program may ask and read input, and Ctrl-C reaches it. It uses Path, Args, Dir, Env and Grace of s. When ctx
// ends the program is asked to end, and killed after the grace; its child processes are left alone. The exit code is
// the program's; the error means that it did not start or was stopped.
func Attached(ctx context.Context, s Spec, stdin, stdout, stderr *os.File) (int, error) {
	p, err := os.StartProcess(s.Path, append([]string{s.Path}, s.Args...), &os.ProcAttr{Dir: s.Dir, Env: s.Env, Files: []*os.File{stdin, stdout, stderr}})
	if err != nil {
		return -1, &StartError{Path: s.Path, Dir: s.Dir, Err: err}
	}
	type end struct {
		state *os.ProcessState
		err   error
	}
	ended := make(chan end, 1)
	go func() {
		state, err := p.Wait()
		ended <- end{state, err}
	}()
	var e end
	select {
	case e = <-ended:
	case <-ctx.Done():
		grace := s.Grace
		if grace == 0 {
			grace = DefaultGrace
		}
		_ = askToEnd(p) // it may have ended already
		select {
		case <-ended:
		case <-time.After(grace):
			_ = p.Kill()
			<-ended
		}
		return -1, fmt.Errorf("run %s: %w: %w", s.Path, ctx.Err(), context.Cause(ctx))
	}
	if e.err != nil {
		return -1, fmt.Errorf("run %s: %w", s.Path, e.err)
	}
	return e.state.ExitCode(), nil
}
