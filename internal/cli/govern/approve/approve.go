// Package approve implements "drawbar govern approve" and "drawbar govern decline": a person approves a gate, or
// declines it.
package approve

import (
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
			return Approve(app, cmd, o)
		},
	}
	cmd.Flags().StringVar(&comment, "comment", "", "comment for the record")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would happen and change nothing")
	cli.TrustFlag(cmd, new(bool))
	return cmd
}

// Approve approves the gate and prints the outcome.
func Approve(app *cli.App, cmd *cobra.Command, o govern.ApproveOptions) error {
	if !o.DryRun {
		yes, _ := cmd.Flags().GetBool("trust") // an alias has no such flag
		if err := view.Trust(cmd.Context(), app, yes); err != nil {
			return err
		}
	}
	e, done, err := view.Engine(app, cmd.Name(), false)
	if err != nil {
		return err
	}
	ctx, stop := view.Interruptible(cmd.Context())
	defer stop()
	r, err := e.Approve(ctx, o)
	done()
	if err != nil {
		return err
	}
	return view.Tell(app, r)
}
