package record

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governance"
	"github.com/drawbar/drawbar/internal/governance/protocol"
	"github.com/drawbar/drawbar/internal/ledger"
	"github.com/drawbar/drawbar/internal/workspace"
)

// verification is the answer of verify.
type verification struct {
	ledger.Report
	Order string `json:"event_order,omitempty"` // what is wrong with the order of events
}

func verify(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "verify", Short: "Hold the record against its hash chain and its commits",
		Long: "Hold every line of the record against the hash chain beside it, and the chain against the heads that the checkpoint commits\n" +
			"name. The first line that is not what it was is named. It takes no lock and changes nothing.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := view.Root(app)
			if err != nil {
				return err
			}
			w, err := workspace.Open(cmd.Context(), root)
			if err != nil {
				return err
			}
			var heads []string
			if w.Kind() == workspace.Git {
				if heads, err = w.Heads(cmd.Context()); err != nil {
					return err
				}
			}
			r, err := ledger.Verify(cmd.Context(), root, heads)
			if err != nil {
				return err
			}
			out := verification{Report: r}
			if r.OK {
				if out.Order, err = order(root); err != nil {
					return err
				}
			}
			if err := app.Answer(out, func() { printVerification(app, out) }); err != nil {
				return err
			}
			if !r.OK {
				return &exitcode.Error{Code: execution.ExitGeneral, Silent: true}
			}
			return nil
		},
	}
}

// order says what is wrong with the order of the present run's events; empty when nothing is.
func order(root string) (string, error) {
	v, err := ledger.Read(root)
	if err != nil {
		return "", err
	}
	var list []protocol.Event
	if _, err := v.Events(0, func(e protocol.Event) bool {
		if e.RunID == v.State.ID() {
			list = append(list, e)
		}
		return true
	}); err != nil || len(list) == 0 {
		return "", err
	}
	if r := governance.ValidateOrdering(list); r != nil {
		return "the events of run " + v.State.ID() + ": " + r.Message, nil
	}
	return "", nil
}

func printVerification(app *cli.App, v verification) {
	if !v.OK {
		app.Printf("broken: %s\n", broken(v))
	} else if !v.Begun {
		app.Printf("no chain yet: nothing was written by drawbar govern\n")
	} else {
		app.Printf("ok: %d lines, %d checkpoint heads\n", v.Entries, v.Heads)
	}
	t := app.Table()
	for _, f := range v.Files {
		fmt.Fprintf(t, "  %s\t%d lines\t%d bytes\n", f.File, f.Lines, f.Bytes)
	}
	_ = t.Flush()
	for _, a := range v.Adopted {
		app.Printf("  %s: %d lines from line %d on were written by another program; they are covered since\n", a.File, a.Lines, a.Line)
	}
	if v.Pending != "" {
		app.Printf("  the transaction %s was interrupted; the next command finishes it\n", v.Pending)
	}
	if v.Order != "" {
		app.Printf("  warning: %s\n", v.Order)
	}
}

// broken names the first line that is not what it was.
func broken(v verification) string {
	b := v.Broken
	if b == nil {
		return "the record does not fit its chain"
	}
	where := b.File
	if b.Line > 0 {
		where += fmt.Sprintf(" line %d", b.Line)
	}
	return fmt.Sprintf("%s: %s (%s)", where, b.Message, b.Kind)
}
