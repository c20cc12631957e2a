// Package steer is "drawbar steer", "drawbar interrupt" and "drawbar diff": what the keys of "drawbar top" do, from any terminal or
// script.
package steer

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/control"
	"github.com/drawbar/drawbar/internal/worktree"
)

// New returns "drawbar steer".
func New(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "steer RUN TEXT",
		Short: "Send a message to the running turn of a run",
		Long: `Send a message to the running turn of a run. The agent reads it after its current step; one that takes no messages during a turn
makes another turn of it.`,
		Example: `  drawbar steer 01K9Z3 "leave the migrations alone"`,
		Args:    cli.Args(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.TrimSpace(strings.Join(args[1:], " "))
			if text == "" {
				return cli.Usage("the message is empty").WithHint("%s", cmd.UseLine())
			}
			return call(cmd.Context(), app, args[0], control.Call{Verb: string(execution.VerbSteer), Text: text}, "sent to the running turn")
		},
	}
}

// NewInterrupt returns "drawbar interrupt".
func NewInterrupt(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "interrupt RUN",
		Short: "End the running turn of a run",
		Long:  "End the running turn of a run. A conversation continues with the next message; drawbar stop ends the run.",
		Args:  cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return call(cmd.Context(), app, args[0], control.Call{Verb: string(execution.VerbInterrupt)}, "interrupted")
		},
	}
}

// NewDiff returns "drawbar diff".
func NewDiff(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "diff RUN",
		Short: "Show what has changed in the directory of a run",
		Long: `Show what has changed in the git repository that a run works in, since its last commit, whoever changed it. What a run did in a
worktree of its own is changed by it alone; drawbar adopt takes it over.`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := app.Run(args[0])
			if err != nil {
				return err
			}
			text, err := worktree.Changed(cmd.Context(), r.Cwd)
			if err != nil {
				return err
			}
			return app.Answer(struct {
				RunID execution.RunID `json:"runId"`
				Cwd   string          `json:"cwd"`
				Diff  string          `json:"diff"`
			}{r.ID, r.Cwd, text}, func() {
				switch {
				case text == "":
					app.Notef("nothing has changed in %s", r.Cwd)
				case !cli.IsTerminal(app.Out):
					app.Printf("%s", text)
				default:
					for line := range strings.Lines(text) {
						app.Printf("%s\n", cli.DiffLine(strings.TrimSuffix(line, "\n"), 0, app.Color(app.Out)))
					}
				}
			})
		},
	}
}

func call(ctx context.Context, app *cli.App, id string, c control.Call, done string) error {
	r, err := app.LiveRun(id, "drawbar ps")
	if err != nil {
		return err
	}
	if _, err := control.Do(ctx, r.ControlPath(), c); err != nil {
		return err
	}
	return app.Answer(struct {
		RunID execution.RunID `json:"runId"`
		Verb  string          `json:"verb"`
		Text  string          `json:"text,omitempty"`
	}{r.ID, c.Verb, c.Text}, func() { app.Printf("%s: %s\n", r.ID, done) })
}
