package process

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"
)

// BenchmarkStartWait is what a run of a program that does nothing costs.
func BenchmarkStartWait(b *testing.B) {
	run := func(change func(*Spec)) func(*testing.B) {
		return func(b *testing.B) {
			s := Spec{Path: "/bin/true"}
			change(&s)
			for b.Loop() {
				p, err := Start(context.Background(), s)
				if err != nil {
					b.Fatal(err)
				}
				if e := p.Wait(); e.Code != 0 || e.Err != nil {
					b.Fatalf("%+v", e)
				}
			}
		}
	}
	b.Run("os-exec", func(b *testing.B) {
		for b.Loop() {
			c := exec.Command("/bin/true")
			c.Stdout, c.Stderr = io.Discard, io.Discard
			if err := c.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("keeper", run(func(*Spec) {}))
	b.Run("keeper-without-group", run(func(s *Spec) { s.withoutGroup = true }))
	b.Run("direct", run(func(s *Spec) { s.withoutKeeper = true }))
	b.Run("helper", func(b *testing.B) {
		for b.Loop() {
			if _, e := Run(context.Background(), Spec{Path: "/bin/true"}); e.Code != 0 || e.Err != nil {
				b.Fatalf("%+v", e)
			}
		}
	})
}

// pipeReader feeds data through a real pipe into a reader and returns how to take its lines.
func pipeReader(b *testing.B, data []byte, limit int) *Process {
	b.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		_, _ = w.Write(data)
		_ = w.Close()
	}()
	p := &Process{out: newOutbox(1)}
	rd := newReader(Stdout, r, limit, p.out, nil, nil, nil)
	go func() {
		_ = rd.run()
		_ = r.Close()
	}()
	return p
}

func drain(b *testing.B, p *Process) (lines, size int) {
	b.Helper()
	for {
		batch, err := p.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return lines, size
		}
		if err != nil {
			b.Fatal(err)
		}
		lines += len(batch)
		for i := range batch {
			size += len(batch[i].Data)
		}
	}
}

// BenchmarkLines splits 100 MB of lines of 400 bytes that come through a pipe.
func BenchmarkLines(b *testing.B) {
	data := bytes.Repeat(append(bytes.Repeat([]byte("a"), 399), '\n'), 250_000)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if n, _ := drain(b, pipeReader(b, data, DefaultMaxLine)); n != 250_000 {
			b.Fatalf("got %d lines", n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/250_000, "ns/line")
}

// BenchmarkLongLine takes one line of 64 MiB through a pipe.
func BenchmarkLongLine(b *testing.B) {
	data := append(bytes.Repeat([]byte("a"), 64<<20), '\n')
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if n, size := drain(b, pipeReader(b, data, DefaultMaxLine)); n != 1 || size != 64<<20 {
			b.Fatalf("got %d lines, %d bytes", n, size)
		}
	}
}
