// Package turn holds the commands that run and decide turns: step, run, resume, restart, accept, reject, reissue,
// checkpoint, escalate, unblock.
package turn

import (
	"context"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/spf13/cobra"
)

// New returns the commands.
func New(app *cli.App) []*cobra.Command {
	list := []*cobra.Command{step(app), run(app), resume(app), restart(app), accept(app), reissue(app), escalate(app), unblock(app)}
	for _, cmd := range list { // these may run programs of the project
		cli.TrustFlag(cmd, new(bool))
	}
	return append(list, reject(app), checkpoint(app))
}

// acting is a command without arguments that calls the engine. Its report is printed.
func acting(app *cli.App, use, short string, trust bool, fn func(context.Context, govern.Engine) (govern.Report, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return view.Act(app, cmd, trust, fn) },
	}
}

func step(app *cli.App) *cobra.Command {
	var o govern.StepOptions
	var poll float64
	cmd := &cobra.Command{
		Use: "step", Short: "Run one turn: the pending one, or the next",
		Long: "Run one turn: the pending one, or the next. The rules choose the turn's role unless --role names it. An " +
			"invalid result\nis returned to the agent with its faults while attempts remain. Ctrl-C stops the worker; the turn stays, " +
			"and the next step\nruns it again.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := positive(cmd, "timeout", o.Timeout); err != nil {
				return err
			}
			if cmd.Flags().Changed("poll") {
				if poll < 0.01 || poll > 3600 || poll != poll {
					return cli.Usage("--poll %v is out of range: use seconds, more than 0", poll).WithHint("%s --poll 2", cmd.CommandPath())
				}
				o.Poll = time.Duration(poll * float64(time.Second))
			}
			return view.Act(app, cmd, true, func(ctx context.Context, e govern.Engine) (govern.Report, error) { return e.Step(ctx, o) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Role, "role", "", "role of the next turn")
	f.StringVar(&o.Turn, "turn", "", "active turn to run, if there are several")
	f.BoolVar(&o.Resume, "resume", false, "clear a block first")
	f.DurationVar(&o.Timeout, "timeout", 0, "time limit for the turn (default: as configured, else 20m)")
	f.BoolVar(&o.NoIntent, "no-intent", false, "do not bind a waiting intent to the next turn")
	f.BoolVar(&o.NoRepair, "no-repair", false, "do not ask the agent to correct an invalid result")
	f.BoolVar(&o.NoWait, "no-wait", false, "prepare a person's turn without waiting for its result")
	f.BoolVarP(&o.Verbose, "verbose", "v", false, "print the worker's output on standard error")
	f.Float64Var(&poll, "poll", 0, "seconds between checks for a person's result")
	_ = f.MarkHidden("poll") // the flag exists
	return cmd
}

func positive(cmd *cobra.Command, flag string, d time.Duration) error {
	if d < 0 || cmd.Flags().Changed(flag) && d == 0 {
		return cli.Usage("--%s %s is not a valid duration", flag, d).WithHint("%s --%s 30m", cmd.CommandPath(), flag)
	}
	return nil
}

func run(app *cli.App) *cobra.Command {
	var o govern.RunOptions
	var ghosts, noGhosts bool
	cmd := &cobra.Command{
		Use: "run", Short: "Run turns until a person is needed or the run ends",
		Long: "Run turns until a gate waits for a person, the next turn is a person's, the run is blocked, the turn limit is " +
			"reached, or\nthe run ends. With --auto-approve, gates that require a person pass, except credentialed ones.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.MaxTurns < 0 || cmd.Flags().Changed("max-turns") && o.MaxTurns == 0 {
				return cli.Usage("--max-turns %d is out of range", o.MaxTurns).WithHint("%s --max-turns 10", cmd.CommandPath())
			}
			if err := positive(cmd, "timeout", o.Timeout); err != nil {
				return err
			}
			if cmd.Flags().Changed("auto-retry-on-ghost") || noGhosts {
				o.RetryGhosts = new(ghosts && !noGhosts)
			}
			r, err := view.Use(app, cmd, !o.DryRun, func(ctx context.Context, e govern.Engine) (govern.RunReport, error) { return e.Run(ctx, o) })
			if err != nil {
				return err
			}
			return view.TellRun(app, r)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.MaxTurns, "max-turns", 0, "maximum number of turns (default: run_loop.max_turns, else 50)")
	f.BoolVar(&o.AutoApprove, "auto-approve", false, "pass gates that require a person, except credentialed ones")
	f.BoolVar(&o.DryRun, "dry-run", false, "show what would happen next and change nothing")
	f.BoolVar(&o.Resume, "resume", false, "clear a block first")
	f.DurationVar(&o.Timeout, "timeout", 0, "time limit for each turn")
	f.BoolVarP(&o.Verbose, "verbose", "v", false, "print the workers' output on standard error")
	f.BoolVar(&ghosts, "auto-retry-on-ghost", false, "replace a turn whose worker gives no sign of life (default: as configured)")
	f.BoolVar(&noGhosts, "no-auto-retry-on-ghost", false, "")
	_ = f.MarkHidden("no-auto-retry-on-ghost") // the flag exists
	cli.Exclusive(cmd, "auto-retry-on-ghost", "no-auto-retry-on-ghost")
	return cmd
}

