// Package proposal implements "drawbar govern proposal": list, show and diff what turns propose, and decide on it.
package proposal

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/proposal"
	"github.com/spf13/cobra"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "proposal", Aliases: []string{"proposals"}, Short: "List, compare, apply and reject what turns propose",
		Long: "Decide on proposals: files that roles with write_authority proposed return instead of changing them. They are stored below\n" +
			".agentxchain/proposed/TURN/ until a person applies or rejects them. Without TURN, a command means the only undecided proposal.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(list(app), show(app), diff(app), apply(app), reject(app))
	return cmd
}

// read returns the project's folder and its proposals.
func read(app *cli.App) (string, []proposal.Proposal, error) {
	root, err := view.Root(app)
	if err != nil {
		return "", nil, err
	}
	v, err := ledger.Read(root)
	if err != nil {
		return "", nil, err
	}
	all, err := proposal.Of(root, v)
	return root, all, err
}

func list(app *cli.App) *cobra.Command {
	var open bool
	cmd := &cobra.Command{
		Use: "list", Short: "List proposals and what was decided, oldest first",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, all, err := read(app)
			if err != nil {
				return err
			}
			all = slices.DeleteFunc(all, func(p proposal.Proposal) bool { return open && !p.Undecided() })
			return view.List(app, all, "no proposals", "TURN\tROLE\tSTATUS\tFILES\tSUMMARY", func(p proposal.Proposal) []string {
				status := string(p.Status)
				if p.Fault != "" {
					status = "damaged"
				}
				return []string{p.TurnID, p.Role, status, fmt.Sprint(len(p.Files)), strings.Join(strings.Fields(p.Summary), " ")}
			})
		},
	}
	cmd.Flags().BoolVar(&open, "open", false, "only undecided proposals")
	return cmd
}

// chosen is the proposal of the argument, or the only undecided one, compared with the work tree.
func chosen(app *cli.App, args []string, only []string) (*proposal.Proposal, []proposal.Change, error) {
	root, all, err := read(app)
	if err != nil {
		return nil, nil, err
	}
	p, err := proposal.Choose(all, view.First(args))
	if err != nil {
		return nil, nil, err
	}
	if len(only) == 0 {
		for _, f := range p.Files { // also those that are applied
			only = append(only, f.Path)
		}
	}
	changes, err := p.Changes(root, only)
	return p, changes, err
}

// shown is the answer of show and diff.
type shown struct {
	*proposal.Proposal
	Changes []shownChange `json:"changes"`
}

type shownChange struct {
	Path     string  `json:"path"`
	Action   string  `json:"action"`
	Content  *string `json:"content,omitempty"` // proposed; show
	Diff     string  `json:"diff,omitempty"`    // against the work tree; diff
	Diverged bool    `json:"diverged"`          // the work tree changed since the proposal
	Done     bool    `json:"done"`              // the work tree has the proposed content
}

// answer has what show and diff have in common; more adds to each change.
func answer(p *proposal.Proposal, changes []proposal.Change, more func(proposal.Change, *shownChange)) shown {
	out := shown{p, []shownChange{}}
	for _, c := range changes {
		s := shownChange{Path: c.Path, Action: c.Action, Diverged: c.Diverged, Done: c.Done()}
		more(c, &s)
		out.Changes = append(out.Changes, s)
	}
	return out
}

func show(app *cli.App) *cobra.Command {
	var only []string
	cmd := &cobra.Command{
		Use: "show [TURN]", Short: "Show a proposal and the content of its files",
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			p, changes, err := chosen(app, args, only)
			if err != nil {
				return err
			}
			out := answer(p, changes, func(c proposal.Change, s *shownChange) {
				if c.New != nil {
					s.Content = new(string(c.New))
				}
			})
			return app.Answer(out, func() {
				heading(app, p)
				for _, c := range out.Changes {
					app.Printf("\n%s (%s%s)\n", c.Path, c.Action, state(c))
					if c.Content != nil {
						for line := range strings.Lines(*c.Content) {
							app.Printf("  %s\n", strings.TrimRight(line, "\r\n"))
						}
					}
				}
			})
		},
	}
	fileFlag(cmd, &only, "show only this file (repeatable)")
	return cmd
}

