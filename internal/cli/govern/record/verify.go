package record

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/audit"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/team"
	"github.com/drawbar/drawbar/internal/governed/workspace"
	"github.com/spf13/cobra"
)

// verification is the answer of verify.
type verification struct {
	audit.Report
	Order string `json:"event_order,omitempty"` // what is wrong with the order of events
}

func verify(app *cli.App) *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use: "verify [EXPORT]", Short: "Check the record against its hash chain and its commits",
		Long: "Check every line of the record, the archived turns, the session, TALK.md and the hook audit against the hash chain " +
			"beside them, the\nchain against the heads that checkpoint commits name, and the accepted turns against the commits " +
			"below HEAD, in both directions.\nEvery mismatch is listed with a command to type. A rebase, a squash, or another record " +
			"in the same history is reported but is\nnot an error. This takes no lock and changes nothing.\n\nWith EXPORT, check an export instead (see verify export). With --from, check the record in a commit of a shared record, against " +
			"that commit's history.",
		Example: "  drawbar govern verify\n  git fetch origin 'refs/drawbar/runs/*:refs/drawbar/runs/*' && drawbar govern verify --from refs/drawbar/runs/RUN",
		Args:    cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && from != "" {
				return cli.Usage("name one record: the export %s, or --from %s", args[0], from).WithHint("%s --from %s", cmd.CommandPath(), from)
			}
			if len(args) > 0 {
				return answerExport(cmd.Context(), app, args[0])
			}
			root, err := view.Root(app)
			if err != nil {
				return err
			}
			out, err := verified(cmd.Context(), root, from)
			if err != nil {
				return err
			}
			return answerVerified(app, out, out, func() { printVerification(app, out) })
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "ref, commit or run of a shared record")
	cmd.AddCommand(verifyExport(app), verifyDiff(app))
	return cmd
}

// verified verifies the record of a project, or the one that a commit of its repository has.
func verified(ctx context.Context, root, from string) (out verification, err error) {
	if from != "" {
		return verifiedFrom(ctx, root, from)
	}
	if out.Report, err = audit.Verify(ctx, root); err == nil && out.OK {
		out.Order, err = order(root)
	}
	return out, err
}

func verifiedFrom(ctx context.Context, root, from string) (out verification, err error) {
	w, err := workspace.Open(ctx, root)
	if err != nil {
		return out, err
	}
	if w.Kind() != workspace.Git {
		return out, execution.Errorf(execution.CodeConfig, "%s is not a git repository", root).WithHint("drawbar govern verify")
	}
	dir, err := os.MkdirTemp("", "drawbar-record-")
	if err != nil {
		return out, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system's temporary folder
	code, err := team.Checkout(ctx, w, from, dir)
	if err != nil {
		return out, err
	}
	if out.Report, err = audit.VerifyAt(ctx, w.At(code), dir); err == nil && out.OK {
		out.Order, err = order(dir)
	}
	return out, err
}

// answerVerified answers with data; a broken record is exit code 1.
func answerVerified(app *cli.App, v verification, data any, show func()) error {
	why := ""
	if !v.OK {
		why = v.Why()
	}
	return failing(app, v.OK, why, data, show)
}

// order describes what is wrong with the order of the current run's events; empty if nothing is.
func order(root string) (string, error) {
	v, err := ledger.Read(root)
	if err != nil {
		return "", err
	}
	list, err := v.EventsOf(v.State.ID())
	if err != nil || len(list) == 0 {
		return "", err
	}
	if r := governance.ValidateOrdering(list); r != nil {
		return "the events of run " + v.State.ID() + ": " + r.Message, nil
	}
	return "", nil
}

func printVerification(app *cli.App, v verification) {
	if !v.OK {
		app.Printf("broken: %s\n", v.Why())
	} else if !v.Begun {
		app.Printf("no chain yet: drawbar govern has not written anything\n")
	} else {
		app.Printf("ok: %d lines, %d checkpoint heads\n", v.Entries, v.Heads)
	}
	t := app.Table()
	for _, f := range v.Files {
		fmt.Fprintf(t, "  %s\t%d lines\t%d bytes\n", f.File, f.Lines, f.Bytes)
	}
	_ = t.Flush()
	for _, f := range v.Git.Findings {
		app.Printf("  %s: %s\n", f.Kind, f.Message)
		if f.Do != "" {
			app.Printf("    try: %s\n", f.Do)
		}
	}
	whole := map[string]int{}
	for _, a := range v.Adopted {
		if a.Line == 0 {
			whole[a.File]++
			continue
		}
		app.Printf("  %s: %d lines from line %d on were written by another program; the chain has covered them since\n", a.File, a.Lines, a.Line)
	}
	for _, file := range slices.Sorted(maps.Keys(whole)) {
		app.Printf("  %s: changed by another program, %d times; the next transaction rewrote it\n", file, whole[file])
	}
	for _, a := range v.Uncovered {
		app.Printf("  %s: %d lines from line %d on are not covered by a transaction yet\n", a.File, a.Lines, a.Line)
	}
	if v.Prior > 0 {
		app.Printf("  the previous chain is missing, and %d checkpoints name it: a person continued without it\n", v.Prior)
	}
	if v.Pending != "" {
		app.Printf("  the transaction %s was interrupted; the next command finishes it\n", v.Pending)
	}
	if v.Order != "" {
		app.Printf("  warning: %s\n", v.Order)
	}
}
