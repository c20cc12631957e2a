package view

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
)

// Tell prints how a command ended and returns its exit code.
func Tell(app *cli.App, r govern.Report) error {
	if err := app.Answer(r, func() { Print(app, r) }); err != nil {
		return err
	}
	if r.Outcome == govern.OutcomeAccepted && r.Code != "" { // it is accepted, but a script must not continue as if nothing were wrong
		return Code(govern.OutcomeBlocked)
	}
	return Code(r.Outcome)
}

// Code is the exit code of an outcome: 0 for the requested one, 1 for any other, 130 for an interruption.
func Code(outcome govern.Outcome) error {
	switch outcome {
	case govern.OutcomeInterrupted:
		return &exitcode.Error{Code: execution.ExitInterruptedKey, Silent: true}
	case govern.OutcomeBlocked, govern.OutcomeFailed, govern.OutcomeRejected, govern.OutcomePaused:
		return &exitcode.Error{Code: execution.ExitGeneral, Silent: true}
	}
	return nil
}

// TellRun prints how a run of many turns ended and returns its exit code: 0 for a run that is completed, and for a plan.
func TellRun(app *cli.App, r govern.RunReport) error {
	if err := app.Answer(r, func() { printRun(app, r) }); err != nil {
		return err
	}
	return RunCode(r)
}

// RunCode is the exit code of a run of many turns; see TellRun.
func RunCode(r govern.RunReport) error {
	switch r.Stop {
	case govern.StopBlocked:
		return Code(govern.OutcomeBlocked)
	case govern.StopInterrupted:
		return Code(govern.OutcomeInterrupted)
	case govern.StopGateHeld, govern.StopHumanTurn:
		return &exitcode.Error{Code: execution.ExitWaiting, Silent: true}
	case govern.StopMaxTurns:
		return &exitcode.Error{Code: execution.ExitLimit, Silent: true}
	}
	return nil
}

