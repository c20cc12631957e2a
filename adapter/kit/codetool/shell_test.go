//go:build linux

package codetool

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/transport/process"
)

// shown collects what events would show.
type shown struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *shown) add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.WriteString(text)
}

func (s *shown) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

const mark = "CODETOOL_TEST"

func shell(t *testing.T) (Shell, func() error) {
	t.Helper()
	dir := t.TempDir()
	return Shell{Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), mark + "=" + dir}, Grace: 100 * time.Millisecond}, adaptertest.MarkedProcesses(mark + "=" + dir)
}

// TestShell: output, exit codes, and that there is no input.
func TestShell(t *testing.T) {
	t.Parallel()
	s, left := shell(t)
	for _, tt := range []struct {
		name, command, want, err string
		code                     int
	}{
		{"output", "echo a; echo b >&2; echo c", "a\nb\nc\n", "", 0},
		{"none", "true", "[no output]", "", 0},
		{"an exit code", "echo no; exit 3", "no\n", "no\n[exit code 3]", 3},
		{"a missing program", "no-such-program", "not found\n", "not found\n[exit code 127]", 127},
		{"a signal", "kill -9 $$", "[ended by SIGKILL]", "", -1},
		{"no input", "cat; echo end", "end\n", "", 0},
		{"the folder", "pwd", s.Dir + "\n", "", 0},
		{"not UTF-8", `printf 'caf\351\n'`, "caf\uFFFD\n", "", 0},
		{"no newline", "printf x", "x\n", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var seen shown
			a := s.run(t.Context(), tt.command, time.Minute, seen.add)
			if !strings.HasSuffix(a.Text, tt.want) || (tt.err == "") != (a.Error == "") || !strings.HasSuffix(a.Error, tt.err) || a.Exit.Code != tt.code || a.Exit.Exited != (tt.code >= 0) {
				t.Errorf("%+v, exit %+v", a, a.Exit)
			}
			if !strings.HasPrefix(tt.want, "[") && !strings.HasPrefix(a.Text, seen.String()) {
				t.Errorf("the events show %q", seen.String())
			}
		})
	}
	if err := left(); err != nil {
		t.Error(err)
	}
}

// TestShellInput: which calls are refused before anybody is asked.
func TestShellInput(t *testing.T) {
	t.Parallel()
	tool := Shell{}.Tool()
	for input, want := range map[string]string{`{"command":" "}`: "is empty", `{}`: "missing properties", `{"command":"ls","timeout_seconds":-1}`: "between 1 and 1800",
		`{"command":"ls","timeout_seconds":9999}`: "between 1 and 1800", `{"command":"a\u0000b"}`: "NUL", `{"command":"ls","cwd":"/"}`: "unexpected additional properties", `{"command":["ls"]}`: `type "array", want "string"`} {
		if _, err := tool.Check([]byte(input)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", input, err)
		}
	}
	if job, err := tool.Check([]byte(`{"command":"rm x"}`)); err != nil || job.Ask != "run a command" || job.Detail != "rm x" {
		t.Errorf("%+v, %v", job, err)
	}
}

// TestShellEnds: nothing that a command started outlives it: not in the background, not in a session of its own, not behind a
// trap, and not when its time is over or its turn.
func TestShellEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, command, want string
		limit               time.Duration
		cancel              bool // ends the turn once the command has written
	}{
		{"background", "sleep 60 & echo started", "", time.Minute, false},
		{"a session of its own", "setsid sleep 60 & (setsid sh -c 'sleep 60 & sleep 60' &) ; echo started", "", time.Minute, false},
		{"time", "echo before; sleep 60", "before\n[stopped: the time limit of 2s was reached]", 2 * time.Second, false},
		{"a trap", "trap '' TERM INT HUP; echo before; while :; do sleep 1; done", "before\n[stopped: the time limit of 2s was reached]", 2 * time.Second, false},
		{"the turn", "setsid sleep 60 & echo before; sleep 60", "before\n[stopped: the turn is over]", time.Minute, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, left := shell(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			a := s.run(ctx, tt.command, tt.limit, func(string) {
				if tt.cancel {
					cancel(errors.New("enough"))
				}
			})
			if a.Error != tt.want && a.Error != strings.TrimPrefix(tt.want, "before\n") { // on a busy machine the time is over first
				t.Errorf("%+v", a)
			}
			if err := left(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestShellOutput: a command that writes without end costs bounded memory, and the model reads the beginning and the end.
func TestShellOutput(t *testing.T) {
	t.Parallel()
	s, _ := shell(t)
	var seen shown
	a := s.run(t.Context(), "i=0; while [ $i -lt 40000 ]; do echo line $i of a long output that nobody reads; i=$((i+1)); done", time.Minute, seen.add)
	if len(a.Text) > shellHead+shellTail+100 || !strings.HasPrefix(a.Text, "line 0 ") || !strings.HasSuffix(a.Text, "line 39999 of a long output that nobody reads\n") ||
		!strings.Contains(a.Text, "bytes left out]\n") {
		t.Errorf("%d bytes: %.60q ... %q", len(a.Text), a.Text, a.Text[max(0, len(a.Text)-60):])
	}
	if n := len(seen.String()); n > shellShown+200_000 || !strings.HasSuffix(seen.String(), "[the rest of the output is not shown]\n") {
		t.Errorf("%d bytes are shown", n)
	}
	a = s.run(t.Context(), "head -c 3000000 /dev/zero | tr '\\0' x", time.Minute, func(string) {})
	if len(a.Text) > shellHead+shellTail+200 || !strings.Contains(a.Text, "more bytes]") {
		t.Errorf("a long line has %d bytes", len(a.Text))
	}
}

// TestOutputMemory: what is left out is not kept.
func TestOutputMemory(t *testing.T) {
	t.Parallel()
	var o output
	for range 1000 {
		o.add(strings.Repeat("x", 10_000))
	}
	if cap(o.head)+cap(o.tail) > 10*(shellHead+shellTail) || o.total != 10_000_000 {
		t.Errorf("%d bytes are kept of %d", cap(o.head)+cap(o.tail), o.total)
	}
}

// TestShellSpec: what the command's process gets.
func TestShellSpec(t *testing.T) {
	t.Parallel()
	var got process.Spec
	s := Shell{Dir: "/d", Env: []string{"A=1"}, Run: "run-1", Start: func(_ context.Context, spec process.Spec) (process.Handle, error) {
		got = spec
		return nil, errors.New("not here")
	}}
	for grace, want := range map[time.Duration]time.Duration{0: 2 * time.Second, -1: -1, time.Second: time.Second} {
		s.Grace = grace
		if a := s.run(t.Context(), "true", time.Minute, nil); !strings.Contains(a.Error, "not here") {
			t.Errorf("%+v", a)
		}
		if got.Dir != "/d" || got.Env[0] != "A=1" || got.Run != "run-1" || got.Grace != want || got.KeepStdin || len(got.Stdin) > 0 {
			t.Errorf("%+v", got)
		}
	}
}

// TestShellStart: a command that cannot start is a failed call.
func TestShellStart(t *testing.T) {
	t.Parallel()
	a := Shell{Dir: filepath.Join(t.TempDir(), "none")}.run(t.Context(), "true", time.Minute, func(string) {})
	if !strings.Contains(a.Error, "the command did not start") {
		t.Errorf("%+v", a)
	}
}
