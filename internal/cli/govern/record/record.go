// Package record holds the commands that read the record of governed runs: history, turn show and diff, diff,
// decisions, objections, events, gates, verify, report, audit, export, which take no lock, and import.
package record

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/spf13/cobra"
)

// New returns the commands.
func New(app *cli.App) []*cobra.Command {
	return []*cobra.Command{history(app), turn(app), diff(app), decisions(app), objections(app), events(app), gates(app), verify(app), report(app), auditRun(app), export(app), importRecord(app)}
}

// read opens the record of the command's project.
func read(app *cli.App) (root string, v *ledger.View, err error) {
	if root, err = view.Root(app); err != nil {
		return "", nil, err
	}
	v, err = ledger.Read(root)
	return root, v, err
}

func noRun(id string) error {
	return execution.Errorf(execution.CodeSessionNotFound, "unknown run %q", id).WithHint("drawbar govern history --runs")
}

// runFlags select a run.
type runFlags struct {
	run   string
	all   bool
	limit int
}

func (f *runFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.run, "run", "", "run (default: the current one)")
	cmd.Flags().BoolVarP(&f.all, "all", "a", false, "include all runs")
	cmd.Flags().IntVarP(&f.limit, "limit", "l", 0, "maximum number of entries; the newest are listed")
}

// open checks the flags and opens the record. run is the selected run; empty for all of them, or before the first.
func (f *runFlags) open(app *cli.App, cmd *cobra.Command) (root string, v *ledger.View, run string, err error) {
	if f.run != "" && f.all {
		return "", nil, "", cli.Usage("--run and --all contradict each other").WithHint("%s --all", cmd.CommandPath())
	}
	if f.limit < 0 {
		return "", nil, "", cli.Usage("--limit %d is out of range", f.limit).WithHint("%s --limit 20", cmd.CommandPath())
	}
	if root, v, err = read(app); err == nil && !f.all {
		run = cmp.Or(f.run, v.State.ID())
	}
	return root, v, run, err
}

func newest[T any](list []T, n int) []T {
	if n > 0 && len(list) > n {
		return list[len(list)-n:]
	}
	return list
}

func history(app *cli.App) *cobra.Command {
	var f runFlags
	var role, status string
	var byRun bool
	cmd := &cobra.Command{
		Use: "history", Short: "List accepted turns, oldest first; with --runs, the runs",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if byRun && (f.run != "" || role != "") {
				return cli.Usage("--runs lists every run and contradicts --run and --role").WithHint("%s --run RUN", cmd.CommandPath())
			}
			if known := statuses(byRun); status != "" && !slices.Contains(known, status) {
				return cli.Usage("--status %q is not a status of a %s", status, map[bool]string{true: "run", false: "turn"}[byRun]).WithHint("one of: %s", strings.Join(known, ", "))
			}
			_, v, run, err := f.open(app, cmd)
			if err != nil {
				return err
			}
			if byRun {
				return listRuns(app, v, status, f.limit)
			}
			entries, err := v.History(run)
			if err != nil {
				return err
			}
			entries = newest(slices.DeleteFunc(entries, func(h protocol.HistoryEntry) bool {
				return role != "" && h.Role != role || status != "" && h.Status != status
			}), f.limit)
			return view.List(app, entries, "no turn is accepted yet", "TURN\tROLE\tPHASE\tSTATUS\tACCEPTED\tCOST\tSUMMARY", func(h protocol.HistoryEntry) []string {
				return []string{h.TurnID, h.Role, h.Phase, h.Status, at(h.AcceptedAt), costOf(h), oneLine(h.Summary)}
			})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&role, "role", "", "only turns of this role")
	cmd.Flags().StringVarP(&status, "status", "s", "", "only entries with this status, such as completed or blocked")
	cmd.Flags().BoolVar(&byRun, "runs", false, "list the project's runs instead of turns")
	return cmd
}

// statuses are those of runs or of turns in the history.
func statuses(runs bool) []string {
	if runs {
		return []string{string(protocol.RunActive), string(protocol.RunPaused), string(protocol.RunBlocked), string(protocol.RunCompleted)}
	}
	return []string{string(protocol.ResultCompleted), string(protocol.ResultBlocked), string(protocol.ResultNeedsHuman), string(protocol.ResultFailed), protocol.StatusReissued}
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func at(t protocol.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
