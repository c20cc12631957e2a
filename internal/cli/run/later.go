package run

import (
	"context"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
)

// Continue runs the request that continues an ended run in the foreground, with the hooks that the configuration adds to every run.
func Continue(ctx context.Context, app *cli.App, req execution.Request, from execution.RunID, trust bool) error {
	client, opts, wait, err := continuing(ctx, app, req, from, trust)
	if err != nil {
		return err
	}
	defer wait()
	return Execute(ctx, app, client, req, opts)
}

// Unseen is Continue for a turn that nobody watches: the result is all that it leaves, besides the record.
func Unseen(ctx context.Context, app *cli.App, req execution.Request, from execution.RunID, trust bool) (res execution.Result, err error) {
	app = app.At(req.Run.Cwd)
	defer func() {
		if e := app.Close(); err == nil {
			err = e
		}
	}()
	client, opts, wait, err := continuing(ctx, app, req, from, trust)
	if err != nil {
		return res, err
	}
	defer wait()
	run, err := client.Run(ctx, req, opts)
	if err != nil {
		return res, err
	}
	return run.Result(context.WithoutCancel(ctx))
}

func continuing(ctx context.Context, app *cli.App, req execution.Request, from execution.RunID, trust bool) (*drawbar.Client, drawbar.RunOptions, func(), error) {
	opts := drawbar.RunOptions{Parent: from}
	if err := app.TrustAgent(ctx, req.Run.Agent, trust); err != nil {
		return nil, opts, nil, err
	}
	client, err := app.Client()
	if err != nil {
		return nil, opts, nil, err
	}
	entry, err := client.Adapters().Get(req.Run.Agent)
	if err != nil {
		return nil, opts, nil, err
	}
	wait, err := addHooks(ctx, app, entry, req.Run, nil, agent.DefaultHookTimeout, trust, &opts)
	return client, opts, wait, err
}

// Hooked adds the hooks of the configuration to a run of a client of the caller's. The returned function waits for hooks that still run.
func Hooked(ctx context.Context, app *cli.App, client *drawbar.Client, req execution.Request, trust bool, opts *drawbar.RunOptions) (wait func(), err error) {
	entry, err := client.Entry(req.Run)
	if err != nil {
		return nil, err
	}
	if err := app.TrustAgent(ctx, entry.Descriptor.Name, trust); err != nil {
		return nil, err
	}
	return addHooks(ctx, app, entry, req.Run, nil, agent.DefaultHookTimeout, trust, opts)
}
