// Package multi implements "drawbar govern multi": one piece of work in several governed repositories.
package multi

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "multi", Short: "Govern work that spans several repositories",
		Long: "Govern work that spans several repositories. agentxchain-multi.json lists the repositories and the workstreams: in which phase which\n" +
			"repositories work, which one starts, and which barrier completes the workstream:\n\n" +
			"  all_repos_accepted     each repository has an accepted turn\n" +
			"  ordered_repo_sequence  the same, one repository after another\n" +
			"  interface_alignment    each repository has recorded its required decisions; named_decisions is a synonym\n" +
			"  shared_human_gate      each repository has an accepted turn, and a person approves\n\n" +
			"Each repository keeps its own record, phases and gates. A turn learns what the other repositories have delivered. Run the commands in\n" +
			"the folder of agentxchain-multi.json or below it.",
		Example: "  {\"schema_version\": \"0.1\", \"project\": {\"id\": \"login\", \"name\": \"Login\"},\n" +
			"   \"repos\": {\"api\": {\"path\": \"./api\"}, \"web\": {\"path\": \"./web\"}},\n" +
			"   \"workstreams\": {\"contract\": {\"phase\": \"implementation\", \"repos\": [\"api\", \"web\"], \"entry_repo\": \"api\",\n" +
			"     \"depends_on\": [], \"completion_barrier\": \"ordered_repo_sequence\"}},\n" +
			"   \"routing\": {\"implementation\": {\"entry_workstream\": \"contract\"}}}\n\n" +
			"  drawbar govern multi init\n  drawbar govern multi run\n  drawbar govern multi approve-gate",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(start(app), status(app), step(app), run(app), approve(app), resync(app), resume(app), verify(app), export(app))
	return cmd
}

// use calls fn with the coordinator. With trust, it asks for trust in the programs of every repository first.
func use[T any](app *cli.App, cmd *cobra.Command, trust bool, fn func(context.Context, govern.Coordinator) (T, error)) (r T, err error) {
	verbose, _ := cmd.Flags().GetBool("verbose") // few commands have it
	_, name, _ := strings.Cut(cmd.CommandPath(), " govern ")
	c, done, err := view.Coordinator(app, name, verbose)
	if err != nil {
		return r, err
	}
	defer func() { done(view.Ended(r, err)) }()
	if trust {
		yes, _ := cmd.Flags().GetBool("trust")
		st, err := c.Status(cmd.Context())
		if err != nil {
			return r, err
		}
		if err := view.TrustCoordinator(cmd.Context(), app, st.Root, yes); err != nil {
			return r, err
		}
		for _, repo := range st.Repos {
			if err := view.TrustAt(cmd.Context(), app, repo.Root, yes); err != nil {
				return r, err
			}
		}
	}
	ctx, stop := view.Interruptible(cmd.Context())
	defer stop()
	return fn(ctx, c)
}

// report runs a command and prints how it ended.
func report(app *cli.App, cmd *cobra.Command, trust bool, fn func(context.Context, govern.Coordinator) (govern.MultiReport, error)) error {
	r, err := use(app, cmd, trust, fn)
	if err != nil {
		return err
	}
	if err := app.Answer(r, func() { show(app, r) }); err != nil {
		return err
	}
	return code(r)
}

func start(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "init", Short: "Start a run over the repositories of agentxchain-multi.json",
		Long: "Start a run over all repositories. It includes their active runs and starts runs in the others. If a required repository cannot take\n" +
			"part, nothing starts.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := use(app, cmd, true, func(ctx context.Context, c govern.Coordinator) (govern.MultiStatus, error) { return c.Init(ctx) })
			if err != nil {
				return err
			}
			return app.Answer(st, func() { showStatus(app, st) })
		},
	}
	cli.TrustFlag(cmd, new(bool))
	return cmd
}

func status(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show repositories, workstreams and what blocks them",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := use(app, cmd, false, func(ctx context.Context, c govern.Coordinator) (govern.MultiStatus, error) { return c.Status(ctx) })
			if err != nil {
				return err
			}
			return app.Answer(st, func() { showStatus(app, st) })
		},
	}
}

