// Package sse reads server-sent events (WHATWG HTML, "Server-sent events"), the streams of model APIs. It knows nothing of
// HTTP and of what events mean; reconnection does not belong here, because a model's answer cannot be resumed.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ErrTooLong reports an event above a reader's limit. It is matched by errors.Is.
var ErrTooLong = errors.New("event too long")

// Event is one event. Name is "message" if the stream states none.
type Event struct {
	Name string
	Data []byte // the lines of data, joined with newlines; valid until the next call of Next
}

// Reader reads events from a stream. It is not safe for concurrent use.
type Reader struct {
	lines *bufio.Scanner
	limit int
	data  []byte
	skip  bool // the last line ended with a carriage return: a line feed belongs to it
}

// NewReader returns a reader of r. An event of more than limit bytes is an error.
func NewReader(r io.Reader, limit int) *Reader {
	s := &Reader{lines: bufio.NewScanner(r), limit: limit}
	s.lines.Buffer(make([]byte, 0, min(limit, 4096)), limit)
	s.lines.Split(s.line)
	return s
}

// Next returns the next event that has data. Comments, ids and retry times are skipped. The error is io.EOF after the last event,
// ErrTooLong, or that of the stream. A stream that ends within an event has that event too: servers of models omit the
// last blank line.
func (r *Reader) Next() (Event, error) {
	e := Event{Name: "message"}
	r.data = r.data[:0]
	has := false
	for r.lines.Scan() {
		line := r.lines.Bytes()
		if len(line) == 0 {
			if has {
				e.Data = r.data
				return e, nil
			}
			e.Name = "message"
			continue
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) {
		case "event":
			if string(value) != e.Name {
				e.Name = string(value)
			}
		case "data":
			if has {
				r.data = append(r.data, '\n')
			}
			has = true
			if r.data = append(r.data, value...); len(r.data) > r.limit {
				return Event{}, r.tooLong()
			}
		}
	}
	switch err := r.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return Event{}, r.tooLong()
	case err != nil:
		return Event{}, err
	}
	if has {
		e.Data = r.data
		return e, nil
	}
	return Event{}, io.EOF
}

func (r *Reader) tooLong() error { return fmt.Errorf("%w: more than %d bytes", ErrTooLong, r.limit) }

// line splits at line feeds, carriage returns and pairs of both. A carriage return ends its line at once: waiting for a line feed
// would delay the event until the next one.
func (r *Reader) line(data []byte, atEOF bool) (advance int, line []byte, err error) {
	start := 0
	if r.skip && len(data) > 0 {
		if data[0] == '\n' {
			start = 1
		}
		r.skip = false
	}
	if i := bytes.IndexAny(data[start:], "\r\n"); i >= 0 {
		end := start + i
		r.skip = data[end] == '\r'
		return end + 1, data[start:end], nil
	}
	if atEOF && len(data) > start {
		return len(data), data[start:], nil
	}
	if start > 0 {
		return start, nil, nil
	}
	return 0, nil, nil
}