// printRun prints a line for every turn, then why the run stopped, and what to type.
func printRun(app *cli.App, r govern.RunReport) {
	if len(r.Turns) > 0 {
		t := app.ShortTable()
		fmt.Fprintln(t, "TURN\tROLE\tOUTCOME\tTOOK\tCOST\tSUMMARY")
		for _, one := range r.Turns {
			cost, took, text := "-", "-", one.Summary
			if one.Cost != nil && one.Cost.USD > 0 {
				cost = fmt.Sprintf("$%.4f", one.Cost.USD)
			}
			if one.DurationMS > 0 {
				took = Duration(one.DurationMS)
			}
			if text == "" && len(one.Errors) > 0 {
				text = one.Errors[0]
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", one.TurnID, one.Role, one.Outcome, took, cost, strings.Join(strings.Fields(text), " "))
		}
		_ = t.Flush()
	}
	text := sentence(r.Stop)
	if r.Stop == govern.StopBlocked && r.Last.Status != protocol.RunBlocked {
		text = "The run stopped"
	}
	switch n := len(r.Turns); n {
	case 0:
	case 1:
		text += ", after 1 turn"
	default:
		text += fmt.Sprintf(", after %d turns", n)
	}
	if r.Last.SpentUSD > 0 {
		text += fmt.Sprintf(" ($%.4f spent in all)", r.Last.SpentUSD)
	}
	app.Printf("%s\n", text)
	if r.Stop == govern.StopPlan {
		Field(app, "would", r.Last.Summary)
		for _, e := range r.Last.Errors {
			Field(app, "", "- "+e)
		}
		Permissions(r.Permissions, func(line string) { Field(app, "agent", line) })
	} else if r.Last.Outcome != govern.OutcomeAccepted {
		why(app, r.Last)
	}
	where(app, r.Last)
}

func sentence(stop govern.Stop) string {
	switch stop {
	case govern.StopCompleted:
		return "The run is completed"
	case govern.StopBlocked:
		return "The run is blocked"
	case govern.StopGateHeld:
		return "A gate waits for a person"
	case govern.StopHumanTurn:
		return "The next turn is a person's"
	case govern.StopMaxTurns:
		return "The turn limit is reached"
	case govern.StopInterrupted:
		return "Interrupted"
	case govern.StopPlan:
		return "Nothing was done (--dry-run)"
	}
	return string(stop)
}

// Print prints a report.
func Print(app *cli.App, r govern.Report) {
	head := string(r.Outcome)
	switch {
	case r.TurnID != "":
		head += fmt.Sprintf("  %s (%s", r.TurnID, r.Role)
		if r.Attempt > 1 {
			head += fmt.Sprintf(", attempt %d", r.Attempt)
		}
		head += ")"
	case r.Outcome == govern.OutcomeDone && r.Summary != "":
		head, r.Summary = r.Summary, ""
	case r.RunID != "":
		head += "  " + r.RunID
	}
	if r.DurationMS > 0 {
		head += "  " + Duration(r.DurationMS)
	}
	if c := r.Cost; c != nil && c.USD > 0 {
		head += fmt.Sprintf("  $%.4f", c.USD)
	}
	app.Printf("%s\n", head)
	Field(app, "summary", r.Summary)
	Field(app, "files", list(r.Files, 8))
	for _, d := range r.Decisions {
		Field(app, "decision", d.ID+" "+d.Statement)
	}
	for _, o := range r.Objections {
		Field(app, "objection", o.ID+" ("+o.Severity+") "+o.Statement)
	}
	why(app, r)
	for _, c := range r.Changes {
		Field(app, "normalized", Change(c))
	}
	for _, w := range r.Warnings {
		Field(app, "warning", w)
	}
	Field(app, "artifact", r.Artifact)
	Field(app, "commit", short(r.Commit))
	where(app, r)
}

// why prints why a result was refused.
func why(app *cli.App, r govern.Report) {
	if r.Code != "" {
		text := r.Code
		if r.Stage != "" {
			text += " (" + string(r.Stage) + ")"
		}
		Field(app, "why", text)
	}
	for _, e := range r.Errors {
		Field(app, "", "- "+e)
	}
	Field(app, "do", r.Hint)
}

// where prints the state of the run, and what to type.
func where(app *cli.App, r govern.Report) {
	Field(app, "phase", r.EnteredPhase)
	if g := r.Gate; g != nil {
		Field(app, "gate", g.GateID+" does not pass:")
		for _, why := range g.Reasons {
			Field(app, "", "- "+why)
		}
	}
	if r.Pending != "" {
		Field(app, "gate", r.Pending+" waits for a person")
	}
	if r.BlockedOn != "" && r.Pending == "" {
		Field(app, "blocked", r.BlockedOn)
		if r.Reason != nil && !slices.Contains(r.Errors, r.Reason.Recovery.Detail) {
			Field(app, "", r.Reason.Recovery.Detail)
		}
	}
	Field(app, "next", r.Next)
}

// Field prints a line of a report: its name and the lines of its value.
func Field(app *cli.App, name, value string) {
	for line := range strings.Lines(strings.TrimSpace(value)) {
		app.Printf("  %-10s %s\n", name, strings.TrimRight(line, "\r\n"))
		name = ""
	}
}

// Change describes a change of normalization.
func Change(c protocol.Change) string {
	return fmt.Sprintf("%s: %s is read as %s (%s)", c.Field, brief(c.Original), brief(c.Normalized), strings.ReplaceAll(c.Rationale, "_", " "))
}

func brief(raw json.RawMessage) string {
	const most = 40
	text := strings.Join(strings.Fields(string(raw)), " ")
	if text == "" {
		text = "nothing"
	}
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "..."
	}
	return text
}

func short(sha string) string {
	if len(sha) > 12 {
		return sha[:12]
	}
	return sha
}

func list(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
}
