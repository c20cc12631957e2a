// Package schedule implements "drawbar govern schedule": runs that start by themselves.
package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "schedule", Short: "Start runs by schedules of agentxchain.json",
		Long: "Start runs by themselves: schedules.ID of agentxchain.json says how often (every_minutes), for how many turns (max_turns), with which\n" +
			"role first (initial_role), and whether gates pass without a person (auto_approve, true unless it is set). A schedule\n" +
			"continues its own run if that is still active, and is skipped while another run is not completed. daemon starts what is due until Ctrl-C; run-due does it once, for cron.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(list(app), runDue(app), daemon(app))
	return cmd
}

// running is schedule-daemon.json: the daemon that works on a project, or did.
type running struct {
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"started_at"`
	LastCycle time.Time `json:"last_cycle_at"`
}

// status is the answer of list.
type status struct {
	Schedules []govern.Scheduled `json:"schedules"`
	Daemon    *running           `json:"daemon"` // the last one, null before the first
}

func list(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"status"}, Short: "List schedules, when they ran and when they are due",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := status{}
			var err error
			s.Schedules, err = view.Use(app, cmd, false, func(ctx context.Context, e govern.Engine) ([]govern.Scheduled, error) {
				return e.RunDue(ctx, govern.ScheduleOptions{DryRun: true})
			})
			if err != nil {
				return err
			}
			root, err := view.Root(app)
			if err != nil {
				return err
			}
			if b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(protocol.ScheduleDaemon))); err == nil {
				s.Daemon = &running{}
				if json.Unmarshal(b, s.Daemon) != nil {
					s.Daemon = nil
				}
			}
			return app.Answer(s, func() { show(app, s) })
		},
	}
}

func show(app *cli.App, s status) {
	t := app.ShortTable("SCHEDULE", "STATE", "DUE", "LAST RUN", "ENDED", "WHY")
	for _, one := range s.Schedules {
		t.Row(one.ID, one.Outcome, moment(one.Next), one.LastRun, one.LastStatus, one.Reason)
	}
	_ = t.Flush() // nowhere to report an error
	if s.Daemon == nil {
		app.Notef("no daemon has run here; to start what is due: drawbar govern schedule daemon")
		return
	}
	app.Notef("daemon %d, last seen %s", s.Daemon.PID, moment(s.Daemon.LastCycle))
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// flags are those of the commands that start runs.
func flags(cmd *cobra.Command, o *govern.ScheduleOptions) {
	cmd.Flags().StringVar(&o.ID, "schedule", "", "only this schedule")
	cmd.Flags().BoolVarP(&o.Verbose, "verbose", "v", false, "print the workers' output on standard error")
	cli.TrustFlag(cmd, new(bool))
}

func runDue(app *cli.App) *cobra.Command {
	var o govern.ScheduleOptions
	cmd := &cobra.Command{
		Use: "run-due", Short: "Start what is due, once",
		Long: "Start what is due, one run after another, and continue a run that was cut off. The exit code is 0 if every run was completed or\n" +
			"nothing was due, else that of drawbar govern run for the first that was not.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			done, err := view.Use(app, cmd, !o.DryRun, func(ctx context.Context, e govern.Engine) ([]govern.Scheduled, error) { return e.RunDue(ctx, o) })
			if err != nil {
				return err
			}
			if err := app.Answer(done, func() { tell(app, done, true) }); err != nil {
				return err
			}
			for _, one := range done {
				if one.Run != nil {
					if err := view.RunCode(*one.Run); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
	flags(cmd, &o)
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "say what is due and start nothing")
	return cmd
}

// tell prints what became of schedules; without all, only those that were started or skipped.
func tell(app *cli.App, done []govern.Scheduled, all bool) {
	for _, one := range done {
		switch one.Outcome {
		case govern.ScheduleRan:
			app.Printf("%s: %s %s, after %s\n", one.ID, one.LastRun, one.LastStatus, cli.Number(len(one.Run.Turns), "turn", "turns"))
		case govern.ScheduleSkipped:
			app.Printf("%s: skipped: %s\n", one.ID, one.Reason)
		case govern.ScheduleDue:
			app.Printf("%s: due\n", one.ID)
		case govern.ScheduleWaits:
			if all {
				app.Printf("%s: due at %s\n", one.ID, moment(one.Next))
			}
		case govern.ScheduleDisabled:
			if all {
				app.Printf("%s: disabled\n", one.ID)
			}
		}
	}
}

func daemon(app *cli.App) *cobra.Command {
	var o govern.ScheduleOptions
	var poll, cycles int
	cmd := &cobra.Command{
		Use: "daemon", Short: "Start what is due until Ctrl-C, and tell the webhooks",
		Long: "Start what is due until Ctrl-C. Meanwhile the project's webhooks are told what could not be delivered, and reminded of approvals.\n" +
			"The next daemon continues a run that Ctrl-C interrupted.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if poll < 1 || cycles < 0 {
				return cli.Usage("--poll-seconds must be at least 1, and --max-cycles at least 0").WithHint("%s --poll-seconds 60", cmd.CommandPath())
			}
			root, err := view.Root(app)
			if err != nil {
				return err
			}
			_, err = view.Use(app, cmd, true, func(ctx context.Context, e govern.Engine) (struct{}, error) {
				return struct{}{}, serve(ctx, app, e, root, o, time.Duration(poll)*time.Second, cycles)
			})
			return err
		},
	}
	flags(cmd, &o)
	cmd.Flags().IntVar(&poll, "poll-seconds", 60, "how often to look")
	cmd.Flags().IntVar(&cycles, "max-cycles", 0, "end after so many looks; 0 never")
	return cmd
}

func serve(ctx context.Context, app *cli.App, e govern.Engine, root string, o govern.ScheduleOptions, poll time.Duration, cycles int) error {
	me := running{PID: os.Getpid(), StartedAt: time.Now().UTC().Truncate(time.Second)}
	skipped := map[string]string{} // by schedule, so that a reason is said once
	for n := 1; ; n++ {
		me.LastCycle = time.Now().UTC().Truncate(time.Second)
		b, err := json.Marshal(me)
		if err == nil {
			err = os.MkdirAll(filepath.Join(root, filepath.FromSlash(protocol.Dir)), 0o755) //nolint:gosec // as the engine makes it
		}
		if err == nil {
			err = atomicfile.Write(filepath.Join(root, filepath.FromSlash(protocol.ScheduleDaemon)), b, 0o644, false)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", protocol.ScheduleDaemon, err)
		}
		done, err := e.RunDue(ctx, o)
		for _, one := range done {
			if skipped[one.ID] == one.Reason && one.Outcome == govern.ScheduleSkipped {
				continue
			}
			skipped[one.ID] = one.Reason
			if app.JSON {
				if err := app.Line(one); err != nil {
					return err
				}
				continue
			}
			tell(app, []govern.Scheduled{one}, n == 1)
		}
		switch {
		case err == nil || ctx.Err() != nil:
		case n == 1 || n == cycles:
			return err
		default:
			app.Warnf("%v", err)
		}
		if _, err := e.Notify(ctx); err != nil && !noWebhooks(err) && ctx.Err() == nil {
			app.Warnf("%v", err)
		}
		if n == cycles {
			return nil
		}
		select {
		case <-ctx.Done():
			return &exitcode.Error{Code: execution.ExitInterruptedKey, Silent: true}
		case <-time.After(poll):
		}
	}
}

// noWebhooks reports whether a project has nobody to tell.
func noWebhooks(err error) bool {
	e, ok := errors.AsType[*execution.Error](err)
	return ok && e.Code == execution.CodeConfig
}
