package turnruntime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/transport/process"
)

// The defaults of the protocol.
const (
	defaultStartup      = 180 * time.Second // until the first sign of life
	defaultStale        = 10 * time.Minute  // between two signs of life
	defaultStartupBeat  = 30 * time.Second
	defaultLivenessBeat = 60 * time.Second
	defaultGrace        = 10 * time.Second // TERM to KILL
	firstEditionGrace   = 5 * time.Second
)

// exitTransient is the exit code for a failure that another attempt may fix (EX_TEMPFAIL).
const exitTransient = 75

// localCLI is any program that reads the prompt and writes the result.
type localCLI struct{ deps Deps }

// Check prepares the command without starting it.
func (l *localCLI) Check(d Dispatch) error {
	_, err := d.plan()
	return err
}

// Run runs the program to its end.
func (l *localCLI) Run(ctx context.Context, d Dispatch, w Watch) (Outcome, error) {
	p, err := d.plan()
	if err != nil {
		return Outcome{}, err
	}
	if err := d.makeRoom(); err != nil {
		return Outcome{}, err
	}
	if p.promptArg >= 0 {
		if err := d.promptFile(&p); err != nil {
			return Outcome{}, err
		}
	}
	log, err := openTranscript(d, "stdout.log", p.redact, l.deps.Now)
	if err != nil {
		return Outcome{}, err
	}
	defer func() {
		if err := log.close(); err != nil {
			d.say("The transcript of turn %s is incomplete: %v", d.Turn.TurnID, err)
		}
	}()
	for _, n := range p.notes {
		d.say("%s", n)
		log.note("%s", n)
	}
	j := l.deps.job(d, w, filepath.Base(p.program), govern.StageStarting)
	log.note("attempt %d: %s %q in %s, prompt by %s, until %s", max(1, d.Turn.Attempt), p.program, p.redact.Args(p.masked), p.dir,
		p.transport, j.limit.UTC().Format(time.RFC3339))
	reader, _ := l.deps.Agents.(adapter.OutputReader)
	c := &child{job: j, plan: p, log: log, stated: stated{now: l.deps.Now, read: reader}, grace: d.grace(),
		startup: setting(defaultStartup, d.Runtime.StartupWatchdogMS, d.Loop.StartupWatchdogMS),
		stale:   setting(defaultStale, d.Loop.StaleTurnThresholdMS),
		beats: [2]time.Duration{setting(defaultStartupBeat, d.Runtime.StartupHeartbeatMS, d.Loop.StartupHeartbeatMS),
			setting(defaultLivenessBeat, d.Runtime.LivenessHeartbeatMS, d.Loop.LivenessHeartbeatMS)}}
	h, err := l.deps.Start(ctx, process.Spec{Path: p.program, Args: p.args, Dir: p.dir, Env: p.env, Stdin: p.stdin, Grace: c.grace, Run: ProcessName(d.Root, d.Turn.TurnID)})
	if err != nil {
		log.note("not started: %v", err)
		return d.notStarted(ctx, err), nil
	}
	j.attached(h.PID())
	exit := c.follow(ctx, h)
	if c.pieces > 0 {
		log.note("%d lines with partial messages omitted", c.pieces)
	}
	log.note("ended: %s", describe(exit))
	o := c.outcome(ctx, exit)
	o.Detail, o.Hint = p.redact.Text(o.Detail), p.redact.Text(o.Hint)
	return o, nil
}

func (d Dispatch) grace() time.Duration {
	if d.Runtime.GraceMS != nil {
		if *d.Runtime.GraceMS <= 0 {
			return -1
		}
		return milliseconds(*d.Runtime.GraceMS)
	}
	if d.Role.FirstEdition() {
		return firstEditionGrace
	}
	return defaultGrace
}

// promptFile writes the prompt to the file that is passed to the program.
func (d Dispatch) promptFile(p *plan) error {
	path, err := d.evidence("prompt", ".md")
	if err == nil {
		err = os.WriteFile(path, []byte(d.text()), 0o600)
	}
	if err != nil {
		return localError("write the prompt's file", err)
	}
	for i, a := range p.args {
		p.args[i] = strings.ReplaceAll(a, fileWord, path)
	}
	return nil
}

