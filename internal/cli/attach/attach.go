// Package attach is "drawbar attach": follow a live run and control it from another terminal.
package attach

import (
	"context"
	"errors"
	"io"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/logs"
	"github.com/drawbar/drawbar/internal/cli/run"
	"github.com/drawbar/drawbar/internal/control"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var debug, readOnly bool
	var after uint64
	cmd := &cobra.Command{
		Use: "attach RUN",
		Long: `Follow a live run and send it messages: a line answers the pending question, or else is a message to the agent.

/queue, /steer, /interrupt, /pause, /resume and /abort control the run. Between turns a message is edited as in drawbar run -i. Ctrl-C
detaches, /quit too; the run continues.`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, leave := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer leave()
			r, err := app.Run(args[0])
			if err != nil {
				return err
			}
			if !r.Live || readOnly {
				return logs.Print(ctx, app, string(r.ID), after, true, debug, nil)
			}
			if cli.IsTerminal(app.In) && !app.JSON {
				app.Notef("Attached to %s: a line is a message, /help lists commands, Ctrl-C leaves and the run continues.", r.Agent)
			}
			var shown run.Shown
			facts := &run.Facts{Agent: r.Agent, Dir: r.Cwd}
			defer app.Converse(run.SlashCommands(), true)()
			go talk(ctx, leave, app, r.ControlPath(), &shown, facts) // reading from a terminal cannot be cancelled: it ends with the input or the process
			err = logs.Print(ctx, app, string(r.ID), after, true, debug, live{&shown, app, facts, func(id execution.QuestionID) bool {
				status, err := control.Do(ctx, r.ControlPath(), control.Call{Verb: "status"})
				return err == nil && slices.ContainsFunc(status.Pending, func(q control.PendingQuestion) bool { return q.ID == id })
			}})
			if ctx.Err() != nil {
				app.Notef("\nRun %s is still running. drawbar attach %[1]s follows it again, drawbar stop %[1]s stops it.", r.ID)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&debug, "debug", false, "show diagnostics and output that could not be parsed")
	cli.MarkdownFlag(cmd, app)
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "follow only; send nothing")
	cmd.Flags().Uint64Var(&after, "after", 0, "only events after this number")
	return cmd
}

// live are the questions of a live run.
type live struct {
	*run.Shown
	app   *cli.App
	facts *run.Facts
	waits func(execution.QuestionID) bool
}

// Waits implements logs.Questions.
func (l live) Waits(id execution.QuestionID) bool { return l.waits(id) }

// Answered implements logs.Questions; it is called with every event.
func (l live) Answered(e execution.Event) (next execution.Event, waiting int) {
	if e.Parent == "" {
		l.facts.Add(e.Body)
	}
	switch e.Body.(type) {
	case execution.TurnStart:
		l.app.Unprompt()
	case execution.TurnEnd:
		if l.app.Edits() { // else what is above the line that is typed would begin with a prompt
			l.facts.Idle(l.app)
		}
	}
	return l.Shown.Answered(e.Body)
}

// talk sends what a person types, until they leave.
func talk(ctx context.Context, leave func(), app *cli.App, path string, shown *run.Shown, facts *run.Facts) {
	do := func(c control.Call) (control.Reply, error) {
		if c.Verb == "close-input" {
			return control.Reply{}, nil // detaching does not end the conversation
		}
		return control.Do(ctx, path, c)
	}
	for {
		line, at, err := app.ReadLineAt(ctx)
		if err != nil {
			switch {
			case ctx.Err() != nil:
			case !errors.Is(err, io.EOF):
				app.Warnf("%v", err)
			case cli.IsTerminal(app.In):
				leave()
			}
			return
		}
		again := func(id execution.QuestionID, reply cli.Reply) { shown.Again(ctx, app, do, id, reply, line) }
		call, quit := run.Parse(line, do, shown.By(app, at), again, func(command string) { facts.Show(ctx, app, command) })
		if quit {
			leave()
			return
		}
		if call.Verb == "" {
			facts.Idle(app)
			continue
		}
		working := facts.Working()
		if _, err := do(call); err != nil && ctx.Err() == nil {
			app.Notef("  %v", err)
			facts.Idle(app)
		} else if err == nil {
			run.Acknowledge(app, call, working)
		}
	}
}
