package continuations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/answer"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/product/continuation"
)

type resuming struct {
	approve, deny              bool
	reason, text, payload, key string
}

func (o *options) newResume() *cobra.Command {
	var g resuming
	cmd := &cobra.Command{
		Use: "resume ID", Short: "Resume a turn with what it waits for, and print its answer",
		Long: `Resume a turn with what it waits for: --approve or --deny for an approval, --text for an answer, --payload for a result from elsewhere. A turn that
waits for a time is resumed by drawbar continuations run. A denial ends it, and nothing runs; to tell the agent and go on: drawbar deny RUN.`,
		Example: "  drawbar continuations resume cont_4F2 --approve\n  drawbar continuations resume cont_4F2 --text 'the red one'\n  drawbar continuations resume cont_4F2 --payload result.json",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.resume(cmd, g, args[0]) },
	}
	f := cmd.Flags()
	f.BoolVar(&g.approve, "approve", false, "approve what it asks for")
	f.BoolVar(&g.deny, "deny", false, "deny what it asks for")
	f.StringVar(&g.reason, "reason", "", "why, for the agent and the record")
	f.StringVar(&g.text, "text", "", "the answer to its question")
	f.StringVar(&g.payload, "payload", "", "file with the result that it waits for, JSON")
	f.StringVar(&g.key, "key", "", "key of the answer, if it waits for one")
	cli.TrustFlag(cmd, &o.trust)
	cli.Exclusive(cmd, "approve", "deny", "text", "payload")
	return cmd
}

// trigger is what happened, for a record.
func (g resuming) trigger(r continuation.Record) (t continuation.Trigger, err error) {
	word := g.text
	if g.approve {
		word = "approve"
	} else if g.deny {
		word = "deny"
	}
	t = r.Reply(word)
	t.CorrelationKey, t.Comment, t.By = g.key, g.reason, answer.WhoIs()
	wants := map[continuation.Kind]string{continuation.ApprovalResolution: "--approve or --deny", continuation.UserReply: "--text TEXT", continuation.ExternalResult: "--payload FILE"}[r.WaitFor.Kind]
	switch k := r.WaitFor.Kind; {
	case k == continuation.ApprovalResolution && t.Decision != "" && g.text == "", k == continuation.UserReply && g.text != "":
	case k == continuation.ExternalResult && g.payload != "":
		b, err := os.ReadFile(g.payload)
		if err == nil && !json.Valid(b) {
			err = errors.New("it is not JSON")
		}
		if err != nil {
			return t, cli.Usage("--payload %s: %v", g.payload, err)
		}
		t.OperationID, t.Payload = r.WaitFor.OperationID, b
	case k == continuation.ScheduledWake:
		return t, cli.Usage("%s waits for %s", r.ID, waitsFor(r)).WithHint("drawbar continuations run")
	default:
		return t, cli.Usage("%s waits for %s", r.ID, waitsFor(r)).WithHint("drawbar continuations resume %s %s", r.ID, wants)
	}
	return t, nil
}

func (o *options) resume(cmd *cobra.Command, g resuming, id string) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	s, rt, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	r, err := find(ctx, s, id)
	if err != nil {
		return err
	}
	if r.Status.Final() {
		return failed(fmt.Errorf("%s: %w: %s", r.ID, continuation.ErrFinal, r.Reason))
	}
	t, err := g.trigger(r)
	if err != nil {
		return err
	}
	r, res, err := rt.Resume(ctx, r.ID, t)
	if err != nil {
		return failed(err)
	}
	if err := o.app.Answer(r, func() { o.became(r, res) }); err != nil {
		return err
	}
	if code := exitcode.OfResult(res); code != 0 && (r.Reason != continuation.ApprovalDenied || g.approve) {
		return &exitcode.Error{Code: code, Silent: true, Err: fmt.Errorf("the turn ended %s", res.Status)}
	}
	return nil
}

