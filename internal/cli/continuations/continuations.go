// Package continuations is "drawbar continuations": turns that could not end are kept, resumed when what they wait for has come, and their answers
// delivered.
package continuations

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/run"
	"github.com/drawbar/drawbar/internal/runstore"
	"github.com/drawbar/drawbar/product/continuation"
	"github.com/drawbar/drawbar/product/continuation/delivery"
)

// Keys of the metadata of a record.
const (
	keyRequest = "request" // what the turn was asked for with
	keyRun     = "runId"   // of the turn that could not end
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	o := &options{app: app}
	cmd := &cobra.Command{
		Use: "continuations", Short: "Keep turns that wait, resume them once, and deliver their answers",
		Long: `Keep turns that wait for a reply, an approval, a result from elsewhere or a time, also for days. A turn is resumed once, whoever asks for it first;
one that expires, is denied or cancelled never runs. drawbar continuations run is the process that wakes them up, takes up those of a killed process
and repeats deliveries; several may run.

A turn is a run that ended awaiting an approval or an answer (exit code 20), or at a limit (22). Its answer can be delivered:

  --deliver webhook:URL        posted as JSON, with the header Idempotency-Key
  --deliver command:PROGRAM    JSON on its standard input; words, or a JSON array of them
  --deliver file:DIRECTORY     a file KEY.json in it

A delivery that fails is repeated five times, less and less often, with the same key.`,
		Example: `  drawbar run claude --non-interactive fail "deploy it"
  drawbar continuations add 01K9Z3 --expires 72h --deliver command:./tell.sh
  drawbar continuations list
  drawbar continuations resume cont_4F2 --approve
  drawbar continuations run`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.list(cmd.Context(), false) },
	}
	cmd.PersistentFlags().StringVar(&o.store, "store", "", "file of the turns that wait (default in Drawbar's state directory)")
	cmd.AddCommand(o.newAdd(), o.newList(), o.newShow(), o.newResume(), o.newCancel(), o.newRun())
	return cmd
}

type options struct {
	app   *cli.App
	store string
	trust bool
	jobs  int
	trace func(event string, r continuation.Record) // may be nil
}

// open opens the store and a runtime over it.
func (o *options) open(ctx context.Context) (*continuation.SQLite, *continuation.Runtime, error) {
	path := o.store
	if path == "" {
		dir, err := runstore.DefaultDir()
		if err != nil {
			return nil, nil, execution.Errorf(execution.CodeConfig, "%w", err)
		}
		path = filepath.Join(dir, "continuations.db")
	}
	s, err := continuation.OpenSQLite(ctx, path)
	if err != nil {
		return nil, nil, execution.Errorf(execution.CodeConfig, "%w", err).WithHint("name another file with --store")
	}
	ways := delivery.Ways{Spawn: cliagent.Spawn}
	return s, continuation.New(continuation.Options{Store: s, Run: o.turn, Jobs: o.jobs, Deliver: ways.Deliver, Trace: o.trace}), nil
}

// turn runs a resumed turn as the turn before it was run.
func (o *options) turn(ctx context.Context, t continuation.Turn) (execution.Result, error) {
	var req execution.Request
	text, err := json.Marshal(t.Record.Metadata[keyRequest])
	if err == nil {
		err = json.Unmarshal(text, &req)
	}
	if err != nil {
		return execution.Result{}, execution.Errorf(execution.CodeValidation, "%s: its request cannot be read: %w", t.Record.ID, err)
	}
	now := t.Request()
	req.AssistantID, req.TurnID, req.SessionID, req.UserID, req.ThreadID = now.AssistantID, now.TurnID, now.SessionID, now.UserID, now.ThreadID
	req.Message, req.Continuation, req.Metadata = now.Message, now.Continuation, now.Metadata
	of, _ := t.Record.Metadata[keyRun].(string)
	return run.Unseen(ctx, o.app, req, execution.RunID(of), o.trust)
}

// find returns the record with an id, or the beginning of one.
func find(ctx context.Context, s continuation.Store, id string) (r continuation.Record, err error) {
	all, err := s.List(ctx, "")
	if err != nil {
		return r, err
	}
	var some []continuation.Record
	for _, r := range all {
		if r.ID == id {
			return r, nil
		}
		if strings.HasPrefix(strings.ToUpper(strings.TrimPrefix(r.ID, "cont_")), strings.ToUpper(strings.TrimPrefix(id, "cont_"))) {
			some = append(some, r)
		}
	}
	switch {
	case len(some) == 1 && id != "":
		return some[0], nil
	case len(some) > 1:
		return r, cli.Usage("%q is the beginning of %d continuations", id, len(some)).WithHint("type more of the id: drawbar continuations list --all")
	}
	return r, execution.Errorf(execution.CodeInteractionNotFound, "there is no continuation %s", id).WithHint("drawbar continuations list --all")
}

