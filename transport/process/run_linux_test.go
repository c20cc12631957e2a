package process

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	t.Parallel()
	big := bytes.Repeat([]byte("0123456789\x00\n"), 100_000)
	for _, tt := range []struct {
		name  string
		spec  Spec
		check func(t *testing.T, out []byte, e Exit)
	}{
		{"input and output are bytes", func() Spec { s := fake(t, "echo"); s.Stdin = big; return s }(), func(t *testing.T, out []byte, e Exit) {
			if !bytes.Equal(out, big) || e.Code != 0 || e.Err != nil {
				t.Errorf("got %d bytes, %+v", len(out), e)
			}
		}},
		{"exit code", fake(t, "exit", "7"), func(t *testing.T, _ []byte, e Exit) {
			if e.Code != 7 || e.Err != nil || e.Stopped {
				t.Errorf("got %+v", e)
			}
		}},
		{"end of standard error", fake(t, "stderr", "3"), func(t *testing.T, out []byte, e Exit) {
			if e.Code != 2 || e.StderrTail != "complaint 0\ncomplaint 1\ncomplaint 2\n" || len(out) != 0 {
				t.Errorf("got %q, %+v", out, e)
			}
		}},
		{"merged", func() Spec { s := fake(t, "merge"); s.Merge = true; return s }(), func(t *testing.T, out []byte, e Exit) {
			if !strings.HasPrefix(string(out), "o0\ne0\no1\n") || e.Code != 0 {
				t.Errorf("got %q, %+v", out, e)
			}
		}},
		{"a signal", fake(t, "die"), func(t *testing.T, _ []byte, e Exit) {
			if e.Code != -1 || e.Signal != "SIGUSR2" || e.Err != nil {
				t.Errorf("got %+v", e)
			}
		}},
		{"input that nobody reads", func() Spec { s := fake(t, "no-read"); s.Stdin = big; return s }(), func(t *testing.T, out []byte, e Exit) {
			if string(out) != "done\n" || e.Err != nil || e.Cut {
				t.Errorf("got %q, %+v", out, e)
			}
		}},
		{"a group of its own", fake(t, "state"), func(t *testing.T, out []byte, _ Exit) {
			if !bytes.Contains(out, []byte("pgid true")) {
				t.Errorf("got %q", out)
			}
		}},
		{"output that is too long", func() Spec { s := fake(t, "flood"); s.MaxLine = 1 << 16; return s }(), func(t *testing.T, out []byte, e Exit) {
			if !errors.Is(e.Err, ErrOutputTooLong) || len(out) != 1<<16 {
				t.Errorf("got %d bytes, %+v", len(out), e)
			}
		}},
		{"output that just fits", func() Spec { s := fake(t, "raw", "12345"); s.MaxLine = 5; return s }(), func(t *testing.T, out []byte, e Exit) {
			if e.Err != nil || string(out) != "12345" {
				t.Errorf("got %q, %+v", out, e)
			}
		}},
		{"a missing program", Spec{Path: filepath.Join(t.TempDir(), "missing")}, func(t *testing.T, _ []byte, e Exit) {
			if !errors.Is(e.Err, ErrNotFound) || e.Code != -1 {
				t.Errorf("got %+v", e)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, e := Run(t.Context(), tt.spec)
			tt.check(t, out, e)
		})
	}
}

func TestRunIsStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	s := fake(t, "hang-silent")
	s.Grace = 10 * time.Second
	if _, e := Run(ctx, s); !errors.Is(e.Err, context.DeadlineExceeded) || !e.Stopped || e.Killed {
		t.Errorf("got %+v", e)
	}
	ready := filepath.Join(t.TempDir(), "ready")
	begun, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for begun.Err() == nil {
			if _, err := os.Stat(ready); err == nil {
				stop() // it ignores signals from now on
			}
			time.Sleep(time.Millisecond)
		}
	}()
	s = fake(t, "stubborn", ready)
	s.Grace = 100 * time.Millisecond
	if _, e := Run(begun, s); !errors.Is(e.Err, context.Canceled) || !e.Stopped || !e.Killed {
		t.Errorf("stubborn: got %+v", e)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, e := Run(ctx, fake(t, "hang-silent")); !errors.Is(e.Err, context.Canceled) {
		t.Errorf("got %+v", e)
	}
}

func TestRunKillsTheGroup(t *testing.T) {
	t.Parallel()
	mark := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	s := fake(t, "group-child", mark)
	s.Grace = 100 * time.Millisecond
	if _, e := Run(ctx, s); !e.Stopped {
		t.Errorf("got %+v", e)
	}
	for deadline := time.Now().Add(5 * time.Second); len(living(mark)) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a process of the group is left")
		}
	}
}

func TestRunDoesNotWaitForADescendant(t *testing.T) {
	t.Parallel()
	mark := t.TempDir()
	s := fake(t, "holder", mark)
	s.Drain = 100 * time.Millisecond
	out, e := Run(t.Context(), s)
	if string(out) != "ready\n" || !e.Cut || e.Code != 0 || e.Err != nil {
		t.Errorf("got %q, %+v", out, e)
	}
	for _, line := range living(mark) {
		pid, _, _ := strings.Cut(line, " ")
		_ = SignalPID(atoi(pid), true)
	}
}
