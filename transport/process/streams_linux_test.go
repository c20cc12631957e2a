package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStdin(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, with func(Spec) Spec) {
		t.Run("nothing", func(t *testing.T) {
			p := start(t, with(fake(t, "eof")))
			out, _ := all(t, p)
			if e := p.Wait(); e.Code != 0 || len(out) != 2 {
				t.Errorf("got %+v and %q", e, out)
			}
			if err := p.Write([]byte("x")); !errors.Is(err, ErrInputClosed) {
				t.Errorf("got %v", err)
			}
			p.CloseInput()
		})
		t.Run("prompt", func(t *testing.T) {
			s := with(fake(t, "echo"))
			s.Stdin = []byte("one\ntwo")
			p := start(t, s)
			out, _ := all(t, p)
			if diff := cmp.Diff([]string{"one", "two"}, out); diff != "" {
				t.Error(diff)
			}
			if err := p.Write([]byte("x")); !errors.Is(err, ErrInputClosed) {
				t.Errorf("got %v", err)
			}
		})
		t.Run("prompt and more", func(t *testing.T) {
			s := with(fake(t, "echo"))
			s.Stdin, s.KeepStdin = []byte("one\n"), true
			p := start(t, s)
			buf := []byte("two\n")
			if err := p.Write(buf); err != nil {
				t.Fatal(err)
			}
			copy(buf, "xxx") // Write has its own copy
			first(t, p, "two")
			p.CloseInput()
			if err := p.Write(buf); !errors.Is(err, ErrInputClosed) {
				t.Errorf("got %v", err)
			}
			all(t, p)
			if e := p.Wait(); e.Code != 0 {
				t.Errorf("got %+v", e)
			}
		})
		t.Run("5 MB that nobody reads", func(t *testing.T) {
			s := with(fake(t, "no-read"))
			s.Stdin = make([]byte, 5<<20)
			p := start(t, s)
			out, _ := all(t, p)
			if e := p.Wait(); e.Code != 0 || e.Err != nil || len(out) != 1 || e.Duration > 5*time.Second {
				t.Errorf("got %+v and %q", e, out)
			}
		})
		t.Run("5 MB to a process that prints 5 MB first", func(t *testing.T) {
			s := with(fake(t, "flood-first"))
			s.Stdin = make([]byte, 5<<20)
			p := start(t, s)
			out, _ := all(t, p)
			if e := p.Wait(); e.Code != 0 || e.Err != nil {
				t.Errorf("got %+v", e)
			}
			if want := fmt.Sprintf("read %d", 5<<20); len(out) != 5<<10+1 || out[len(out)-1] != want {
				t.Errorf("got %d lines, the last is %q", len(out), out[len(out)-1])
			}
		})
		t.Run("5 MB to a process that sleeps and is stopped", func(t *testing.T) {
			s := with(fake(t, "hang"))
			s.Stdin, s.KeepStdin = make([]byte, 5<<20), true
			p := start(t, s)
			first(t, p, "ready")
			p.Stop(0)
			all(t, p)
			if e := p.Wait(); e.Signal != "SIGTERM" || e.Err != nil {
				t.Errorf("got %+v", e)
			}
			if err := p.Write([]byte("x")); err != nil && !errors.Is(err, ErrInputClosed) {
				t.Errorf("got %v", err)
			}
		})
	})
}

