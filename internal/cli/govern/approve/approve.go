// Package approve implements "drawbar govern approve" and "drawbar govern decline": a person approves a gate, or
// declines it.
package approve

import (
	"context"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/spf13/cobra"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var dry bool
	var comment string
	cmd := &cobra.Command{
		Use: "approve [phase|completion]", Short: "Approve the pending gate: the next phase starts, or the run ends",
		Long: "Approve the pending gate: before_gate hooks are called, the gate's actions run, then the next phase starts or the run " +
			"ends.\nWithout an argument, the pending gate is approved.",
		Args: cli.Args(cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs)), ValidArgs: []string{"phase", "completion"},
		RunE: func(cmd *cobra.Command, args []string) error {
			o := govern.ApproveOptions{Either: len(args) == 0, DryRun: dry, By: view.Who(), Comment: comment}
			o.Completion = len(args) == 1 && args[0] == "completion"
			return view.Act(app, cmd, !dry, func(ctx context.Context, e govern.Engine) (govern.Report, error) { return e.Approve(ctx, o) })
		},
	}
	cmd.Flags().StringVar(&comment, "comment", "", "comment for the record")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would happen and change nothing")
	cli.TrustFlag(cmd, new(bool))
	return cmd
}
