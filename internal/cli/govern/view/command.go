package view

import (
	"context"
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/spf13/cobra"
)

// Act runs a command of the engine and prints its report; see Use.
func Act(app *cli.App, cmd *cobra.Command, trust bool, fn func(context.Context, govern.Engine) (govern.Report, error)) error {
	r, err := Use(app, cmd, trust, fn)
	if err != nil {
		return err
	}
	return Tell(app, r)
}

// Use calls fn with the engine of the project. The first Ctrl-C stops a worker and keeps its turn. With trust, it asks
// for trust in the project's programs first.
func Use[T any](app *cli.App, cmd *cobra.Command, trust bool, fn func(context.Context, govern.Engine) (T, error)) (r T, err error) {
	if trust {
		yes, _ := cmd.Flags().GetBool("trust") // aliases may lack the flag
		if err := Trust(cmd.Context(), app, yes); err != nil {
			return r, err
		}
	}
	verbose, _ := cmd.Flags().GetBool("verbose") // few commands have it
	_, name, _ := strings.Cut(cmd.CommandPath(), " govern ")
	e, done, err := Engine(app, name, verbose)
	if err != nil {
		return r, err
	}
	ctx, stop := Interruptible(cmd.Context())
	defer stop()
	r, err = fn(ctx, e)
	done(Ended(r, err))
	return r, err
}

// Ended is what done of Engine gets: the report, or the error instead.
func Ended(report any, err error) any {
	if err != nil {
		return err
	}
	return report
}

// Failed answers with data that describe a failure, and ends with that exit code.
func Failed(app *cli.App, code int, data any, why *execution.Error, show func()) error {
	if err := app.AnswerNot(data, why, show); err != nil {
		return err
	}
	return &exitcode.Error{Code: code, Silent: true}
}

// List answers with a list; see Table.
func List[T any](app *cli.App, list []T, none, header string, row func(T) []string) error {
	return app.Answer(append([]T{}, list...), func() { Table(app, list, none, header, row) })
}

// Table prints a list as a table under a header with tabs, or none if it is empty.
func Table[T any](app *cli.App, list []T, none, header string, row func(T) []string) {
	if len(list) == 0 {
		app.Notef("%s", none)
		return
	}
	t := app.ShortTable()
	fmt.Fprintln(t, header)
	for _, x := range list {
		fmt.Fprintln(t, strings.Join(row(x), "\t"))
	}
	_ = t.Flush()
}

// First is the first argument; empty if there is none.
func First(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
