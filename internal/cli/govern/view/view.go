// Package view has what the commands of governed runs share: the project that they work on, the progress that they
// show, and how they report the end.
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
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/notify"
	"github.com/drawbar/drawbar/internal/governed/coordinator"
	"github.com/drawbar/drawbar/internal/governed/project"
)

// Root is the folder of the command's governed project.
func Root(app *cli.App) (string, error) {
	dir, err := app.ProjectDir()
	if err != nil {
		return "", err
	}
	return project.Find(dir)
}

// Who is the user who typed the command; the engine adds the git identity.
func Who() protocol.Person {
	u, err := user.Current()
	if err != nil {
		return protocol.Person{}
	}
	return protocol.Person{User: u.Username}
}

// Project loads the command's governed project.
func Project(app *cli.App) (*project.Project, error) {
	root, err := Root(app)
	if err != nil {
		return nil, err
	}
	return project.Load(root)
}

// Trust asks for trust in the programs that the project would run, before anything starts; see cli.App.Trust.
func Trust(ctx context.Context, app *cli.App, yes bool) error {
	root, err := Root(app)
	if err != nil {
		return err
	}
	return TrustAt(ctx, app, root, yes)
}

// TrustAt is Trust for the project at root.
func TrustAt(ctx context.Context, app *cli.App, root string, yes bool) error {
	p, err := project.Load(root)
	if err != nil {
		return err
	}
	dirs, err := app.Dirs(p.Root)
	if err != nil {
		return err
	}
	if err := dirs.Own(p.Root, protocol.ConfigFile); err != nil {
		return err
	}
	if err := app.Trust(ctx, p.Root, p.Items(), yes); err != nil {
		return err
	}
	at, items := p.AgentItems()
	return app.Trust(ctx, at, items, yes)
}

// TrustCoordinator is Trust for the hooks of the workspace at root.
func TrustCoordinator(ctx context.Context, app *cli.App, root string, yes bool) error {
	items, err := coordinator.Items(root)
	if err != nil || len(items) == 0 {
		return err
	}
	dirs, err := app.Dirs(root)
	if err != nil {
		return err
	}
	if err := dirs.Own(root, protocol.CoordinatorConfigFile); err != nil {
		return err
	}
	return app.Trust(ctx, root, items, yes)
}

// Engine opens the project for a command. With verbose, agents' output is shown on standard error. Call done when the
// command ends, with its report if it has one: it removes the progress line, and tells the user as their configuration says.
func Engine(app *cli.App, command string, verbose bool) (e govern.Engine, done func(report any), err error) {
	root, err := Root(app)
	if err != nil {
		return nil, nil, err
	}
	o, done := options(app, root, command, verbose)
	e, err = drawbar.OpenProject(root, o)
	return e, done, err
}

// Coordinator is Engine for a workspace with several repositories.
func Coordinator(app *cli.App, command string, verbose bool) (c govern.Coordinator, done func(report any), err error) {
	dir, err := app.ProjectDir()
	if err != nil {
		return nil, nil, err
	}
	return CoordinatorAt(app, dir, command, verbose)
}

// CoordinatorAt is Coordinator for a folder.
func CoordinatorAt(app *cli.App, dir, command string, verbose bool) (c govern.Coordinator, done func(report any), err error) {
	o, done := options(app, dir, command, verbose)
	c, err = drawbar.OpenCoordinator(dir, o)
	return c, done, err
}

func options(app *cli.App, dir, command string, verbose bool) (o govern.Options, done func(report any)) {
	l := newLive(app)
	l.terminal = cli.IsTerminal(app.Err) && !app.JSON
	if l.tells = notify.Of(app, dir); l.tells != nil {
		l.tells.Begin()
	}
	if verbose {
		l.says = cli.NewRenderer(&cli.App{Out: app.Err, Err: app.Err, Getenv: app.Getenv, NoColor: app.NoColor}, false, nil)
	}
	o = govern.Options{Agents: Agents(app), Owner: "drawbar govern " + command, Notice: l.notice}
	if cli.IsTerminal(app.In) && !app.JSON {
		o.Approve, o.Answer = l.approve, l.answer
	}
	return o, l.end
}

// Agents lets runtimes of type agent run the client's agents.
func Agents(app *cli.App) govern.Agents { return drawbar.GovernedAgents(app.Client) }

// Interruptible ends its context at the first Ctrl-C or SIGTERM: the worker is stopped and the turn stays. A second
// signal ends the program.
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
			cancel(fmt.Errorf("%w: %s", execution.Errorf(execution.CodeInterrupted, "interrupted by the user"), s))
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
