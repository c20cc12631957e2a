// Package setup holds the commands that make a governed project and look after its configuration: init, validate, doctor,
// config.
package setup

import (
	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/cli"
)

// New makes the commands.
func New(app *cli.App) []*cobra.Command {
	return []*cobra.Command{initialize(app)}
}
