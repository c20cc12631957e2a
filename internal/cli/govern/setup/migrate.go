package setup

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/project"
)

func migrate(app *cli.App) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "migrate", Short: "Convert an AgentXchain generation 3 project to a governed one", Args: cli.Args(cobra.NoArgs),
		Long: "Convert a generation 3 project (version 3 in agentxchain.json) to a governed one. Every agent becomes a role that a " +
			"person fills, in\nthe phases planning, implementation and qa. The old configuration is kept beside the new one, the old " +
			"files are copied to\n.agentxchain/legacy, and .agentxchain/migration-report.md lists what was inferred. Old turns are " +
			"not added to the record.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := view.Root(app)
			if err != nil {
				return err
			}
			question := "This rewrites agentxchain.json and keeps the old one as agentxchain.json.bak. Continue?"
			if err := app.Confirm(cmd.Context(), yes, question, cmd.CommandPath(), nil); err != nil {
				return err
			}
			m, err := project.Migrate(root)
			if err != nil {
				return err
			}
			return app.Answer(m, func() {
				if !m.Migrated {
					app.Printf("this project is already governed\n")
					return
				}
				app.Printf("%s is a governed project\n", m.Project)
				for _, i := range m.Inferred {
					app.Printf("  inferred  roles.%s: %s is %s\n", i.Role, i.Field, i.Value)
				}
				app.Printf("  kept      %s\n", strings.Join(append([]string{m.Backup}, m.Archived...), ", "))
				app.Printf("  read      .agentxchain/migration-report.md\n")
				app.Printf("  next      drawbar govern validate\n")
			})
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "ask no questions")
	return cmd
}
