package process

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/transport/process/internal/supervisor"
	"github.com/drawbar/drawbar/transport/pty"
)

// Process is a running process with its streams. Next belongs to one goroutine at a time; everything else may be
// called concurrently, also after the end. Every Process must be read to io.EOF or stopped, and waited for.
type Process struct {
	child child
	spec  Spec
	start time.Time

	out   *outbox
	held  chunk  // the buffer of the lines that Next returned last
	lines []Line // reused by Next

	in     *input   // nil if the input is the null device
	master *os.File // of the pseudo-terminal, or nil
	keys   *os.File // the same, so that Ctrl-C does not wait for queued input

	tail    *tail
	readers []*reader
	loose   chan struct{} // closed when the process has exited
	dead    chan struct{} // closed when its whole tree is gone

	stopped chan struct{} // a new deadline was set; capacity 1
	stopMu  sync.Mutex
	stop    time.Time // zero: no stop was requested
	ended   bool      // the supervisor has ended

	done chan struct{} // closed when exit is valid
	exit Exit
}

// Start starts a process. The context governs its whole life: when it ends the process is stopped with Spec.Grace.
// Every failure to start is a *StartError, detected before anything runs if possible.
func Start(ctx context.Context, s Spec) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, &StartError{Path: s.Path, Dir: s.Dir, Err: fmt.Errorf("%w: %w", err, context.Cause(ctx))}
	}
	l, err := prepare(s)
	if err != nil {
		return nil, err
	}
	p := &Process{
		spec:    s,
		start:   time.Now(),
		tail:    &tail{limit: s.stderrTail()},
		loose:   make(chan struct{}),
		dead:    make(chan struct{}),
		stopped: make(chan struct{}, 1),
		done:    make(chan struct{}),
	}
	ours, err := p.open(&l)
	if err == nil {
		p.child, err = startChild(ctx, l)
	}
	closeAll(l.files[:])
	if err != nil {
		closeAll(ours)
		return nil, startError(s, err)
	}
	go p.supervise(ctx)
	return p, nil
}

// prepare checks what can be checked without starting anything.
func prepare(s Spec) (launch, error) {
	l := launch{dir: s.Dir, env: lastWins(s.Env), pty: s.Pty, withoutKeeper: s.withoutKeeper, withoutGroup: s.withoutGroup,
		killLimit: cmp.Or(s.killLimit, supervisor.KillLimit)}
	fail := func(reason, err error) (launch, error) {
		return l, &StartError{Path: s.Path, Dir: s.Dir, Reason: reason, Err: err}
	}
	if s.Path == "" {
		return fail(ErrInvalid, errors.New("no path given"))
	}
	for _, v := range append([]string{s.Path, s.Dir}, s.Args...) {
		if strings.IndexByte(v, 0) >= 0 {
			return fail(ErrInvalid, errors.New("an argument holds a NUL byte; pass such data by standard input"))
		}
	}
	for _, v := range s.Env {
		if strings.IndexByte(v, 0) >= 0 {
			name, _, _ := strings.Cut(v, "=")
			return fail(ErrInvalid, fmt.Errorf("the variable %q holds a NUL byte", name))
		}
	}
	path, err := absolute(s.Path)
	if err != nil {
		return fail(ErrNotFound, err)
	}
	l.path, l.argv = path, append([]string{s.Path}, s.Args...)
	if s.Dir != "" {
		if l.dir, err = absolute(s.Dir); err != nil {
			return fail(ErrBadDir, err)
		}
		if err := checkDir(l.dir); err != nil {
			return fail(ErrBadDir, err)
		}
	}
	if reason, err := checkProgram(path); reason != nil {
		return fail(reason, err)
	}
	if s.Pty && !hasEnv(l.env, "TERM") {
		l.env = append(l.env, "TERM=xterm-256color")
	}
	l.scratch = s.Scratch
	l.mark = markOf(s.Run)
	return l, nil
}

// open creates the streams: the process's ends go into l.files, ours are returned in case nothing starts.
func (p *Process) open(l *launch) (ours []*os.File, err error) {
	if p.spec.Pty {
		return p.openPty(l)
	}
	defer func() {
		if err != nil {
			closeAll(ours)
			ours = nil
		}
	}()
	if len(p.spec.Stdin) == 0 && !p.spec.KeepStdin {
		if l.files[0], err = os.OpenFile(os.DevNull, os.O_RDONLY, 0); err != nil {
			return ours, err
		}
	} else {
		var w *os.File
		if l.files[0], w, err = os.Pipe(); err != nil {
			return ours, fmt.Errorf("open a pipe: %w", err)
		}
		ours = append(ours, w)
		p.in = newInput(w, false)
	}
	streams := []Stream{Stdout, Stderr}
	if p.spec.Merge {
		streams = streams[:1]
	}
	p.out = newOutbox(len(streams))
	for _, s := range streams {
		var r *os.File
		if r, l.files[s], err = os.Pipe(); err != nil {
			return ours, fmt.Errorf("open a pipe: %w", err)
		}
		ours = append(ours, r)
		if s == Stdout && p.spec.Roomy {
			growPipe(r)
		}
		t := p.tail
		if s == Stdout && !p.spec.Merge {
			t = nil
		}
		p.readers = append(p.readers, newReader(s, r, p.spec.maxLine(), p.out, t, p.loose, p.dead))
	}
	if p.spec.Merge {
		l.files[2] = l.files[1]
	}
	return ours, nil
}

