// Package linefile reads and extends files of JSON lines that begin with the version of their format, and that people keep, edit and
// review. Faults have their line. What a line means belongs to the formats.
package linefile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/drawbar/drawbar/internal/base/exactjson"
)

// Format is a format of such files: the first line is {Key: Version}.
type Format struct {
	Key     string
	Version int
	// MaxLine and MaxFile bound the bytes of a line and of a file.
	MaxLine int
	MaxFile int64
}

// LineError is a line that does not have the format.
type LineError struct {
	Line int
	Err  error
}

// Error states the line and the fault.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the fault.
func (e *LineError) Unwrap() error { return e.Err }

// head is the first line.
func (f Format) head() string { return fmt.Sprintf(`{%q:%d}`, f.Key, f.Version) }

// ErrCutOff is a file that was not written to its end: what comes before that line is whole.
var ErrCutOff = errors.New("cut off")

// Read reads a whole file and calls line for every line after the first. Its fault, and every other, is a *LineError; that of a last line
// that was not written to its end is ErrCutOff.
func (f Format) Read(r io.Reader, line func(n int, text []byte) error) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	var size int64
	for n := 1; ; n++ {
		text, err := f.next(lines)
		size += int64(len(text)) + 1
		end := errors.Is(err, io.EOF)
		switch {
		case size > f.MaxFile+1: // a line break at the end does not count
			err = fmt.Errorf("the file has more than %d bytes", f.MaxFile)
		case end && len(text) == 0 && n > 1:
			return nil
		case end && len(text) == 0:
			err = fmt.Errorf("the file is empty; it has to begin with %s", f.head())
		case err != nil && !end:
		case end && n > 1 && !json.Valid(text):
			err = fmt.Errorf("it is %w: no line break ends it; delete it, or record again", ErrCutOff)
		case n == 1:
			err = f.checkHead(text)
		default:
			if err = check(text); err == nil {
				err = line(n, text)
			}
		}
		if err != nil {
			return &LineError{n, err}
		}
	}
}

// next returns the next line without its end. io.EOF comes with a line that no line break ends, or with none.
func (f Format) next(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > f.MaxLine+1 {
			return nil, fmt.Errorf("it has more than %d bytes", f.MaxLine)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimRight(line, "\r\n"), err
	}
}

func (f Format) checkHead(line []byte) error {
	var h map[string]json.RawMessage
	if err := json.Unmarshal(line, &h); err != nil || h[f.Key] == nil {
		return fmt.Errorf("it is not %s, with which a %s begins", f.head(), f.Key)
	}
	var version int
	if err := json.Unmarshal(h[f.Key], &version); err != nil || version != f.Version {
		return fmt.Errorf("version %.40s is not supported; this program reads version %d", h[f.Key], f.Version)
	}
	if err := exactjson.Keys(line); err != nil {
		return err
	}
	if len(h) > 1 {
		return fmt.Errorf("it has more than %s", f.head())
	}
	return nil
}

// check finds what the formats do not have to look for.
func check(line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return errors.New("it is empty; delete it")
	}
	if !json.Valid(line) {
		var v json.RawMessage
		return fmt.Errorf("it is not JSON: %w", json.Unmarshal(line, &v))
	}
	if !utf8.Valid(line) {
		return errors.New("it is not UTF-8 text")
	}
	return nil
}
