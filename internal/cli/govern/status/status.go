// Package status implements "drawbar govern status": the state of a governed run, and what to type next.
package status

import (
	"fmt"
	"strings"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/spf13/cobra"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show the state of the run, who is working, and what to type next",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, done, err := view.Engine(app, "status", false)
			if err != nil {
				return err
			}
			defer done(nil)
			s, err := e.Status(cmd.Context())
			if err != nil {
				return err
			}
			return app.Answer(s, func() { print(app, s, time.Now()) })
		},
	}
}

func print(app *cli.App, s govern.Status, now time.Time) {
	app.Printf("%s  %s\n", s.Project.Name, s.Root)
	field := func(name, format string, args ...any) { app.Printf("  %-9s %s\n", name, fmt.Sprintf(format, args...)) }
	progress(s, field)
	for _, t := range s.Turns {
		turn(app, t, now)
	}
	attention(s, field)
	if s.Budget.RemainingUSD != nil {
		field("budget", "$%.4f spent, $%.4f left", s.Budget.SpentUSD, *s.Budget.RemainingUSD)
	} else if s.Budget.SpentUSD > 0 {
		field("spent", "$%.4f", s.Budget.SpentUSD)
	}
	if s.LastTurn != "" {
		field("last", "%s  %.12s", s.LastTurn, s.LastCommit)
	}
	if s.NextRole != "" && s.Status != "blocked" && s.Status != "paused" {
		field("role", "%s %s", s.NextRole, s.NextWhy)
	}
	view.Permissions(s.Permissions, func(line string) { field("agent", "%s", line) })
	if s.Holder != nil {
		field("lock", "%s (process %d) has been writing the record since %s", s.Holder.Owner, s.Holder.PID, s.Holder.Since.Local().Format(time.TimeOnly))
	}
	if s.Share != nil {
		team(*s.Share, field, now)
	}
	if s.Unfinished != "" {
		field("", "the transaction %s was interrupted; the next command finishes it", s.Unfinished)
	}
	if n := len(s.Warnings); n > 0 {
		field("config", "%d notes: drawbar govern validate", n)
	}
	for _, n := range s.Notes {
		field("note", "%s", n)
	}
	if s.NotTrusted != "" {
		field("trust", "not trusted: nothing in this project runs; review it: drawbar trust %s", s.Root)
	}
	field("next", "%s", s.Next)
}

// team prints the state of a shared record.
func team(s govern.Share, field func(name, format string, args ...any), now time.Time) {
	switch {
	case s.Commit == "":
		field("record", "not pushed to %s yet: drawbar govern sync", s.Remote)
	case s.Unpushed:
		field("record", "not all pushed to %s: drawbar govern sync", s.Remote)
	default:
		field("record", "the same on %s, as of the last sync", s.Remote)
	}
	if s.Lease != nil {
		field("locked", "%s", view.Lease(s, now))
	}
}

// progress prints the run, its phase and its gates.
func progress(s govern.Status, field func(name, format string, args ...any)) {
	if s.RunID == "" {
		field("run", "none yet")
	} else {
		field("run", "%s  %s", s.RunID, s.Status)
	}
	phases := make([]string, len(s.Phases))
	for i, p := range s.Phases {
		if phases[i] = p; p == s.Phase {
			phases[i] = "[" + p + "]"
		}
	}
	field("phase", "%s", strings.Join(phases, " > "))
	for id, st := range s.Gates.All() {
		field("gate", "%s: %s", id, st)
	}
	if g := s.Gate; g != nil {
		for _, why := range g.Reasons {
			field("", "- %s", why)
		}
	}
}

// attention prints what needs a person: a pending gate, a block, objections.
func attention(s govern.Status, field func(name, format string, args ...any)) {
	if s.Pending != "" {
		who := "a person"
		if len(s.Approvers) > 0 {
			who = strings.Join(s.Approvers, " or ")
		}
		if s.Needed > 1 {
			who += fmt.Sprintf(" (%d of %d have approved)", len(s.Approvals), s.Needed)
		}
		field("waits", "gate %s waits for %s", s.Pending, who)
	}
	if s.BlockedOn != "" && s.Pending == "" {
		field("blocked", "%s", s.BlockedOn)
		if s.Reason != nil && s.Reason.Recovery.Detail != "" {
			field("", "%s", s.Reason.Recovery.Detail)
		}
	}
	for _, o := range s.Objections {
		if o.Severity == protocol.SeverityBlocking {
			field("objection", "%s of %s blocks: %s", o.ID, o.Role, strings.Join(strings.Fields(o.Statement), " "))
		}
	}
	if n := len(s.Objections); n > 0 {
		field("", "%d open: drawbar govern objections --open", n)
	}
}

func turn(app *cli.App, t govern.TurnStatus, now time.Time) {
	text := fmt.Sprintf("%s  %s  %s, attempt %d", t.TurnID, t.AssignedRole, t.Status, t.Attempt)
	switch {
	case t.Live != nil && t.Carrier != nil:
		app.Printf("  %-9s %s  %s\n", "turn", t.TurnID, view.LiveLine(*t.Live, now))
		app.Printf("  %-9s in %s (process %d)\n", "", t.Carrier.Owner, t.Carrier.PID)
		return
	case t.Carrier != nil:
		text += fmt.Sprintf(" (%s, process %d)", t.Carrier.Owner, t.Carrier.PID)
	case t.Staged:
		text += ", its result is staged"
	case t.Status == "dispatched" || t.Status == "running" || t.Status == "starting":
		text += ", not running"
	}
	app.Printf("  %-9s %s\n", "turn", text)
}