func resume(app *cli.App) *cobra.Command {
	var o govern.StepOptions
	cmd := acting(app, "resume", "Clear a block and prepare the next turn without running it", true, func(ctx context.Context, e govern.Engine) (govern.Report, error) { return e.Resume(ctx, o) })
	cmd.Flags().StringVar(&o.Role, "role", "", "role of the next turn")
	cmd.Flags().StringVar(&o.Turn, "turn", "", "active turn, if there are several")
	cmd.Flags().BoolVar(&o.NoIntent, "no-intent", false, "do not bind a waiting intent to the next turn")
	return cmd
}

func restart(app *cli.App) *cobra.Command {
	var o govern.RestartOptions
	cmd := acting(app, "restart", "Resume a run whose process died, or start a new one", true, func(ctx context.Context, e govern.Engine) (govern.Report, error) {
		return e.Restart(ctx, o)
	})
	cmd.Long = "Resume a run whose process died: interrupted work is finished, and drift of the repository is reported. After a " +
		"completed run,\na new one is started; --new does the same after a blocked run."
	cmd.Flags().BoolVar(&o.New, "new", false, "end a blocked run and start a new one")
	cmd.Flags().BoolVar(&o.AdoptState, "adopt-state", false, "accept state.json, the chain and the branch as they are")
	return cmd
}

func accept(app *cli.App) *cobra.Command {
	var o govern.AcceptOptions
	var resolution string
	cmd := &cobra.Command{
		Use: "accept", Short: "Accept a turn's staged result into the record",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch resolution {
			case "", "standard":
			case "human_merge":
				o.HumanMerge = true
			default:
				return cli.Usage("--resolution %q is unknown", resolution).WithHint("%s --resolution human_merge", cmd.CommandPath())
			}
			return view.Act(app, cmd, true, func(ctx context.Context, e govern.Engine) (govern.Report, error) { return e.Accept(ctx, o) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Turn, "turn", "", "turn to accept, if several are active")
	f.StringVar(&resolution, "resolution", "", "human_merge: accept despite a conflict that a person has merged")
	f.BoolVar(&o.NormalizeArtifact, "normalize-artifact-type", false, "accept a workspace artifact without files as a review")
	return cmd
}

func reject(app *cli.App) *cobra.Command {
	var o govern.RejectOptions
	cmd := acting(app, "reject", "Reject a turn's result; the turn is retried while attempts remain", false, func(ctx context.Context, e govern.Engine) (govern.Report, error) {
		r, err := e.Reject(ctx, o)
		if err == nil { // rejected, or no attempt is left and a person decides: the requested outcome
			r.Outcome = govern.OutcomeDone
		}
		return r, err
	})
	f := cmd.Flags()
	f.StringVar(&o.Turn, "turn", "", "turn to reject, if several are active")
	f.StringVar(&o.Reason, "reason", "", "reason; the agent reads it in its next attempt")
	f.BoolVar(&o.Reassign, "reassign", false, "after a conflict: redo the turn on top of what was accepted meanwhile")
	return cmd
}

func reissue(app *cli.App) *cobra.Command {
	var turn, reason string
	cmd := acting(app, "reissue", "Replace a turn with a new one for the same role, from a fresh baseline", true, func(ctx context.Context, e govern.Engine) (govern.Report, error) {
		return e.Reissue(ctx, turn, reason)
	})
	cmd.Flags().StringVar(&turn, "turn", "", "turn to replace, if several are active")
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for the record")
	return cmd
}

func checkpoint(app *cli.App) *cobra.Command {
	var turn string
	cmd := acting(app, "checkpoint", "Commit an accepted turn's uncommitted files", false, func(ctx context.Context, e govern.Engine) (govern.Report, error) {
		return e.Checkpoint(ctx, turn)
	})
	cmd.Long = "Commit the files of an accepted turn that are not in a commit yet. Accepting a turn commits by itself; this is for a " +
		"branch that\nmoved meanwhile, and for projects that another program governed."
	cmd.Flags().StringVar(&turn, "turn", "", "accepted turn (default: the last)")
	return cmd
}

func escalate(app *cli.App) *cobra.Command {
	var o govern.EscalateOptions
	cmd := acting(app, "escalate", "Hand the run over to a person", true, func(ctx context.Context, e govern.Engine) (govern.Report, error) {
		r, err := e.Escalate(ctx, o)
		if err == nil && r.Outcome == govern.OutcomeBlocked {
			r.Outcome = govern.OutcomeDone
		}
		return r, err
	})
	cmd.Example = `  drawbar govern escalate --reason "the API key must be renewed" --action "renew it in the console"`
	f := cmd.Flags()
	f.StringVar(&o.Reason, "reason", "", "reason (required)")
	f.StringVar(&o.Detail, "detail", "", "what is known about it")
	f.StringVar(&o.Action, "action", "", "what the person should do")
	f.StringVar(&o.Turn, "turn", "", "turn concerned")
	return cmd
}

func unblock(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "unblock [ESCALATION]", Short: "Resolve an escalation that blocks the run",
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return view.Act(app, cmd, true, func(ctx context.Context, e govern.Engine) (govern.Report, error) {
				return e.Unblock(ctx, view.First(args))
			})
		},
	}
}
