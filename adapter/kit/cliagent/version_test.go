package cliagent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbar/drawbar/adapter"
)

func host(spawn func(context.Context, adapter.SpawnRequest) (adapter.SpawnOutcome, error)) adapter.Host {
	return adapter.Host{
		LookPath: func(name string) (string, error) {
			if name == "missing" {
				return "", errors.New("not found")
			}
			return "/bin/" + name, nil
		},
		Spawn: spawn,
	}
}

func TestDetectVersion(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		command string
		out     adapter.SpawnOutcome
		err     error
		want    adapter.Installation
	}{
		{name: "plain", out: adapter.SpawnOutcome{Stdout: "2.1.329 (Claude Code)\n"}, want: adapter.Installation{Installed: true, Path: "/bin/x", Version: "2.1.329"}},
		{name: "with a name", out: adapter.SpawnOutcome{Stdout: "codex-cli 0.169.0\n"}, want: adapter.Installation{Installed: true, Path: "/bin/x", Version: "0.169.0"}},
		{name: "after a banner", out: adapter.SpawnOutcome{Stdout: "hello\n\nv1.2.3-beta.1\n"}, want: adapter.Installation{Installed: true, Path: "/bin/x", Version: "1.2.3-beta.1"}},
		{name: "on stderr", out: adapter.SpawnOutcome{Stderr: "x 3.4.5"}, want: adapter.Installation{Installed: true, Path: "/bin/x", Version: "3.4.5"}},
		{name: "too far down", out: adapter.SpawnOutcome{Stdout: strings.Repeat("no\n", 30) + "1.2.3", Code: 2},
			want: adapter.Installation{Installed: true, Path: "/bin/x", Notes: "x --version printed no version (exit code 2)"}},
		{name: "does not start", err: errors.New("boom"), want: adapter.Installation{Installed: true, Path: "/bin/x", Notes: "x --version: boom"}},
		{name: "not there", command: "missing", want: adapter.Installation{Notes: "command missing not found: not found"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := host(func(_ context.Context, r adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
				if r.Command != "/bin/x" || strings.Join(r.Args, " ") != "--version" {
					t.Errorf("spawned %s %v", r.Command, r.Args)
				}
				return tt.out, tt.err
			})
			if tt.command == "" {
				tt.command = "x"
			}
			got, err := DetectVersion(t.Context(), h, tt.command)
			if err != nil || got != tt.want {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

func TestDetectVersionDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := host(func(ctx context.Context, _ adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
			<-ctx.Done()
			return adapter.SpawnOutcome{}, ctx.Err()
		})
		start := time.Now()
		got, err := DetectVersion(t.Context(), h, "x", "version")
		if err != nil || !got.Installed || got.Notes != "x version did not answer within 25s" || time.Since(start) != 25*time.Second {
			t.Errorf("got %+v, %v after %v", got, err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		if got, err := DetectVersion(ctx, h, "x"); err != nil || !got.Installed || got.Notes != "x --version did not answer within 14s" {
			t.Errorf("with a caller that waits for 15 s: %+v, %v", got, err)
		}
		cancel()
		if _, err := DetectVersion(ctx, h, "x"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the error of the context", err)
		}
	})
}
