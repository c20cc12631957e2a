package model

import (
	"errors"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/modelserver"
)

func newReplay(app *cli.App) *cobra.Command {
	var strict bool
	var at place
	cmd := &cobra.Command{
		Use: "replay FILE", Short: "Answer model requests from a recorded cassette",
		Long: `Answer the requests of agents from a cassette of "drawbar model record", so that work with agents is tested without key, network or cost.
The server listens on this machine only, requires no key, and prints its address on standard output once it is ready.

A request gets the answer of the first recorded request that is the same and was not used yet, or of the last one that is the same. Two
requests are the same if the model, the form of the answer and what was said agree: messages and results of tools, without ids,
dates, times, addresses, paths of the home, temporary and working directory, and what agents add to messages on their own. Headers, the order
of keys, the system prompt, tools and settings may differ; --strict compares the last three too. Where the agent works in another directory
than at the recording, answers name its own. Any other request is refused with an error that says what differs from the
nearest recorded one.`,
		Example: `  drawbar model replay fix.jsonl --addr 127.0.0.1:18080 &
  ANTHROPIC_BASE_URL=http://127.0.0.1:18080 ANTHROPIC_API_KEY=dummy drawbar run claude "fix the failing test"`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var replayer *modelserver.Replayer
			err := at.serve(cmd, app, func(log io.Writer) (_ listener, err error) {
				replayer, err = modelserver.OpenReplay(args[0], modelserver.ReplayOptions{Strict: strict, Log: log})
				switch {
				case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
					return nil, cli.Unreadable("FILE", err)
				case err != nil:
					return nil, cli.Usage("%s: %v", args[0], err).WithHint("for the form of a cassette: drawbar model record --help")
				}
				if cut := replayer.Cut(); cut != nil {
					app.Warnf("%s: %v; the lines before it answer", args[0], cut)
				}
				return replayer, nil
			})
			if err != nil {
				return err
			}
			if unused, all := replayer.Unused(); unused > 0 {
				app.Notef("%d of %d recorded answers were not asked for", unused, all)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "compare the system prompt, tools and settings too")
	at.register(cmd)
	return cmd
}