// notStarted is the outcome of a program that could not be started.
func (d Dispatch) notStarted(ctx context.Context, err error) Outcome {
	if ctx.Err() != nil {
		return Outcome{Cancelled: true, Detail: "the turn was stopped before it started"}
	}
	hint := "fix " + d.place() + ".command in " + protocol.ConfigFile + ", then: drawbar govern step --resume"
	if errors.Is(err, process.ErrTooLong) {
		hint = fmt.Sprintf("drawbar govern config set runtimes.%s.prompt_transport stdin, then: drawbar govern step --resume", d.RuntimeID)
	}
	return Outcome{Class: ClassSpawn, Detail: err.Error(), Hint: hint}
}

// child is a running program that is being watched.
type child struct {
	*job
	plan   plan
	log    *transcript
	stated stated
	pieces int // lines omitted from the transcript

	grace, startup, stale time.Duration
	beats                 [2]time.Duration // before and after the first sign of life

	stopped string // the class, if we stopped it
	silent  time.Duration
}

// follow reads the program's output and supervises it until it has ended.
func (c *child) follow(ctx context.Context, h process.Handle) process.Exit {
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.read(h)
	}()
	tick := time.NewTicker(min(max(min(c.startup, c.stale, c.beats[0], c.beats[1])/4, 5*time.Millisecond), time.Second))
	defer tick.Stop()
	over := time.NewTimer(c.limit.Sub(c.begun))
	defer over.Stop()
	beat := c.begun
	cancelled := ctx.Done()
	for {
		select {
		case <-read:
			return h.Wait()
		case <-cancelled:
			cancelled = nil
			c.stage(govern.StageStopping) // the process ends with its context
		case <-over.C:
			c.stop(h, ClassTimeout, c.now().Sub(c.begun))
		case <-tick.C:
			c.look(h)
			now := c.now()
			sign := c.lastSign()
			every := c.beats[1]
			if sign.IsZero() {
				every = c.beats[0]
			}
			if now.Sub(beat) >= every {
				beat = now
				c.log.flush()
				c.report()
			}
			c.tellChange()
			if c.stopped != "" || cancelled == nil && ctx.Done() != nil {
				continue
			}
			switch {
			case sign.IsZero() && now.Sub(c.begun) >= c.startup:
				c.stop(h, ClassNoOutput, now.Sub(c.begun))
			case !sign.IsZero() && now.Sub(sign) >= c.stale:
				c.stop(h, ClassStalled, now.Sub(sign))
			}
		}
	}
}

// look finds signs of life other than complete lines: a partial line, or a write to the result.
func (c *child) look(h process.Handle) {
	if l, ok := h.(interface{ LastOutput() time.Time }); ok {
		if at := l.LastOutput(); at.After(c.lastSign()) {
			c.sign("stdout", at)
		}
	}
	if at := c.d.touched(); !at.IsZero() && at.After(c.lastSign()) && !at.Before(c.begun.Truncate(time.Second)) {
		c.sign("staged_result", at)
	}
}

func (c *child) stop(h process.Handle, class string, silent time.Duration) {
	if c.stopped != "" {
		return
	}
	c.stopped, c.silent = class, silent
	c.log.note("stopping: %s after %s; TERM, and KILL after %s", class, govern.Took(silent), govern.Took(max(0, c.grace)))
	c.stage(govern.StageStopping)
	h.Stop(c.grace)
}

func (c *child) read(h process.Handle) {
	for {
		lines, err := h.Next(context.Background())
		for _, l := range lines {
			mark := ""
			if l.Stream == process.Stderr {
				mark = "[stderr] "
			} else {
				if c.stated.line(l.Data) {
					c.pieces++ // a partial message may hide a secret, and the whole message follows
					c.sign(l.Stream.String(), c.now())
					continue
				}
			}
			c.log.line(mark, l.Data)
			c.sign(l.Stream.String(), c.now())
		}
		if len(lines) > 0 {
			c.change(func(p *govern.Progress) {
				p.Lines += int64(len(lines))
				p.Doing, p.CostUSD, p.Tokens = c.stated.doing, c.stated.cost, c.stated.tokens()
			})
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			c.log.note("cannot read the output: %v", err)
			h.Stop(-1)
			return
		}
	}
}

