package process

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// modes are the ways in which a process is held on Linux.
var modes = []struct {
	name          string
	direct, alone bool
}{{name: "keeper"}, {name: "keeper without group", alone: true}, {name: "direct", direct: true}}

func eachMode(t *testing.T, f func(t *testing.T, with func(Spec) Spec)) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			f(t, func(s Spec) Spec {
				s.withoutKeeper, s.withoutGroup = m.direct, m.alone
				return s
			})
		})
	}
}

// noneLeft fails the test when a process with the mark lives.
func noneLeft(t testing.TB, mark string) {
	t.Helper()
	if left := living(mark); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
}

func TestStopLadder(t *testing.T) {
	t.Parallel()
	const grace = 300 * time.Millisecond
	none := func(*Process) {}
	stop := func(p *Process) { p.Stop(grace) }
	for _, tc := range []struct {
		name  string
		fake  string
		ready bool // wait for the line "ready" before act
		act   func(*Process)
		code  int
		sig   string
		want  func(Exit) bool // beyond code and signal
		// keeperOnly marks trees that nothing finds for sure without a keeper.
		keeperOnly bool
	}{
		{name: "exits on EOF", fake: "eof", ready: true, act: (*Process).CloseInput,
			want: func(e Exit) bool { return !e.Stopped && !e.Killed && !e.Cut && e.Survivors == 0 }},
		{name: "exits on interrupt", fake: "on-interrupt", ready: true, act: func(p *Process) { _ = p.Interrupt() }, code: 7,
			want: func(e Exit) bool { return !e.Stopped && !e.Killed }},
		{name: "exits on TERM", fake: "on-term", ready: true, act: stop, code: 8,
			want: func(e Exit) bool { return e.Stopped && !e.Killed }},
		{name: "dies of TERM", fake: "hang", ready: true, act: stop, code: -1, sig: "SIGTERM",
			want: func(e Exit) bool { return e.Stopped && !e.Killed }},
		{name: "paused, then stopped", fake: "hang", ready: true,
			act: func(p *Process) { _ = p.Pause(); p.Stop(10 * time.Second) }, code: -1, sig: "SIGTERM",
			want: func(e Exit) bool { return e.Stopped && !e.Killed && e.Duration < 8*time.Second }},
		{name: "ignores everything", fake: "stubborn", ready: true, act: stop, code: -1, sig: "SIGKILL",
			want: func(e Exit) bool { return e.Stopped && e.Killed && e.Duration >= grace }},
		{name: "killed at once", fake: "on-term", ready: true, act: func(p *Process) { p.Stop(-1) }, code: -1, sig: "SIGKILL",
			want: func(e Exit) bool { return e.Stopped && e.Killed }},
		{name: "a second stop shortens the grace", fake: "stubborn", ready: true,
			act: func(p *Process) { p.Stop(time.Hour); p.Stop(grace); p.Stop(time.Hour) }, code: -1, sig: "SIGKILL",
			want: func(e Exit) bool { return e.Stopped && e.Killed }},
		{name: "leaves a child holding stdout", fake: "holder", act: none,
			want: func(e Exit) bool { return e.Cut && e.Survivors == 1 && !e.Stopped && e.Duration >= grace }},
		{name: "leaves a child that still writes", fake: "late-writer", act: none,
			want: func(e Exit) bool { return !e.Cut && e.Survivors == 0 }},
		{name: "closes stdout but lives", fake: "closes", act: stop, ready: true, code: -1, sig: "SIGTERM",
			want: func(e Exit) bool { return e.Stopped && !e.Cut }},
		{name: "floods", fake: "flood", act: stop, code: -1, sig: "SIGTERM",
			want: func(e Exit) bool { return e.Stopped && !e.Killed && !e.Cut }},
		{name: "dies by a signal", fake: "die", act: none, code: -1, sig: "SIGUSR2",
			want: func(e Exit) bool { return !e.Stopped && !e.Killed }},
		{name: "ends its first thread", fake: "headless", ready: true, act: stop, code: -1, sig: "SIGKILL",
			want: func(e Exit) bool { return e.Stopped && e.Killed }},
		{name: "leaves a child without its first thread", fake: "headless-child", act: none,
			want: func(e Exit) bool { return e.Survivors == 1 && !e.Cut }},
		{name: "has a child in its group", fake: "group-child", ready: true, act: stop, code: -1, sig: "SIGTERM",
			want: func(e Exit) bool { return e.Stopped }},
		{name: "double fork, setsid, no environment; stopped", fake: "detach", ready: true, act: stop, code: -1, sig: "SIGTERM",
			want: func(e Exit) bool { return e.Survivors >= 3 }, keeperOnly: true},
		{name: "double fork, setsid; stopped", fake: "detach-marked", ready: true, act: stop, code: -1, sig: "SIGTERM",
			want: func(e Exit) bool { return e.Survivors >= 3 }},
		{name: "double fork, setsid, no environment; exits", fake: "detach exits", act: none,
			want: func(e Exit) bool { return e.Survivors >= 3 && !e.Cut && !e.Stopped }, keeperOnly: true},
		{name: "forks without end", fake: "forker ready", ready: true, act: stop, code: -1, sig: "SIGTERM",
			want: func(e Exit) bool { return e.Survivors > 0 }, keeperOnly: true},
	} {
		for _, m := range modes {
			if m.direct && tc.keeperOnly {
				continue
			}
			t.Run(tc.name+"/"+m.name, func(t *testing.T) {
				t.Parallel()
				words := strings.Fields(tc.fake)
				id := t.TempDir()
				s := fake(t, words[0], append([]string{id}, words[1:]...)...)
				s.Dir, s.KeepStdin, s.Grace, s.Drain = id, true, grace, time.Second
				s.withoutKeeper, s.withoutGroup = m.direct, m.alone
				if tc.fake == "holder" {
					s.Drain = grace
				}
				p := start(t, s)
				if tc.ready {
					first(t, p, "ready")
				}
				tc.act(p)
				all(t, p)
				e := p.Wait()
				noneLeft(t, id)
				if e.Code != tc.code || e.Signal != tc.sig || e.Err != nil {
					t.Errorf("got code %d, signal %q, error %v; want code %d, signal %q", e.Code, e.Signal, e.Err, tc.code, tc.sig)
				}
				if !tc.want(e) {
					t.Errorf("got %+v", e)
				}
			})
		}
	}
}

