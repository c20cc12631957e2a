// Package sessionscost is "drawbar sessions cost": the usage of all agents, from their session files.
package sessionscost

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	_ "time/tzdata" // a machine without the data base knows time zones too

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/sessions"
	"github.com/spf13/cobra"
)

const long = `Sum up what all agents used on this machine, whoever started them, from the session files that they keep.

Every model call counts once, however often the files repeat it, also across sub-agents, resumes and forks. The cost
is the agent's own figure where it reports one (stated), else tokens times the models' prices (estimated). Calls to models
without a known price are counted and reported as unpriced: the sum is then too low; they are not free.

Results are cached, so the next report reads only what is new.`

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var q sessions.CostQuery
	var by, since, until, zone, cwd string
	cmd := &cobra.Command{
		Use: "cost", Short: "Sum up what agents used, from all their session files, not only Drawbar's", Long: long,
		Example: "  drawbar sessions cost --by day --since 30d\n  drawbar sessions cost --by model --agent claude --json",
		Args:    cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q.By = sessions.CostGroupBy(by)
			if err := moments(&q, zone, since, until); err != nil {
				return err
			}
			if cwd != "" && q.Project != "" && cwd != q.Project {
				return cli.Usage("--cwd and --project contradict each other").WithHint("give one of them")
			}
			if q.Project == "" {
				q.Project = cwd
			}
			if q.Project != "" && !filepath.IsAbs(q.Project) {
				dir, err := os.Getwd()
				if err != nil {
					return cli.Usage("--project %q is relative, and the current directory cannot be read: %v", q.Project, err).WithHint("give an absolute path")
				}
				q.Project = filepath.Join(dir, q.Project)
			}
			c, err := app.Client()
			if err != nil {
				return err
			}
			report, err := c.SessionCosts(cmd.Context(), q)
			if err != nil {
				return err
			}
			for _, p := range report.Problems {
				app.Warnf("%s: %s: %s", p.Agent, p.File, p.Error)
			}
			return app.Answer(report, func() { show(app, report) })
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&by, "by", "agent", "group by day, month, agent, model, project or session")
	fl.StringVar(&q.Agent, "agent", "", "only calls of this agent")
	fl.StringVar(&q.Model, "model", "", "only calls of this model (id or alias)")
	fl.StringVar(&q.Project, "project", "", "only calls in this directory or below it")
	fl.StringVarP(&cwd, "cwd", "C", "", "same as --project")
	fl.StringVar(&q.Tag, "tag", "", "only calls in sessions of Drawbar's runs with this tag")
	fl.StringVar(&since, "since", "", "only calls since: 24h, 7d, a date")
	fl.StringVar(&until, "until", "", "only calls before: 24h, 7d, a date")
	fl.StringVar(&zone, "timezone", "", "time zone of days and dates, such as Europe/Berlin (default: the machine's)")
	return cmd
}

// moments parses the time zone and the dates in it.
func moments(q *sessions.CostQuery, zone, since, until string) error {
	q.Location = time.Local
	if zone != "" {
		var err error
		if q.Location, err = time.LoadLocation(zone); err != nil || zone == "Local" {
			return cli.Usage("--timezone %q is not known", zone).WithHint("use an IANA name such as UTC, Europe/Berlin, America/New_York")
		}
	}
	for _, m := range []struct {
		flag, value string
		to          *time.Time
	}{{"since", since, &q.Since}, {"until", until, &q.Until}} {
		if t, err := time.ParseInLocation(time.DateOnly, m.value, q.Location); err == nil {
			*m.to = t
			continue
		}
		t, err := cli.Since(m.flag, m.value, time.Now())
		if err != nil {
			return err
		}
		*m.to = t
	}
	return nil
}

func show(app *cli.App, r sessions.Costs) {
	w := app.NumberTable()
	fmt.Fprintf(w, "%s\tCALLS\tIN\tOUT\tCACHE READ\tCACHE WRITE\tUSD\tCOST IS\tUNPRICED CALLS\t\n", r.GroupBy)
	line := func(key string, s sessions.CostSum) {
		if key = strings.Join(strings.Fields(key), " "); key == "" {
			key = "-"
		}
		priced := s.Source != "unpriced"
		source := string(s.Source)
		if s.UnpricedCalls > 0 && priced {
			source += ", partly unpriced"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t\n", key, s.Calls, cli.Count(s.InputTokens), cli.Count(s.OutputTokens), cli.Count(s.CacheReadTokens),
			cli.Count(s.CacheWriteTokens), cli.USD(s.TotalUSD, priced), source, s.UnpricedCalls)
	}
	for _, g := range r.Groups {
		line(g.Key, g.CostSum)
	}
	line("total", r.Total)
	w.Flush()
	if n := r.Total.UnpricedCalls; n > 0 {
		app.Notef("%s no known price (%s), so the sum is too low", cli.Number(n, "call has", "calls have"), strings.Join(r.UnpricedModels, ", "))
	}
	if r.Files == 0 {
		app.Notef("no session files were found; to see which agents are installed: drawbar agents detect")
	}
}