func (p *Process) openPty(l *launch) ([]*os.File, error) {
	t, err := pty.Open(pty.DefaultColumns, pty.DefaultRows)
	if err != nil {
		return nil, err
	}
	l.files = [3]*os.File{t.Slave, t.Slave, t.Slave}
	p.master, p.keys = t.Master, t.Keys
	p.in = newInput(t.Master, true)
	p.out = newOutbox(1)
	p.readers = []*reader{newReader(Stdout, t.Master, p.spec.maxLine(), p.out, p.tail, p.loose, p.dead)}
	return []*os.File{t.Master, t.Keys}, nil
}

// PID returns the process id of the process itself.
func (p *Process) PID() int { return p.child.pid() }

// LastOutput returns when the process last wrote anything, including part of a line; the zero time before the first
// byte.
func (p *Process) LastOutput() time.Time {
	if ns := p.out.heard.Load(); ns != 0 {
		return time.Unix(0, ns)
	}
	return time.Time{}
}

// Next waits for output and returns a batch of whole lines, valid until the next call. The lines of one stream keep
// their order. It returns io.EOF once both streams have ended and all lines were returned, and the error of ctx if
// that ends first; then nothing is lost and Next may be called again. A process whose output is not read blocks when
// its pipe is full.
func (p *Process) Next(ctx context.Context) ([]Line, error) {
	if p.held.from != nil {
		p.held.from.give(p.held.buf)
		p.held = chunk{}
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
		c, ok, ended := p.out.pop()
		if ok {
			p.held = c
			if cap(p.lines) > keepLines {
				p.lines = nil
			}
			p.lines = c.lines(p.lines[:0])
			return p.lines, nil
		}
		if ended {
			return nil, io.EOF
		}
		select {
		case <-p.out.wake:
		case <-ctx.Done():
		}
	}
}

// keepLines bounds the batch slice that is reused.
const keepLines = 16 << 10

// Write queues a copy of b for standard input and returns at once. The queue is bounded by memory only. Input that
// the process does not read is dropped without an error. The error is ErrInputClosed after CloseInput and for a
// process started without KeepStdin.
func (p *Process) Write(b []byte) error {
	if p.in == nil {
		return ErrInputClosed
	}
	return p.in.put(bytes.Clone(b))
}

// CloseInput ends standard input after everything queued was written.
func (p *Process) CloseInput() {
	if p.in != nil {
		p.in.close()
	}
}

// Signal sends sig to the process group. It returns ErrEnded after the end of the process, ErrUnsupported if the
// platform has no such signal.
func (p *Process) Signal(sig os.Signal) error {
	select {
	case <-p.done:
		return ErrEnded
	default:
	}
	return p.child.signal(sig)
}

// Interrupt asks the process to abandon its current work: SIGINT to the group, the Ctrl-C byte in a pseudo-terminal,
// CTRL_BREAK on Windows.
func (p *Process) Interrupt() error {
	if p.keys == nil {
		return p.Signal(os.Interrupt)
	}
	select {
	case <-p.done:
		return ErrEnded
	default:
	}
	_ = p.keys.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
	if _, err := p.keys.Write([]byte{3}); err == nil {
		return nil
	}
	return p.child.signal(os.Interrupt) // the terminal is full: send the signal directly
}

// Pause stops the process group until Resume. Stop ends a paused process too.
func (p *Process) Pause() error { return p.pause(true) }

// Resume continues a paused process group.
func (p *Process) Resume() error { return p.pause(false) }

func (p *Process) pause(on bool) error {
	sig := pauseSignal(on)
	if sig == nil {
		return fmt.Errorf("pause or resume a process: %w", ErrUnsupported)
	}
	return p.Signal(sig)
}

// Stop ends the process: TERM to its group now, and KILL to the whole tree after the grace. It returns at once; Wait
// reports the end. A grace of zero means Spec.Grace, a negative one an immediate KILL. Further calls can shorten the
// grace but not extend it.
func (p *Process) Stop(grace time.Duration) {
	grace = cmp.Or(grace, p.spec.grace())
	deadline := time.Now().Add(max(grace, 0))
	p.stopMu.Lock()
	defer p.stopMu.Unlock()
	if p.ended || !p.stop.IsZero() && !deadline.Before(p.stop) {
		return
	}
	first := p.stop.IsZero()
	p.stop = deadline
	if first && grace > 0 {
		terminate(p.child)
	}
	select {
	case p.stopped <- struct{}{}:
	default:
	}
}

// Wait waits for the end: the process is reaped, its streams were read to their end, its descendants are gone, and no
// goroutine of this package runs for it except one that reaps the keeper and ends by itself. Lines that Next has not
// returned stay available. Wait does not end a process that waits for its output to be read; Stop does.
func (p *Process) Wait() Exit {
	<-p.done
	return p.exit
}

func closeAll(files []*os.File) {
	for i, f := range files {
		if f != nil {
			_ = f.Close() // a file listed twice is closed once and fails the second time
			files[i] = nil
		}
	}
}

// lastWins drops all but the last entry of each name, because libc's getenv finds the first.
func lastWins(env []string) []string {
	last := make(map[string]int, len(env))
	for i, v := range env {
		name, _, _ := strings.Cut(v, "=")
		last[name] = i
	}
	out := make([]string, 0, len(env)+2)
	for i, v := range env {
		if name, _, ok := strings.Cut(v, "="); ok && last[name] == i {
			out = append(out, v)
		}
	}
	return out
}

func hasEnv(env []string, name string) bool {
	return slices.ContainsFunc(env, func(v string) bool { return v == name || strings.HasPrefix(v, name+"=") })
}

func startError(s Spec, err error) error {
	var typed *StartError
	if errors.As(err, &typed) {
		return err
	}
	reason := startReason(err)
	if errors.Is(err, pty.ErrUnsupported) {
		reason = ErrUnsupported
	}
	return &StartError{Path: s.Path, Dir: s.Dir, Reason: reason, Err: err}
}
