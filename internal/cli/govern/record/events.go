package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/spf13/cobra"
)

// poll is how often --follow looks for new events. They are written by transactions, a few a minute.
const poll = 250 * time.Millisecond

func events(app *cli.App) *cobra.Command {
	var f runFlags
	var follow bool
	var types []string
	var since string
	cmd := &cobra.Command{
		Use: "events", Short: "List events, oldest first", Example: "  drawbar govern events -f\n  drawbar govern events --type turn_accepted,run_blocked --since 1h",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, t := range types {
				if !slices.Contains(protocol.EventTypes(), t) {
					return cli.Usage("--type %q is not an event type", t).WithHint("one of: %s", strings.Join(protocol.EventTypes(), ", "))
				}
			}
			from, err := moment(since, time.Now())
			if err != nil {
				return err
			}
			root, v, run, err := f.open(app, cmd)
			if err != nil {
				return err
			}
			wanted := func(e protocol.Event) bool {
				return (run == "" || e.RunID == run) && (len(types) == 0 || slices.Contains(types, e.EventType)) && !e.Timestamp.Before(from)
			}
			var list []protocol.Event
			next, err := v.Events(0, func(e protocol.Event) {
				if wanted(e) {
					list = append(list, e)
				}
			})
			if err != nil {
				return err
			}
			list = newest(list, f.limit)
			if !follow {
				return app.Answer(nonNil(list), func() { printEvents(app, list) })
			}
			if run != "" && f.run == "" {
				run = "" // show a run that begins meanwhile, too
			}
			ctx, stop := view.Interruptible(cmd.Context())
			defer stop()
			return watch(ctx, app, root, list, next, wanted)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow new events until Ctrl-C")
	cmd.Flags().StringSliceVarP(&types, "type", "t", nil, "only events of these types")
	cmd.Flags().StringVar(&since, "since", "", "only events since a time (2026-01-02T15:04:05Z) or within a duration (1h)")
	return cmd
}

// moment parses a time, or a duration before now.
func moment(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, cli.Usage("--since %q is not a time or a duration", text).WithHint("--since 1h, --since 2026-01-02T15:04:05Z")
}

// watch prints events and continues with new ones. Ctrl-C ends it without an error.
func watch(ctx context.Context, app *cli.App, root string, list []protocol.Event, next int64, wanted func(protocol.Event) bool) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for over := false; ; {
		if app.JSON {
			for _, e := range list {
				if err := app.Line(e); err != nil {
					return err
				}
			}
		} else {
			printEvents(app, list)
		}
		if over {
			return nil
		}
		list = nil
		select {
		case <-ctx.Done():
			over = true // show what came since the last look
		case <-tick.C:
		}
		v, err := ledger.Read(root)
		if err != nil {
			return err
		}
		next, err = v.Events(next, func(e protocol.Event) {
			if wanted(e) {
				list = append(list, e)
			}
		})
		var damaged *ledger.DamagedError
		if err != nil && !errors.As(err, &damaged) {
			return err
		}
	}
}

// printEvents writes one line per event. The columns have a fixed width, because later events are not known yet.
func printEvents(app *cli.App, list []protocol.Event) {
	for _, e := range list {
		who := ""
		if e.Turn != nil {
			who = e.Turn.TurnID
			if e.Turn.RoleID != "" {
				who += " (" + e.Turn.RoleID + ")"
			}
		}
		line := fmt.Sprintf("%s  %-24s  %-14s  %s", e.Timestamp.Local().Format(time.DateTime), e.EventType, e.Phase, who)
		if about := about(e); about != "" {
			line = strings.TrimRight(line, " ") + "  " + about
		}
		if w := app.Width(); w > 4 {
			if r := []rune(line); len(r) > w {
				line = string(r[:w-3]) + "..."
			}
		}
		app.Printf("%s\n", strings.TrimRight(line, " "))
	}
}

// about summarizes an event: the first of these keys in its payload.
func about(e protocol.Event) string {
	payload := map[string]any{}
	if json.Unmarshal(e.Payload, &payload) != nil {
		return ""
	}
	for _, key := range []string{"summary", "blocked_on", "detail", "reason", "gate_id", "checkpoint_sha", "escalation_id", "field", "attempt"} {
		var text string
		switch v := payload[key].(type) {
		case string:
			text = v
		case float64:
			text = fmt.Sprintf("attempt %.0f", v)
		}
		if text = oneLine(text); text != "" {
			if key == "checkpoint_sha" && len(text) > 12 {
				text = text[:12]
			}
			return text
		}
	}
	return ""
}
