package runstore

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// segmentBuffer is the size of one write.
const segmentBuffer = 256 << 10

// file contains the methods of *os.File that a segment needs.
type file interface {
	io.WriteCloser
	Sync() error
}

// segment writes lines to the current segment file and continues in the next when it is full. Lines are never split. Only one
// goroutine may use it.
type segment struct {
	dir    string
	limit  int64
	number int
	file   file
	size   int64 // including the buffer
	buf    []byte
	wrap   func(file) file // fault injection
}

func (s *segment) open(number int) error {
	f, err := os.OpenFile(filepath.Join(s.dir, segmentName(number)), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	s.number, s.file, s.size = number, f, 0
	if s.wrap != nil {
		s.file = s.wrap(f)
	}
	return nil
}

func (s *segment) append(line []byte) error {
	if s.size > 0 && s.size+int64(len(line)) > s.limit {
		if err := s.flush(); err != nil {
			return err
		}
		if err := s.close(true); err != nil {
			return err
		}
		if err := s.open(s.number + 1); err != nil {
			return err
		}
	}
	s.buf = append(s.buf, line...)
	s.size += int64(len(line))
	if len(s.buf) >= segmentBuffer {
		return s.flush()
	}
	return nil
}

func (s *segment) flush() error {
	if len(s.buf) == 0 || s.file == nil {
		return nil
	}
	_, err := s.file.Write(s.buf)
	if cap(s.buf) > 4*segmentBuffer {
		s.buf = nil
	}
	s.buf = s.buf[:0]
	if err != nil {
		return fmt.Errorf("write %s: %w", segmentName(s.number), err)
	}
	return nil
}

// close closes the current segment, synced if durable. Closing twice has no effect.
func (s *segment) close(durable bool) error {
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	var err error
	if durable {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("close %s: %w", segmentName(s.number), err)
	}
	return nil
}
