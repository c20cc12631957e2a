package intake

import (
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
			yes, _ := cmd.Flags().GetBool("trust") // the flag exists
			if err := view.Trust(cmd.Context(), app, yes); err != nil {
				return err
			}
			d, err := open(app, "intake start")
			if err != nil {
				return err
			}
			e, done, err := view.Engine(app, "intake start", false)
			if err != nil {
				return err
			}
			defer done()
			ctx, stop := view.Interruptible(cmd.Context())
			defer stop()
			if again && d.state.Status == protocol.RunCompleted {
				if _, err := e.Restart(ctx, govern.RestartOptions{}); err != nil {
					return err
				}
			}
			r, err := e.Assign(ctx, o)
			if err != nil {
				return err
			}
			return view.Tell(app, r)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Intent, "intent", "", "intent (required)")
	f.StringVar(&o.Role, "role", "", "role of the turn")
	f.BoolVar(&again, "restart-completed", false, "start a new run after a completed one")
	cli.TrustFlag(cmd, new(bool))
	return cmd
}
