package process

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	firstBuffer = 16 << 10  // buffer of a quiet stream
	busyBuffer  = 256 << 10 // maximum buffer of a busy stream
	keepBuffer  = 1 << 20   // a larger buffer, left by a long line, is not kept
	aheadLimit  = 4 << 20   // what a reader reads ahead of its consumer in each of the two stages of the end
)

// chunk is a run of whole lines on its way from a reader to Next. The last line of a stream may lack its newline.
type chunk struct {
	from    *reader
	buf     []byte
	single  bool // buf is one line whose end was skipped
	skipped int64
}

// lines appends the lines of c to dst. They point into c.buf.
func (c chunk) lines(dst []Line) []Line {
	stream, limit := c.from.stream, c.from.limit
	if c.single {
		return append(dst, Line{Stream: stream, Data: c.buf, Truncated: c.skipped > 0, Skipped: c.skipped})
	}
	for rest := c.buf; len(rest) > 0; {
		line := rest
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			line, rest = rest[:i:i], rest[i+1:]
		} else {
			rest = nil
		}
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[: n-1 : n-1]
		}
		l := Line{Stream: stream, Data: line}
		if len(line) > limit {
			l = Line{Stream: stream, Data: line[:limit:limit], Truncated: true, Skipped: int64(len(line) - limit)}
		}
		dst = append(dst, l)
	}
	return dst
}

// reader reads one stream into chunks of whole lines. It owns two buffers: while Next's caller uses one it fills the
// other, and then it waits, so that an idle consumer blocks the process.
//
// This changes at the end, so that a run can end without its consumer: when the process has exited (loose) the reader
// no longer waits for buffers, up to a bound that exceeds every pipe; when the whole tree is dead (dead) it may read
// as much once more. Later output comes from a process out of reach, and the stream is cut.
type reader struct {
	stream Stream
	limit  int // of a line
	f      *os.File
	out    *outbox
	tail   *tail
	loose  <-chan struct{}
	dead   <-chan struct{}
	free   chan []byte
	size   int
	ahead  int  // bytes of buffers that were not waited for
	late   int  // bytes read from a dead tree
	cut    bool // valid after run
}

func newReader(stream Stream, f *os.File, limit int, out *outbox, t *tail, loose, dead <-chan struct{}) *reader {
	r := &reader{stream: stream, limit: limit, f: f, out: out, tail: t, loose: loose, dead: dead,
		free: make(chan []byte, 2), size: firstBuffer}
	r.free <- nil
	r.free <- nil
	return r
}

