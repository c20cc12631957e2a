// Package stop is "drawbar stop": it stops runs and their processes.
package stop

import (
	"context"
	"errors"
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
	var force bool
	cmd := &cobra.Command{
		Use: "stop RUN...",
		Long: "Stop runs and everything they started: the agent is asked to end, and is killed after the grace period of its run. " +
			"--force kills the process that drives the run, and the agent's whole process tree. For a lost run, whose driver is " +
			"gone, the processes that are still running are killed.",
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, ids []string) error { return stop(cmd.Context(), app, ids, force) },
	}
	cmd.Flags().BoolVar(&force, "force", false, "kill immediately")
	return cmd
}

// limit is how long a stopped run may take to end, including its grace period.
const limit = 30 * time.Second

type outcome struct {
	RunID execution.RunID   `json:"runId"`
	State execution.Outcome `json:"state"`
	Was   string            `json:"was"`                      // live or ended
	Ended int               `json:"endedProcesses,omitempty"` // remaining processes of a lost run
}

func stop(ctx context.Context, app *cli.App, ids []string, force bool) error {
	s, err := app.Store()
	if err != nil {
		return err
	}
	defer s.Close()
	outcomes := []outcome{}
	for _, id := range ids {
		run, err := s.Get(id)
		if err != nil {
			return cli.RecordError(err)
		}
		o := outcome{RunID: run.ID, State: run.State, Was: "ended"}
		if run.Live {
			o.Was = "live"
			if err := end(ctx, run, force); err != nil {
				return err
			}
			wctx, cancel := context.WithTimeout(ctx, limit)
			_, err := s.Wait(wctx, string(run.ID))
			cancel()
			if err != nil && !errors.Is(err, runstore.ErrLost) {
				return execution.Errorf(execution.CodeTimeout, "run %s did not end: %w", run.ID, err).WithHint("drawbar stop --force %s", run.ID)
			}
			if now, err := s.Get(string(run.ID)); err == nil {
				o.State = now.State
			}
		}
		if o.State == execution.OutcomeLost {
			// Its driver is gone, but its processes may still run.
			if o.Ended, err = process.EndSurvivors(string(run.ID), limit); err != nil {
				return execution.Errorf(execution.CodeTimeout, "run %s is lost, and its processes did not end: %w", run.ID, err).WithHint("drawbar stop %s", run.ID)
			}
		}
		outcomes = append(outcomes, o)
	}
	return app.Answer(outcomes, func() {
		for _, o := range outcomes {
			switch {
			case o.Ended > 0:
				app.Printf("%s %s; ended %s\n", o.RunID, o.State, cli.Number(o.Ended, "process that was still running", "processes that were still running"))
			case o.Was == "ended":
				app.Printf("%s had already ended: %s\n", o.RunID, o.State)
			default:
				app.Printf("%s %s\n", o.RunID, o.State)
			}
		}
	})
}

// end asks the run's process to abort the run. If it does not answer, it is signalled, but only if it is certainly the same process.
func end(ctx context.Context, run runstore.Run, force bool) error {
	pid, alive := run.Process()
	if !force {
		if _, err := control.Do(ctx, run.ControlPath(), control.Call{Verb: string(execution.VerbAbort), Text: "stopped by drawbar stop"}); err == nil {
			return nil
		}
	}
	if !alive {
		return nil
	}
	if err := process.SignalPID(pid, force); err != nil {
		return execution.Errorf(execution.CodeInternal, "stop run %s: %w", run.ID, err)
	}
	return nil
}
