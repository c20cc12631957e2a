package record

import (
	"cmp"
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/spf13/cobra"
)

// objections lists them; the parent adds the commands that change them. "list" is an alias.
func objections(app *cli.App) *cobra.Command {
	cmd := listObjections(app, "objections")
	cmd.Args = cli.Args(cobra.NoArgs)
	cmd.AddCommand(listObjections(app, "list"))
	return cmd
}

func listObjections(app *cli.App, use string) *cobra.Command {
	var f runFlags
	var open bool
	cmd := &cobra.Command{
		Use: use, Short: "List objections and their status, oldest first",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, v, run, err := f.open(app, cmd)
			if err != nil {
				return err
			}
			entries, err := v.History(run)
			if err != nil {
				return err
			}
			lines, err := v.Ledger("")
			if err != nil {
				return err
			}
			var notes []protocol.LedgerNote
			for _, l := range lines {
				if l.Note != nil {
					notes = append(notes, *l.Note)
				}
			}
			// Every run has its own numbering.
			var list []governance.ObjectionStory
			for len(entries) > 0 {
				n := 1
				for n < len(entries) && entries[n].RunID == entries[0].RunID {
					n++
				}
				list = append(list, governance.Objections(entries[:n], notes)...)
				entries = entries[n:]
			}
			list = newest(slices.DeleteFunc(list, func(o governance.ObjectionStory) bool { return open && !o.Open }), f.limit)
			return app.Answer(nonNil(list), func() { printObjections(app, list) })
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&open, "open", false, "only unresolved objections")
	return cmd
}

func printObjections(app *cli.App, list []governance.ObjectionStory) {
	view.Table(app, list, "no objections", "ID\tSEVERITY\tSTATUS\tROLE\tAGAINST\tSTATEMENT", func(o governance.ObjectionStory) []string {
		return []string{o.ID, o.Severity, o.Status, o.Role, cmp.Or(o.AgainstTurnID, "-"), oneLine(o.Statement)}
	})
	for _, o := range list {
		for _, w := range o.Words[1:] {
			app.Printf("%s %s by %s: %s\n", o.ID, w.Status, cmp.Or(w.By, w.Role+" ("+w.TurnID+")"), oneLine(w.Text))
		}
	}
}
