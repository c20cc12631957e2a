package approve

import (
	"context"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/spf13/cobra"
)

// NewDecline returns the command.
func NewDecline(app *cli.App) *cobra.Command {
	var o govern.DeclineOptions
	cmd := &cobra.Command{
		Use: "decline [GATE]", Short: "Decline the pending gate; its turn goes back with your reason",
		Long: "Decline the pending gate: the requesting role continues with the reason in its prompt, or the role and the " +
			"phase that\nyou name. If you name a gate that passed earlier in the run, that approval is revoked. A later approval " +
			"revokes a decline that no\nturn has answered yet. Everything is recorded.",
		Example: `  drawbar govern decline --reason "the plan names no tests"
  drawbar govern decline qa_ship_verdict --reason "it does not build" --phase implementation --to dev`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Gate = view.First(args)
			if o.Reason == "" {
				return cli.Usage("--reason is missing: the next turn reads the reason").WithHint(`%s --reason "..."`, cmd.CommandPath())
			}
			o.By = view.Who()
			return view.Act(app, cmd, false, func(ctx context.Context, e govern.Engine) (govern.Report, error) { return e.Decline(ctx, o) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Reason, "reason", "", "reason (required)")
	f.StringVar(&o.Role, "to", "", "role that continues (default: the requesting role)")
	f.StringVar(&o.Phase, "phase", "", "phase to continue in: the gate's (default), or an earlier one")
	return cmd
}
