package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muesli/cancelreader"
)

// lineReader reads lines in a goroutine, because reading from a terminal cannot be cancelled. The goroutine lives as long as the
// process.
type lineReader struct {
	start sync.Once
	lines chan typed
	err   error // set before lines is closed

	mu     sync.Mutex
	fresh  time.Time                 // earlier lines are ignored
	source cancelreader.CancelReader // of a terminal that can be lent; nil before the first read
	away   chan struct{}             // the goroutine has stopped reading
	back   chan struct{}             // it may go on
}

type typed struct {
	text string
	at   time.Time
	end  bool // the person left
}

// maxTypedLine bounds a line.
const maxTypedLine = 1 << 20

// pump reads lines, and gives keys to the editor while a line is edited.
func (a *App) pump() error {
	var line []byte
	say := func() {
		a.stdin.lines <- typed{text: string(bytes.TrimSuffix(line, []byte{'\r'})), at: time.Now()}
		line = line[:0]
	}
	buf := make([]byte, 4096)
	in := a.source()
	for {
		n, err := in.Read(buf)
		if errors.Is(err, cancelreader.ErrCanceled) {
			a.stdin.away <- struct{}{}
			<-a.stdin.back
			in = a.source()
			continue
		}
		for rest := buf[:n]; len(rest) > 0; {
			if e := a.editor.Load(); e.editing() { // line is what was typed between two edits
				rest, line = e.feed(slices.Concat(line, rest)), line[:0]
				continue
			}
			part, after, ended := bytes.Cut(rest, []byte{'\n'})
			if line, rest = append(line, part...), after; ended {
				say()
			} else if len(line) > maxTypedLine {
				return bufio.ErrTooLong
			}
		}
		switch {
		case err == nil:
			continue
		case len(line) > 0:
			say()
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return err
	}
}

// source is what the goroutine reads: a terminal in a way that can be stopped, where there is one.
func (a *App) source() io.Reader {
	f, ok := fileOf(a.In)
	if !ok || !IsTerminal(f) {
		return a.In
	}
	source, err := stoppable(f)
	if err != nil {
		return a.In
	}
	a.stdin.mu.Lock()
	defer a.stdin.mu.Unlock()
	if a.stdin.source != nil {
		_ = a.stdin.source.Close() // the terminal stays open
	}
	a.stdin.source = source
	return source
}

// lend stops reading the terminal, so that another program can read it, until back is called. What was typed ahead is lost. Where reading
// cannot be stopped, ok is false.
func (a *App) lend() (back func(), ok bool) {
	r := &a.stdin
	r.mu.Lock()
	source, reads := r.source, r.lines != nil
	r.mu.Unlock()
	if !reads {
		return func() {}, true
	}
	if source == nil || !source.Cancel() {
		return nil, false
	}
	for {
		select {
		case <-r.lines:
		case <-r.away:
			return func() { r.back <- struct{}{} }, true
		}
	}
}

// ReadLine waits for a line of standard input. A line that arrives after ctx is done is returned by the next call.
func (a *App) ReadLine(ctx context.Context) (string, error) {
	line, _, err := a.ReadLineAt(ctx)
	return line, err
}

// ReadLineAt is ReadLine with the time when the line was complete.
func (a *App) ReadLineAt(ctx context.Context) (string, time.Time, error) {
	r := &a.stdin
	r.start.Do(func() {
		r.mu.Lock()
		r.lines, r.away, r.back = make(chan typed), make(chan struct{}), make(chan struct{})
		r.mu.Unlock()
		go func() {
			r.err = a.pump()
			close(r.lines)
		}()
	})
	for {
		select {
		case line, ok := <-r.lines:
			if !ok {
				if r.err != nil {
					return "", time.Time{}, r.err
				}
				return "", time.Time{}, io.EOF
			}
			if line.end {
				return "", time.Time{}, io.EOF
			}
			r.mu.Lock()
			stale := line.at.Before(r.fresh)
			r.mu.Unlock()
			if !stale {
				return line.text, line.at, nil
			}
		case <-ctx.Done():
			return "", time.Time{}, ctx.Err()
		}
	}
}

// Ask writes a question to standard error at once and waits for a line that is not empty. On a terminal, input typed before the
// question was shown is ignored. The caller removes control characters from the question.
func (a *App) Ask(ctx context.Context, question string) (string, error) {
	return a.askAgain(ctx, question, question)
}

// askAgain is Ask with another text after an empty line.
func (a *App) askAgain(ctx context.Context, question, again string) (string, error) {
	a.forgetTyped()
	for ; ; question = again {
		if _, err := io.WriteString(a.Err, question); err != nil {
			return "", err
		}
		line, err := a.ReadLine(ctx)
		if err != nil {
			_, _ = io.WriteString(a.Err, "\n") // answered elsewhere: the next output starts on a new line
			return "", err
		}
		if line = strings.TrimSpace(line); line != "" {
			return line, nil
		}
	}
}

// forgetTyped discards lines that were typed on a terminal until now.
func (a *App) forgetTyped() {
	if f, ok := fileOf(a.In); ok && IsTerminal(f) {
		discardTyped(f)
		a.stdin.mu.Lock()
		a.stdin.fresh = time.Now()
		a.stdin.mu.Unlock()
	}
}

// Confirm returns nil if a person at a terminal answers the question with y. It does not ask with yes, with --json or without a
// terminal. The error's hint is command with --yes. show, unless nil, prints the subject before the question.
func (a *App) Confirm(ctx context.Context, yes bool, question, command string, show func()) error {
	if yes || a.JSON || !IsTerminal(a.In) {
		return nil
	}
	a.forgetTyped()
	if show != nil {
		show()
	}
	a.Notef("%s [y/N]", question)
	line, err := a.ReadLine(ctx)
	if err != nil || !Yes(line) {
		return Usage("nothing was changed").WithHint("%s --yes", command)
	}
	return nil
}

// Files returns the streams for a child process; ok is false if one of them is not a file.
func (a *App) Files() (in, out, errs *os.File, ok bool) {
	in, okIn := fileOf(a.In)
	out, okOut := fileOf(a.Out)
	errs, okErr := fileOf(a.Err)
	return in, out, errs, okIn && okOut && okErr
}
