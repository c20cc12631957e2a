package record

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/spf13/cobra"
)

func decisions(app *cli.App) *cobra.Command {
	var f runFlags
	var repo bool
	var show string
	cmd := &cobra.Command{
		Use: "decisions", Short: "List decisions, oldest first",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, v, run, err := f.open(app, cmd)
			if err != nil {
				return err
			}
			if repo {
				return repoDecisions(app, v, f, show)
			}
			list, err := v.Decisions(run)
			if err != nil {
				return err
			}
			list = newest(list, f.limit)
			if show != "" {
				i := slices.IndexFunc(list, func(d protocol.LedgerDecision) bool { return d.ID == show })
				if i < 0 {
					return repoDecisions(app, v, f, show)
				}
				return showDecision(app, list[i])
			}
			return view.List(app, list, "no decisions yet", "ID\tROLE\tPHASE\tCATEGORY\tSTATUS\tSTATEMENT", func(d protocol.LedgerDecision) []string {
				return []string{d.ID, d.Role, d.Phase, d.Category, d.Status, oneLine(d.Statement)}
			})
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&repo, "repo", false, "only decisions that outlive their runs")
	cmd.Flags().StringVarP(&show, "show", "s", "", "show everything about this decision, such as DEC-042")
	return cmd
}

// showDecision prints every field of a decision.
func showDecision(app *cli.App, d any) error {
	b, err := json.Marshal(d)
	if err != nil {
		return err
	}
	var fields protocol.Ordered[any]
	if err := json.Unmarshal(b, &fields); err != nil {
		return err
	}
	return app.Answer(d, func() {
		for key, value := range fields.All() {
			if s := fmt.Sprint(value); value != nil && s != "" && s != "[]" {
				app.Printf("%-18s %s\n", strings.ReplaceAll(key, "_", " "), oneLine(s))
			}
		}
	})
}

func repoDecisions(app *cli.App, v *ledger.View, f runFlags, show string) error {
	list, err := v.RepoDecisions()
	if err != nil {
		return err
	}
	list = newest(slices.DeleteFunc(list, func(d protocol.RepoDecision) bool { return f.run != "" && d.RunID != f.run }), f.limit)
	if show != "" {
		i := slices.IndexFunc(list, func(d protocol.RepoDecision) bool { return d.ID == show })
		if i < 0 {
			return execution.Errorf(execution.CodeSessionNotFound, "unknown decision %q", show).WithHint("drawbar govern decisions --all")
		}
		return showDecision(app, list[i])
	}
	return view.List(app, list, "no decision outlives its run", "ID\tSTATUS\tROLE\tCATEGORY\tRUN\tSTATEMENT", func(d protocol.RepoDecision) []string {
		return []string{d.ID, d.Status, d.Role, d.Category, d.RunID, oneLine(d.Statement)}
	})
}
