package sessions

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/internal/cli"
)

func list(app *cli.App) *cobra.Command {
	var f filter
	var quiet bool
	cmd := &cobra.Command{
		Use: "list", Short: "List sessions, the latest first",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			now := time.Now()
			q, err := f.read(now, drawbar.SessionsByDate, drawbar.SessionsByTurns, drawbar.SessionsByCost)
			if err != nil {
				return err
			}
			s, err := sessions(app)
			if err != nil {
				return err
			}
			l, err := s.List(cmd.Context(), q)
			if err != nil {
				return err
			}
			return app.Answer(l, func() { showList(app, l, now, quiet) })
		},
	}
	f.flags(cmd, "date, turns or cost (default date)", 100)
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "ids only")
	cmd.Flags().BoolVar(&f.query.Counted, "turns", false, "count the turns of every listed session; large ones are read whole, once")
	return cmd
}

func showList(app *cli.App, l drawbar.SessionListing, now time.Time, quiet bool) {
	if quiet {
		for _, s := range l.Sessions {
			app.Printf("%s\n", cli.Printable(s.UnifiedID))
		}
		return
	}
	w := app.ShortTable()
	fmt.Fprintln(w, "SESSION\tACTIVE\tTURNS\tCOST\tMODEL\tDIRECTORY\tTITLE")
	for _, s := range l.Sessions {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", cell(s.UnifiedID), age(s.UpdatedAt, now), turns(s), money(s),
			orDash(cell(s.Model)), orDash(cell(s.Cwd)), title(s))
	}
	w.Flush()
	if len(l.Sessions) == 0 {
		app.Notef("no sessions")
	} else if l.Total > len(l.Sessions) {
		app.Notef("%d of %d sessions; --limit 0 lists all", len(l.Sessions), l.Total)
	}
	problems(app, l.Problems)
	for _, s := range l.Sessions {
		problems(app, s.Problems)
	}
}

// title is what stands for a session in a table: one that cannot be read has its reason told below.
func title(s adapter.SessionSummary) string {
	t := cell(s.Title)
	if s.Archived {
		t = "(archived) " + t
	}
	if s.Parent != "" {
		t = "(sub-agent) " + t
	}
	if s.ForkedFrom != "" {
		t = "(fork) " + t
	}
	return orDash(t)
}

func turns(s adapter.SessionSummary) string {
	if s.TurnCount == nil {
		return "-"
	}
	return strconv.Itoa(*s.TurnCount)
}

func money(s adapter.SessionSummary) string {
	if s.Cost == nil || s.Cost.TotalUSD == nil {
		return "-"
	}
	return fmt.Sprintf("$%.4f", *s.Cost.TotalUSD)
}

// age is how long ago something happened. The time of what cannot be read is not known.
func age(t, now time.Time) string {
	if t.Unix() <= 0 {
		return "-"
	}
	return cli.Age(max(0, now.Sub(t)))
}

// maxProblems bounds how much is told of one file: a damaged one may have a problem in every line.
const maxProblems = 3

// problems tells on standard error what could not be read.
func problems(app *cli.App, list []adapter.SessionProblem) {
	told := map[string]int{}
	for _, p := range list {
		if told[p.Path]++; told[p.Path] <= maxProblems {
			app.Warnf("%s", p.String())
		}
	}
	for _, path := range cli.SortedKeys(told) {
		if n := told[path] - maxProblems; n > 0 {
			app.Warnf("%s: %d more such lines; --json lists them", path, n)
		}
	}
}
