package cassette

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/internal/base/exactjson"
	"github.com/drawbar/drawbar/internal/base/jsontext"
)

// Version is the version of the format that this package writes, and the only one it reads.
const Version = 1

// Limits of a file.
const (
	MaxLine = 256 << 20 // an exchange
	MaxFile = 1 << 30
)

// Exchange is one request and its answer.
type Exchange struct {
	Request Request `json:"request"`
	Answer  Answer  `json:"answer"`

	Line int `json:"-"` // in the file it was read from, from 1
}

// Request is a recorded request.
type Request struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Side   string          `json:"side,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
}

// Answer is a recorded answer. At most one of JSON, Stream, Text and Base64 is set.
type Answer struct {
	Status int               `json:"status"`
	Header map[string]string `json:"header,omitempty"`
	JSON   json.RawMessage   `json:"json,omitempty"`
	Stream []string          `json:"stream,omitempty"`
	Text   string            `json:"text,omitempty"`
	Base64 []byte            `json:"base64,omitempty"`
	Cut    bool              `json:"cut,omitempty"`
}

// Rewrite applies change to the texts of an answer: to every string in its JSON, and to texts that a stream delivers in
// fragments, which are joined for it.
func (a *Answer) Rewrite(change func(string) string) {
	if a.JSON != nil {
		a.JSON = jsontext.Rewrite(a.JSON, change)
	}
	a.Text = change(a.Text)
	a.Stream = jsontext.RewriteStream(a.Stream, change)
}

type header struct {
	Cassette int `json:"cassette"`
}

// LineError is a line that is not one of a cassette.
type LineError struct {
	Line int
	Err  error
}

// Error states the line and the fault.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the fault.
func (e *LineError) Unwrap() error { return e.Err }

// errCutOff is a file whose last line was not written to its end.
var errCutOff = errors.New("it is cut off: no line break ends it; delete this line to use the others, or record again")

// Read reads a whole file. A fault is a *LineError, and nothing is returned then.
func Read(r io.Reader) ([]Exchange, error) { return read(r, MaxLine, MaxFile) }

func read(r io.Reader, maxLine int, maxFile int64) ([]Exchange, error) {
	lines := bufio.NewReaderSize(r, 64<<10)
	var list []Exchange
	var size int64
	for n := 1; ; n++ {
		line, err := readLine(lines, maxLine)
		size += int64(len(line)) + 1
		switch {
		case size > maxFile+1: // a line break at the end does not count
			return nil, &LineError{n, fmt.Errorf("the file has more than %d bytes", maxFile)}
		case errors.Is(err, io.EOF) && len(line) == 0:
			if n == 1 {
				return nil, &LineError{1, errors.New(`the file is empty; a cassette begins with {"cassette":1}`)}
			}
			return list, nil
		case errors.Is(err, io.EOF) && n > 1 && !json.Valid(line):
			return nil, &LineError{n, errCutOff}
		case err != nil && !errors.Is(err, io.EOF):
			return nil, &LineError{n, err}
		}
		if n == 1 {
			if err := checkHeader(line); err != nil {
				return nil, &LineError{n, err}
			}
			continue
		}
		x, err := parse(line)
		if err != nil {
			return nil, &LineError{n, err}
		}
		x.Line = n
		list = append(list, x)
	}
}

// readLine returns the next line without its end. io.EOF comes with a line that no line break ends, or with none.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > most {
			return nil, fmt.Errorf("it has more than %d bytes", most)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimRight(line, "\r\n"), err
	}
}

func checkHeader(line []byte) error {
	var h map[string]json.RawMessage
	if err := json.Unmarshal(line, &h); err != nil || h["cassette"] == nil {
		return errors.New(`it is not the first line of a cassette, which is {"cassette":1}`)
	}
	var version int
	if err := json.Unmarshal(h["cassette"], &version); err != nil || version != Version {
		return fmt.Errorf("version %s is not supported; this program reads version %d", h["cassette"], Version)
	}
	return exactjson.Decode(line, &header{}, nil)
}

func parse(line []byte) (Exchange, error) {
	var x Exchange
	if len(bytes.TrimSpace(line)) == 0 {
		return x, errors.New("it is empty; delete it")
	}
	if !json.Valid(line) {
		err := json.Unmarshal(line, &x)
		return x, fmt.Errorf("it is not JSON: %w", err)
	}
	if !utf8.Valid(line) {
		return x, errors.New("it is not UTF-8 text")
	}
	if err := exactjson.Decode(line, &x, nil); err != nil {
		return x, err
	}
	return x, x.check()
}

// check finds what no decoder does.
func (x *Exchange) check() error {
	a := x.Answer
	bodies := 0
	for _, has := range []bool{a.JSON != nil, a.Stream != nil, a.Text != "", a.Base64 != nil} {
		if has {
			bodies++
		}
	}
	switch {
	case x.Request.Method == "" || strings.ContainsFunc(x.Request.Method, func(r rune) bool { return r < 'A' || r > 'Z' }):
		return fmt.Errorf("request.method is %q, want one such as POST", x.Request.Method)
	case !strings.HasPrefix(x.Request.Path, "/"):
		return fmt.Errorf("request.path is %q, want one that begins with /", x.Request.Path)
	case a.Status < 200 || a.Status > 599:
		return fmt.Errorf("answer.status is %d, want 200 to 599", a.Status)
	case bodies > 1:
		return errors.New("answer has more than one of json, stream, text and base64")
	}
	return nil
}
