// Package objection implements "drawbar govern objections resolve", acknowledge and reopen.
package objection

import (
	"context"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/spf13/cobra"
)

// New returns the commands.
func New(app *cli.App) []*cobra.Command {
	return []*cobra.Command{
		rule(app, "resolve", "Resolve an objection; the gate that it blocked is evaluated again", protocol.ObjectionResolvedByHuman),
		rule(app, "acknowledge", "Mark an objection as read; it stays open", protocol.ObjectionAcknowledged),
		rule(app, "reopen", "Reopen a resolved or acknowledged objection", protocol.ObjectionRaised),
	}
}

func rule(app *cli.App, name, short, status string) *cobra.Command {
	o := govern.ObjectionOptions{Status: status}
	cmd := &cobra.Command{
		Use: name + " OBJECTION", Short: short, Example: "  drawbar govern objections " + name + ` OBJ-001 --reason "the backup was tested"`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ID, o.By = args[0], view.Who()
			if o.Reason == "" {
				return cli.Usage("--reason is missing: it goes into the record").WithHint(`%s %s --reason "..."`, cmd.CommandPath(), o.ID)
			}
			return view.Act(app, cmd, false, func(ctx context.Context, e govern.Engine) (govern.Report, error) { return e.RuleObjection(ctx, o) })
		},
	}
	cmd.Flags().StringVar(&o.Reason, "reason", "", "reason (required)")
	return cmd
}
