// Package ps is "drawbar ps": the recorded runs.
package ps

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/control"
	"github.com/drawbar/drawbar/internal/runstore"
	"github.com/drawbar/drawbar/transport/process"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var f runstore.Filter
	var all, waiting, quiet, count bool
	var since, until string
	cmd := &cobra.Command{
		Use: "ps",
		Long: `List live runs, and lost ones whose processes are still running; --all lists every run.

A run that waits for an answer shows since when and for what. --waiting lists these alone, and those that ended because they wait for a person.
drawbar approve, drawbar deny and drawbar answer answer both.

Where a command asks for RUN, the first characters of an id are enough, and latest is the newest run.`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			now := time.Now()
			if f.Since, err = cli.Since("since", since, now); err != nil {
				return err
			}
			if f.Until, err = cli.Since("until", until, now); err != nil {
				return err
			}
			if f.Limit < 1 {
				return cli.Usage("--limit %d is out of range", f.Limit).WithHint("1 or more")
			}
			if count {
				for _, other := range []string{"all", "waiting", "quiet", "limit", "since", "until"} {
					if cmd.Flags().Changed(other) {
						return cli.Usage("--count and --%s contradict each other", other).WithHint("--count is about live runs")
					}
				}
				return brief(cmd.Context(), app, f)
			}
			if all && waiting {
				return cli.Usage("--all and --waiting contradict each other").WithHint("--waiting lists ended runs too, if they wait")
			}
			f.Live = !all
			limit := f.Limit
			if waiting {
				f.Limit = 0 // it counts those that wait, which only the runs know
			}
			s, err := app.Store()
			if err != nil {
				return err
			}
			defer s.Close()
			runs, err := s.List(f)
			if err != nil {
				return cli.RecordError(err)
			}
			rows, err := withSurvivors(s, f, runs)
			if err != nil {
				return cli.RecordError(err)
			}
			askPending(cmd.Context(), rows, patience)
			if waiting {
				rows = slices.DeleteFunc(rows, func(r row) bool { return len(r.Pending) == 0 })
				if rows, err = withUnanswered(s, f, rows); err != nil {
					return cli.RecordError(err)
				}
				rows = rows[:min(limit, len(rows))]
			}
			short, err := s.Short()
			if err != nil {
				return cli.RecordError(err)
			}
			return app.Answer(rows, func() {
				if !quiet {
					show(app, rows, now, short, waiting)
					return
				}
				for _, r := range rows {
					app.Printf("%s\n", r.ID)
				}
			})
		},
	}
	fl := cmd.Flags()
	fl.BoolVarP(&all, "all", "a", false, "include ended runs")
	fl.BoolVarP(&waiting, "waiting", "w", false, "only runs that wait for an answer, also ended ones")
	fl.BoolVarP(&quiet, "quiet", "q", false, "print ids only")
	fl.BoolVar(&count, "count", false, "print how many live runs work and wait, nothing if there are none: for a shell's prompt")
	fl.StringVar(&f.Agent, "agent", "", "only runs of this agent")
	fl.StringVar(&f.Tag, "tag", "", "only runs with this tag")
	fl.StringVarP(&f.Cwd, "cwd", "C", "", "only runs in this directory")
	fl.StringVar(&f.Session, "session", "", "only runs of this session of an agent")
	fl.StringVar(&since, "since", "", "only runs started since: 24h, 7d, a date")
	fl.StringVar(&until, "until", "", "only runs started before: 24h, 7d, a date")
	fl.IntVar(&f.Limit, "limit", 50, "maximum number of runs")
	return cmd
}

// row is a run with its unanswered questions and the number of remaining processes of a lost one.
type row struct {
	runstore.Run
	Pending   []control.PendingQuestion `json:"pending,omitempty"`
	Processes int                       `json:"processes,omitempty"`
}

// brief prints how many live runs work, and how many wait for an answer. It is called for every prompt of a shell.
func brief(ctx context.Context, app *cli.App, f runstore.Filter) error {
	s, err := app.Store()
	if err != nil {
		return err
	}
	defer s.Close()
	f.Live, f.Limit = true, 0
	runs, err := s.List(f)
	if err != nil {
		return cli.RecordError(err)
	}
	rows := make([]row, len(runs))
	for i, r := range runs {
		rows[i].Run = r
	}
	askPending(ctx, rows, briefPatience)
	var n struct {
		Working int `json:"working"`
		Waiting int `json:"waiting"`
	}
	for _, r := range rows {
		if len(r.Pending) > 0 {
			n.Waiting++
		} else {
			n.Working++
		}
	}
	return app.Answer(n, func() {
		var parts []string
		if n.Working > 0 {
			parts = append(parts, fmt.Sprintf("▶%d", n.Working))
		}
		if n.Waiting > 0 {
			parts = append(parts, fmt.Sprintf("?%d", n.Waiting))
		}
		if len(parts) > 0 {
			app.Printf("%s\n", strings.Join(parts, " "))
		}
	})
}

