package sessions

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/sessions"
	"github.com/spf13/cobra"
)

func watch(app *cli.App) *cobra.Command {
	var replay, debug bool
	var quiet time.Duration
	cmd := &cobra.Command{
		Use: "watch SESSION", Short: "Follow an active session as events",
		Long: "Follow an active session, whoever runs it: new lines of its file become events, with --json one a line. It ends when " +
			"the agent\nrecords the end of the session, when the file is removed, and with Ctrl-C.",
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if quiet < 0 {
				return cli.Usage("--quiet-for %s is negative", quiet).WithHint("--quiet-for 30s")
			}
			s, err := open(app, args)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			render := cli.NewRenderer(app, debug, nil)
			for e, err := range s.Watch(ctx, args[0], sessions.WatchOptions{Replay: replay, Quiet: quiet}) {
				if err != nil {
					return err
				}
				if app.JSON {
					if err := app.Line(e); err != nil {
						return err
					}
					continue
				}
				switch b := e.Body.(type) {
				case execution.InputQueued:
					app.Notef("> %s", cli.Printable(b.Text))
				case execution.Debug:
					app.Warnf("%s", b.Message)
				default:
					render.Event(e)
				}
			}
			return nil
		},
	}
	cli.MarkdownFlag(cmd, app)
	cmd.Flags().BoolVar(&replay, "replay", false, "start with the existing messages")
	cmd.Flags().BoolVar(&debug, "debug", false, "show thinking")
	cmd.Flags().DurationVar(&quiet, "quiet-for", 0, "stop when nothing is written for this long (0: never)")
	return cmd
}
