package cliagent

import (
	"bytes"
	"context"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/transport/process"
)

// maxSpawnOutput bounds what Spawn keeps of each stream; the rest is discarded.
const maxSpawnOutput = 4 << 20

// Spawn runs a command to its end: the spawner of oshost.New. When it returns, also because ctx ended, the
// command and its child processes have ended.
func Spawn(ctx context.Context, c adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
	env := os.Environ()
	for k, v := range c.Env {
		env = append(env, k+"="+v)
	}
	path := c.Command
	if filepath.Base(path) == path {
		found, err := oshost.New(nil).LookPath(path)
		if err != nil {
			return adapter.SpawnOutcome{}, err
		}
		path = found
	}
	dir := c.Cwd
	if dir == "" {
		dir = neutralDir()
	}
	p, err := process.Start(ctx, process.Spec{Path: path, Args: c.Args, Dir: dir, Env: env, Stdin: c.Stdin, Grace: time.Second, Drain: time.Second})
	if err != nil {
		return adapter.SpawnOutcome{}, err
	}
	var out, errs bytes.Buffer
	_ = process.ReadAll(p, func(l process.Line) { // how it ended says more
		b := &out
		if l.Stream == process.Stderr {
			b = &errs
		}
		if b.Len() < maxSpawnOutput {
			b.Write(l.Data)
			b.WriteByte('\n')
		}
	})
	exit := p.Wait()
	if ctx.Err() != nil {
		return adapter.SpawnOutcome{}, context.Cause(ctx)
	}
	return adapter.SpawnOutcome{Code: exit.Code, Stdout: out.String(), Stderr: errs.String()}, nil
}

// neutralDir is a directory without project settings, for probes.
func neutralDir() string {
	if u, err := user.Current(); err == nil && u.HomeDir != "" {
		if _, err := os.Stat(u.HomeDir); err == nil {
			return u.HomeDir
		}
	}
	return os.TempDir()
}
