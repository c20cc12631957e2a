package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/transport/process/internal/supervisor"
)

func TestAgentGetsExactly(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, with func(Spec) Spec) {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		s := with(fake(t, "env", "one", "", "two words", "--three=\n4"))
		s.Dir = dir
		s.Env = append(s.Env, "TWICE=first", "TWICE=second", "EMPTY=", "GOGC=77", "NOVALUE")
		p := start(t, s)
		out, _ := all(t, p)
		if e := p.Wait(); e.Code != 0 {
			t.Fatalf("got %+v", e)
		}
		want := []string{"env " + fakeEnv + "=env", "env GORACE=atexit_sleep_ms=0", "env HOME=/nonexistent",
			"env TWICE=second", "env EMPTY=", "env GOGC=77", "dir " + dir, "arg " + s.Path, "arg one", "arg ", "arg two words", "arg --three=", "4"}
		got := slices.DeleteFunc(slices.Clone(out), func(l string) bool { return strings.HasPrefix(l, "env "+supervisor.MarkName+"=") })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if marked := len(got) != len(out); marked != s.withoutKeeper {
			t.Errorf("the marker is in the environment: %t", marked)
		}
	})
	// A file that the host program lets through, as one written without care would.
	leak, err := syscall.Open("/dev/zero", syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(leak) })
	eachMode(t, func(t *testing.T, with func(Spec) Spec) {
		s := with(fake(t, "state"))
		s.KeepStdin = true
		p := start(t, s)
		p.CloseInput()
		got, _ := all(t, p)
		if s.withoutKeeper {
			got = slices.DeleteFunc(got, func(l string) bool { return strings.HasPrefix(l, "open ") })
		}
		want := []string{"sid true", "pgid true", "fd 0 blocking true", "fd 1 blocking true", "fd 2 blocking true"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, with func(Spec) Spec) {
		for _, code := range []int{0, 1, 13, 255} {
			p := start(t, with(fake(t, "exit", fmt.Sprint(code))))
			all(t, p)
			if e := p.Wait(); e.Code != code || e.Signal != "" || e.Err != nil || e.Stopped || e.Killed || e.Cut || e.Survivors != 0 {
				t.Errorf("code %d: got %+v", code, e)
			}
		}
	})
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain", "#!/bin/sh\n", 0o644)
	for _, tc := range []struct {
		name string
		spec Spec
		want error
	}{
		{"no path", Spec{}, ErrInvalid},
		{"missing", Spec{Path: filepath.Join(dir, "nosuch")}, ErrNotFound},
		{"below a file", Spec{Path: filepath.Join(plain, "x")}, ErrNotFound},
		{"not executable", Spec{Path: plain}, ErrNotExecutable},
		{"directory", Spec{Path: dir}, ErrNotExecutable},
		{"no interpreter", Spec{Path: write("lost", "#!/no/such/interpreter\n", 0o755)}, ErrNotExecutable},
		{"no format", Spec{Path: write("garbage", "\x01\x02\x03", 0o755)}, ErrNotExecutable},
		{"missing directory", Spec{Path: "/bin/true", Dir: filepath.Join(dir, "nosuch")}, ErrBadDir},
		{"directory is a file", Spec{Path: "/bin/true", Dir: plain}, ErrBadDir},
		{"argument too long", Spec{Path: "/bin/true", Args: []string{strings.Repeat("a", 200<<10)}}, ErrTooLong},
		{"NUL in argument", Spec{Path: "/bin/true", Args: []string{"a\x00b"}}, ErrInvalid},
		{"NUL in environment", Spec{Path: "/bin/true", Env: []string{"A=secret\x00"}}, ErrInvalid},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			eachMode(t, func(t *testing.T, with func(Spec) Spec) {
				for _, pty := range []bool{false, true} {
					s := with(tc.spec)
					s.Pty = pty
					p, err := Start(context.Background(), s)
					if err == nil {
						p.Stop(-1)
						p.Wait()
						t.Fatal("it started")
					}
					var typed *StartError
					if !errors.Is(err, tc.want) || !errors.As(err, &typed) || typed.Path != tc.spec.Path {
						t.Errorf("got %v, want %v", err, tc.want)
					}
					if strings.Contains(err.Error(), "secret") {
						t.Errorf("the error shows a value: %v", err)
					}
				}
			})
		})
	}
	t.Run("context is over", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(context.Background())
		because := errors.New("because")
		cancel(because)
		_, err := Start(ctx, Spec{Path: "/bin/true"})
		if !errors.Is(err, context.Canceled) || !errors.Is(err, because) {
			t.Errorf("got %v", err)
		}
	})
}
