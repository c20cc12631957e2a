// Package sessions is "drawbar sessions": the conversations that agents keep on disk.
package sessions

import (
	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/sessionscost"
)

// New makes the command.
func New(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "sessions", Short: "Read the conversations that agents keep on disk", Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(sessionscost.New(app))
	return cmd
}
