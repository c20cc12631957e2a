// Package version is "drawbar version".
package version

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/first"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			v := map[string]string{"version": app.Version, "schemaVersion": execution.SchemaVersion, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH}
			return app.Answer(v, func() { app.Printf("%s", first.Line()) })
		},
	}
}
