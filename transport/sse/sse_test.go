package sse

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func read(t *testing.T, r io.Reader, limit int) (got []string, err error) {
	t.Helper()
	s := NewReader(r, limit)
	for {
		e, err := s.Next()
		if err != nil {
			return got, err
		}
		got = append(got, e.Name+"="+string(e.Data))
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"one", "event: a\ndata: 1\n\n", "a=1"},
		{"no space", "data:1\n\n", "message=1"},
		{"two spaces", "data:  1\n\n", "message= 1"},
		{"several lines", "data: 1\ndata: 2\n\n", "message=1\n2"},
		{"carriage returns", "event: a\r\ndata: 1\r\n\r\ndata: 2\r\r", "a=1|message=2"},
		{"comments, ids, retry", ": ping\nid: 7\nretry: 3\ndata: 1\n\n: ping\n\n", "message=1"},
		{"no data", "event: a\n\ndata: 1\n\n", "message=1"},
		{"empty data", "data:\n\n", "message="},
		{"no last blank line", "data: 1\n\ndata: 2", "message=1|message=2"},
		{"field without colon", "data\n\nfoo\n\n", "message="},
		{"colon in the value", "data: {\"a\":1}\n\n", `message={"a":1}`},
		{"nothing", "", ""},
	} {
		for _, half := range []bool{false, true} {
			var r io.Reader = strings.NewReader(tt.in)
			if half {
				r = iotest.OneByteReader(r)
			}
			got, err := read(t, r, 1000)
			if strings.Join(got, "|") != tt.want || !errors.Is(err, io.EOF) {
				t.Errorf("%s (byte by byte %v): %q, %v, want %q", tt.name, half, got, err, tt.want)
			}
		}
	}
}

// TestCarriageReturnAtOnce: an event that a carriage return ends does not wait for the next byte.
func TestCarriageReturnAtOnce(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer func() { _ = r.Close() }()
	go func() { _, _ = io.WriteString(w, "data: 1\r\n\r") }()
	if e, err := NewReader(r, 100).Next(); err != nil || string(e.Data) != "1" {
		t.Errorf("%q, %v", e.Data, err)
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"a long line": "data: " + strings.Repeat("x", 200) + "\n\n",
		"many lines":  strings.Repeat("data: xxxxxxxxxxxxxxxx\n", 20) + "\n",
		"no line end": strings.Repeat("x", 200),
	} {
		if _, err := read(t, strings.NewReader(in), 100); !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: %v, want ErrTooLong", name, err)
		}
	}
	broken := errors.New("broken")
	if got, err := read(t, io.MultiReader(strings.NewReader("data: 1\n\ndata: 2\n"), iotest.ErrReader(broken)), 100); !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("a broken stream: %q, %v", got, err)
	}
}

// FuzzReader: no panic, every event within the limit, and the same events however the bytes arrive.
func FuzzReader(f *testing.F) {
	f.Add("event: a\r\ndata: 1\r\n\r\ndata: 2\r\r: x\n\n")
	f.Add("data\n\n\r\ndata:\n")
	f.Fuzz(func(t *testing.T, in string) {
		whole, err := read(t, strings.NewReader(in), 64)
		bytes, err2 := read(t, iotest.OneByteReader(strings.NewReader(in)), 64)
		if strings.Join(whole, "|") != strings.Join(bytes, "|") || errors.Is(err, io.EOF) != errors.Is(err2, io.EOF) {
			t.Errorf("%q, %v and %q, %v", whole, err, bytes, err2)
		}
		for _, e := range whole {
			if _, data, _ := strings.Cut(e, "="); len(data) > 64+len(e) {
				t.Errorf("%q", e)
			}
		}
	})
}
