package codetool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/lookpath"
	"github.com/drawbar/drawbar/transport/process"
)

// The limits of a command.
const (
	shellTime    = 2 * time.Minute // unless the call states another time
	shellMost    = 30 * time.Minute
	shellHead    = 12 << 10 // bytes of output that the model reads: the first, and the last
	shellTail    = 20 << 10
	shellShown   = 1 << 20 // bytes of output in events
	shellMaxLine = 1 << 20
)

// Shell is how commands run.
type Shell struct {
	Dir   string
	Env   []string
	Run   string         // names the run for process.EndSurvivors; one command of a run runs at a time
	Grace time.Duration  // TERM to KILL; 0 is 2 s, a negative value none
	Start process.Runner // default: process.Launch
}

type shellInput struct {
	Command string `json:"command" jsonschema:"the command line"`
	Seconds int    `json:"timeout_seconds,omitempty" jsonschema:"time limit (default 120, at most 1800)"`
}

// Tool is the tool that runs a command.
func (s Shell) Tool() modelapi.Tool {
	return modelapi.Define("shell", "Run a command in the shell, in the working directory, without input. The answer is its output and its exit code. "+
		"When it ends, or its time is over, every process that it started ends too.",
		func(in shellInput) (modelapi.Job, error) {
			limit := shellTime
			switch {
			case strings.TrimSpace(in.Command) == "":
				return modelapi.Job{}, errors.New("the command is empty")
			case strings.ContainsRune(in.Command, 0):
				return modelapi.Job{}, errors.New("the command contains a NUL byte")
			case in.Seconds < 0 || in.Seconds > int(shellMost.Seconds()):
				return modelapi.Job{}, fmt.Errorf("timeout_seconds must be between 1 and %d", int(shellMost.Seconds()))
			case in.Seconds > 0:
				limit = time.Duration(in.Seconds) * time.Second
			}
			return modelapi.Job{Ask: "run a command", Detail: in.Command, Risk: execution.RiskHigh,
				Use: execution.ToolUse{Kind: execution.ToolShell, Command: in.Command}, Do: func(ctx context.Context, l *modelapi.Live) modelapi.Answer {
					return s.run(ctx, in.Command, limit, l.Stdout)
				}}, nil
		})
}

// errTime is the cause that ends a command at its time limit.
var errTime = errors.New("the time limit")

// run runs a command to its end. show gets what it writes.
func (s Shell) run(ctx context.Context, line string, limit time.Duration, show func(string)) modelapi.Answer {
	start := s.Start
	if start == nil {
		start = process.Launch
	}
	grace := s.Grace
	if grace == 0 {
		grace = 2 * time.Second
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTime)
	defer cancel()
	command := lookpath.Shell(line)
	p, err := start(ctx, process.Spec{Path: command[0], Args: command[1:], Dir: s.Dir, Env: s.Env, Run: s.Run, Merge: true, MaxLine: shellMaxLine,
		Grace: grace, StderrTail: -1})
	if err != nil {
		return modelapi.Failed(fmt.Errorf("the command did not start: %w", err))
	}
	var out output
	for {
		lines, err := p.Next(context.WithoutCancel(ctx)) // the process ends with ctx, and then its output does
		var batch strings.Builder
		for _, l := range lines {
			text := strings.ToValidUTF8(string(l.Data), "\uFFFD")
			if l.Truncated {
				text += fmt.Sprintf(" [%d more bytes]", l.Skipped)
			}
			out.add(text + "\n")
			batch.WriteString(text + "\n")
		}
		if shown := batch.String(); out.total <= shellShown {
			show(shown)
		} else if !out.hidden {
			out.hidden = true
			show("[the rest of the output is not shown]\n")
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.Stop(0)
			}
			break
		}
	}
	exit := p.Wait()
	a := modelapi.Answer{Text: out.String(), Exit: &toolcall.Exit{Code: exit.Code, Exited: exit.Code >= 0}}
	switch {
	case errors.Is(context.Cause(ctx), errTime) && exit.Stopped:
		a.Error = fmt.Sprintf("%s[stopped: the time limit of %s was reached]", a.Text, limit)
	case ctx.Err() != nil && exit.Stopped:
		a.Error = a.Text + "[stopped: the turn is over]"
	case exit.Err != nil:
		a.Error = fmt.Sprintf("%s[%v]", a.Text, exit.Err)
	case exit.Signal != "":
		a.Text += fmt.Sprintf("[ended by %s]", exit.Signal)
	case exit.Code != 0:
		a.Error = fmt.Sprintf("%s[exit code %d]", a.Text, exit.Code)
	case a.Text == "":
		a.Text = "[no output]"
	}
	return a
}

// output keeps the beginning and the end of a command's output.
type output struct {
	head, tail []byte
	total      int
	hidden     bool // the rest is not shown in events
}

func (o *output) add(text string) {
	o.total += len(text)
	if n := min(shellHead-len(o.head), len(text)); n > 0 {
		o.head, text = append(o.head, text[:n]...), text[n:]
	}
	o.tail = append(o.tail, text...)
	if len(o.tail) > 2*shellTail {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-shellTail:]...)
	}
}

func (o *output) String() string {
	tail := o.tail[max(0, len(o.tail)-shellTail):]
	if left := o.total - len(o.head) - len(tail); left > 0 {
		return strings.ToValidUTF8(fmt.Sprintf("%s\n[%d bytes left out]\n%s", o.head, left, tail), "")
	}
	return string(o.head) + string(tail)
}
