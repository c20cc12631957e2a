// Package view is what the commands of governed runs share: the project they work on, what they show while they work, and how
// they tell the end.
package view

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"os/user"
	"sync"
	"syscall"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/governed/governance/protocol"
	"github.com/drawbar/drawbar/internal/governed/orchestrator"
	"github.com/drawbar/drawbar/internal/governed/orchestrator/turnruntime"
	"github.com/drawbar/drawbar/internal/governed/project"
)

// Root is the folder of the governed project that the command is about.
func Root(app *cli.App) (string, error) {
	dir, err := app.ProjectDir()
	if err != nil {
		return "", err
	}
	return project.Find(dir)
}

// Who is the user who typed the command; the engine adds whom git knows.
func Who() protocol.Person {
	u, err := user.Current()
	if err != nil {
		return protocol.Person{}
	}
	return protocol.Person{User: u.Username}
}

// Trust asks for trust in what the project would run, before anything starts; see cli.App.Trust.
func Trust(ctx context.Context, app *cli.App, yes bool) error {
	root, err := Root(app)
	if err != nil {
		return err
	}
	p, err := project.Load(root)
	if err != nil {
		return err
	}
	dirs, err := app.Dirs(root)
	if err != nil {
		return err
	}
	if err := dirs.Own(root, protocol.ConfigFile); err != nil {
		return err
	}
	return app.Trust(ctx, root, p.Items(), yes)
}

// Engine opens the project for a command. With verbose what agents say is shown on standard error. Call done when the command
// ends: it takes the line of progress away.
func Engine(app *cli.App, command string, verbose bool) (e *orchestrator.Local, done func(), err error) {
	root, err := Root(app)
	if err != nil {
		return nil, nil, err
	}
	l := newLive(app)
	l.terminal = cli.IsTerminal(app.Err) && !app.JSON
	if verbose {
		l.says = cli.NewRenderer(&cli.App{Out: app.Err, Err: app.Err, Getenv: app.Getenv, NoColor: app.NoColor}, false, nil)
	}
	o := orchestrator.Options{
		Agents: agents{app}, Owner: "drawbar govern " + command, Getenv: app.Getenv, Environ: os.Environ(), Notice: l.notice,
	}
	store, err := app.TrustStore()
	if err != nil {
		return nil, nil, err
	}
	o.Trust = store.Check
	if cli.IsTerminal(app.In) && !app.JSON {
		o.Approve, o.Answer = l.approve, l.answer
	}
	e, err = orchestrator.Open(root, o)
	return e, l.clear, err
}

// Agents lets runtimes of type agent ask what the client's agents can do.
func Agents(app *cli.App) turnruntime.Agents { return agents{app} }

// agents lets runtimes of type agent run what the client knows.
type agents struct{ app *cli.App }

// Sweep ends what runs left whose own process is gone.
func (a agents) Sweep() error {
	c, err := a.app.Client()
	if err != nil {
		return err
	}
	_, err = c.RemoveLeftovers()
	return err
}

// ReadOutput reads what a known agent prints that was started by a command of its own.
func (a agents) ReadOutput(line []byte) adapter.Output {
	c, err := a.app.Client()
	if err != nil {
		return nil // the run itself says so where it needs one
	}
	return drawbar.GovernedAgents{Client: c}.ReadOutput(line)
}

// Negotiate answers what the agent could do, and that its program is there; it starts nothing.
func (a agents) Negotiate(ctx context.Context, req execution.Request) (execution.Negotiation, error) {
	c, err := a.app.Client()
	if err != nil {
		return execution.Negotiation{}, err
	}
	return drawbar.GovernedAgents{Client: c}.Negotiate(ctx, req)
}

// Run starts the agent. The run is recorded like any other.
func (a agents) Run(ctx context.Context, req execution.Request, o agent.Options) (*agent.Run, error) {
	c, err := a.app.Client()
	if err != nil {
		return nil, err
	}
	return drawbar.GovernedAgents{Client: c}.Run(ctx, req, o)
}

// Interruptible ends its context at the first Ctrl-C or SIGTERM: the worker is stopped and the turn stays. A second one ends
// the program as if nobody listened.
func Interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var done sync.WaitGroup
	stop := make(chan struct{})
	done.Go(func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(fmt.Errorf("%w: %s", execution.Errorf(execution.CodeInterrupted, "ended by the user"), s))
		case <-stop:
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(stop)
		done.Wait()
		cancel(nil)
	}
}
