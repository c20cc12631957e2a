// Package ps is "drawbar ps": the runs on record.
package ps

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/control"
	"github.com/drawbar/drawbar/internal/runstore"
)

// New makes the command.
func New(app *cli.App) *cobra.Command {
	var f runstore.Filter
	var all, quiet bool
	var since, until string
	cmd := &cobra.Command{
		Use: "ps", Short: "List runs: the live ones, or all with --all",
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
			f.Live = !all
			s, err := app.Store()
			if err != nil {
				return err
			}
			defer s.Close()
			runs, err := s.List(f)
			if err != nil {
				return cli.RecordError(err)
			}
			rows := look(cmd.Context(), runs)
			return app.Answer(rows, func() { show(app, rows, now, quiet) })
		},
	}
	fl := cmd.Flags()
	fl.BoolVarP(&all, "all", "a", false, "ended runs too")
	fl.BoolVarP(&quiet, "quiet", "q", false, "ids only")
	fl.StringVar(&f.Agent, "agent", "", "runs of this agent")
	fl.StringVar(&f.Tag, "tag", "", "runs with this tag")
	fl.StringVarP(&f.Cwd, "cwd", "C", "", "runs in this directory")
	fl.StringVar(&f.Session, "session", "", "runs of this session of an agent")
	fl.StringVar(&since, "since", "", "started since: 24h, 7d, a date")
	fl.StringVar(&until, "until", "", "started before")
	fl.IntVar(&f.Limit, "limit", 50, "at most this many")
	return cmd
}

// row is a run with the questions that wait for a person.
type row struct {
	runstore.Run
	Pending []control.PendingQuestion `json:"pending,omitempty"`
}

// patience bounds the question to a live run: one that hangs is listed as it is recorded.
const patience = time.Second

// look asks the live runs, all at once, whether they wait for a person. Only the process that drives a run knows that.
func look(ctx context.Context, runs []runstore.Run) []row {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	rows := make([]row, len(runs))
	var wg sync.WaitGroup
	for i, r := range runs {
		rows[i].Run = r
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
	return rows
}

// money is what a run cost; "-" where it cannot have cost anything yet, "?" where nobody knows.
func money(r runstore.Run) string {
	switch {
	case r.Cost != nil:
		return cli.Money(r.Cost)
	case r.Live || r.State == execution.OutcomeRefused:
		return "-"
	}
	return "?"
}

func show(app *cli.App, runs []row, now time.Time, quiet bool) {
	if quiet {
		for _, r := range runs {
			app.Printf("%s\n", r.ID)
		}
		return
	}
	w := app.ShortTable()
	fmt.Fprintln(w, "RUN\tAGENT\tSTATE\tAGE\tCOST\tPROMPT")
	for _, r := range runs {
		prompt := []rune(strings.Join(strings.Fields(r.Prompt), " "))
		if len(prompt) > 60 {
			prompt = append(prompt[:59], '…')
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, r.Agent, cli.EndOf(r.State, r.ErrorCode), cli.Age(now.Sub(r.StartedAt)), money(r.Run), string(prompt))
	}
	w.Flush()
	if len(runs) == 0 {
		app.Notef("no runs; start one with: drawbar run AGENT \"what to do\"")
	}
}
