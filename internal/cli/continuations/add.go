package continuations

import (
	"maps"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/answer"
	"github.com/drawbar/drawbar/product/continuation"
	"github.com/drawbar/drawbar/product/continuation/delivery"
)

type adding struct {
	result, expires, wake, operation, key string
	deliver                               []string
	attempts                              int
}

func (o *options) newAdd() *cobra.Command {
	var a adding
	cmd := &cobra.Command{
		Use: "add RUN", Short: "Keep a run that waits",
		Long: `Keep a run that ended awaiting an approval or an answer, or at a limit, so that it can be resumed. A run at a limit waits for a time (--wake) or for a
result from elsewhere (--operation).`,
		Example: "  drawbar continuations add 01K9Z3 --expires 72h --deliver webhook:https://example.org/answers\n  drawbar continuations add 01K9Z3 --wake 2h\n" +
			"  drawbar continuations add --result result.json",
		Args: cli.Args(func(cmd *cobra.Command, args []string) error {
			if a.result != "" {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		}),
		RunE: func(cmd *cobra.Command, args []string) error { return o.add(cmd, a, args) },
	}
	f := cmd.Flags()
	f.StringVar(&a.result, "result", "", "keep the run of this result, saved by --json, instead of one on record (- for standard input)")
	f.StringVar(&a.expires, "expires", "", "when it ends unresumed: a duration such as 72h, or a time in RFC 3339 (default 24h for an approval, else 1h)")
	f.StringVar(&a.wake, "wake", "", "resume a run that ended at a limit then: a duration, or a time in RFC 3339")
	f.StringVar(&a.operation, "operation", "", "resume a run that ended at a limit with the result of this operation")
	f.StringVar(&a.key, "key", "", "take only the answer with this key")
	f.StringArrayVar(&a.deliver, "deliver", nil, "where the answer goes: webhook:URL, command:PROGRAM or file:DIRECTORY (repeatable)")
	f.IntVar(&a.attempts, "attempts", 0, "how often it may be resumed (default 3)")
	cli.Exclusive(cmd, "wake", "operation")
	return cmd
}

// moment parses a duration from now, or a time.
func moment(flag, s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return now.Add(d), nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil && t.After(now) {
		return t, nil
	}
	return time.Time{}, cli.Usage("--%s %q is not a time to come", flag, s).WithHint("a duration such as 2h or 72h, or a time such as %s", now.Add(time.Hour).UTC().Format(time.RFC3339))
}

func (o *options) add(cmd *cobra.Command, a adding, args []string) error {
	ctx, now := cmd.Context(), time.Now()
	for _, surface := range a.deliver {
		if err := delivery.Check(surface); err != nil {
			return cli.Usage("--deliver: %v", err)
		}
	}
	if a.attempts < 0 {
		return cli.Usage("--attempts %d is out of range", a.attempts).WithHint("1 or more")
	}
	expires, err := moment("expires", a.expires, now)
	if err != nil {
		return err
	}
	wake, err := moment("wake", a.wake, now)
	if err != nil {
		return err
	}
	var req execution.Request
	var res execution.Result
	if a.result != "" {
		req, res, err = answer.ReadResult(o.app, a.result)
	} else {
		client, clientErr := o.app.Client()
		if clientErr != nil {
			return clientErr
		}
		if req, res, err = client.Waiting(args[0]); err != nil {
			return cli.RecordError(err)
		}
	}
	if err != nil {
		return err
	}
	if deferred := res.Status == execution.StatusDeferred; deferred == (wake.IsZero() && a.operation == "") {
		if deferred {
			return cli.Usage("run %s ended at a limit, and nothing says when it goes on", res.RunID).WithHint("--wake 2h, or --operation ID")
		}
		return cli.Usage("run %s waits for a person, so neither --wake nor --operation resumes it", res.RunID).WithHint("leave them out")
	}
	c := *res.Continuation
	c.Metadata = maps.Clone(c.Metadata)
	if c.Metadata == nil {
		c.Metadata = map[string]any{}
	}
	if !wake.IsZero() {
		c.Metadata["wakeAt"] = wake.Format(time.RFC3339)
	}
	if a.operation != "" {
		c.Metadata["operationId"] = a.operation
	}
	res.Continuation, req.Continuation = &c, nil
	s, rt, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	create := continuation.FromResult(req, res)
	if create.AssistantID = res.AssistantID; create.AssistantID == "" {
		create.AssistantID = "drawbar"
	}
	if create.TurnID = res.TurnID; create.TurnID == "" {
		create.TurnID = string(res.RunID)
	}
	create.SessionID, create.CorrelationKey, create.ExpiresAt, create.MaxAttempts, create.Surfaces = res.CorrelationID, a.key, expires, a.attempts, a.deliver
	create.Metadata = map[string]any{keyRequest: req, keyRun: string(res.RunID)}
	r, err := rt.Create(ctx, create)
	if err != nil {
		return failed(err)
	}
	return o.app.Answer(r, func() {
		o.app.Printf("%s waits for %s until %s\n", r.ID, waitsFor(r), r.Bounds.ExpiresAt.Local().Format(time.DateTime))
	})
}
