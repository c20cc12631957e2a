package turn

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/spf13/cobra"
)

// NewVerify returns "verify turn", NewReplay the same for an accepted turn.
func NewVerify(app *cli.App) *cobra.Command {
	o := govern.RerunOptions{}
	cmd := rerun(app, &o)
	cmd.Flags().BoolVar(&o.Accepted, "accepted", false, "use an accepted turn of the record (default: the last)")
	return cmd
}

// NewReplay returns AgentXchain's "replay turn".
func NewReplay(app *cli.App) *cobra.Command {
	cmd := rerun(app, &govern.RerunOptions{Accepted: true})
	cmd.Hidden = true
	return cmd
}

func rerun(app *cli.App, o *govern.RerunOptions) *cobra.Command {
	var limit string
	cmd := &cobra.Command{
		Use: "turn [TURN]", Short: "Run a turn's evidence again and compare exit codes",
		Long: "Run the commands that a turn gives as its evidence again, with the current files, and compare exit codes, as the " +
			"policy\nrequire_reproducible_verification does. The commands come from a turn: without --execute they are listed but " +
			"not run. The exit\ncode is 1 unless every command exits as the turn reported.",
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.Timeout, err = limitOf(limit); err != nil {
				return cli.Usage("--timeout %q is not a valid duration", limit).WithHint("%s --timeout 30s", cmd.CommandPath())
			}
			o.Turn = view.First(args)
			r, err := view.Use(app, cmd, o.Execute, func(ctx context.Context, e govern.Engine) (govern.Rerun, error) { return e.Rerun(ctx, *o) })
			if err != nil {
				return err
			}
			show := func() { printRerun(app, r) }
			if r.Overall == "match" {
				return app.Answer(r, show)
			}
			why := execution.Errorf(execution.CodeValidation, "%s: %s", r.Overall, r.Reason)
			if len(r.Commands) < len(r.Evidence) {
				_ = why.WithHint("%s %s --execute", cmd.CommandPath(), r.TurnID)
			}
			return view.Failed(app, execution.ExitGeneral, r, why, show)
		},
	}
	cmd.Flags().BoolVar(&o.Execute, "execute", false, "run the commands")
	cmd.Flags().StringVar(&limit, "timeout", "30s", "time limit for one command, such as 2m or milliseconds")
	cli.TrustFlag(cmd, new(bool))
	return cmd
}

// limitOf parses a duration; a plain number is milliseconds.
func limitOf(text string) (time.Duration, error) {
	if n, err := strconv.Atoi(text); err == nil {
		text = strconv.Itoa(n) + "ms"
	}
	d, err := time.ParseDuration(text)
	if err == nil && d <= 0 {
		err = strconv.ErrRange
	}
	return d, err
}

func printRerun(app *cli.App, r govern.Rerun) {
	app.Printf("%s  %s (%s)\n", r.Overall, r.TurnID, r.Role)
	app.Printf("  reported   %s (%s, from the %s)\n", r.Declared, r.Normalized, strings.Replace(r.Source, "staged", "staged result", 1))
	if r.Reason != "" {
		app.Printf("  why        %s\n", r.Reason)
	}
	if len(r.Commands) == 0 {
		for _, e := range r.Evidence {
			app.Printf("  not run    %s\n", e.Command)
		}
		if len(r.Evidence) > 0 {
			app.Printf("  next       run the same command with --execute\n")
		}
	}
	for _, c := range r.Commands {
		word := "match"
		if !c.Matched {
			word = "mismatch"
		}
		app.Printf("  %-9s  %s: exit code %d, now %d\n", word, c.Command, c.DeclaredExit, c.ActualExit)
	}
}
