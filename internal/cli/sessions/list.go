package sessions

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/sessions"
	"github.com/spf13/cobra"
)

func list(app *cli.App) *cobra.Command {
	var f filter
	var quiet, archived bool
	cmd := &cobra.Command{
		Use: "list", Short: "List sessions, newest first",
		Long: "List sessions, newest first.\n\nThe cost is the one of drawbar sessions cost, as far as it is known without reading " +
			"whole files; --cost and --sort cost read\nwhat is new. ~ is an estimate from the price table, + is too low because of " +
			"calls without a known price, ? has no known price,\n- is not known yet.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			now := time.Now()
			q, err := f.read(now, sessions.ByDate, sessions.ByTurns, sessions.ByCost)
			if err != nil {
				return err
			}
			q.Current = !archived
			s, err := open(app, nil)
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
	f.flags(cmd, "sort by date, turns or cost (default date)", 100)
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print ids only")
	cmd.Flags().BoolVar(&archived, "archived", false, "list archived sessions too")
	cmd.Flags().BoolVar(&f.query.Priced, "cost", false, "compute costs as sessions cost does; reads new parts of session files once")
	cmd.Flags().BoolVar(&f.query.Counted, "turns", false, "count turns; reads large session files in full, once")
	return cmd
}

func showList(app *cli.App, l sessions.Listing, now time.Time, quiet bool) {
	if quiet {
		for _, s := range l.Sessions {
			app.Printf("%s\n", cli.Printable(s.UnifiedID))
		}
		return
	}
	// Rows are cut to the terminal's width, so on a narrow one the title comes before the directory.
	narrow := false
	name, dir := func(s history.Summary) string { return s.UnifiedID }, func(s history.Summary) string { return s.Cwd }
	if width := app.Width(); width > 0 && width < wideTerminal {
		narrow = true
		name, dir = shortIDs(l.Sessions), func(s history.Summary) string { return lastPart(s.Cwd) }
	}
	w := app.ShortTable()
	row := func(session, active, turns, cost, model, dir, title string) {
		rest := []string{model, dir, title}
		if narrow {
			rest = []string{title, model, dir}
		}
		fmt.Fprintln(w, strings.Join(append([]string{session, active, turns, cost}, rest...), "\t"))
	}
	row("SESSION", "ACTIVE", "TURNS", "COST", "MODEL", "DIRECTORY", "TITLE")
	for _, s := range l.Sessions {
		row(cell(name(s)), age(s.UpdatedAt, now), turns(s), money(s),
			cli.Cell(cell(s.Model)), cli.Cell(cell(dir(s))), title(s))
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

// wideTerminal is the width of a whole row.
const wideTerminal = 150

// shortIDs returns a function that shortens ids to prefixes that are unique in the list; commands accept them.
func shortIDs(list []history.Summary) func(history.Summary) string {
	const short = 8
	taken := map[string]int{}
	begin := func(id string, n int) string {
		agent, native, _ := strings.Cut(id, ":")
		if r := []rune(native); len(r) > n {
			native = string(r[:n])
		}
		return agent + ":" + native
	}
	for n := short; n <= 3*short; n++ {
		for _, s := range list {
			taken[begin(s.UnifiedID, n)]++
		}
	}
	return func(s history.Summary) string {
		for n := short; n <= 3*short; n++ {
			if b := begin(s.UnifiedID, n); taken[b] == 1 {
				return b
			}
		}
		return s.UnifiedID
	}
}

// lastPart returns the last element of a directory's path.
func lastPart(dir string) string {
	if i := strings.LastIndexAny(strings.TrimRight(dir, `/\`), `/\`); i > 0 {
		return "…" + dir[i:]
	}
	return dir
}

// title returns a session's title with its marks.
func title(s history.Summary) string {
	t := cell(s.Title)
	if s.Name != "" {
		t = "[" + s.Name + "] " + t
	}
	if s.Archived {
		t = "(archived) " + t
	}
	if s.Parent != "" {
		t = "(sub-agent) " + t
	}
	if s.ForkedFrom != "" {
		t = "(fork) " + t
	}
	return cli.Cell(t)
}

func turns(s history.Summary) string {
	if s.TurnCount == nil {
		return "-"
	}
	return strconv.Itoa(*s.TurnCount)
}

// money formats a session's cost: ~ marks an estimate, + a cost that is too low because of calls without a known price; ? means
// that no price is known.
func money(s history.Summary) string {
	switch {
	case s.Cost == nil:
		return "-"
	case s.Cost.TotalUSD == nil:
		return "?"
	}
	text := fmt.Sprintf("$%.4f", *s.Cost.TotalUSD)
	if s.Cost.Source == execution.CostFromTable {
		text = "~" + text
	}
	if s.Cost.Unpriced {
		text += "+"
	}
	return text
}

// source describes where a session's cost comes from.
func source(s history.Summary) string {
	switch {
	case s.Cost == nil:
		return ""
	case s.Cost.TotalUSD == nil:
		return " (unpriced)"
	case s.Cost.Unpriced:
		return " (partly unpriced)"
	case s.Cost.Source == execution.CostFromTable:
		return " (estimated)"
	}
	return " (stated)"
}

// age formats how long ago a time was, "-" if it is unknown.
func age(t, now time.Time) string {
	if t.Unix() <= 0 {
		return "-"
	}
	return cli.Age(max(0, now.Sub(t)))
}

// maxProblems limits the problems that are printed per file: a damaged file may have one in every line.
const maxProblems = 3

// problems warns about what could not be read.
func problems(app *cli.App, list []history.Problem) {
	told := map[string]int{}
	for _, p := range list {
		if told[p.Path]++; told[p.Path] <= maxProblems {
			app.Warnf("%s", p.String())
		}
	}
	for _, path := range slices.Sorted(maps.Keys(told)) {
		if n := told[path] - maxProblems; n > 0 {
			app.Warnf("%s: %d more such lines; --json lists them", path, n)
		}
	}
}
