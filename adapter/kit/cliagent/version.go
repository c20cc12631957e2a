package cliagent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/internal/base/version"
)

// versionTimeout is for agents that take seconds to start cold, versionSpare what is left of a caller's time for the answer that a program
// is there but silent.
const (
	versionTimeout = 25 * time.Second
	versionSpare   = time.Second
)

// versionLines is how many lines are searched for a version; a banner or a warning may come first.
const versionLines = 20

// DetectVersion checks whether a command is installed and asks for its version, with --version by default, for at
// most 25 s, and until a second before the deadline of ctx. A missing or silent agent is not an error: Notes says why. The error is that of ctx.
func DetectVersion(ctx context.Context, h adapter.Host, command string, args ...string) (adapter.Installation, error) {
	path, err := h.LookPath(command)
	if err != nil {
		return adapter.Installation{Notes: fmt.Sprintf("command %s not found: %v", command, err)}, ctx.Err()
	}
	in := adapter.Installation{Installed: true, Path: path}
	if len(args) == 0 {
		args = []string{"--version"}
	}
	asked := strings.Join(append([]string{command}, args...), " ")
	timeout := versionTimeout
	if end, ok := ctx.Deadline(); ok {
		left := time.Until(end)
		timeout = min(timeout, left-min(versionSpare, left/2))
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out, err := h.Spawn(limited, adapter.SpawnRequest{Command: path, Args: args})
	switch {
	case ctx.Err() != nil:
		return in, fmt.Errorf("%s: %w: %w", asked, ctx.Err(), context.Cause(ctx))
	case limited.Err() != nil:
		in.Notes = fmt.Sprintf("%s did not answer within %v", asked, timeout.Round(time.Millisecond))
		return in, nil
	case err != nil:
		in.Notes = fmt.Sprintf("%s: %v", asked, err)
		return in, nil
	}
	// What a failed program prints to standard error may be the version of what crashed, such as Node.js.
	if in.Version = version.Find(firstLines(out.Stdout)); in.Version == "" && out.Code == 0 {
		in.Version = version.Find(firstLines(out.Stderr))
	}
	if in.Version == "" {
		in.Notes = fmt.Sprintf("%s printed no version (exit code %d)", asked, out.Code)
	}
	return in, nil
}

func firstLines(s string) string {
	end := 0
	for range versionLines {
		i := strings.IndexByte(s[end:], '\n')
		if i < 0 {
			return s
		}
		end += i + 1
	}
	return s[:end]
}