// failed gives errors of the runtime a code and what to type.
func failed(err error) error {
	var e *execution.Error
	switch {
	case err == nil || errors.As(err, &e):
		return err
	case errors.Is(err, continuation.ErrMismatch), errors.Is(err, continuation.ErrInvalid), errors.Is(err, continuation.ErrNothing):
		return execution.Errorf(execution.CodeValidation, "%w", err)
	case errors.Is(err, continuation.ErrFinal), errors.Is(err, continuation.ErrExpired), errors.Is(err, continuation.ErrExhausted):
		return execution.Errorf(execution.CodeInvalidStateTransition, "%w", err).WithHint("drawbar continuations list --all")
	case errors.Is(err, continuation.ErrResuming):
		return execution.Errorf(execution.CodeConfigLock, "%w", err).WithHint("drawbar ps")
	}
	return err
}

func (o *options) newList() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the turns that wait", Args: cli.Args(cobra.NoArgs), Example: "  drawbar continuations list --all",
		RunE: func(cmd *cobra.Command, _ []string) error { return o.list(cmd.Context(), all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "also those that have ended")
	return cmd
}

func (o *options) list(ctx context.Context, all bool) error {
	s, _, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	records, err := s.List(ctx, "")
	if err != nil {
		return err
	}
	shown := []continuation.Record{}
	for _, r := range records {
		if all || !r.Status.Final() || r.Delivery.Status == continuation.PendingDelivery {
			shown = append(shown, r)
		}
	}
	return o.app.Answer(shown, func() {
		if len(shown) == 0 {
			o.app.Notef("no turn is kept that waits\n  try: drawbar continuations add RUN")
			return
		}
		w := o.app.Table("ID", "STATUS", "WAITS FOR", "UNTIL", "AGENT", "WHAT")
		for _, r := range shown {
			w.Row(r.ID[:min(len(r.ID), len("cont_")+8)], state(r), waitsFor(r), r.Bounds.ExpiresAt.Local().Format("2006-01-02 15:04"), text(r, "agent"), cli.OneLine(what(r), 60))
		}
		w.Flush()
	})
}

func state(r continuation.Record) string {
	if r.Delivery.Status == continuation.PendingDelivery || r.Delivery.Status == continuation.DeliveryFailed {
		return string(r.Delivery.Status)
	}
	return string(r.Status)
}

func waitsFor(r continuation.Record) string {
	switch w := r.WaitFor; w.Kind {
	case continuation.UserReply:
		return "an answer"
	case continuation.ApprovalResolution:
		return "an approval"
	case continuation.ExternalResult:
		return "the result of " + w.OperationID
	default:
		return "the time " + w.WakeAt.Local().Format("2006-01-02 15:04")
	}
}

func text(r continuation.Record, key string) string {
	s, _ := r.Continuation.State[key].(string)
	return s
}

// what is the question of a record.
func what(r continuation.Record) string {
	if d := text(r, "detail"); d != "" && d != text(r, "action") {
		return text(r, "action") + ": " + d
	}
	return cmp.Or(text(r, "action"), text(r, "question"), text(r, "stopReason"))
}

func (o *options) newShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a turn that waits, and what became of it", Args: cli.Args(cobra.ExactArgs(1)), Example: "  drawbar continuations show cont_4F2 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			s, _, err := o.open(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			r, err := find(cmd.Context(), s, args[0])
			if err != nil {
				return err
			}
			return o.show(r)
		},
	}
}

func (o *options) show(r continuation.Record) error {
	return o.app.Answer(r, func() {
		line := func(name, value string) {
			if value != "" {
				o.app.Printf("%-10s  %s\n", name, value)
			}
		}
		at := func(t time.Time) string {
			if t.IsZero() {
				return ""
			}
			return t.Local().Format(time.DateTime)
		}
		line("id", r.ID)
		line("status", strings.TrimSuffix(string(r.Status)+": "+string(r.Reason), ": "))
		if !r.Status.Final() {
			line("waits for", waitsFor(r))
			line("until", at(r.Bounds.ExpiresAt))
		}
		line("asks", what(r))
		line("agent", text(r, "agent"))
		of, _ := r.Metadata[keyRun].(string)
		line("run", of)
		line("resumed", fmt.Sprintf("%d of %d times", r.Bounds.Attempts, r.Bounds.MaxAttempts))
		line("created", at(r.CreatedAt))
		line("answer", r.Delivery.Text)
		if r.Delivery.Status != continuation.NotApplicable {
			line("delivery", strings.TrimSuffix(string(r.Delivery.Status)+": "+r.Delivery.Error, ": "))
		}
	})
}

func (o *options) newCancel() *cobra.Command {
	return &cobra.Command{
		Use: "cancel ID", Short: "End a turn that waits; it never runs", Args: cli.Args(cobra.ExactArgs(1)), Example: "  drawbar continuations cancel cont_4F2",
		RunE: func(cmd *cobra.Command, args []string) error {
			s, rt, err := o.open(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			r, err := find(cmd.Context(), s, args[0])
			if err == nil && r.Status.Final() {
				err = failed(fmt.Errorf("%s: %w: %s", r.ID, continuation.ErrFinal, r.Reason))
			}
			if err == nil {
				r, err = rt.Cancel(cmd.Context(), r.ID, continuation.CancelledByUser)
			}
			if err != nil {
				return failed(err)
			}
			return o.app.Answer(r, func() { o.app.Printf("%s is %s\n", r.ID, r.Status) })
		},
	}
}