func TestBytesPassUntouched(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, with func(Spec) Spec) {
		p := start(t, with(fake(t, "raw", "caf\xe9 \xff\xfe\n\r\nx\r\r\na\rb\n\n\x1b[1mlast")))
		out, _ := all(t, p)
		want := []string{"caf\xe9 \xff\xfe", "", "x\r", "a\rb", "", "\x1b[1mlast"}
		if diff := cmp.Diff(want, out); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	long := func(t *testing.T, s Spec) (lines []Line, sizes []int) {
		p := start(t, s)
		for {
			batch, err := p.Next(context.Background())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range batch {
				sizes = append(sizes, len(l.Data))
				l.Data = bytes.Clone(l.Data[max(0, len(l.Data)-8):])
				lines = append(lines, l)
			}
		}
		if e := p.Wait(); e.Code != 0 || e.Err != nil {
			t.Errorf("got %+v", e)
		}
		return lines, sizes
	}
	t.Run("as long as is allowed", func(t *testing.T) {
		began := time.Now()
		lines, sizes := long(t, fake(t, "long-line", fmt.Sprint(DefaultMaxLine)))
		if diff := cmp.Diff([]int{DefaultMaxLine, 5}, sizes); diff != "" || lines[0].Truncated {
			t.Errorf("%s, truncated: %t", diff, lines[0].Truncated)
		}
		t.Logf("64 MiB in %s", time.Since(began).Round(time.Millisecond))
	})
	t.Run("one byte more", func(t *testing.T) {
		s := fake(t, "long-line", fmt.Sprint(1<<20+1))
		s.MaxLine = 1 << 20
		lines, sizes := long(t, s)
		if diff := cmp.Diff([]int{1 << 20, 5}, sizes); diff != "" || !lines[0].Truncated || lines[0].Skipped != 1 {
			t.Errorf("%s, %+v", diff, lines[0])
		}
	})
	t.Run("far too long", func(t *testing.T) {
		s := fake(t, "long-line", fmt.Sprint(10<<20))
		s.MaxLine = 1000
		lines, sizes := long(t, s)
		if diff := cmp.Diff([]int{1000, 5}, sizes); diff != "" || !lines[0].Truncated || lines[0].Skipped != 10<<20-1000 {
			t.Errorf("%s, %+v", diff, lines[0])
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	const children, n = 200, 2000
	var wg sync.WaitGroup
	for i := range children {
		wg.Go(func() {
			s := fake(t, "lines", fmt.Sprint(n))
			s.withoutKeeper = i%4 == 3
			p, err := Start(context.Background(), s)
			if err != nil {
				t.Error(err)
				return
			}
			out, errs := all(t, p)
			e := p.Wait()
			if e.Code != 0 || e.Err != nil || e.Cut || len(out) != n || len(errs) != n/10 {
				t.Errorf("child %d: %d and %d lines, %+v", i, len(out), len(errs), e)
				return
			}
			for j, l := range out {
				if l != fmt.Sprintf("out %d", j) {
					t.Errorf("child %d: line %d is %q", i, j, l)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestSlowConsumer(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, with func(Spec) Spec) {
		s := with(fake(t, "lines", "30000"))
		s.Drain = 10 * time.Millisecond
		p := start(t, s)
		got := 0
		for {
			lines, err := p.Next(context.Background())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got += len(lines)
			time.Sleep(20 * time.Millisecond)
		}
		if e := p.Wait(); got != 33000 || e.Cut || e.Code != 0 {
			t.Errorf("got %d lines, %+v", got, e)
		}
	})
}

func TestWaitWithoutReading(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, with func(Spec) Spec) {
		p := start(t, with(fake(t, "lines", "4000")))
		if e := p.Wait(); e.Code != 0 || e.Cut {
			t.Errorf("got %+v", e)
		}
		if out, errs := all(t, p); len(out) != 4000 || len(errs) != 400 {
			t.Errorf("got %d and %d lines", len(out), len(errs))
		}
	})
}

func TestOutsiderHoldsStream(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, with func(Spec) Spec) {
		s := with(fake(t, "eof"))
		s.KeepStdin, s.Drain = true, 50*time.Millisecond
		p := start(t, s)
		first(t, p, "ready")
		theirs, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", p.PID()), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer theirs.Close()
		p.CloseInput()
		first(t, p, "bye")
		for _, err := p.Next(context.Background()); err == nil; _, err = p.Next(context.Background()) {
		}
		if e := p.Wait(); !e.Cut || e.Code != 0 || e.Survivors != 0 || e.Duration > 5*time.Second {
			t.Errorf("got %+v", e)
		}
	})
}

func TestStderrTail(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ limit, want int }{{0, DefaultStderrTail}, {100, 100}, {-1, 0}, {1 << 20, 21390}} {
		s := fake(t, "stderr", "1500")
		s.StderrTail = tc.limit
		p := start(t, s)
		_, errs := all(t, p)
		e := p.Wait()
		if len(errs) != 1500 || e.Code != 2 || len(e.StderrTail) != tc.want {
			t.Errorf("limit %d: got %d lines, %d bytes of tail, %+v", tc.limit, len(errs), len(e.StderrTail), e.Code)
		}
		if tc.want > 0 && !strings.HasSuffix(e.StderrTail, "complaint 1499\n") {
			t.Errorf("limit %d: the tail ends with %q", tc.limit, e.StderrTail[max(0, len(e.StderrTail)-20):])
		}
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, with func(Spec) Spec) {
		s := with(fake(t, "merge"))
		s.Merge = true
		p := start(t, s)
		out, errs := all(t, p)
		var want []string
		for i := range 50 {
			want = append(want, fmt.Sprintf("o%d", i), fmt.Sprintf("e%d", i))
		}
		if diff := cmp.Diff(want, out); diff != "" || len(errs) > 0 {
			t.Errorf("%s %q", diff, errs)
		}
		if e := p.Wait(); !strings.HasSuffix(e.StderrTail, "e49\n") {
			t.Errorf("the tail is %q", e.StderrTail)
		}
	})
}
