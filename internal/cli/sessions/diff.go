package sessions

import (
	"strings"

	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/sessions"
	"github.com/spf13/cobra"
)

func diff(app *cli.App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "diff A B", Short: "Compare two sessions message by message, also of different agents",
		Args: cli.Args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := open(app, args)
			if err != nil {
				return err
			}
			d, err := s.Diff(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			return app.Answer(d, func() { showDiff(app, d, all) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also show what is the same in both")
	return cmd
}

func showDiff(app *cli.App, d sessions.Difference, all bool) {
	app.Printf("--- %s\n+++ %s\n", cli.Printable(d.A.UnifiedID), cli.Printable(d.B.UnifiedID))
	same := 0
	flush := func() {
		if same > 0 {
			app.Printf("  … %d unchanged\n", same)
			same = 0
		}
	}
	line := func(mark string, m *history.Message) {
		text := m.Content
		if m.ToolResult != nil {
			text = m.ToolResult.ToolName + ": " + m.ToolResult.Output
		}
		for _, c := range m.ToolCalls {
			text = strings.TrimSpace(text + " ● " + c.ToolName + " " + cli.Summarize(c.Input))
		}
		app.Printf("%s %s: %s\n", mark, m.Role, cli.Printable(strings.Join(strings.Fields(text), " ")))
	}
	for _, o := range d.Operations {
		if o.MessageA != nil && o.MessageB != nil && o.Type == "unchanged" {
			if same++; all {
				same = 0
				line(" ", o.MessageA)
			}
			continue
		}
		flush()
		if o.MessageA != nil {
			line("-", o.MessageA)
		}
		if o.MessageB != nil {
			line("+", o.MessageB)
		}
	}
	flush()
	app.Notef("%d added, %d removed, %d modified, %d unchanged", d.Added, d.Removed, d.Modified, d.Unchanged)
}
