// Package sync implements "drawbar govern sync": the record of a run moves between the clones of a team.
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
		Use: "sync", Short: "Bring the record of the run, and the branch, to where the other clones are",
		Long: "Fetch the record of the run from the git remote, bring this clone's record and branch to where it is, and push what only this clone\n" +
			"has. Commands that change the record do this by themselves, before and after; sync is for looking without doing, and for what went\n" +
			"wrong. It needs \"record\": \"branch\" in agentxchain.json. The record travels on refs/drawbar/runs/RUN of the remote, with the\n" +
			"commits of the branch that the run has reached; your branch itself is for you to push.\n\n" +
			"While a command works, its clone holds the run, and the others wait. A clone that died holds it for three more minutes, or until\n" +
			"--take-over. Whatever the clocks say, two clones never continue one run: the second push is refused.",
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
	cmd.Flags().StringVar(&o.Run, "run", "", "run to carry on here, if the remote has several in progress")
	cmd.Flags().BoolVar(&o.Theirs, "theirs", false, "continue with the remote's record although this clone's differs; what only this clone has is kept aside")
	cmd.Flags().BoolVar(&o.Ours, "ours", false, "continue with this clone's record although the remote's differs; the remote's stays in the history of the ref")
	cmd.Flags().BoolVar(&o.TakeOver, "take-over", false, "take the run from a clone that holds it, because nobody works there")
	cli.Exclusive(cmd, "theirs", "ours")
	return cmd
}

func show(app *cli.App, s govern.Synced) {
	line := func(name, format string, args ...any) {
		app.Printf("%-9s "+format+"\n", append([]any{name}, args...)...)
	}
	if s.Run == "" {
		app.Printf("%s has no run yet; the next drawbar govern step begins one\n", s.Remote)
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
		line("same", "%s as on %s", s.Run, s.Remote)
	}
	if s.Lease != nil {
		line("held", "%s", view.Lease(s.Share, time.Now()))
	}
}
