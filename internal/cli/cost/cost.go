// Package cost is "drawbar cost": the cost of recorded runs.
package cost

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/runstore"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var f runstore.Filter
	var by, since, until string
	cmd := &cobra.Command{
		Use: "cost",
		Long: "Sum up the cost of the runs that Drawbar recorded. For everything that agents used on this machine, whoever started " +
			"them: drawbar sessions cost",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			group := runstore.GroupBy(by)
			switch group {
			case runstore.GroupDay, runstore.GroupAgent, runstore.GroupModel, runstore.GroupProject, runstore.GroupTag, runstore.GroupSession:
			default:
				return cli.Usage("--by %q is not supported", by).WithHint("day, agent, model, project, tag or session")
			}
			var err error
			now := time.Now()
			if f.Since, err = cli.Since("since", since, now); err != nil {
				return err
			}
			if f.Until, err = cli.Since("until", until, now); err != nil {
				return err
			}
			s, err := app.Store()
			if err != nil {
				return err
			}
			defer s.Close()
			var a answer
			if a.Report, err = s.Cost(f, group); err != nil {
				return cli.RecordError(err)
			}
			client, err := app.Client()
			if err != nil {
				return err
			}
			if a.Budgets, err = client.Budgets(); err != nil {
				return cli.RecordError(err)
			}
			return app.Answer(a, func() { show(app, a, by) })
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&by, "by", "agent", "group by day, agent, model, project, tag or session")
	fl.StringVar(&f.Agent, "agent", "", "only runs of this agent")
	fl.StringVar(&f.Tag, "tag", "", "only runs with this tag")
	fl.StringVarP(&f.Cwd, "cwd", "C", "", "only runs in this directory")
	fl.StringVar(&since, "since", "", "only runs started since: 24h, 7d, a date")
	fl.StringVar(&until, "until", "", "only runs started before: 24h, 7d, a date")
	return cmd
}

type answer struct {
	runstore.Report
	Budgets []drawbar.BudgetState `json:"budgets,omitempty"` // whatever runs the report is about
}

func show(app *cli.App, r answer, by string) {
	w := app.NumberTable()
	fmt.Fprintf(w, "%s\tRUNS\tIN\tOUT\tCACHE READ\tCACHE WRITE\tUSD\tUNPRICED RUNS\t\n", by)
	line := func(key string, s runstore.Sum) {
		if key == "" {
			key = "-"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%d\t\n", key, s.Runs, cli.Count(s.InputTokens), cli.Count(s.OutputTokens),
			cli.Count(s.CacheReadTokens), cli.Count(s.CacheCreationTokens), cli.USD(s.TotalUSD, s.Priced > 0 || s.TotalUSD > 0 || s.Runs == 0), s.Unpriced)
	}
	for _, g := range r.Groups {
		line(g.Key, g.Sum)
	}
	line("total", r.Total)
	w.Flush()
	if r.Total.Unpriced > 0 {
		app.Notef("the sum is too low: %d runs used tokens whose number or price is unknown", r.Total.Unpriced)
	}
	if r.Total.Unknown > 0 {
		app.Notef("the sum is too low: %d runs used an unknown number of tokens\nfor the figures that agents recorded: drawbar "+
			"sessions cost", r.Total.Unknown)
	}
	for _, b := range r.Budgets {
		app.Notef("%v: $%.4f spent, $%.4f reserved, $%.4f left", b, b.SpentUSD, b.ReservedUSD, b.LeftUSD)
	}
}
