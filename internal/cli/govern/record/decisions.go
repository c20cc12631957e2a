package record

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/governance"
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
			run, err := which(v, f.run, f.all)
			if err != nil {
				return err
			}
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

// objection is an objection with the turn that raised it.
type objection struct {
	protocol.Objection
	TurnID string `json:"turn_id"`
	Role   string `json:"role"`
	Phase  string `json:"phase"`
	Open   bool   `json:"open"`
}

func objections(app *cli.App) *cobra.Command {
	var f runFlags
	var open bool
	cmd := &cobra.Command{
		Use: "objections", Short: "What was objected to, oldest first",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			_, v, err := read(app)
			if err != nil {
				return err
			}
			run, err := which(v, f.run, f.all)
			if err != nil {
				return err
			}
			entries, err := v.History(run)
			if err != nil {
				return err
			}
			still := map[string]bool{}
			for _, o := range governance.OpenObjections(entries) {
				still[o.ID] = true
			}
			var list []objection
			for _, h := range entries {
				for _, o := range h.Objections {
					if !open || still[o.ID] {
						list = append(list, objection{o, h.TurnID, h.Role, h.Phase, still[o.ID]})
					}
				}
			}
			list = newest(list, f.limit)
			return app.Answer(nonNil(list), func() {
				if len(list) == 0 {
					app.Notef("nobody objects")
					return
				}
				t := app.ShortTable()
				fmt.Fprintln(t, "ID\tSEVERITY\tSTATUS\tROLE\tAGAINST\tSTATEMENT")
				for _, o := range list {
					state := o.Status
					if state == "" {
						state = "raised"
					}
					against := o.AgainstTurnID
					if against == "" {
						against = "-"
					}
					fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", o.ID, o.Severity, state, o.Role, against, oneLine(o.Statement))
				}
				_ = t.Flush()
			})
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&open, "open", false, "only those that stand")
	return cmd
}
