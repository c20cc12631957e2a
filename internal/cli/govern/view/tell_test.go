package view

import (
	"errors"
	"testing"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// TestEnding: what a person is told of the end of each command.
func TestEnding(t *testing.T) {
	t.Parallel()
	blocked := func(category string) govern.Report {
		return govern.Report{Outcome: govern.OutcomeBlocked, RunID: "run_1", BlockedOn: "x", Reason: &protocol.BlockedReason{Category: category}, Next: "drawbar next"}
	}
	for _, tt := range []struct {
		report     any
		event, run string
		text       string
	}{
		{govern.Report{Outcome: govern.OutcomeAccepted, RunID: "run_1", Summary: "built it"}, "finished", "run_1", "accepted: built it"},
		{govern.Report{Outcome: govern.OutcomeAccepted, RunID: "run_1", Pending: "shipped", Next: "drawbar govern approve"}, "waiting", "run_1", "accepted: shipped: drawbar govern approve"},
		{govern.Report{Outcome: govern.OutcomeFailed, Errors: []string{"a", "b"}}, "failed", "", "failed: a; b"},
		{govern.Report{Outcome: govern.OutcomeInterrupted}, "", "", ""},
		{govern.Report{Outcome: govern.OutcomeAssigned}, "", "", ""},
		{govern.Report{}, "", "", ""},
		{blocked("dispatch_error"), "failed", "run_1", "blocked: x: drawbar next"},
		{blocked("needs_human"), "waiting", "run_1", "blocked: x: drawbar next"},
		{blocked("budget_exhausted"), "budget", "run_1", "blocked: x: drawbar next"},
		{govern.RunReport{Stop: govern.StopGateHeld, Last: govern.Report{Pending: "shipped"}}, "waiting", "", "A gate waits for a person: shipped"},
		{govern.RunReport{Stop: govern.StopHumanTurn}, "waiting", "", "The next turn is a person's"},
		{govern.RunReport{Stop: govern.StopBlocked, Last: blocked("budget_exhausted")}, "budget", "run_1", "The run is blocked: x: drawbar next"},
		{govern.RunReport{Stop: govern.StopBlocked, Last: govern.Report{Outcome: govern.OutcomeFailed, Errors: []string{"a"}}}, "failed", "", "The run is blocked: a"},
		{govern.RunReport{Stop: govern.StopCompleted}, "finished", "", "The run is completed"},
		{govern.RunReport{Stop: govern.StopMaxTurns}, "finished", "", "The turn limit is reached"},
		{govern.RunReport{Stop: govern.StopInterrupted, Last: blocked("x")}, "", "", ""},
		{govern.RunReport{Stop: govern.StopPlan}, "", "", ""},
		{govern.MultiReport{Action: govern.MultiGate, SuperRunID: "srun_1"}, "waiting", "srun_1", "gate"},
		{govern.MultiReport{Action: govern.MultiWaiting, SuperRunID: "srun_1", Blockers: []govern.MultiBlocker{{Message: "api is blocked"}}}, "waiting", "srun_1", "waiting: api is blocked"},
		{govern.MultiReport{Action: govern.MultiCompleted, SuperRunID: "srun_1"}, "finished", "srun_1", "completed"},
		{govern.MultiReport{Action: govern.MultiTurn, SuperRunID: "srun_1", Turn: &govern.Report{Outcome: govern.OutcomeFailed, Errors: []string{"a"}}}, "failed", "srun_1", "turn: a"},
		{errors.New("no such role"), "failed", "", "no such role"},
		{govern.Status{}, "", "", ""},
		{nil, "", "", ""},
	} {
		n, ok := ending(tt.report)
		if ok != (tt.event != "") || ok && (n.Event != tt.event || string(n.RunID) != tt.run || n.Text != tt.text || n.Agent != "governed run") {
			t.Errorf("%+v: %v %+v", tt.report, ok, n)
		}
	}
}
