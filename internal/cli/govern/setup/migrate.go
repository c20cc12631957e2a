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
		Long: "Make a governed project of one of generation 3 (version 3 in agentxchain.json). Every agent becomes a role that a person carries\n" +
			"out, in the phases planning, implementation and qa. The old configuration is kept beside the new one, the old files are copied to\n" +
			".agentxchain/legacy, and .agentxchain/migration-report.md lists what was inferred. Old turns do not become turns of the record.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := view.Root(app)
			if err != nil {
				return err
			}
			question := "agentxchain.json is rewritten, and the old one is kept as agentxchain.json.bak. Go on?"
			if err := app.Confirm(cmd.Context(), yes, question, cmd.CommandPath(), nil); err != nil {
				return err
			}
			m, err := project.Migrate(root)
			if err != nil {
				return err
			}
			return app.Answer(m, func() {
				if !m.Migrated {
					app.Printf("this project is a governed one already\n")
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
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "ask nothing")
	return cmd
}
