package process

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// split is what a reader must do, in the simplest way.
func split(data []byte, limit int) (out []Line) {
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		data = rest
		line = bytes.TrimSuffix(line, []byte{'\r'})
		l := Line{Stream: Stdout, Data: line}
		if len(line) > limit {
			l = Line{Stream: Stdout, Data: line[:limit], Truncated: true, Skipped: int64(len(line) - limit)}
		}
		l.Data = bytes.Clone(l.Data)
		out = append(out, l)
	}
	return out
}

// through sends the pieces through a real pipe, one write each, and returns the lines.
func through(t *testing.T, pieces [][]byte, limit int) (out []Line) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer w.Close()
		for _, p := range pieces {
			_, _ = w.Write(p)
		}
	}()
	p := &Process{out: newOutbox(1)}
	rd := newReader(Stdout, r, limit, p.out, nil, nil, nil)
	ended := make(chan error)
	go func() { ended <- rd.run() }()
	for {
		lines, err := p.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if have, most := cap(p.held.buf), limit+2*busyBuffer; have > most {
			t.Fatalf("a buffer of %d bytes for lines of at most %d", have, limit)
		}
		for _, l := range lines {
			l.Data = append([]byte{}, l.Data...)
			out = append(out, l)
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("the reader ended with %v", err)
	}
	<-done
	return out
}

// byteSlices compares bytes as such; element by element takes minutes.
var byteSlices = cmp.Comparer(bytes.Equal)

func normal(lines []Line) []Line {
	for i := range lines {
		if len(lines[i].Data) == 0 {
			lines[i].Data = nil
		}
	}
	return lines
}

func TestReader(t *testing.T) {
	t.Parallel()
	big := bytes.Repeat([]byte("0123456789"), 100_000)
	for _, tc := range []struct {
		name   string
		pieces []string
		limit  int
	}{
		{"nothing", nil, 10},
		{"no newline", []string{"abc"}, 10},
		{"newline only", []string{"\n"}, 10},
		{"empty lines", []string{"\n\n\r\n\n"}, 10},
		{"cut inside a line", []string{"ab", "c\nde", "f", "\n"}, 10},
		{"cut inside CRLF", []string{"abc\r", "\ndef\r", "\n"}, 10},
		{"exactly the limit", []string{"0123456789\nx\n"}, 10},
		{"the limit and CR", []string{"0123456789\r\nx\n"}, 10},
		{"the limit and CR, then more", []string{"0123456789\r1\nx\n"}, 10},
		{"one more", []string{"0123456789a\nx"}, 10},
		{"one more at the end", []string{"0123456789a"}, 10},
		{"two long ones", []string{"0123456789abc\n0123456789abcdef\r\nx"}, 10},
		{"long with the end in another piece", []string{"0123456789abc", "def\r", "\nx\ny"}, 10},
		{"long, ends with the input", []string{"0123456789abc", "def\r"}, 10},
		{"longer than every buffer", []string{string(big), string(big), "\nx\n"}, 3_000_000},
		{"longer than every buffer and the limit", []string{string(big), string(big), "\nx\n" + string(big)}, 500_000},
		{"far beyond the limit", []string{string(big), string(big), "\nx\n"}, 1000},
		{"many lines in one piece", []string{string(bytes.Repeat([]byte("line of text\r\n"), 50_000))}, 100},
	} {
		var pieces [][]byte
		var data []byte
		for _, p := range tc.pieces {
			pieces = append(pieces, []byte(p))
			data = append(data, p...)
		}
		if diff := cmp.Diff(normal(split(data, tc.limit)), normal(through(t, pieces, tc.limit)), byteSlices); diff != "" {
			t.Errorf("%s: (-want +got)\n%.2000s", tc.name, diff)
		}
	}
}

// TestBatchStaysValid: what Next returned is not overwritten until the next call, however much comes meanwhile.
func TestBatchStaysValid(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := &Process{out: newOutbox(1)}
	rd := newReader(Stdout, r, 100, p.out, nil, nil, nil)
	ended := make(chan error)
	go func() { ended <- rd.run() }()
	queued := func() int {
		p.out.mu.Lock()
		defer p.out.mu.Unlock()
		return len(p.out.queue)
	}
	if _, err := w.WriteString("aaaa\n"); err != nil {
		t.Fatal(err)
	}
	held, err := p.Next(context.Background())
	if err != nil || len(held) != 1 {
		t.Fatalf("got %v, %v", held, err)
	}
	for _, more := range []string{"bbbb\n", "cccc\n", "dddd\n"} {
		if _, err := w.WriteString(more); err != nil {
			t.Fatal(err)
		}
		for range 50 {
			if queued() > 1 {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	if got := string(held[0].Data); got != "aaaa" {
		t.Errorf("the line became %q", got)
	}
	if n := queued(); n != 1 {
		t.Errorf("the reader went %d batches ahead, want 1", n)
	}
	_ = w.Close()
	var rest []string
	for err == nil {
		var lines []Line
		lines, err = p.Next(context.Background())
		for _, l := range lines {
			rest = append(rest, string(l.Data))
		}
	}
	if diff := cmp.Diff([]string{"bbbb", "cccc", "dddd"}, rest); diff != "" {
		t.Error(diff)
	}
	<-ended
}

// FuzzReader: however the bytes arrive, the lines are the same, and every byte is accounted for.
func FuzzReader(f *testing.F) {
	f.Add([]byte("ab\r\n\ncdefghijklm\r\nx"), uint8(3), uint8(5))
	f.Add([]byte("0123456789\r"), uint8(1), uint8(10))
	f.Add([]byte("\xff\xfe\n\xc3"), uint8(2), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, step, limit uint8) {
		var pieces [][]byte
		for rest := data; len(rest) > 0; {
			n := min(int(step)+1, len(rest))
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		max := int(limit) + 1
		if diff := cmp.Diff(normal(split(data, max)), normal(through(t, pieces, max)), byteSlices); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestTail(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 3, 7, 100} {
		tl := &tail{limit: limit}
		var all []byte
		for i := range 60 {
			piece := bytes.Repeat([]byte{byte('a' + i%26)}, i%9)
			tl.add(piece)
			all = append(all, piece...)
			if got, want := tl.String(), string(all[max(0, len(all)-limit):]); got != want {
				t.Fatalf("limit %d: got %q, want %q", limit, got, want)
			}
		}
	}
}

func TestLastWins(t *testing.T) {
	t.Parallel()
	got := lastWins([]string{"A=1", "B=2", "A=3", "C", "=C:=x", "D="})
	if diff := cmp.Diff([]string{"B=2", "A=3", "=C:=x", "D="}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
