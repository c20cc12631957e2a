// Package logs is "drawbar logs": the recorded events of a run.
package logs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var follow, debug bool
	var after uint64
	cmd := &cobra.Command{
		Use: "logs RUN",
		Long: `Print the events of a run. The events of an ended run end with "finished", and the exit code is 0 whatever its result. If the
record stops earlier, an error follows the last event: exit code 12 for a lost run.`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return Print(cmd.Context(), app, args[0], after, follow, debug, nil)
		},
	}
	cli.MarkdownFlag(cmd, app)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow until the run ends")
	cmd.Flags().BoolVar(&debug, "debug", false, "show diagnostics and output that could not be parsed")
	cmd.Flags().Uint64Var(&after, "after", 0, "only events after this number")
	return cmd
}

// Questions are those of a run that a reader can answer; they are shown with their possible answers, one at a time.
type Questions interface {
	Waits(execution.QuestionID) bool                              // nobody has answered it
	Add(execution.Event, *cli.Renderer) (now bool)                // whether to show it now
	Answered(execution.Event) (next execution.Event, waiting int) // the next one to show, after an event
}

// Print writes the events of a run: as JSON lines with --json, otherwise like "drawbar run". questions are nil for a reader who cannot
// answer.
func Print(ctx context.Context, app *cli.App, id string, after uint64, follow, debug bool, questions Questions) error {
	s, err := app.Store()
	if err != nil {
		return err
	}
	defer s.Close()
	render := cli.NewRenderer(app, debug, nil)
	render.Window = app.Window
	if run, err := s.Get(id); err == nil { // Events reports an unknown run
		render.Dir = run.Cwd
		render.Unasked = run.ApprovalMode == execution.ApprovalYolo
		if !run.Live {
			render.Fold()
		}
		follow = follow || !run.Live // following reports why a record stops early
	}
	ended := false
	for e, err := range s.Events(ctx, id, after, follow) {
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return cli.RecordError(err)
		}
		ended = e.Terminal()
		if app.JSON {
			if err := app.Line(e); err != nil {
				return err
			}
			continue
		}
		if id := cli.QuestionID(e.Body); id == "" || questions == nil || !questions.Waits(id) {
			render.Event(e)
		} else if questions.Add(e, render) {
			render.Question(e, 1)
		}
		if questions == nil {
			continue
		}
		if next, waiting := questions.Answered(e); waiting > 0 {
			render.Question(next, waiting)
		}
	}
	if ended || app.JSON {
		return nil
	}
	// The record has no last event.
	if run, err := s.Get(id); err != nil {
		return cli.RecordError(err)
	} else if run.Live {
		app.Notef("run %s is still running; follow it with: drawbar logs -f %s", run.ID, run.ID)
	}
	return nil
}