func step(app *cli.App) *cobra.Command {
	var o govern.MultiStepOptions
	cmd := &cobra.Command{
		Use: "step", Short: "Run the next turn, in the repository that is next",
		Long: "Run the next turn, in the repository that is next. If no repository has work left in this phase, request the gate. The exit code is\n" +
			"that of drawbar govern step, or 20 if a person is needed: for a gate, or in a repository.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return report(app, cmd, true, func(ctx context.Context, c govern.Coordinator) (govern.MultiReport, error) { return c.Step(ctx, o) })
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.AssignOnly, "assign", false, "prepare the turn without running it; run drawbar govern step in the repository")
	f.BoolVar(&o.NoWait, "no-wait", false, "do not wait for the result of a person's turn")
	f.DurationVar(&o.Timeout, "timeout", 0, "time limit of the turn (default: from the repository's agentxchain.json)")
	f.BoolVarP(&o.Verbose, "verbose", "v", false, "print the worker's output on standard error")
	cli.TrustFlag(cmd, new(bool))
	return cmd
}

func run(app *cli.App) *cobra.Command {
	var o govern.MultiRunOptions
	cmd := &cobra.Command{
		Use: "run", Short: "Run turns until a person is needed or the run is completed",
		Long: "Repeat drawbar govern multi step until a person is needed (exit code 20), --max-turns is reached (22) or the run is completed (0).",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.MaxTurns < 1 {
				return cli.Usage("--max-turns must be at least 1, not %d", o.MaxTurns).WithHint("%s --max-turns 10", cmd.CommandPath())
			}
			return report(app, cmd, true, func(ctx context.Context, c govern.Coordinator) (govern.MultiReport, error) { return c.Run(ctx, o) })
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.MaxTurns, "max-turns", 50, "stop after so many turns")
	f.DurationVar(&o.Timeout, "timeout", 0, "time limit of each turn (default: from the repository's agentxchain.json)")
	f.BoolVarP(&o.Verbose, "verbose", "v", false, "print the workers' output on standard error")
	cli.TrustFlag(cmd, new(bool))
	return cmd
}

func approve(app *cli.App) *cobra.Command {
	var comment string
	cmd := &cobra.Command{
		Use: "approve-gate", Aliases: []string{"approve"}, Short: "Approve the pending gate of the run",
		Long: "Approve the pending gate: the next phase starts, a workstream that needs a person's approval is complete, or the run ends. If the\n" +
			"gate's conditions no longer hold, nothing is approved. Approve the gates of a repository there.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return report(app, cmd, false, func(ctx context.Context, c govern.Coordinator) (govern.MultiReport, error) {
				return c.ApproveGate(ctx, govern.MultiApproveOptions{By: view.Who(), Comment: comment})
			})
		},
	}
	cmd.Flags().StringVar(&comment, "comment", "", "comment for the record")
	return cmd
}

func resync(app *cli.App) *cobra.Command {
	var o govern.MultiResyncOptions
	cmd := &cobra.Command{
		Use: "resync", Short: "Record what happened in the repositories",
		Long: "Record what happened in the repositories since the last command, such as accepted turns. The other commands do this automatically.\n" +
			"The run is blocked if a repository has a new run, or if a turn changed files of another repository.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := use(app, cmd, false, func(ctx context.Context, c govern.Coordinator) (govern.MultiResync, error) { return c.Resync(ctx, o) })
			if err != nil {
				return err
			}
			if err := app.Answer(r, func() { showResync(app, r, o.DryRun) }); err != nil {
				return err
			}
			return blocked(r.BlockedReason)
		},
	}
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "show the differences and change nothing")
	return cmd
}

func resume(app *cli.App) *cobra.Command {
	var comment string
	cmd := &cobra.Command{
		Use: "resume", Short: "Continue a blocked run",
		Long: "Continue a blocked run. It includes the repositories' current runs. A turn that changed files of other repositories counts for its\n" +
			"workstream only if you undo these changes first.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return report(app, cmd, false, func(ctx context.Context, c govern.Coordinator) (govern.MultiReport, error) {
				return c.Resume(ctx, view.Who(), comment)
			})
		},
	}
	cmd.Flags().StringVar(&comment, "comment", "", "comment for the record")
	return cmd
}
