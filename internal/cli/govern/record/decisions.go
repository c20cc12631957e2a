package record

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/governance/protocol"
	"github.com/drawbar/drawbar/internal/ledger"
)

func decisions(app *cli.App) *cobra.Command {
	var f runFlags
	var repo bool
	cmd := &cobra.Command{
		Use: "decisions", Short: "What was decided, oldest first",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			_, v, err := read(app)
			if err != nil {
				return err
			}
			if repo {
				return repoDecisions(app, v, f)
			}
			run := which(v, f.run, f.all)
			list, err := v.Decisions()
			if err != nil {
				return err
			}
			turns, err := turnsOf(v, run)
			if err != nil {
				return err
			}
			list = newest(slices.DeleteFunc(list, func(d protocol.LedgerDecision) bool {
				return run != "" && d.RunID != run && !(d.RunID == "" && turns[d.TurnID])
			}), f.limit)
			return app.Answer(nonNil(list), func() {
				if len(list) == 0 {
					app.Notef("nothing is decided yet")
					return
				}
				t := app.ShortTable()
				fmt.Fprintln(t, "ID\tROLE\tPHASE\tCATEGORY\tSTATUS\tSTATEMENT")
				for _, d := range list {
					fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", d.ID, d.Role, d.Phase, d.Category, d.Status, oneLine(d.Statement))
				}
				_ = t.Flush()
			})
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&repo, "repo", false, "decisions that outlive their runs")
	return cmd
}

// turnsOf are the turns of a run: decisions of the original name their turn only.
func turnsOf(v *ledger.View, run string) (map[string]bool, error) {
	turns := map[string]bool{}
	if run == "" {
		return turns, nil
	}
	entries, err := v.History(run)
	for _, h := range entries {
		turns[h.TurnID] = true
	}
	return turns, err
}

func repoDecisions(app *cli.App, v *ledger.View, f runFlags) error {
	list, err := v.RepoDecisions()
	if err != nil {
		return err
	}
	list = newest(slices.DeleteFunc(list, func(d protocol.RepoDecision) bool { return f.run != "" && d.RunID != f.run }), f.limit)
	return app.Answer(nonNil(list), func() {
		if len(list) == 0 {
			app.Notef("no decision outlives its run")
			return
		}
		t := app.ShortTable()
		fmt.Fprintln(t, "ID\tSTATUS\tROLE\tCATEGORY\tRUN\tSTATEMENT")
		for _, d := range list {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", d.ID, d.Status, d.Role, d.Category, d.RunID, oneLine(d.Statement))
		}
		_ = t.Flush()
	})
}
