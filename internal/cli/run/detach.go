package run

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/runstore"
	"github.com/drawbar/drawbar/transport/process"
)

// order is the standard input of a background run's process.
type order struct {
	Request  execution.Request `json:"request"`
	Fallback []string          `json:"fallback,omitempty"`
	Name     string            `json:"name,omitempty"` // of the session
	Worktree *place            `json:"worktree,omitempty"`

	Hooks       []string      `json:"hooks,omitempty"`
	HookTimeout time.Duration `json:"hookTimeout,omitempty"`

	Folder string `json:"folder"` // of the order and of what the run's process prints

	trust bool // what the project sets the worktree up with
}

// startLimit is how long a background run may take until it is recorded.
const startLimit = 15 * time.Second

// Detach runs a request in a new process that outlives this one, waits until the run is recorded, and prints its id. The run accepts
// messages from "drawbar attach" until its first turn ends.
func Detach(ctx context.Context, app *cli.App, client *drawbar.Client, o order, opts drawbar.RunOptions) error {
	req := &o.Request
	n, err := client.Negotiate(*req, opts)
	if err != nil {
		return err
	}
	if !n.Supported {
		for _, r := range n.Reasons {
			if r.Severity == execution.SeverityBlocking {
				return execution.Errorf(execution.CodeCapability, "%s", r.Message)
			}
		}
	}
	if req.Run.RunID == "" {
		req.Run.RunID = agent.NewRunID()
	}
	store, err := app.Store()
	if err != nil {
		return err
	}
	defer store.Close()
	if err := o.Worktree.prepare(ctx, app, o.trust); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if o.Folder, err = os.MkdirTemp("", "drawbar-detach-*"); err != nil {
		return err
	}
	defer os.RemoveAll(o.Folder)
	body, err := json.Marshal(o)
	if err != nil {
		return err
	}
	output := filepath.Join(o.Folder, "output")
	child, err := process.Detach(process.Spec{Path: self, Args: []string{Hidden}, Dir: req.Run.Cwd, Env: os.Environ(), Stdin: body}, output)
	if err != nil {
		return execution.Errorf(execution.CodeSpawn, "start the background run: %w", err)
	}
	deadline := time.Now().Add(startLimit)
	for {
		if _, err := store.Get(string(req.Run.RunID)); err == nil {
			break
		} else if !errors.Is(err, runstore.ErrNotFound) {
			return err
		}
		said, _ := os.ReadFile(output) // missing until the child has written something
		if !child.Alive() || time.Now().After(deadline) {
			return execution.Errorf(execution.CodeSpawn, "the background run did not start: %s", strings.TrimSpace(string(said)))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return app.Answer(map[string]any{"runId": req.Run.RunID, "agent": req.Run.Agent}, func() {
		app.Printf("%s\n", req.Run.RunID)
		app.Notef("running in the background; follow it with: drawbar attach %s", req.Run.RunID)
	})
}

// Hidden is the name of the command that Detach starts.
const Hidden = "__detached"

// NewDetached returns the hidden command that runs a background run.
func NewDetached(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: Hidden, Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var o order
			if err := json.NewDecoder(app.In).Decode(&o); err != nil {
				return cli.Usage("read the request of the background run: %v", err)
			}
			client, err := app.Client()
			if err != nil {
				return err
			}
			return background(cmd.Context(), app, client, o)
		},
	}
}

// background runs an order. Its output is not shown; questions wait for "drawbar attach".
func background(ctx context.Context, app *cli.App, client *drawbar.Client, o order) error {
	req := o.Request
	entry, err := client.Adapters().Get(req.Run.Agent)
	if err != nil {
		return err
	}
	req.Run.Interactive = entry.Capabilities().Agent.InteractiveMode && !req.Run.NonInteractive
	opts := drawbar.RunOptions{Fallback: o.Fallback, Detached: true}
	wait, err := addHooks(ctx, app, entry, req.Run, o.Hooks, o.HookTimeout, false, &opts)
	if err != nil {
		return err
	}
	defer wait()
	leave, err := o.Worktree.enter(ctx, app, &req, false, false)
	if err != nil {
		return err
	}
	defer leave()
	received, release := catch()
	defer release()
	run, err := client.Run(ctx, req, opts)
	if err != nil {
		return err
	}
	if runtime.GOOS == "windows" { // where what is open cannot be removed, and the process that made it may have ended
		defer os.RemoveAll(o.Folder)
		for _, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
			_ = f.Close() // nobody reads more of it
		}
	}
	over, end := context.WithCancel(ctx)
	obeyed := make(chan struct{})
	go func() { defer close(obeyed); (&signals{app: app, run: run, received: received}).obey(over) }()
	defer func() { _ = app.Close(); end(); <-obeyed }() // signals are obeyed until the record is written; the root reports the error
	defer nameSession(app, client, run, o.Name)()
	defer tellOthers(app, run)()
	defer follow(run, func(e execution.Event) {
		if _, ended := e.Body.(execution.TurnEnd); ended && e.Parent == "" {
			run.CloseInput() // queued messages are still delivered
		}
	})()
	res, err := run.Result(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	return ended(res)
}