// became prints what became of a resumed turn.
func (o *options) became(r continuation.Record, res execution.Result) {
	switch {
	case r.Status == continuation.Completed && len(r.Delivery.Surfaces) == 0:
		o.app.Printf("%s\n", r.Delivery.Text)
	case r.Status == continuation.Completed:
		o.app.Printf("%s is completed; delivery: %s %s\n", r.ID, r.Delivery.Status, r.Delivery.Error)
	case r.Status == continuation.Pending:
		o.app.Printf("%s waits for %s until %s: %s\n", r.ID, waitsFor(r), r.Bounds.ExpiresAt.Local().Format(time.DateTime), cli.OneLine(what(r), 200))
	case res.Error != nil && r.Reason != continuation.ApprovalDenied:
		o.app.Printf("%s is %s: %s\n", r.ID, r.Status, res.Error.Message)
	default:
		o.app.Printf("%s is %s: %s\n", r.ID, r.Status, r.Reason)
	}
}

func (o *options) newRun() *cobra.Command {
	var once bool
	var every time.Duration
	cmd := &cobra.Command{
		Use: "run", Short: "Wake turns up, expire them, and repeat deliveries, until it is interrupted",
		Long: `Do what is due: resume turns whose time has come, expire those that nobody resumed, take up those whose process is gone, and repeat deliveries. A first
Ctrl-C waits for the turns that run, a second one aborts them.`,
		Example: "  drawbar continuations run --jobs 4\n  drawbar continuations run --once    # from cron",
		Args:    cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.trace = o.tell
			if o.jobs < 1 || every < 10*time.Millisecond {
				return cli.Usage("--jobs and --every must be more than 0").WithHint("--jobs 4 --every 5s")
			}
			return o.schedule(cmd.Context(), once, every)
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "do what is due now, and end")
	cmd.Flags().DurationVar(&every, "every", 5*time.Second, "how often to look for turns that were added meanwhile")
	cmd.Flags().IntVar(&o.jobs, "jobs", 2, "how many turns to run at once")
	cli.TrustFlag(cmd, &o.trust)
	return cmd
}

// tell prints what the process did: a line of text, or the record as a line of JSON.
func (o *options) tell(event string, r continuation.Record) {
	if event != "terminated" && event != "resumed_turn_started" && event != "delivery_attempted" {
		return
	}
	if o.app.JSON {
		if err := o.app.Line(r); err != nil {
			o.app.Warnf("%v", err)
		}
		return
	}
	switch {
	case event == "resumed_turn_started":
		o.app.Printf("%s runs\n", r.ID)
	case event == "terminated" && r.Reason == continuation.ReasonCompleted:
		o.app.Printf("%s is completed: %s\n", r.ID, cli.OneLine(r.Delivery.Text, 200))
	case event == "terminated":
		o.app.Printf("%s is %s: %s\n", r.ID, r.Status, r.Reason)
	case len(r.Delivery.Surfaces) > 0:
		o.app.Printf("%s delivery: %s\n", r.ID, strings.TrimSuffix(string(r.Delivery.Status)+": "+r.Delivery.Error, ": "))
	}
}

func (o *options) schedule(parent context.Context, once bool, every time.Duration) error {
	ctx, abort := context.WithCancel(parent)
	defer abort()
	received := make(chan os.Signal, 2)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(received)
	quit := make(chan struct{})
	go func() {
		select {
		case <-received:
			close(quit)
		case <-ctx.Done():
			return
		}
		select {
		case <-received:
			abort()
		case <-ctx.Done():
		}
	}()
	s, rt, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	for {
		next, err := rt.Tick(ctx)
		if err != nil && ctx.Err() == nil {
			if once {
				return failed(err)
			}
			o.app.Warnf("%v", err)
		}
		if once {
			return nil
		}
		wait := every
		if !next.IsZero() {
			wait = min(wait, max(time.Until(next), 10*time.Millisecond))
		}
		select {
		case <-quit:
			return nil
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}
