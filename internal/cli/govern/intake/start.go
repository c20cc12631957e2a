package intake

import (
	"context"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/spf13/cobra"
)

func start(app *cli.App) *cobra.Command {
	var o govern.StepOptions
	var again bool
	cmd := &cobra.Command{
		Use: "start", Short: "Prepare a turn for an approved or planned intent without running it", Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Intent == "" {
				return cli.Usage("--intent is missing: which intent?").WithHint("drawbar govern intake status")
			}
			return view.Act(app, cmd, true, func(ctx context.Context, e govern.Engine) (r govern.Report, err error) {
				d, err := open(app, "intake start")
				if err == nil && again && d.state.Status == protocol.RunCompleted {
					_, err = e.Restart(ctx, govern.RestartOptions{})
				}
				if err != nil {
					return r, err
				}
				return e.Assign(ctx, o)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Intent, "intent", "", "intent (required)")
	f.StringVar(&o.Role, "role", "", "role of the turn")
	f.BoolVar(&again, "restart-completed", false, "start a new run after a completed one")
	cli.TrustFlag(cmd, new(bool))
	return cmd
}
