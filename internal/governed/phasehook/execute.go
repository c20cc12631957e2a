package phasehook

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/lookpath"
	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/transport/process"
)

// drain is how long leftover processes of a hook may keep its output open.
const drain = 200 * time.Millisecond

// execute calls a hook within its time limit.
func (r *Runner) execute(ctx context.Context, phase string, h protocol.Hook, c Call, input []byte) execution {
	ran := execution{redact: r.redactor()}
	for name, value := range h.Env.All() {
		ran.redact.Add(secret.Variable(name, value)...)
	}
	begun := time.Now()
	switch h.Type {
	case "http":
		r.post(ctx, h, input, &ran)
	case "", "process":
		r.spawn(ctx, phase, h, c, input, &ran)
	default:
		ran.failure = fmt.Sprintf("unknown type %q", h.Type)
	}
	ran.duration = time.Since(begun)
	return ran
}

// spawn runs a hook's program.
func (r *Runner) spawn(ctx context.Context, phase string, h protocol.Hook, c Call, input []byte, ran *execution) {
	env := r.environ(phase, h, c)
	program, err := r.program(h, env)
	if err != nil {
		ran.failure = err.Error()
		return
	}
	start := r.Start
	if start == nil {
		start = process.Launch
	}
	p, err := start(ctx, process.Spec{Path: program, Args: h.Command[1:], Dir: r.Root, Env: env, Stdin: input, MaxLine: mostOutput,
		Grace: -1, Drain: drain, StderrTail: -1})
	if err != nil {
		ran.failure = err.Error()
		return
	}
	over := make(chan struct{})
	timer := time.AfterFunc(timeout(h), func() {
		p.Stop(-1) // at once, with everything it started
		close(over)
	})
	ran.collect(p)
	exit := p.Wait()
	if !timer.Stop() {
		<-over
		ran.timedOut = true
	}
	if exit.Signal == "" && exit.Code >= 0 {
		ran.exitCode = new(exit.Code)
	}
	switch {
	case exit.Signal != "":
		ran.failure = "ended by " + exit.Signal
	case exit.Code != 0:
		ran.failure = fmt.Sprintf("exit code %d", exit.Code)
	}
}

// collect reads a program's output to its end.
func (ran *execution) collect(p process.Handle) {
	var stdout, stderr bytes.Buffer
	_ = process.ReadAll(p, func(l process.Line) { // how it ended says more
		into, most := &stdout, mostOutput
		if l.Stream == process.Stderr {
			into, most = &stderr, 16*mostStderr // more than is kept, so that a secret at the cut is complete
		}
		room := most - into.Len()
		if len(l.Data)+1 > room || l.Truncated {
			ran.tooMuch = ran.tooMuch || l.Stream == process.Stdout
		}
		into.Write(l.Data[:min(len(l.Data), max(0, room-1))])
		if room > 0 {
			into.WriteByte('\n')
		}
	})
	ran.stdout, ran.stderr = stdout.Bytes(), stderr.String()
}

// environ returns the environment of a hook's program.
func (r *Runner) environ(phase string, h protocol.Hook, c Call) []string {
	env := append(slices.Clone(r.Environ), "AGENTXCHAIN_HOOK_PHASE="+phase, "AGENTXCHAIN_HOOK_NAME="+h.Name, "AGENTXCHAIN_RUN_ID="+c.RunID,
		"AGENTXCHAIN_PROJECT_ROOT="+r.Root)
	for name, value := range h.Env.All() {
		env = append(env, name+"="+value)
	}
	return env
}

// program finds a hook's program: on its PATH, or in the project.
func (r *Runner) program(h protocol.Hook, env []string) (string, error) {
	if len(h.Command) == 0 {
		return "", errors.New("it has no command")
	}
	program, err := lookpath.In(env, r.Root, h.Command[0])
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is not installed", h.Command[0])
	}
	return program, err
}

func timeout(h protocol.Hook) time.Duration {
	return time.Duration(cmp.Or(h.TimeoutMS, 30000)) * time.Millisecond
}
