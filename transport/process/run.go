package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// ErrOutputTooLong means that Run stopped a program because it printed more than Spec.MaxLine bytes.
var ErrOutputTooLong = errors.New("output too long")

// Run runs a short helper to its end and returns its standard output unchanged. There is no keeper: the helper gets
// its own process group, and processes that remain after a regular end are left alone. When ctx ends, the group is
// asked to end and killed after the grace. It uses everything of s except KeepStdin and Pty; MaxLine bounds the whole
// output. Exit.Err reports a program that did not start or was stopped, Exit.Code and Exit.StderrTail one that
// failed.
func Run(ctx context.Context, s Spec) ([]byte, Exit) {
	began := time.Now()
	failed := func(err error) ([]byte, Exit) {
		return nil, Exit{Code: -1, Err: err, Stopped: ctx.Err() != nil, Duration: time.Since(began)}
	}
	if err := ctx.Err(); err != nil {
		return failed(&StartError{Path: s.Path, Dir: s.Dir, Err: fmt.Errorf("%w: %w", err, context.Cause(ctx))})
	}
	s.KeepStdin, s.Pty = false, false
	l, err := prepare(s)
	if err != nil {
		return failed(err)
	}
	r := &helper{tail: tail{limit: s.stderrTail()}, limit: s.maxLine()}
	if err := r.open(&l, s); err != nil {
		closeAll(l.files[:])
		closeAll(r.ours[:])
		return failed(startError(s, err))
	}
	r.proc, err = os.StartProcess(l.path, l.argv, &os.ProcAttr{Dir: l.dir, Env: l.env, Files: l.files[:], Sys: OwnGroup()})
	closeAll(l.files[:])
	if err != nil {
		closeAll(r.ours[:])
		return failed(startError(s, err))
	}
	e := r.wait(ctx, s)
	e.StderrTail = r.tail.String()
	e.Duration = time.Since(began)
	return r.out.Bytes(), e
}

// maxLeftover is the most that a pipe holds on the systems that are known.
const maxLeftover = 1 << 20

// helper is a program started by Run.
type helper struct {
	proc  *os.Process
	ours  [3]*os.File // our ends of its streams
	out   bytes.Buffer
	tail  tail
	limit int
	over  atomic.Bool

	mu     sync.Mutex
	reaped bool
}

func (r *helper) open(l *launch, s Spec) (err error) {
	if len(s.Stdin) == 0 {
		l.files[0], err = os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	} else {
		l.files[0], r.ours[0], err = os.Pipe()
	}
	if err != nil {
		return fmt.Errorf("open standard input: %w", err)
	}
	if r.ours[1], l.files[1], err = os.Pipe(); err != nil {
		return fmt.Errorf("open a pipe: %w", err)
	}
	if s.Merge {
		l.files[2] = l.files[1]
		return nil
	}
	if r.ours[2], l.files[2], err = os.Pipe(); err != nil {
		return fmt.Errorf("open a pipe: %w", err)
	}
	return nil
}

// wait copies the streams until the program has ended and they are read, or the drain time is over.
func (r *helper) wait(ctx context.Context, s Spec) (e Exit) {
	var streams sync.WaitGroup
	streams.Go(r.readOutput)
	if r.ours[2] != nil {
		streams.Go(func() { _, _ = io.Copy(tailWriter{&r.tail}, r.ours[2]) })
	}
	if r.ours[0] != nil {
		streams.Go(func() {
			_, _ = r.ours[0].Write(s.Stdin) // a program that does not read its input is not an error
			_ = r.ours[0].Close()
		})
	}
	var kill *time.Timer
	var stopped, killed atomic.Bool
	asked := make(chan struct{})
	release := context.AfterFunc(ctx, func() {
		defer close(asked)
		stopped.Store(true)
		if s.grace() > 0 {
			r.signal(false)
		}
		kill = time.AfterFunc(max(s.grace(), 0), func() { killed.Store(true); r.signal(true) })
	})
	state, err := r.proc.Wait()
	r.mu.Lock()
	r.reaped = true
	r.mu.Unlock()
	if !release() {
		<-asked
		kill.Stop()
	}
	ended := make(chan struct{})
	go func() { streams.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(max(s.drain(), 0)):
		e.Cut = true
		for _, f := range r.ours {
			if f != nil {
				_ = f.SetDeadline(time.Unix(1, 0))
			}
		}
		<-ended
		// No more than a pipe holds, because a descendant may still be writing.
		r.out.Write(leftover(r.ours[1], min(r.limit-r.out.Len(), maxLeftover)))
		if r.ours[2] != nil {
			r.tail.add(leftover(r.ours[2], maxLeftover))
		}
	}
	closeAll(r.ours[:])
	e.Code, e.Stopped, e.Killed = -1, stopped.Load(), killed.Load()
	if err == nil {
		st := helperStatus(state)
		e.Code, e.Signal = st.code, st.signal
	}
	switch {
	case e.Stopped:
		e.Err = fmt.Errorf("run %s: %w: %w", s.Path, ctx.Err(), context.Cause(ctx))
	case r.over.Load():
		e.Err = fmt.Errorf("run %s: %w: more than %d bytes", s.Path, ErrOutputTooLong, r.limit)
	case err != nil:
		e.Err = fmt.Errorf("run %s: %w", s.Path, err)
	}
	return e
}

func (r *helper) readOutput() {
	n, err := r.out.ReadFrom(io.LimitReader(r.ours[1], int64(r.limit)))
	if err != nil || int(n) < r.limit {
		return
	}
	if m, _ := r.ours[1].Read(make([]byte, 1)); m > 0 {
		r.over.Store(true)
		r.signal(true)
	}
}

// signal ends the group of the helper, or asks it to end.
func (r *helper) signal(kill bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.reaped {
		endHelper(r.proc, kill)
	}
}

type tailWriter struct{ t *tail }

func (w tailWriter) Write(p []byte) (int, error) {
	w.t.add(p)
	return len(p), nil
}
