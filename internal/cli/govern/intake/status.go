package intake

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/spf13/cobra"
)

// listed is the answer of intake status.
type listed struct {
	Events   int            `json:"total_events"`
	Total    int            `json:"total_intents"`
	ByStatus map[string]int `json:"by_status"`
	Intents  []listedLine   `json:"intents"`
}

type listedLine struct {
	IntentID  string        `json:"intent_id"`
	Priority  *string       `json:"priority"`
	Template  *string       `json:"template"`
	Status    string        `json:"status"`
	Charter   *string       `json:"charter"`
	UpdatedAt protocol.Time `json:"updated_at"`
	Next      string        `json:"next"`
}

func status(app *cli.App) *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use: "status", Short: "Show intents and their status; with --intent everything about one", Args: cli.Args(cobra.NoArgs),
		RunE: func(_ *cobra.Command, _ []string) error {
			d, err := open(app, "")
			if err != nil {
				return err
			}
			if id != "" {
				return d.show(id)
			}
			list := project.Intents(d.root)
			slices.SortStableFunc(list, func(a, b protocol.Intent) int { return b.UpdatedAt.Compare(a.UpdatedAt.Time) })
			out := listed{Events: len(project.IntakeEvents(d.root)), Total: len(list), ByStatus: map[string]int{}, Intents: []listedLine{}}
			for _, i := range list {
				out.ByStatus[i.Status]++
				out.Intents = append(out.Intents, listedLine{i.IntentID, i.Priority, i.Template, i.Status, i.Charter, i.UpdatedAt, next(i)})
			}
			return app.Answer(out, func() {
				view.Table(app, list, "no intents yet", "INTENT\tPRIORITY\tSTATUS\tWHAT", func(i protocol.Intent) []string {
					return []string{i.IntentID, cmp.Or(protocol.Deref(i.Priority), "-"), i.Status, strings.Join(strings.Fields(protocol.Deref(i.Charter)), " ")}
				})
			})
		},
	}
	cmd.Flags().StringVar(&id, "intent", "", "show only this intent, with its history")
	return cmd
}

func (d *desk) show(id string) error {
	i, err := project.Intent(d.root, id)
	if err != nil {
		return err
	}
	out := struct {
		Intent protocol.Intent       `json:"intent"`
		Event  *protocol.IntakeEvent `json:"event"`
		Next   string                `json:"next"`
	}{Intent: i, Next: next(i)}
	if e, err := project.IntakeEvent(d.root, i.EventID); err == nil {
		out.Event = &e
	}
	return d.app.Answer(out, func() {
		d.app.Printf("%s  %s  %s\n", i.IntentID, cmp.Or(protocol.Deref(i.Priority), "-"), i.Status)
		if i.Charter != nil {
			d.app.Printf("  what       %s\n", strings.Join(strings.Fields(*i.Charter), " "))
		}
		for _, item := range i.AcceptanceContract {
			d.app.Printf("  done when  %s\n", strings.Join(strings.Fields(item), " "))
		}
		if out.Event != nil {
			d.app.Printf("  from       %s (%s)\n", out.Event.Source, out.Event.Category)
		}
		for _, h := range i.History {
			d.app.Printf("  %s  %s: %s\n", h.At.Local().Format(time.DateTime), h.To, h.Reason)
		}
		d.app.Printf("  next       %s\n", out.Next)
	})
}
