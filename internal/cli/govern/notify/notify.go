// Package notify implements "drawbar govern notify": the webhooks of a governed project are told what is due.
package notify

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var watch bool
	var every time.Duration
	cmd := &cobra.Command{
		Use: "notify", Short: "Tell the project's webhooks what is due: failed attempts, and reminders of approvals",
		Long: "Tell the webhooks of agentxchain.json (notifications.webhooks) what happened in the run and was not delivered yet, and remind\n" +
			"them of an approval that nobody has given (notifications.approval_sla). Every command that changes the record tells them too; this\n" +
			"one is for reminders, and for webhooks that could not be reached. An event is tried five times within some minutes; every attempt is\n" +
			"a line of .agentxchain/notification-audit.jsonl. With --watch, it goes on until Ctrl-C; else call it from cron.",
		Example: "  drawbar govern notify\n  drawbar govern notify --watch",
		Args:    cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every < time.Second {
				return cli.Usage("--every %s is less than a second", every).WithHint("--every 15s")
			}
			_, err := view.Use(app, cmd, true, func(ctx context.Context, e govern.Engine) (struct{}, error) {
				return struct{}{}, tell(ctx, app, e, watch, every)
			})
			return err
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "go on until Ctrl-C")
	cmd.Flags().DurationVar(&every, "every", 15*time.Second, "with --watch: how often to look")
	cli.TrustFlag(cmd, new(bool))
	return cmd
}

func tell(ctx context.Context, app *cli.App, e govern.Engine, watch bool, every time.Duration) error {
	for {
		n, err := e.Notify(ctx)
		if err != nil {
			return err
		}
		if app.JSON && watch {
			for _, t := range n.Tries {
				if err := app.Line(t); err != nil {
					return err
				}
			}
		}
		if !watch {
			if n.Tries == nil {
				n.Tries = []govern.NotifyTry{}
			}
			err := app.Answer(n, func() { show(app, n, true) })
			return exitcode.If(failed(n), execution.ExitGeneral, err)
		}
		show(app, n, false)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}

func failed(n govern.Notified) bool {
	for _, t := range n.Tries {
		if !t.Delivered {
			return true
		}
	}
	return false
}

func show(app *cli.App, n govern.Notified, last bool) {
	if app.JSON {
		return
	}
	for _, t := range n.Tries {
		if t.Delivered {
			app.Printf("told %s: %s\n", t.Webhook, t.EventType)
		} else {
			app.Printf("%s was not told: %s: %s\n", t.Webhook, t.EventType, cli.OneLine(t.Error, 200))
		}
	}
	switch {
	case !last:
	case n.Left > 0:
		app.Notef("%s left for a later attempt", cli.Number(n.Left, "event is", "events are"))
	case len(n.Tries) == 0:
		app.Notef("nothing is due")
	}
}
