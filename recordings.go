package drawbar

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/runrecording"
)

// checkRecordings refuses options that contradict each other.
func checkRecordings(o Options) error {
	if o.Record != "" && o.Replay != "" {
		return execution.Errorf(execution.CodeValidation, "drawbar.New: Record and Replay are both set: a replayed run is not recorded").WithHint("set one of them")
	}
	return nil
}

// asked returns what a run asks for, as recordings know it.
func asked(req execution.Request, opts RunOptions) runrecording.Asked {
	return runrecording.Asked{Request: req, Hooked: opts.Hooks.PreToolUse != nil, Fallback: opts.Fallback}
}

// recordTo begins to record a run, if the client records: backend and opts then do it. It returns nil if not.
func (c *Client) recordTo(req execution.Request, backend *agent.Backend, opts *RunOptions) (*runrecording.Recording, error) {
	if c.opts.Record == "" {
		return nil, nil //nolint:nilnil // nothing is recorded
	}
	c.settle()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.New("the client is closed")
	}
	if c.recorder == nil {
		var err error
		if c.recorder, err = runrecording.Create(c.opts.Record); err != nil {
			return nil, execution.Errorf(execution.CodeValidation, "record to %s: %w", c.opts.Record, err).WithHint("name another file")
		}
	}
	r, err := c.recorder.Begin(asked(req, *opts), backend.Version, opts.Secrets)
	if err != nil {
		return nil, execution.Errorf(execution.CodeValidation, "%w", err).WithHint("to record it again, delete the lines from there to its end line, or the file")
	}
	backend.Adapter = r.Adapter(backend.Name, backend.Adapter)
	opts.Options.Fallback = slices.Clone(opts.Options.Fallback)
	for i, b := range opts.Options.Fallback {
		opts.Options.Fallback[i].Adapter = r.Adapter(b.Name, b.Adapter)
	}
	opts.SessionUsage = r.SessionUsage(opts.SessionUsage)
	return r, nil
}

// finishRecording writes the recording of a run when it has ended.
func (c *Client) finishRecording(r *runrecording.Recording, run *agent.Run) {
	<-run.Done()
	res, err := run.Result(context.Background())
	if err == nil {
		err = r.Finish(res)
	}
	if err != nil {
		c.warn(fmt.Errorf("run %s is not in %s: %w", run.ID(), c.opts.Record, err))
	}
}

// replay starts a run that is replayed. It leaves no record: nothing was used, and nothing ran.
func (c *Client) replay(ctx context.Context, req execution.Request, entry catalog.Entry, backend agent.Backend, opts RunOptions) (*agent.Run, error) {
	r, err := c.findReplay(asked(req, opts))
	if err != nil {
		return nil, execution.Errorf(execution.CodeValidation, "replay %s: %w", c.opts.Replay, err).WithHint("record this run: drawbar run --record %s ...", c.opts.Replay)
	}
	backend.Version, backend.Untested = r.Version, entry.Descriptor.Untested(r.Version)
	backend.Adapter = r.Adapter(backend.Name, backend.Adapter)
	opts.Options.Fallback = slices.Clone(opts.Options.Fallback)
	for i, b := range opts.Options.Fallback {
		opts.Options.Fallback[i].Adapter = r.Adapter(b.Name, b.Adapter)
	}
	req.SessionUsage = r.SessionBefore()
	opts.SessionUsage = r.SessionUsage
	opts.Secrets = append(slices.Clone(opts.Secrets), secrets(req, entry.Descriptor)...)
	return agent.New(backend).Start(ctx, req, opts.Options)
}

func (c *Client) findReplay(a runrecording.Asked) (*runrecording.Replay, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.replayer == nil {
		var err error
		if c.replayer, err = runrecording.Open(c.opts.Replay); err != nil {
			return nil, err
		}
		if cut := c.replayer.Cut(); cut != nil {
			c.warn(fmt.Errorf("%s: %w; the runs before it answer", c.opts.Replay, cut))
		}
	}
	return c.replayer.Find(a)
}
