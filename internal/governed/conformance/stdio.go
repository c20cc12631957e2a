package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/transport/process"
)

// Stdio is an implementation that is a program: it is started for every fixture, gets it as one line on its standard
// input, and answers on its standard output and with its exit code.
type Stdio struct {
	Claims Capabilities
	// Dir is the working directory of the program.
	Dir string
	// Path is the program, Args its arguments.
	Path string
	Args []string
	Env  []string
	Jobs int // zero is one
}

// OpenStdio returns the target of a folder with a capabilities file. lookPath finds a program that is named without a
// folder.
func OpenStdio(dir string, env []string, lookPath func(string) (string, error)) (*Stdio, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, filepath.FromSlash(CapabilitiesFile))
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no %s", dir, CapabilitiesFile)
	}
	if err != nil {
		return nil, err
	}
	c, err := ParseCapabilities(data, StdioProtocol)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	s := &Stdio{Claims: c, Dir: dir, Args: c.Adapter.Command[1:], Env: env}
	s.Path, err = program(dir, c.Adapter.Command[0], lookPath)
	if err != nil {
		return nil, fmt.Errorf("%s: adapter.command: %w", file, err)
	}
	return s, nil
}

// program is the path of a program: one with a folder in its name is relative to dir.
func program(dir, name string, lookPath func(string) (string, error)) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	if strings.ContainsAny(name, `/`+string(filepath.Separator)) {
		return filepath.Join(dir, filepath.FromSlash(name)), nil
	}
	return lookPath(name)
}

// Capabilities are the claims of the capabilities file.
func (s *Stdio) Capabilities(context.Context) (Capabilities, error) { return s.Claims, nil }

// Concurrency is Jobs, at least one: other programs may share files between fixtures.
func (s *Stdio) Concurrency() int { return max(1, s.Jobs) }

// Execute runs the program on one fixture. When ctx ends, the program and everything that it started are killed.
func (s *Stdio) Execute(ctx context.Context, f Fixture) (Answer, error) {
	p, err := process.Start(ctx, process.Spec{
		Path: s.Path, Args: s.Args, Dir: s.Dir, Env: s.Env, Stdin: append(append([]byte(nil), f.Raw...), '\n'),
		MaxLine: maxAnswer, Grace: -1, Drain: 500 * time.Millisecond,
	})
	if err != nil {
		return Answer{}, fmt.Errorf("start the program: %w", err)
	}
	out, readErr := readOutput(p)
	if readErr != nil {
		p.Stop(-1)
	}
	exit := p.Wait()
	switch {
	case ctx.Err() != nil:
		return Answer{}, context.Cause(ctx)
	case readErr != nil:
		return Answer{}, readErr
	case exit.Signal != "":
		return Answer{}, fmt.Errorf("the program was ended by %s%s", exit.Signal, said(exit.StderrTail))
	case exit.Err != nil:
		return Answer{}, fmt.Errorf("run the program: %w", exit.Err)
	case exit.Code < 0 || exit.Code > 3:
		return Answer{}, fmt.Errorf("the program exited with %d, not 0 to 3%s", exit.Code, said(exit.StderrTail))
	}
	a, err := parseAnswer([]byte(out))
	if err != nil {
		return Answer{}, fmt.Errorf("%w%s", err, said(exit.StderrTail))
	}
	if a.Status.ExitCode() != exit.Code {
		return Answer{}, fmt.Errorf("the program answered %s, but exited with %d instead of %d", a.Status, exit.Code, a.Status.ExitCode())
	}
	return a, nil
}

// readOutput reads all of standard output, up to a limit.
func readOutput(p *process.Process) (string, error) {
	var out strings.Builder
	for {
		// The process is stopped by its own context; its output is read to the end.
		lines, err := p.Next(context.Background())
		for _, l := range lines {
			if l.Stream != process.Stdout {
				continue
			}
			if l.Truncated || out.Len()+len(l.Data) > maxAnswer {
				return "", fmt.Errorf("the program's answer has more than %d bytes", maxAnswer)
			}
			out.Write(l.Data)
			out.WriteByte('\n')
		}
		if errors.Is(err, io.EOF) {
			return out.String(), nil
		}
		if err != nil {
			return "", err
		}
	}
}

func said(stderr string) string {
	if stderr = strings.TrimSpace(stderr); stderr == "" {
		return ""
	}
	return "; it said: " + stderr
}
