package record

import (
	"fmt"
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
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
			if err := f.check(cmd); err != nil {
				return err
			}
			_, v, err := read(app)
			if err != nil {
				return err
			}
			run := which(v, f.run, f.all)
			entries, err := v.History(run)
			if err != nil {
				return err
			}
			lines, err := v.Ledger()
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
	if len(list) == 0 {
		app.Notef("no objections")
		return
	}
	t := app.ShortTable()
	fmt.Fprintln(t, "ID\tSEVERITY\tSTATUS\tROLE\tAGAINST\tSTATEMENT")
	for _, o := range list {
		against := o.AgainstTurnID
		if against == "" {
			against = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", o.ID, o.Severity, o.Status, o.Role, against, oneLine(o.Statement))
	}
	_ = t.Flush()
	for _, o := range list {
		for _, w := range o.Words[1:] {
			who := w.By
			if who == "" {
				who = w.Role + " (" + w.TurnID + ")"
			}
			app.Printf("%s %s by %s: %s\n", o.ID, w.Status, who, oneLine(w.Text))
		}
	}
}
