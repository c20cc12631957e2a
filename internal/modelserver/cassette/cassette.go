package cassette

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/drawbar/drawbar/internal/base/exactjson"
	"github.com/drawbar/drawbar/internal/base/jsontext"
	"github.com/drawbar/drawbar/internal/base/linefile"
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

var format = linefile.Format{Key: "cassette", Version: 1, MaxLine: 256 << 20, MaxFile: 1 << 30}

// Read reads a whole file. A fault is a *linefile.LineError, and nothing is returned with it, but for linefile.ErrCutOff: then the
// exchanges before the line that was cut off are.
func Read(r io.Reader) ([]Exchange, error) {
	var list []Exchange
	err := format.Read(r, collect(&list))
	if err != nil && !errors.Is(err, linefile.ErrCutOff) {
		return nil, err
	}
	return list, err
}

func collect(list *[]Exchange) func(n int, line []byte) error {
	return func(n int, line []byte) error {
		x, err := parse(line)
		if err != nil {
			return err
		}
		x.Line = n
		*list = append(*list, x)
		return nil
	}
}

func parse(line []byte) (Exchange, error) {
	var x Exchange
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
