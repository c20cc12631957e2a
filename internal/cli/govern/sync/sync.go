// Package sync implements "drawbar govern sync": pulling and pushing the record of a run.
package sync

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var o govern.SyncOptions
	cmd := &cobra.Command{
		Use: "sync", Short: "Pull and push the record of a run that several clones share",
		Long: "Pull the record of the run from the git remote, move the branch to the commit that the run has reached, and push what this clone has\n" +
			"in addition. Commands that change the record do this automatically, before and after. The project needs \"record\": \"branch\" in\n" +
			"agentxchain.json. The record is stored in refs/drawbar/runs/RUN of the remote, together with the commits; your own branch is not pushed.\n\n" +
			"While a command runs, its clone has a lease on the run, and commands of other clones fail. The lease of a killed command expires after\n" +
			"three minutes; --take-over ignores it. Two clones cannot continue one run at the same time: the second push fails.",
		Example: "  drawbar govern config set record branch\n  drawbar govern sync\n  drawbar govern sync --take-over",
		Args:    cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := view.Use(app, cmd, false, func(ctx context.Context, e govern.Engine) (govern.Synced, error) { return e.Sync(ctx, o) })
			if err != nil {
				return err
			}
			return app.Answer(s, func() { show(app, s) })
		},
	}
	cmd.Flags().StringVar(&o.Run, "run", "", "run to continue, if the remote has several in progress")
	cmd.Flags().BoolVar(&o.Theirs, "theirs", false, "replace this clone's diverged record by the remote's; the replaced one is kept")
	cmd.Flags().BoolVar(&o.Ours, "ours", false, "replace the remote's diverged record by this clone's; the replaced one is kept")
	cmd.Flags().BoolVar(&o.TakeOver, "take-over", false, "ignore the lease of another clone, which is gone")
	cli.Exclusive(cmd, "theirs", "ours")
	return cmd
}

func show(app *cli.App, s govern.Synced) {
	line := func(name, format string, args ...any) {
		app.Printf("%-9s "+format+"\n", append([]any{name}, args...)...)
	}
	if s.Run == "" {
		app.Printf("%s has no run yet; drawbar govern step starts one\n", s.Remote)
		return
	}
	if s.Pulled {
		line("pulled", "%s from %s, %s", s.Run, s.Remote, cli.Number(len(s.Turns), "new turn", "new turns"))
	}
	if len(s.Turns) < 6 {
		for _, id := range s.Turns {
			line("", "%s", id)
		}
	}
	if s.Moved != "" {
		line("branch", "moved to %.12s", s.Moved)
	}
	for _, where := range s.Kept {
		line("kept", "%s", where)
	}
	if s.Pushed {
		line("pushed", "%s to %s", s.Run, s.Remote)
	}
	if !s.Pulled && !s.Pushed {
		line("current", "%s is the same on %s", s.Run, s.Remote)
	}
	if s.Lease != nil {
		line("locked", "%s", view.Lease(s.Share, time.Now()))
	}
}