// withSurvivors counts the remaining processes of lost runs, and adds lost runs that have some to a list of live runs.
func withSurvivors(s *runstore.Store, f runstore.Filter, runs []runstore.Run) ([]row, error) {
	only := f.Live
	if only && f.State == "" {
		f.Live, f.State = false, execution.OutcomeLost
		lost, err := s.List(f)
		if err != nil {
			return nil, err
		}
		runs = append(runs, lost...)
	}
	var ids []string
	for _, r := range runs {
		if r.State == execution.OutcomeLost {
			ids = append(ids, string(r.ID))
		}
	}
	alive := process.Survivors(ids...)
	rows := []row{}
	for _, r := range runs {
		if n := alive[string(r.ID)]; n > 0 || !only || r.State != execution.OutcomeLost {
			rows = append(rows, row{Run: r, Processes: n})
		}
	}
	return rows, nil
}

// withUnanswered adds the runs that ended because they wait for a person.
func withUnanswered(s *runstore.Store, f runstore.Filter, rows []row) ([]row, error) {
	f.Live = false
	ended, err := s.Unanswered(f)
	for _, r := range ended {
		q := control.PendingQuestion{ID: execution.QuestionID(r.Result.Continuation.ApprovalID()), Approval: r.Status == execution.StatusAwaitingApproval, Text: r.Result.Asks(), Since: r.EndedAt}
		rows = append(rows, row{Run: r.Run, Pending: []control.PendingQuestion{q}})
	}
	slices.SortStableFunc(rows, func(a, b row) int { return b.StartedAt.Compare(a.StartedAt) })
	return rows, err
}

// patience is how long a live run may take to report its state. After that its recorded state is listed.
const (
	patience      = time.Second
	briefPatience = 200 * time.Millisecond
)

// askPending asks all live runs at once for unanswered questions, which only their own processes know.
func askPending(ctx context.Context, rows []row, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var wg sync.WaitGroup
	for i, r := range rows {
		if !r.Live {
			continue
		}
		wg.Go(func() {
			reply, err := control.Do(ctx, r.ControlPath(), control.Call{Verb: "status"})
			if err == nil && len(reply.Pending) > 0 {
				rows[i].State, rows[i].Pending = execution.OutcomeWaiting, reply.Pending
			}
		})
	}
	wg.Wait()
}

// money formats the cost of a run: "-" while it has none, "?" if it is unknown.
func money(r runstore.Run) string {
	switch {
	case r.Cost != nil:
		return cli.Money(r.Cost)
	case r.Live || r.State == execution.OutcomeRefused:
		return "-"
	}
	return "?"
}

func show(app *cli.App, runs []row, now time.Time, short func(execution.RunID) string, waiting bool) {
	w := app.ShortTable("RUN", "AGENT", "STATE", "AGE", "COST", "PROMPT OR QUESTION")
	for _, r := range runs {
		state := cli.EndOf(r.State, r.ErrorCode)
		if r.Processes > 0 {
			state = fmt.Sprintf("%s, %s still running", r.State, cli.Number(r.Processes, "process", "processes"))
		}
		what := cli.OneLine(r.Prompt, 60)
		if len(r.Pending) > 0 {
			state += " " + cli.Age(now.Sub(r.Pending[0].Since))
			var asked []string
			for _, q := range r.Pending {
				asked = append(asked, cli.OneLine(q.String(), 200))
			}
			what = "? " + strings.Join(asked, " ? ")
		}
		w.Row(short(r.ID), r.Agent, state, cli.Age(now.Sub(r.StartedAt)), money(r.Run), what)
	}
	w.Flush()
	switch {
	case len(runs) == 0 && waiting:
		app.Notef("no run waits for an answer")
	case len(runs) == 0:
		app.Notef("no runs; start one with: drawbar run AGENT \"what to do\"")
	}
}
