package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line that is read into memory. A longer one is skipped and reported.
const maxLine = 256 << 20

// record is one line of a JSONL file, without its newline. Data is valid until the next line is read.
type record struct {
	Offset   int64
	Line     int // from 1
	Data     []byte
	Complete bool // it ends with a newline
	TooLong  bool // Data holds only its beginning
}

// lineReader reads lines of any length in bounded memory.
type lineReader struct {
	r      *bufio.Reader
	max    int
	offset int64
	line   int
	buf    []byte
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 16<<10), max: maxLine}
}

// next returns the next line, io.EOF after the last.
func (l *lineReader) next() (record, error) {
	rec := record{Offset: l.offset, Line: l.line + 1}
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		l.offset += int64(len(part))
		done := err == nil
		if done {
			part = part[:len(part)-1]
		}
		// A line that fits the reader's buffer is not copied.
		if done && len(l.buf) == 0 && !rec.TooLong {
			rec.Data, rec.Complete = part, true
			l.line++
			return rec, nil
		}
		if room := l.max - len(l.buf); len(part) > room {
			part, rec.TooLong = part[:room], true
		}
		l.buf = append(l.buf, part...)
		switch {
		case done:
			rec.Data, rec.Complete = l.buf, true
			l.line++
			return rec, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			if l.offset == rec.Offset {
				return record{}, io.EOF
			}
			rec.Data = l.buf
			l.line++
			return rec, nil
		default:
			return record{}, err
		}
	}
}

// LineFault describes a line that cannot be read.
type LineFault struct {
	File    string `json:"file"` // relative to the root
	Line    int    `json:"line"` // 0 when the file was not read from its beginning
	Offset  int64  `json:"offset"`
	Message string `json:"message"`
}

// DamagedError says that lines of a file could not be read. The value returned with it holds all others.
type DamagedError struct{ Faults []LineFault }

// Error names the first line and the number of others.
func (e *DamagedError) Error() string {
	f := e.Faults[0]
	where := fmt.Sprintf("line %d (byte %d)", f.Line, f.Offset)
	if f.Line == 0 {
		where = fmt.Sprintf("byte %d", f.Offset)
	}
	s := fmt.Sprintf("%s %s: %s", f.File, where, f.Message)
	if n := len(e.Faults) - 1; n > 0 {
		s += fmt.Sprintf(", and %d more lines", n)
	}
	return s + "; see: drawbar govern verify"
}