func heading(app *cli.App, p *proposal.Proposal) {
	app.Printf("proposal of %s (%s): %s\n", p.TurnID, p.Role, p.Status)
	if p.Summary != "" {
		app.Printf("  %s\n", strings.Join(strings.Fields(p.Summary), " "))
	}
	if p.By != "" {
		app.Printf("  decided by %s\n", p.By)
	}
	if p.Reason != "" {
		app.Printf("  reason: %s\n", p.Reason)
	}
	if p.Fault != "" {
		app.Printf("  damaged: %s\n", p.Fault)
	}
}

// state says how the work tree stands to a change.
func state(c shownChange) string {
	switch {
	case c.Done:
		return ", the work tree has it"
	case c.Diverged:
		return ", the work tree changed since"
	}
	return ""
}

func diff(app *cli.App) *cobra.Command {
	var only []string
	cmd := &cobra.Command{
		Use: "diff [TURN]", Short: "Compare a proposal with the work tree",
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			p, changes, err := chosen(app, args, only)
			if err != nil {
				return err
			}
			same := true
			out := answer(p, changes, func(c proposal.Change, s *shownChange) {
				s.Diff = c.Diff()
				same = same && c.Done()
			})
			return app.Answer(out, func() {
				for _, c := range out.Changes {
					if c.Diverged {
						app.Notef("%s changed since the proposal was accepted", c.Path)
					}
					app.Printf("%s", c.Diff)
				}
				if same {
					app.Notef("no differences: the work tree has what the proposal contains")
				}
			})
		},
	}
	fileFlag(cmd, &only, "compare only this file (repeatable)")
	return cmd
}

func fileFlag(cmd *cobra.Command, only *[]string, help string) {
	cmd.Flags().StringArrayVar(only, "file", nil, help)
}

func apply(app *cli.App) *cobra.Command {
	var o govern.ProposalOptions
	cmd := &cobra.Command{
		Use: "apply [TURN]", Short: "Write the files of a proposal to the work tree",
		Long: "Write the proposed files to the work tree, and record who did. Nothing is written if a file changed since the proposal was accepted.\n" +
			"The files are not committed.",
		Example: "  drawbar govern proposal diff && drawbar govern proposal apply\n  drawbar govern proposal apply turn_0123456789abcdef --file src/a.go",
		Args:    cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Turn, o.By = view.First(args), view.Who()
			return act(app, cmd, o)
		},
	}
	fileFlag(cmd, &o.Files, "apply only this file (repeatable)")
	cmd.Flags().BoolVar(&o.Force, "force", false, "replace files that changed since the proposal was accepted")
	return cmd
}

func reject(app *cli.App) *cobra.Command {
	o := govern.ProposalOptions{Reject: true}
	cmd := &cobra.Command{
		Use: "reject [TURN]", Short: "Reject a proposal, or the rest of it",
		Example: `  drawbar govern proposal reject --reason "the cache is needed elsewhere"`,
		Args:    cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Turn, o.By = view.First(args), view.Who()
			if strings.TrimSpace(o.Reason) == "" {
				return cli.Usage("--reason is missing: it goes into the record").WithHint(`%s --reason "..."`, strings.TrimSpace(cmd.CommandPath()+" "+o.Turn))
			}
			return act(app, cmd, o)
		},
	}
	cmd.Flags().StringVar(&o.Reason, "reason", "", "reason (required)")
	return cmd
}

func act(app *cli.App, cmd *cobra.Command, o govern.ProposalOptions) error {
	return view.Act(app, cmd, false, func(ctx context.Context, e govern.Engine) (govern.Report, error) { return e.DecideProposal(ctx, o) })
}
