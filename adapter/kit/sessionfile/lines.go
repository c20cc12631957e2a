package sessionfile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
)

// MaxLine is the longest line that is read. A longer one is skipped and reported.
const MaxLine = 64 << 20

// line is one line of a file.
type line struct {
	number  int
	text    []byte // without its line ending; valid during the call only
	size    int64  // size in bytes, also if text was dropped because it is too long
	tooLong bool
	whole   bool // it is terminated; the last line of a file being written may not be
}

// scan calls f for each non-empty line. It stops at f's error, at a read error, and when ctx is done.
func scan(ctx context.Context, r io.Reader, first int, f func(line) error) error {
	br := bufio.NewReaderSize(r, 64<<10)
	var long []byte
	for n := first; ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		l := line{number: n}
		long = long[:0]
		for {
			piece, err := br.ReadSlice('\n')
			l.size += int64(len(piece))
			more := errors.Is(err, bufio.ErrBufferFull)
			switch {
			case l.size > MaxLine:
				l.tooLong, long = true, long[:0]
			case more || len(long) > 0:
				long = append(long, piece...)
				l.text = long
			default:
				l.text = piece
			}
			if more {
				continue
			}
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			l.whole = err == nil
			break
		}
		if l.tooLong {
			l.text = nil
		}
		l.text = bytes.TrimRight(l.text, "\r\n")
		if l.tooLong || len(bytes.TrimSpace(l.text)) > 0 {
			if err := f(l); err != nil {
				return err
			}
		}
		if !l.whole {
			return nil
		}
		if cap(long) > 4<<20 {
			long = nil // a long line must not keep its memory for the rest of the file
		}
	}
}
