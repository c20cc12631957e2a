package multi

import (
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
)

// code is the exit code of a report: that of the turn, or 20 if a person is needed.
func code(r govern.MultiReport) error {
	switch {
	case r.Action == govern.MultiGate, r.Action == govern.MultiWaiting:
		return &exitcode.Error{Code: execution.ExitWaiting, Silent: true}
	case r.Action == govern.MultiAssigned && r.Turns > 0, r.Action == govern.MultiAssigned && r.Turn != nil:
		return &exitcode.Error{Code: execution.ExitWaiting, Silent: true}
	case r.Action == govern.MultiBlocked:
		return view.Code(govern.OutcomeBlocked)
	case r.Turn != nil:
		if err := view.Code(r.Turn.Outcome); err != nil {
			return err
		}
		if r.Turns > 0 { // a turn is last only at the limit
			return &exitcode.Error{Code: execution.ExitLimit, Silent: true}
		}
	}
	return nil
}

// blocked is the exit code of a command that found the reason of a block.
func blocked(reason string) error {
	if reason == "" {
		return nil
	}
	return view.Code(govern.OutcomeBlocked)
}

func show(app *cli.App, r govern.MultiReport) {
	turns := ""
	if r.Turns > 0 {
		turns = ", after " + cli.Number(r.Turns, "turn", "turns")
	}
	switch r.Action {
	case govern.MultiTurn, govern.MultiAssigned:
		if t := r.Turn; t != nil {
			one := *t
			if one.Next = ""; t.Outcome == govern.OutcomeInterrupted {
				one.Hint = "" // it names the repository's own command
			}
			app.Printf("%s, workstream %s%s: ", r.RepoID, r.WorkstreamID, preparing(r.Preparing))
			view.Print(app, one)
			break
		}
		app.Printf("%s, workstream %s%s: assigned  %s (%s)\n", r.RepoID, r.WorkstreamID, preparing(r.Preparing), r.TurnID, r.Role)
		view.Field(app, "bundle", r.BundlePath)
	case govern.MultiGate:
		app.Printf("waiting for approval%s: %s\n", turns, gate(r.Gate))
	case govern.MultiApproved:
		app.Printf("approved; phase %s\n", r.Phase)
	case govern.MultiWaiting:
		app.Printf("waiting%s for:\n", turns)
	case govern.MultiBlocked:
		app.Printf("blocked%s: %s\n", turns, r.BlockedReason)
	case govern.MultiResumed:
		app.Printf("resumed; phase %s\n", r.Phase)
	case govern.MultiCompleted:
		app.Printf("completed%s: %s\n", turns, r.SuperRunID)
	}
	effects(app, r.Effects)
	blockers(app, r.Blockers)
	if r.Action != govern.MultiCompleted {
		view.Field(app, "next", r.Next)
	}
}

func preparing(yes bool) string {
	if yes {
		return " (not in its phase yet)"
	}
	return ""
}

func gate(g *protocol.CoordinatorGate) string {
	if g == nil {
		return ""
	}
	switch g.Type {
	case protocol.GatePhase:
		return fmt.Sprintf("end of phase %s, start of %s", g.From, g.To)
	case protocol.GateCompletion:
		return "end of the run (" + g.Gate + ")"
	}
	return "barrier " + g.Gate
}

func effects(app *cli.App, list []govern.BarrierEffect) {
	for _, x := range list {
		view.Field(app, "barrier", fmt.Sprintf("%s is %s", x.BarrierID, words(string(x.New))))
	}
}

func words(s string) string { return strings.ReplaceAll(s, "_", " ") }

func blockers(app *cli.App, list []govern.MultiBlocker) {
	for _, b := range list {
		text := "- " + b.Message
		if b.Next != "" {
			text += ": " + b.Next
		}
		app.Printf("  %s\n", text)
	}
}

func showStatus(app *cli.App, st govern.MultiStatus) {
	if !st.Begun {
		app.Printf("%s: no run\n", st.Project.Name)
	} else {
		app.Printf("%s: %s, phase %s  %s\n", st.Project.Name, st.State.Status, st.State.Phase, st.State.SuperRunID)
	}
	t := app.ShortTable("REPOSITORY", "RUN", "STATUS", "PHASE", "TURN", "PATH")
	for _, r := range st.Repos {
		status := string(r.Status)
		switch {
		case r.Fault != "":
			status = "unreadable"
		case r.Gate != "":
			status = "gate " + r.Gate
		}
		t.Row(r.ID, r.RunID, status, r.Phase, strings.Join(r.Turns, " "), r.Path)
	}
	_ = t.Flush() // nowhere to report an error
	if st.Begun {
		t := app.ShortTable("WORKSTREAM", "BARRIER", "STATUS", "DELIVERED", "MISSING")
		for _, b := range st.Barriers.All() {
			var rest []string
			for _, r := range b.RequiredRepos {
				if !strings.Contains(" "+strings.Join(b.SatisfiedRepos, " ")+" ", " "+r+" ") {
					rest = append(rest, r)
				}
			}
			t.Row(b.WorkstreamID, b.Type, words(string(b.Status)), strings.Join(b.SatisfiedRepos, " "), strings.Join(rest, " "))
		}
		_ = t.Flush()
		if st.State.PendingGate != nil {
			view.Field(app, "gate", "waiting for approval: "+gate(st.State.PendingGate))
		}
		view.Field(app, "blocked", st.State.BlockedReason)
	}
	if len(st.Blockers) > 0 {
		app.Printf("waiting for:\n")
		blockers(app, st.Blockers)
	}
	view.Field(app, "next", st.Next)
}

func showResync(app *cli.App, r govern.MultiResync, dry bool) {
	switch {
	case !r.Diverged:
		app.Printf("nothing new in the repositories\n")
		return
	case dry:
		app.Printf("not recorded yet:\n")
	default:
		app.Printf("recorded:\n")
	}
	for _, m := range r.Mismatches {
		view.Field(app, m.RepoID, m.Detail)
	}
	effects(app, r.Effects)
	view.Field(app, "blocked", r.BlockedReason)
}
