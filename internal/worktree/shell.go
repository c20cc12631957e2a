package worktree

import (
	"bytes"
	"context"
	"time"

	"github.com/drawbar/drawbar/internal/base/lookpath"
	"github.com/drawbar/drawbar/transport/process"
)

// Ran is how a line for the shell ended.
type Ran struct {
	ExitCode int // -1 if a signal ended it
	Duration time.Duration
	Output   string // the end of what it printed
}

// kept is how much of an output is kept.
const kept = 8 << 10

// Shell runs a line for the platform's shell in a directory, with everything that it starts, to its end or that of ctx, whose cause is the
// error then. It gets this process's environment without what would lead git elsewhere, and env.
func Shell(ctx context.Context, dir, line string, env ...string) (r Ran, err error) {
	words := lookpath.Shell(line)
	env = append(Environ(), env...)
	program, err := lookpath.In(env, dir, words[0])
	if err != nil {
		return r, err
	}
	p, err := process.Start(ctx, process.Spec{Path: program, Args: words[1:], Dir: dir, Env: env, Merge: true, Grace: time.Second})
	if err != nil {
		return r, err
	}
	var tail bytes.Buffer
	_ = process.ReadAll(p, func(l process.Line) { // how it ended says more
		if tail.Len() > 2*kept {
			tail.Next(tail.Len() - kept)
		}
		tail.Write(l.Data[max(0, len(l.Data)-kept):])
		tail.WriteByte('\n')
	})
	exit := p.Wait()
	return Ran{exit.Code, exit.Duration, string(tail.Bytes()[max(0, tail.Len()-kept):])}, context.Cause(ctx)
}
