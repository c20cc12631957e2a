// Package setup holds the commands that create and configure a governed project: init, validate, doctor, config,
// template, migrate.
package setup

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
)

// New returns the commands.
func New(app *cli.App) []*cobra.Command {
	return []*cobra.Command{initialize(app), validate(app), doctor(app), config(app), template(app), migrate(app)}
}

// typed is the execution error in err.
func typed(err error) (*execution.Error, bool) {
	var e *execution.Error
	ok := errors.As(err, &e)
	return e, ok
}