// TestContextEndsProcess: the end of the context is a stop, and Next of a caller with the same context does not keep
// the run from ending.
func TestContextEndsProcess(t *testing.T) {
	t.Parallel()
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(context.Background())
			s := fake(t, "flood")
			s.withoutKeeper, s.Drain = m.direct, time.Minute // not waited for, on a busy machine either
			p, err := Start(ctx, s)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Next(ctx); err != nil {
				t.Fatal(err)
			}
			because := errors.New("because")
			cancel(because)
			for err == nil {
				_, err = p.Next(ctx)
			}
			if !errors.Is(err, context.Canceled) || !errors.Is(err, because) {
				t.Errorf("got %v, want both the cancellation and its cause", err)
			}
			e := p.Wait()
			if e.Signal != "SIGTERM" || !e.Stopped || e.Killed || e.Cut || e.Duration > s.Drain {
				t.Errorf("got %+v", e)
			}
			// What was printed before the end is still there.
			lines, err := p.Next(context.Background())
			if err != nil || len(lines) == 0 {
				t.Errorf("got %d lines and %v, want what the process printed before", len(lines), err)
			}
			for err == nil {
				_, err = p.Next(context.Background())
			}
			if !errors.Is(err, io.EOF) {
				t.Errorf("got %v, want io.EOF", err)
			}
		})
	}
}
