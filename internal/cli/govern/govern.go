// Package govern is "drawbar govern": runs in which several agents and people move a repository through phases and gates,
// under rules and with a record. Every subcommand has a package of its own below.
package govern

import (
	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/approve"
	"github.com/drawbar/drawbar/internal/cli/govern/conformance"
	"github.com/drawbar/drawbar/internal/cli/govern/record"
	"github.com/drawbar/drawbar/internal/cli/govern/setup"
	"github.com/drawbar/drawbar/internal/cli/govern/status"
	"github.com/drawbar/drawbar/internal/cli/govern/turn"
)

// New makes the command.
func New(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "govern", Aliases: []string{"gov"}, Short: "Move a repository through phases and gates with several agents, on the record",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	app.DirFlag(cmd)
	cmd.AddCommand(setup.New(app)...)
	cmd.AddCommand(status.New(app))
	cmd.AddCommand(turn.New(app)...)
	cmd.AddCommand(record.New(app)...)
	cmd.AddCommand(approve.New(app), conformance.New(app))
	if verify, _, err := cmd.Find([]string{"verify"}); err == nil && verify != cmd {
		verify.AddCommand(conformance.NewProtocol(app))
	}
	return cmd
}
