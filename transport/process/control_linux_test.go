package process

import (
	"context"
	"errors"
	"io"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	proc "github.com/drawbar/drawbar/internal/base/pid"
)

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, with func(Spec) Spec) {
		p := start(t, with(fake(t, "beat")))
		first(t, p, "beat 3")
		if err := p.Pause(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
			if s, _ := proc.ReadStat(p.PID()); s.State == 'T' {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the process runs on")
			}
		}
		// What was on its way comes, and then nothing.
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		batches := 0
		for err := error(nil); err == nil; batches++ {
			_, err = p.Next(ctx)
		}
		if batches > 8 {
			t.Errorf("got %d batches from a paused process", batches)
		}
		if err := p.Resume(); err != nil {
			t.Fatal(err)
		}
		first(t, p, "beat")
		p.Stop(0)
		if e := p.Wait(); e.Signal != "SIGTERM" {
			t.Errorf("got %+v", e)
		}
	})
}

func TestAfterTheEnd(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, with func(Spec) Spec) {
		s := with(fake(t, "true"))
		s.KeepStdin = true
		p := start(t, s)
		want := p.Wait()
		for name, err := range map[string]error{"signal": p.Signal(syscall.SIGUSR1), "interrupt": p.Interrupt(),
			"pause": p.Pause(), "resume": p.Resume()} {
			if !errors.Is(err, ErrEnded) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		p.Stop(0)
		p.CloseInput()
		if got := p.Wait(); got != want || got.Stopped {
			t.Errorf("got %+v, want %+v", got, want)
		}
		for range 2 {
			if _, err := p.Next(context.Background()); !errors.Is(err, io.EOF) {
				t.Errorf("got %v, want io.EOF", err)
			}
		}
	})
}

func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, with func(Spec) Spec) {
		s := with(fake(t, "beat"))
		s.KeepStdin, s.Grace = true, 200*time.Millisecond
		p := start(t, s)
		first(t, p, "beat")
		var wg sync.WaitGroup
		for i := range 24 {
			wg.Go(func() {
				switch i % 6 {
				case 0:
					p.Stop(0)
				case 1:
					_ = p.Signal(syscall.SIGUSR1)
				case 2:
					_ = p.Write([]byte("x"))
				case 3:
					p.Wait()
				case 4:
					_ = p.Interrupt()
				case 5:
					p.CloseInput()
				}
			})
		}
		all(t, p)
		wg.Wait()
		if e := p.Wait(); e.Err != nil || !e.Stopped {
			t.Errorf("got %+v", e)
		}
	})
}

func TestPty(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, with func(Spec) Spec) {
		s := with(fake(t, "tty"))
		s.Pty, s.KeepStdin, s.Stdin = true, true, []byte("one\n")
		p := start(t, s)
		if got := first(t, p, "term "); got != "xterm-256color" {
			t.Errorf("got TERM %q", got)
		}
		if got := first(t, p, "size "); got != "120x40" {
			t.Errorf("got %q", got)
		}
		first(t, p, "got one")
		if err := p.Interrupt(); err != nil {
			t.Fatal(err)
		}
		first(t, p, "interrupted")
		if err := p.Write([]byte("two\nthree")); err != nil {
			t.Fatal(err)
		}
		p.CloseInput()
		out, errs := all(t, p)
		if diff := cmp.Diff([]string{"got two", "got three", "eof"}, out); diff != "" || errs != nil {
			t.Errorf("(-want +got)\n%s%q", diff, errs)
		}
		if e := p.Wait(); e.Code != 0 || e.Err != nil || e.Cut {
			t.Errorf("got %+v", e)
		}
	})
	eachMode(t, func(t *testing.T, with func(Spec) Spec) {
		dir := t.TempDir()
		s := with(fake(t, "detach-marked", dir))
		s.Pty, s.Dir, s.KeepStdin, s.Grace = true, dir, true, 300*time.Millisecond
		p := start(t, s)
		first(t, p, "ready")
		p.Stop(0)
		all(t, p)
		if e := p.Wait(); e.Signal != "SIGTERM" || e.Err != nil {
			t.Errorf("got %+v", e)
		}
		noneLeft(t, dir)
	})
}