// run reads until the end of the stream. The error is nil at a regular end.
func (r *reader) run() error {
	defer r.out.leave()
	buf := r.take(0)
	seen := 0 // bytes of buf without a newline
	for {
		if len(buf) == cap(buf) {
			buf = r.grow(buf)
		}
		n, err := r.read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if n > 0 && len(buf) == cap(buf) && r.size < busyBuffer {
			r.size *= 2
		}
		if i := bytes.LastIndexByte(buf[seen:], '\n'); i >= 0 {
			end := seen + i + 1
			rest := buf[end:]
			r.out.put(chunk{from: r, buf: buf[:end]})
			buf = append(r.take(len(rest)), rest...)
		}
		seen = len(buf)
		if err == nil && len(buf) >= r.limit+2 {
			buf, err = r.skip(buf)
			if i := bytes.LastIndexByte(buf, '\n'); i >= 0 {
				rest := buf[i+1:]
				r.out.put(chunk{from: r, buf: buf[:i+1]})
				buf = append(r.take(len(rest)), rest...)
			}
			seen = len(buf)
		}
		if err != nil {
			if len(buf) > 0 {
				r.out.put(chunk{from: r, buf: buf})
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// skip delivers the start of an overlong line and reads on to its end. It returns what follows.
func (r *reader) skip(line []byte) ([]byte, error) {
	over := int64(len(line) - r.limit)
	last := line[len(line)-1]
	line = line[:r.limit:r.limit]
	scratch := make([]byte, busyBuffer)
	for {
		n, err := r.read(scratch)
		got := scratch[:n]
		i := bytes.IndexByte(got, '\n')
		switch {
		case i > 0:
			last = got[i-1]
		case i < 0 && n > 0:
			last = got[n-1]
		}
		if i < 0 {
			over += int64(n)
			if err == nil {
				continue
			}
		} else {
			over += int64(i)
		}
		if last == '\r' {
			over--
		}
		r.out.put(chunk{from: r, buf: line, single: true, skipped: over})
		if i < 0 {
			return nil, err
		}
		rest := got[i+1:]
		return append(r.take(len(rest)), rest...), err
	}
}

// take returns an empty buffer with room for more than n bytes.
func (r *reader) take(n int) []byte {
	want := max(r.size, n+firstBuffer)
	var b []byte
	select {
	case b = <-r.free:
	default:
		loose := r.loose
		if r.ahead >= aheadLimit {
			loose = nil
		}
		select {
		case b = <-r.free:
		case <-loose:
			r.ahead += want
		case <-r.dead:
		}
	}
	if cap(b) < want {
		b = make([]byte, 0, want)
	}
	return b[:0]
}

// give returns a buffer from the consumer.
func (r *reader) give(b []byte) {
	if cap(b) > keepBuffer {
		b = nil
	}
	select {
	case r.free <- b:
	default:
	}
}

func (r *reader) read(p []byte) (int, error) {
	n, err := r.f.Read(p)
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		n, err = r.rest(p)
	}
	if err != nil && endOfStream(err) {
		err = io.EOF
	}
	if n > 0 {
		r.out.heard.Store(time.Now().UnixNano())
	}
	r.tail.add(p[:n])
	select {
	case <-r.dead:
		if r.late += n; err == nil && r.late > aheadLimit {
			r.cut, err = true, io.EOF
		}
	default:
	}
	return n, err
}

// abandon ends the reading of a stream that a process out of reach keeps open. The pipe's content is still read if
// the platform can tell its end; otherwise it returns false.
func (r *reader) abandon() bool {
	if err := r.f.SetReadDeadline(time.Unix(1, 0)); err != nil {
		_ = r.f.Close() // the read ends with the file
		return false
	}
	return true
}

// rest reads the available bytes without waiting.
func (r *reader) rest(p []byte) (n int, err error) {
	if err := r.f.SetReadDeadline(time.Time{}); err != nil {
		return 0, io.EOF
	}
	raw, err := r.f.SyscallConn()
	if err != nil {
		return 0, io.EOF
	}
	open := false // the stream has neither data nor an end
	_ = raw.Read(func(fd uintptr) bool {
		n, open = readNow(fd, p)
		return true
	})
	r.cut = r.cut || open
	// The next read must not wait either.
	if err := r.f.SetReadDeadline(time.Unix(1, 0)); err != nil || n <= 0 {
		return 0, io.EOF
	}
	return n, nil
}

// grow doubles a buffer, but not beyond what the longest line needs.
func (r *reader) grow(b []byte) []byte {
	size := max(2*cap(b), firstBuffer)
	if most := r.limit + busyBuffer; cap(b) < most {
		size = min(size, most)
	}
	n := make([]byte, len(b), size)
	copy(n, b)
	return n
}

// outbox is the queue between the readers and Next. It holds at most two chunks per reader, and the rest of their
// pipes once the writers are dead.
type outbox struct {
	wake  chan struct{}
	heard atomic.Int64 // time of the last byte, in nanoseconds since 1970; 0 before the first

	mu    sync.Mutex
	queue []chunk
	open  int // running readers
}

func newOutbox(readers int) *outbox {
	return &outbox{wake: make(chan struct{}, 1), open: readers}
}

func (o *outbox) put(c chunk) {
	o.mu.Lock()
	o.queue = append(o.queue, c)
	o.mu.Unlock()
	o.ring()
}

func (o *outbox) leave() {
	o.mu.Lock()
	o.open--
	o.mu.Unlock()
	o.ring()
}

func (o *outbox) ring() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// pop returns the next chunk; ended means that there will be no more.
func (o *outbox) pop() (c chunk, ok, ended bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 {
		return chunk{}, false, o.open == 0
	}
	c = o.queue[0]
	n := copy(o.queue, o.queue[1:])
	o.queue[n] = chunk{}
	o.queue = o.queue[:n]
	return c, true, false
}
