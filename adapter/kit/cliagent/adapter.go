package cliagent

import (
	"context"
	"errors"
	"iter"
	"os"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/lookpath"
	"github.com/drawbar/drawbar/transport/process"
)

// Options are what tests and embedding programs replace.
type Options struct {
	// Runner starts the process. Default: process.Launch.
	Runner process.Runner
	// Environ returns the inherited environment, as name=value. Default: os.Environ.
	Environ func() []string
	// LookPath finds a command as a run with this environment and working directory would. The error for a missing
	// command matches fs.ErrNotExist. Default: the absolute directories of the environment's PATH.
	LookPath func(command string, env []string, dir string) (string, error)
}

var (
	_ adapter.Adapter    = (*cliAdapter)(nil)
	_ adapter.Retrier    = (*cliAdapter)(nil)
	_ adapter.Negotiator = negotiating{}
	_ adapter.Unwrapper  = Embedded{}

	_ adapter.RunCapabilities = (*cliAdapter)(nil)
)

// Embedded is an adapter of the kit within one that adds methods of its own: Unwrap gives access to the optional interfaces of
// its runs.
type Embedded struct{ adapter.Adapter }

// Unwrap implements adapter.Unwrapper.
func (e Embedded) Unwrap() adapter.Adapter { return e.Adapter }

// cliAdapter is an agent of the kit. It is immutable and safe for concurrent use.
type cliAdapter struct {
	spec Spec
	opts Options
}

// negotiating is an agent with a Negotiate function; other agents must not implement adapter.Negotiator.
type negotiating struct{ *cliAdapter }

// New returns an adapter of a spec. It implements adapter.Retrier, and adapter.Negotiator if Spec.Negotiate is set.
// It panics if Name, Capabilities, Spawn or NewParser is missing.
func New(spec Spec, opts Options) adapter.Adapter {
	if spec.Name == "" || spec.Capabilities == nil || spec.Spawn == nil || spec.NewParser == nil {
		panic("cliagent: a spec needs Name, Capabilities, Spawn and NewParser")
	}
	if opts.Runner == nil {
		opts.Runner = process.Launch
	}
	if opts.Environ == nil {
		opts.Environ = os.Environ
	}
	if opts.LookPath == nil {
		opts.LookPath = func(command string, env []string, dir string) (string, error) { return lookpath.In(env, dir, command) }
	}
	a := &cliAdapter{spec: spec, opts: opts}
	if spec.Negotiate != nil {
		return negotiating{a}
	}
	return a
}

func (a *cliAdapter) Capabilities() execution.Capabilities { return a.spec.Capabilities().Stated() }

func (a *cliAdapter) CapabilitiesFor(req execution.Request) execution.Capabilities {
	caps := a.spec.Capabilities().Stated()
	if a.spec.Narrow != nil {
		a.spec.Narrow(req, &caps)
	}
	return caps
}

func (n negotiating) Negotiate(req execution.Request) []execution.Reason {
	return n.spec.Negotiate(req)
}

func (a *cliAdapter) ShouldRetry(failure execution.Body, attempt int, policy execution.RetryPolicy) bool {
	return a.spec.Hooks.shouldRetry(failure, attempt, policy)
}

func (a *cliAdapter) Execute(ctx context.Context, req execution.Request, in adapter.Inbox) iter.Seq2[execution.Event, error] {
	return func(yield func(execution.Event, error) bool) {
		if in == nil {
			yield(execution.Event{}, errors.New("execute a request: the inbox is nil"))
			return
		}
		r := &run{spec: &a.spec, opts: &a.opts, req: req.Clone(), in: in, yield: yield}
		r.execute(ctx)
	}
}