// outcome judges by the result first, then by why it was stopped, then by the program's own records, and finally by its
// exit code.
func (c *child) outcome(ctx context.Context, exit process.Exit) Outcome {
	c.stated.end(exit.Code, exit.StderrTail)
	o := c.judge(ctx, exit)
	m, cost := c.stated.meta()
	o.Meta, o.Cost = c.latency(m), cost
	o.Signal = exit.Signal
	if o.ExitCode = exit.Code; o.ExitCode < 0 {
		o.ExitCode = 0
	}
	if o.Staged {
		o.Class, o.Transient = "", false
	}
	return o
}

func (c *child) judge(ctx context.Context, exit process.Exit) Outcome {
	d := c.d
	s := d.look()
	well := exit.Code == 0 && exit.Err == nil && !exit.Stopped
	if s.valid() || s.present && well {
		return Outcome{Staged: true}
	}
	if ctx.Err() != nil && c.stopped == "" {
		return Outcome{Cancelled: true, Detail: "the caller stopped the turn", Hint: "drawbar govern step"}
	}
	resume := "see " + d.shown(filepath.Join(d.BundleDir, "evidence", "stdout.log")) + ", then: drawbar govern step --resume"
	missing := "there is no result in " + d.shown(d.StagedPath)
	if s.present {
		missing = "cannot read its result: " + s.fault.Error()
	}
	o := Outcome{Class: c.stopped, Hint: resume}
	if stated, ok := c.stated.outcome(c.d); ok && c.stopped != "" {
		// What the program was doing explains more than the fact that it was stopped.
		stated.Detail = fmt.Sprintf("%s was stopped (%s) while %s", c.p.Worker, c.stopped, stated.Detail)
		return stated
	}
	switch c.stopped {
	case ClassTimeout:
		o.Detail = fmt.Sprintf("%s was stopped after its time limit of %s; %s", c.p.Worker, govern.Took(c.silent), missing)
		o.Hint = "give it more time: drawbar govern step --resume --timeout 40m"
		return o
	case ClassNoOutput:
		o.Detail = fmt.Sprintf("%s was stopped: no sign of life within %s of its start", c.p.Worker, govern.Took(c.silent))
		return o
	case ClassStalled:
		o.Detail = fmt.Sprintf("%s was stopped: no sign of life for %s", c.p.Worker, govern.Took(c.silent))
		return o
	}
	if o, ok := c.stated.outcome(c.d); ok {
		o.Detail = fmt.Sprintf("%s: %s", c.p.Worker, o.Detail)
		return o
	}
	tail := ""
	if line := lastLine(exit.StderrTail); line != "" {
		tail = ": " + line
	}
	switch {
	case exit.Signal != "":
		o.Class, o.Detail = ClassSubprocess, fmt.Sprintf("%s was killed by %s; %s%s", c.p.Worker, exit.Signal, missing, tail)
	case exit.Err != nil && exit.Code < 0:
		o.Class, o.Detail = ClassSubprocess, fmt.Sprintf("how %s exited is unknown (%v); %s", c.p.Worker, exit.Err, missing)
	case exit.Code == 0:
		o.Class, o.Detail = ClassExit, fmt.Sprintf("%s exited with code 0: %s%s", c.p.Worker, missing, tail)
	default:
		o.Class, o.Detail = ClassExit, fmt.Sprintf("%s exited with code %d: %s%s", c.p.Worker, exit.Code, missing, tail)
		o.Transient = exit.Code == exitTransient
	}
	return o
}

// lastLine is the last non-empty line, shortened.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := strings.TrimSpace(lines[len(lines)-1])
	if len(line) > 300 {
		line = strings.ToValidUTF8(line[:300], "") + "..."
	}
	return line
}

func describe(e process.Exit) string {
	text := fmt.Sprintf("exit code %d", e.Code)
	if e.Signal != "" {
		text = e.Signal
	}
	if e.Survivors > 0 {
		text += fmt.Sprintf(", %d leftover processes killed", e.Survivors)
	}
	if e.Err != nil {
		text += fmt.Sprintf(" (%v)", e.Err)
	}
	return text + " after " + cmp.Or(govern.Took(e.Duration), "0s")
}
