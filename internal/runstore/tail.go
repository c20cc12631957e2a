package runstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

func segmentName(n int) string { return fmt.Sprintf("events-%04d.jsonl", n) }

// tail reads the lines of a run's segments while they are being written. It returns only complete lines; the rest is not written
// yet, or was cut off by a crash.
type tail struct {
	dir     string
	segment int // current segment, from 1
	file    *os.File
	lines   lineBuffer
	exists  func(path string) bool
}

func newTail(dir string) *tail { return &tail{dir: dir, segment: 1, exists: exists} }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// next returns the next complete line without its end, valid until the next call; nil if there is none yet.
func (t *tail) next() ([]byte, error) {
	for {
		if t.file == nil {
			f, err := os.Open(filepath.Join(t.dir, segmentName(t.segment)))
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			if err != nil {
				return nil, fmt.Errorf("read events: %w", err)
			}
			t.file, t.lines = f, lineBuffer{}
		}
		line, err := t.lines.next(t.file)
		if line != nil || err != nil {
			return line, err
		}
		// The next segment is created after the last write to this one. If it exists, this one is complete.
		if !t.exists(filepath.Join(t.dir, segmentName(t.segment+1))) {
			return nil, nil
		}
		line, err = t.lines.next(t.file)
		if line != nil || err != nil {
			return line, err
		}
		t.close()
		t.segment++
	}
}

// idle reports that nothing was written since next found nothing. It is cheaper than next.
func (t *tail) idle() bool {
	if t.file == nil || t.lines.start < t.lines.end {
		return false
	}
	info, err := t.file.Stat()
	return err == nil && info.Size() == t.lines.total && !t.exists(filepath.Join(t.dir, segmentName(t.segment+1)))
}

func (t *tail) close() {
	if t.file != nil {
		_ = t.file.Close()
		t.file = nil
	}
}

// lineBuffer splits a growing file into lines. Its memory is bounded by the longest line.
type lineBuffer struct {
	buf        []byte
	start, end int // read but not returned
	scanned    int // no line end before it
	total      int64
}

// next returns the next complete, non-empty line, valid until the next call; nil if r has no more now.
func (l *lineBuffer) next(r io.Reader) ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.buf[l.scanned:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : l.scanned+i]
			l.start = l.scanned + i + 1
			l.scanned = l.start
			if len(line) > 0 {
				return line, nil
			}
			continue
		}
		l.scanned = l.end
		if err := l.fill(r); errors.Is(err, io.EOF) {
			return nil, nil
		} else if err != nil {
			return nil, fmt.Errorf("read events: %w", err)
		}
	}
}

// release gives back the memory of a buffer that has nothing.
func (l *lineBuffer) release() {
	if l.start == l.end {
		*l = lineBuffer{total: l.total}
	}
}

func (l *lineBuffer) fill(r io.Reader) error {
	if l.start > 0 {
		copy(l.buf, l.buf[l.start:l.end])
		l.end -= l.start
		l.scanned -= l.start
		l.start = 0
	}
	if l.end == len(l.buf) {
		l.buf = append(l.buf, make([]byte, max(64<<10, len(l.buf)))...)
	}
	n, err := r.Read(l.buf[l.end:])
	l.end += n
	l.total += int64(n)
	if n > 0 {
		return nil
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}
