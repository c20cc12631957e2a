// Package wait is "drawbar wait": it waits for runs and exits with the code of the first that did not complete.
package wait

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:  "wait RUN...",
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, ids []string) error {
			if timeout < 0 {
				return cli.Usage("--timeout %s is out of range", timeout)
			}
			ctx := cmd.Context()
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, timeout)
				defer cancel()
			}
			return wait(ctx, app, ids)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "time limit (0: none)")
	return cmd
}

func wait(ctx context.Context, app *cli.App, ids []string) error {
	s, err := app.Store()
	if err != nil {
		return err
	}
	defer s.Close()
	code := 0
	results := []execution.Result{}
	for _, id := range ids {
		res, err := s.Wait(ctx, id)
		if err != nil {
			if ctx.Err() != nil {
				return execution.Errorf(execution.CodeTimeout, "run %s is still running", id).WithHint("drawbar attach %s", id)
			}
			err = cli.RecordError(err)
			if e, ok := errors.AsType[*execution.Error](err); ok && e.Code == execution.CodeAgentCrash {
				return e.WithHint("to see what was recorded: drawbar logs %s", id)
			}
			return err
		}
		results = append(results, res)
		if c := exitcode.OfResult(res); code == 0 {
			code = c
		}
	}
	err = app.Answer(results, func() {
		for _, r := range results {
			line := cli.EndOf(r.Outcome(), r.Error.ErrorCode())
			if r.Error != nil {
				line += ": " + r.Error.Message
			}
			app.Printf("%s %s\n", r.RunID, line)
		}
	})
	return exitcode.If(code != 0, code, err)
}
