package race

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/junit"
)

// Write prints the result.
func (res Result) Write(app *cli.App) error {
	short := func(id execution.RunID) string { return string(id) }
	if s, err := app.Store(); err == nil {
		defer s.Close()
		if f, err := s.Short(); err == nil {
			short = f
		}
	}
	return app.Answer(res, func() {
		w := app.ShortTable("RACER", "CHECK", "TIME", "COST", "FILES", "LINES", "RUN", "SAID")
		for _, l := range res.Lanes {
			said := l.Error
			if l.Check != nil {
				said = l.Check.Last()
			}
			lines := fmt.Sprintf("+%d -%d", l.Added, l.Removed)
			took := (time.Duration(l.DurationMs) * time.Millisecond).Round(100 * time.Millisecond).String()
			w.Row(l.Racer, string(l.Outcome), took, cli.Money(l.Cost), l.Files, lines, short(l.RunID), cli.OneLine(said, 100))
		}
		w.Flush()
		for _, l := range res.Lanes {
			if l.Check != nil && len(l.Check.Restored) > 0 {
				app.Notef("%s changed %s, which decide what the check means; it was checked with those of the base", l.Racer, cli.OneLine(fmt.Sprint(l.Check.Restored), 200))
			}
		}
		if res.Won() && res.Lanes[0].Files > 0 {
			app.Notef("to have the work of %s: drawbar adopt %s", res.Lanes[0].Racer, short(res.Lanes[0].RunID))
		}
	})
}

// Cases are the racers in a report for continuous integration.
func (res Result) Cases() (cases []junit.Case) {
	for _, l := range res.Lanes {
		c := junit.Case{Name: strings.TrimSpace(fmt.Sprintf("%s %s", l.Racer, l.RunID)), Took: time.Duration(l.DurationMs) * time.Millisecond}
		switch l.Outcome {
		case Green:
			c.Output = l.Check.Output
		case Red:
			c.Failure, c.Detail = cmp.Or(l.Check.Last(), fmt.Sprintf("the check ended with exit code %d", l.Check.ExitCode)), l.Check.Output
		case Failed:
			c.Failure = cmp.Or(l.Error, string(l.Status), "it did not start")
		case Stopped:
			c.Skipped = cmp.Or(l.Error, "it was interrupted")
		}
		cases = append(cases, c)
	}
	return cases
}

// Won reports whether there is a work to adopt.
func (res Result) Won() bool {
	return len(res.Lanes) > 0 && (res.Lanes[0].Outcome == Green || res.Lanes[0].Outcome == Done)
}
