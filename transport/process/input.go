package process

import (
	"os"
	"sync"
	"time"
)

// ptyPiece is how much is written to a terminal at once, so that a full one is detected between two pieces.
const ptyPiece = 2 << 10

// input is the queue of standard input. It is bounded by memory only: a writer must never wait for an agent that
// itself waits to be read. Once the process stops reading, queued and new input is dropped.
type input struct {
	f    *os.File
	pty  bool
	wake chan struct{}

	mu     sync.Mutex
	queue  [][]byte
	closed bool // nothing more is accepted
	broken bool // the process no longer reads
}

func newInput(f *os.File, pty bool) *input {
	return &input{f: f, pty: pty, wake: make(chan struct{}, 1)}
}

// put queues p without copying it.
func (in *input) put(p []byte) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return ErrInputClosed
	}
	if !in.broken && len(p) > 0 {
		in.queue = append(in.queue, p)
		in.ring()
	}
	return nil
}

func (in *input) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	in.ring()
}

// abort stops writing, including a blocked write.
func (in *input) abort() {
	in.mu.Lock()
	in.closed, in.broken, in.queue = true, true, nil
	in.ring()
	in.mu.Unlock()
	if in.pty {
		_ = in.f.SetWriteDeadline(time.Unix(1, 0)) // the file belongs to the reader
		return
	}
	_ = in.f.Close()
}

func (in *input) ring() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// next waits for the next piece; false means that there is none.
func (in *input) next() ([]byte, bool) {
	for {
		in.mu.Lock()
		switch {
		case in.broken:
			in.mu.Unlock()
			return nil, false
		case len(in.queue) > 0:
			p := in.queue[0]
			in.queue[0] = nil
			in.queue = in.queue[1:]
			in.mu.Unlock()
			return p, true
		case in.closed:
			in.mu.Unlock()
			return nil, false
		}
		in.mu.Unlock()
		<-in.wake
	}
}

// run writes until the input is closed or the process stops reading.
func (in *input) run() {
	last := byte('\n')
	for {
		p, ok := in.next()
		if !ok {
			break
		}
		last = p[len(p)-1]
		if err := in.write(p); err != nil {
			// EPIPE means that the process needs no more input; every other error has the same effect here.
			in.mu.Lock()
			in.broken, in.queue = true, nil
			in.mu.Unlock()
		}
	}
	if !in.pty {
		_ = in.f.Close()
		return
	}
	// Ctrl-D ends the input at the start of a line, and otherwise only flushes the line.
	eof := []byte{4}
	if last != '\n' {
		eof = []byte{4, 4}
	}
	in.mu.Lock()
	broken := in.broken
	in.mu.Unlock()
	if !broken {
		_, _ = in.f.Write(eof)
	}
}

func (in *input) write(p []byte) error {
	for in.pty && len(p) > ptyPiece {
		if _, err := in.f.Write(p[:ptyPiece]); err != nil {
			return err
		}
		p = p[ptyPiece:]
	}
	_, err := in.f.Write(p)
	return err
}
