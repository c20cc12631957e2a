// Package budget is "drawbar budget": what recorded runs may cost together.
package budget

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/ownconfig"
	"github.com/drawbar/drawbar/internal/settings/config"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "budget", Short: "Limit what runs may cost together, by day, week or month",
		Long: `Show what your budgets have left. A budget limits what the recorded runs of a day, week or month may cost together: all of them, those of an
agent (--agent), or those in a directory and in worktrees of its repositories (--project).

A run reserves its --budget before it starts; one without reserves what --run of the budget says, or else all that is left. If too little is
left, it is refused with exit code 21. When it has cost what it reserved, it is stopped. Once it has ended, only what it cost counts, on the
day of its start. Agents report costs after each call of a model, so a run can cost one call more. If nobody can say what a run costs (an
agent without limits, a model without a price), it reserves nothing and says so; drawbar models price sets prices. Roles of a governed run
that are an API or an MCP server have that run's limits instead.`,
		Example: `  drawbar budget set --daily 20
  drawbar budget set --agent claude --monthly 200 --run 5
  drawbar budget set --project . --weekly 50
  drawbar budget rm --project .`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return list(app) },
	}
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "Show what budgets have left", Args: cli.Args(cobra.NoArgs), RunE: func(*cobra.Command, []string) error { return list(app) }},
		set(app), remove(app))
	return cmd
}

func list(app *cli.App) error {
	if _, err := app.Config(app.Dir()); err != nil {
		return err
	}
	client, err := app.Client()
	if err != nil {
		return err
	}
	states, err := client.Budgets()
	if err != nil {
		return cli.RecordError(err)
	}
	return app.Answer(states, func() {
		if len(states) == 0 {
			app.Notef("no budget limits what runs cost together\n  try: drawbar budget set --daily 20")
			return
		}
		w := app.Table("AGENT", "PROJECT", "PER", "LIMIT $", "SPENT $", "RESERVED $", "LEFT $", "A RUN $", "AGAIN FROM")
		unpriced := 0
		for _, s := range states {
			run := ""
			if s.RunUSD > 0 {
				run = fmt.Sprintf("%.2f", s.RunUSD)
			}
			w.Row(all(s.Agent), all(s.Project), s.Period, fmt.Sprintf("%.2f", s.LimitUSD), fmt.Sprintf("%.4f", s.SpentUSD), fmt.Sprintf("%.4f", s.ReservedUSD),
				fmt.Sprintf("%.4f", s.LeftUSD), run, s.Until.Format("Mon 2006-01-02"))
			unpriced = max(unpriced, s.Unpriced)
		}
		w.Flush()
		if unpriced > 0 {
			app.Notef("the sums are too low: the cost of %s is unknown", cli.Number(unpriced, "run", "runs"))
		}
	})
}

func all(name string) string {
	if name == "" {
		return "all"
	}
	return name
}

// target are the runs that a budget is about.
type target struct{ agent, project string }

func (t *target) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.agent, "agent", "", "only runs of this agent")
	cmd.Flags().StringVar(&t.project, "project", "", "only runs in this directory and in worktrees of its repositories")
}

// budget is the budget without limits.
func (t *target) budget(app *cli.App) (b config.Budget, err error) {
	if t.agent != "" {
		entry, err := app.Agent(t.agent)
		if err != nil {
			return b, err
		}
		b.Agent = entry.Descriptor.Name
	}
	if t.project != "" {
		if b.Project, err = filepath.Abs(t.project); err == nil {
			b.Project, err = filepath.EvalSymlinks(b.Project)
		}
		if err != nil {
			return b, cli.Usage("--project %s: %v", t.project, err).WithHint("name a directory")
		}
	}
	return b, nil
}

func set(app *cli.App) *cobra.Command {
	var t target
	var limits config.Budget
	cmd := &cobra.Command{Use: "set", Short: "Add a budget, or change its limits; 0 takes a limit away", Args: cli.Args(cobra.NoArgs)}
	t.register(cmd)
	f := cmd.Flags()
	f.Float64Var(&limits.Daily, "daily", 0, "US dollars from midnight to midnight")
	f.Float64Var(&limits.Weekly, "weekly", 0, "US dollars from Monday on")
	f.Float64Var(&limits.Monthly, "monthly", 0, "US dollars from the first day of the month on")
	f.Float64Var(&limits.Run, "run", 0, "limit of a run that states none (default what is left)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		b, err := t.budget(app)
		if err != nil {
			return err
		}
		stated := false
		for _, name := range []string{"daily", "weekly", "monthly", "run"} {
			stated = stated || f.Changed(name)
		}
		if !stated {
			return cli.Usage("no limit is given").WithHint("%s --daily 20", cmd.CommandPath())
		}
		perRun := 0.0
		err = ownconfig.Change(cmd.Context(), app, app.Dir(), "budgets", func(list []config.Budget) ([]config.Budget, error) {
			i := slices.IndexFunc(list, b.Same)
			if i < 0 {
				i, list = len(list), append(list, b)
			}
			for name, of := range map[string][2]*float64{"daily": {&list[i].Daily, &limits.Daily}, "weekly": {&list[i].Weekly, &limits.Weekly},
				"monthly": {&list[i].Monthly, &limits.Monthly}, "run": {&list[i].Run, &limits.Run}} {
				if f.Changed(name) {
					*of[0] = *of[1]
				}
			}
			if l := list[i]; l.Daily == 0 && l.Weekly == 0 && l.Monthly == 0 {
				return nil, cli.Usage("no limit would be left").WithHint("drawbar budget rm, or one of --daily, --weekly and --monthly")
			}
			perRun = list[i].Run
			return list, nil
		})
		if err == nil && perRun == 0 && !app.JSON {
			app.Notef("a run without a --budget reserves all that is left, so that no other can start meanwhile; --run limits what it reserves")
		}
		return err
	}
	return cmd
}

func remove(app *cli.App) *cobra.Command {
	var t target
	cmd := &cobra.Command{Use: "rm", Short: "Remove a budget", Args: cli.Args(cobra.NoArgs)}
	t.register(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		b, err := t.budget(app)
		if err != nil {
			return err
		}
		return ownconfig.Change(cmd.Context(), app, app.Dir(), "budgets", func(list []config.Budget) ([]config.Budget, error) {
			i := slices.IndexFunc(list, b.Same)
			if i < 0 {
				return nil, cli.Usage("there is no such budget").WithHint("drawbar budget list")
			}
			return slices.Delete(list, i, i+1), nil
		})
	}
	return cmd
}
