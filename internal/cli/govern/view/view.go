// Package view is what the commands of governed runs share: the project they work on, what they show while they work, and how
// they tell the end.
package view

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/orchestrator"
	"github.com/drawbar/drawbar/internal/orchestrator/turnruntime"
	"github.com/drawbar/drawbar/internal/project"
)

// Root is the folder of the governed project that the command is about.
func Root(app *cli.App) (string, error) {
	dir, err := app.ProjectDir()
	if err != nil {
		return "", err
	}
	return project.Find(dir)
}

// Engine opens the project for a command. With verbose what agents say is shown on standard error. Call done when the command
// ends: it takes the line of progress away.
func Engine(app *cli.App, command string, verbose bool) (e *orchestrator.Local, done func(), err error) {
	root, err := Root(app)
	if err != nil {
		return nil, nil, err
	}
	l := &live{app: app, terminal: cli.IsTerminal(app.Err) && !app.JSON}
	if verbose {
		l.says = cli.NewRenderer(&cli.App{Out: app.Err, Err: app.Err, Getenv: app.Getenv, NoColor: app.NoColor}, false, nil)
	}
	o := orchestrator.Options{
		Agents: agents{app}, Owner: "drawbar govern " + command, Getenv: app.Getenv, Environ: os.Environ(), Notice: l.notice,
	}
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

// Negotiate answers what the agent could do, and that its program is there; it starts nothing.
func (a agents) Negotiate(_ context.Context, req execution.Request) (execution.Negotiation, error) {
	c, err := a.app.Client()
	if err != nil {
		return execution.Negotiation{}, err
	}
	entry, err := c.Adapters().Get(req.Run.Agent)
	if err != nil {
		return execution.Negotiation{}, err
	}
	if command := entry.Descriptor.Command; command != "" {
		if _, err := cliagent.LookPath(command, os.Environ(), ""); err != nil {
			return execution.Negotiation{}, execution.Errorf(execution.CodeAgentNotInstalled, "%s is not installed: there is no command %q on PATH", req.Run.Agent, command).
				WithHint("drawbar install %s", req.Run.Agent)
		}
	}
	return c.Negotiate(req, drawbar.RunOptions{})
}

// Run starts the agent. The run is recorded like any other.
func (a agents) Run(ctx context.Context, req execution.Request, o agent.Options) (*agent.Run, error) {
	c, err := a.app.Client()
	if err != nil {
		return nil, err
	}
	return c.Run(ctx, req, drawbar.RunOptions{Options: o})
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

// Tell prints how a command ended and gives its exit code.
func Tell(app *cli.App, r orchestrator.Report) error {
	if err := app.Answer(r, func() { Print(app, r) }); err != nil {
		return err
	}
	return code(r.Outcome)
}

// code is the exit code of an outcome: 0 for what was asked, 1 for what was not reached, 130 for an interruption.
func code(outcome string) error {
	switch outcome {
	case orchestrator.OutcomeInterrupted:
		return &exitcode.Error{Code: execution.ExitInterruptedKey, Silent: true}
	case orchestrator.OutcomeBlocked, orchestrator.OutcomeFailed, orchestrator.OutcomeRejected, orchestrator.OutcomePaused:
		return &exitcode.Error{Code: execution.ExitGeneral, Silent: true}
	}
	return nil
}

// TellRun prints how a run of many turns ended and gives its exit code: a run that waits for a person has done what was asked.
func TellRun(app *cli.App, r orchestrator.RunReport) error {
	err := app.Answer(r, func() {
		app.Printf("stopped: %s after %d turns\n", sentence(r.Stop), len(r.Turns))
		last := r.Last
		last.Warnings = nil
		Print(app, last)
	})
	if err != nil {
		return err
	}
	switch r.Stop {
	case orchestrator.StopBlocked:
		return code(orchestrator.OutcomeBlocked)
	case orchestrator.StopInterrupted:
		return code(orchestrator.OutcomeInterrupted)
	}
	return nil
}

func sentence(stop string) string {
	switch stop {
	case orchestrator.StopCompleted:
		return "the run is completed"
	case orchestrator.StopBlocked:
		return "the run is blocked"
	case orchestrator.StopGateHeld:
		return "a gate waits for a person"
	case orchestrator.StopHumanTurn:
		return "the next turn is a person's"
	case orchestrator.StopMaxTurns:
		return "the limit of turns is reached"
	case orchestrator.StopInterrupted:
		return "interrupted"
	case orchestrator.StopPlan:
		return "nothing was done (--dry-run)"
	}
	return stop
}

// Print shows a report to a person.
func Print(app *cli.App, r orchestrator.Report) {
	head := r.Outcome
	if r.TurnID != "" {
		head += fmt.Sprintf("  %s (%s", r.TurnID, r.Role)
		if r.Attempt > 1 {
			head += fmt.Sprintf(", attempt %d", r.Attempt)
		}
		head += ")"
	}
	if r.DurationMS > 0 {
		head += "  " + Duration(r.DurationMS)
	}
	if c := r.Cost; c != nil && c.USD > 0 {
		head += fmt.Sprintf("  $%.4f", c.USD)
	}
	app.Printf("%s\n", head)
	field := func(name, value string) {
		if value != "" {
			app.Printf("  %-10s %s\n", name, value)
		}
	}
	field("summary", r.Summary)
	field("files", list(r.Files, 8))
	for _, d := range r.Decisions {
		field("decision", d.ID+" "+d.Statement)
	}
	for _, o := range r.Objections {
		field("objection", o.ID+" ("+o.Severity+") "+o.Statement)
	}
	if r.Code != "" {
		why := r.Code
		if r.Stage != "" {
			why += " (" + string(r.Stage) + ")"
		}
		field("why", why)
	}
	for _, e := range r.Errors {
		field("", "- "+e)
	}
	for _, c := range r.Changes {
		field("normalized", c.Field+": "+c.Rationale)
	}
	for _, w := range r.Warnings {
		field("warning", w)
	}
	field("commit", short(r.Commit))
	field("phase", r.EnteredPhase)
	if g := r.Gate; g != nil {
		field("gate", g.GateID+" does not pass:")
		for _, why := range g.Reasons {
			field("", "- "+why)
		}
	}
	if r.Pending != "" {
		field("gate", r.Pending+" waits for a person")
	}
	if r.BlockedOn != "" && r.Pending == "" {
		field("blocked", r.BlockedOn)
		if r.Reason != nil && r.Reason.Recovery.Detail != "" {
			field("", r.Reason.Recovery.Detail)
		}
	}
	if r.Outcome != orchestrator.OutcomeCompleted || r.Status != "completed" {
		field("next", r.Next)
	}
}

func short(sha string) string {
	if len(sha) > 12 {
		return sha[:12]
	}
	return sha
}

func list(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
}
