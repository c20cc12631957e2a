package view

import (
	"cmp"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/cli/notify"
	"github.com/drawbar/drawbar/internal/settings/config"
)

// tell tells the user that an agent asks, or that a turn waits for a person's result.
func (l *live) tell(n govern.Notice) {
	switch {
	case l.tells == nil:
	case n.Kind == govern.NoticeEvent && n.Event != nil:
		l.tells.Question(*n.Event)
	case n.Kind == govern.NoticeProgress && n.Progress.Stage == govern.StageWaiting:
		l.tells.Ask(n.TurnID, notify.Notice{Agent: n.Role, Text: "turn " + n.TurnID + " is a person's"})
	case n.Kind != govern.NoticeProgress && n.TurnID != "":
		l.tells.Answered(n.TurnID)
	}
}

// end ends the display, and tells the user how the command ended.
func (l *live) end(report any) {
	l.clear()
	if l.tells == nil {
		return
	}
	if err, failed := report.(error); failed && execution.CodeOf(err) == execution.CodeInterrupted {
		report = nil // the user did that
	}
	if notice, ok := ending(report); ok {
		l.tells.End(notice)
	}
	l.tells.Close()
}

// ending is what the user is told of a report; not ok if it is nothing.
func ending(report any) (n notify.Notice, ok bool) {
	var last govern.Report
	switch r := report.(type) {
	case govern.Report:
		n.Text, last = string(r.Outcome), r
	case govern.RunReport:
		n.Text, last = sentence(r.Stop), r.Last
		switch r.Stop {
		case govern.StopGateHeld, govern.StopHumanTurn:
			n.Event = config.NotifyWaiting
		case govern.StopBlocked:
			last.Outcome = govern.OutcomeBlocked
		case govern.StopCompleted, govern.StopMaxTurns:
			n.Event = config.NotifyFinished
		case govern.StopInterrupted, govern.StopPlan:
			return n, false
		}
	case govern.MultiReport:
		n.RunID, n.Text = execution.RunID(r.SuperRunID), string(r.Action)
		if len(r.Blockers) > 0 {
			n.Text += ": " + r.Blockers[0].Message
		}
		switch r.Action {
		case govern.MultiTurn:
			if r.Turn != nil {
				last = *r.Turn
			}
		case govern.MultiGate, govern.MultiWaiting:
			n.Event = config.NotifyWaiting
		case govern.MultiBlocked:
			n.Event = config.NotifyFailed
		case govern.MultiCompleted:
			n.Event = config.NotifyFinished
		}
	case error:
		n.Event, n.Text = config.NotifyFailed, r.Error()
	}
	if n.Event == "" {
		n.Event = eventOf(last)
	}
	if n.RunID == "" {
		n.RunID = execution.RunID(last.RunID)
	}
	for _, more := range []string{last.Summary, cmp.Or(last.Pending, last.BlockedOn), strings.Join(last.Errors, "; "), last.Next} {
		if more != "" {
			n.Text += ": " + more
		}
	}
	if last.SpentUSD > 0 {
		n.CostUSD = &last.SpentUSD
	}
	n.Agent = "governed run"
	return n, n.Event != ""
}

// eventOf is what notify.on calls the end of a turn; empty if there is nothing to tell.
func eventOf(r govern.Report) string {
	if r.Outcome == govern.OutcomeInterrupted || r.Outcome == govern.OutcomeDone || r.Outcome == govern.OutcomeAssigned {
		return ""
	}
	kind := ""
	if r.Reason != nil {
		kind = r.Reason.Category
	}
	switch {
	case kind == "budget_exhausted":
		return config.NotifyBudget
	case r.Outcome == govern.OutcomePaused, r.Pending != "", kind == "needs_human", kind == "operator_escalation":
		return config.NotifyWaiting
	case r.Outcome == govern.OutcomeBlocked, r.Outcome == govern.OutcomeFailed:
		return config.NotifyFailed
	case r.Outcome == govern.OutcomeCompleted, r.Outcome == govern.OutcomeAccepted:
		return config.NotifyFinished
	}
	return ""
}
