package governance

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

func TestAnOperatorStopsTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	w.refused(Escalate{}, CodeInvalidInput)
	w.refused(Escalate{Reason: "x", TurnID: "turn_no"}, CodeTurnNotActive)
	pm := w.turn("pm")
	w.must(Escalate{Reason: "Wrong API, stop!", Detail: "see mail", Action: "call Ann"})
	w.blockedOn("escalation:operator:wrong-api-stop")
	raised, _ := find[RaiseHuman](w.effects)
	if raised.Entry.Action != "call Ann" || raised.Entry.Detail != "see mail" || raised.Entry.ResolutionCommand != "drawbar govern unblock "+raised.Entry.EscalationID {
		t.Errorf("raised %+v", raised.Entry)
	}
	note := w.notes[len(w.notes)-1]
	var told protocol.Escalation
	if err := json.Unmarshal(note.Extra.At("escalation"), &told); err != nil || note.Decision != "operator_escalated" || told.Reason != "Wrong API, stop!" ||
		string(note.Extra.At("blocked_on")) != `"escalation:operator:wrong-api-stop"` {
		t.Errorf("noted %+v, %v", note, err)
	}
	if e := w.run.State.Escalation; e == nil || e.FromTurnID != pm || e.FromRole != "pm" || !w.run.State.BlockedReason.Recovery.TurnRetained {
		t.Errorf("the escalation is %+v", e)
	}
	// The stop is not the turn's: an acceptance does not lift it.
	w.accept(pm, asksFor("implementation"))
	w.blockedOn("escalation:operator:wrong-api-stop")
	w.refused(Unblock{EscalationID: "hesc_0"}, CodeUnknownEscalation)
	w.must(Unblock{EscalationID: raised.Entry.EscalationID, By: "ann"})
	w.status(protocol.RunPaused)
	if w.run.State.PendingTransition == nil || !slices.Contains(w.types(), "escalation_resolved") || w.notes[len(w.notes)-1].Decision != "escalation_resolved" {
		t.Errorf("the request behind the block is lost: %+v", w.run.State)
	}
}

func TestAResumeDoesNotClearAnApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	w.accept(w.turn("pm"), asksFor("implementation"))
	w.must(GateActionFailed{Gate: "plan", Label: "deploy", Detail: "exit 1"})
	w.blockedOn("gate_action:plan")
	if w.run.State.BlockedReason.Recovery.RecoveryAction != NextApprove {
		t.Errorf("the recovery is %s", w.run.State.BlockedReason.Recovery.RecoveryAction)
	}
	w.must(Unblock{})
	w.status(protocol.RunPaused)
	if value(w.run.State.BlockedOn, "") != "human_approval:plan" || w.run.State.PendingTransition == nil {
		t.Fatalf("the approval is gone: %+v", w.run.State)
	}
	w.must(GateActionFailed{Gate: "plan", Label: "deploy"})
	w.must(Approve{})
	w.status(protocol.RunActive)
	if w.run.State.Phase != "implementation" || len(w.run.State.OpenHuman) != 0 {
		t.Errorf("approved into %+v", w.run.State)
	}
	w.refused(GateActionFailed{}, CodeInvalidTransition)
	w.refused(Approve{}, CodeInvalidTransition)
}

func TestApproveNeedsTheRightKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	w.accept(w.turn("pm"), asksFor("implementation"))
	r := w.refused(Approve{Completion: true}, CodeInvalidTransition)
	if r.Next != NextApprove {
		t.Errorf("next is %s", r.Next)
	}
	w.run.State.PendingTransition.To = "moon"
	w.refused(Approve{}, CodeInvalidConfig)
}

func TestWhatATurnSaysOfAPerson(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		edit func(*protocol.TurnResult)
		on   string
	}{
		{"needs a person", func(r *protocol.TurnResult) {
			r.Status, r.NeedsHumanReason = protocol.ResultNeedsHuman, new("which region?")
		}, "human:which region?"},
		{"needs a person, unsaid", func(r *protocol.TurnResult) { r.Status = protocol.ResultNeedsHuman }, "human:unspecified"},
		{"cannot go on", func(r *protocol.TurnResult) { r.Status, r.Summary = protocol.ResultBlocked, "no compiler" }, "human:no compiler"},
		{"failed", func(r *protocol.TurnResult) { r.Status = protocol.ResultFailed }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, config(t))
			w.accept(w.turn("pm"), asksFor("implementation"), tc.edit)
			if len(w.run.History) != 1 {
				t.Fatal("the turn is not accepted")
			}
			if tc.on == "" {
				w.status(protocol.RunPaused)
				return
			}
			w.blockedOn(tc.on)
			if w.run.State.NextRecommendedRole != nil || w.run.State.BlockedReason.Category != "needs_human" || w.run.State.PendingTransition != nil {
				t.Errorf("the state is %+v", w.run.State)
			}
			w.must(Unblock{})
			w.status(protocol.RunActive)
		})
	}
}

func TestOneOpenEntryPerFault(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	w.to("implementation")
	dev := w.turn("dev")
	w.must(DispatchFailed{TurnID: dev, Class: "timeout"})
	first := w.run.State.OpenHuman[0].EscalationID
	w.must(HookBlocked{TurnID: dev, Phase: protocol.HookBeforeAcceptance, Hook: "lint"})
	w.blockedOn("hook:before_acceptance:lint")
	if len(w.run.State.OpenHuman) != 1 || w.run.State.OpenHuman[0].EscalationID == first {
		t.Errorf("open are %+v", w.run.State.OpenHuman)
	}
	r, ok := find[ResolveHuman](w.effects)
	if !ok || r.Entry.EscalationID != first || r.Entry.ResolvedVia != "superseded" {
		t.Errorf("resolved %+v", r)
	}
	if !strings.HasPrefix(first, "hesc_") || len(first) != len("hesc_")+16 {
		t.Errorf("the id is %s", first)
	}
	w.must(RejectTurn{TurnID: dev, Reason: "try again"})
	if len(w.run.State.OpenHuman) != 0 {
		t.Errorf("open after the rejection: %+v", w.run.State.OpenHuman)
	}
	w.status(protocol.RunActive)
}

func TestHooksThatStop(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		phase    string
		tamper   bool
		category string
		turn     protocol.TurnStatus
	}{
		{protocol.HookBeforeAcceptance, false, "hook_block", protocol.TurnFailedAcceptance},
		{protocol.HookBeforeValidation, true, "hook_tamper", protocol.TurnFailedAcceptance},
		{protocol.HookAfterDispatch, true, "hook_tamper", protocol.TurnDispatched},
		{protocol.HookBeforeAssignment, false, "hook_block", protocol.TurnDispatched},
	} {
		t.Run(tc.phase, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, config(t))
			w.refused(HookBlocked{Phase: tc.phase}, CodeInvalidInput)
			pm := w.turn("pm")
			w.must(HookBlocked{Phase: tc.phase, Hook: "guard", TurnID: pm, Tamper: tc.tamper})
			w.blockedOn("hook:" + tc.phase + ":guard")
			if w.run.State.BlockedReason.Category != tc.category || w.run.State.ActiveTurns.At(pm).Status != tc.turn {
				t.Errorf("%+v, %s", w.run.State.BlockedReason, w.run.State.ActiveTurns.At(pm).Status)
			}
		})
	}
	w := newWorld(t, config(t))
	w.accept(w.turn("pm"), asksFor("implementation"))
	w.must(HookBlocked{Phase: protocol.HookBeforeGate, Hook: "guard"})
	if w.run.State.BlockedReason.Recovery.RecoveryAction != NextApprove || w.run.State.PendingTransition == nil {
		t.Errorf("before a gate: %+v", w.run.State)
	}
}

func TestOperatorCommitsDoNotBlock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	w.refused(OperatorCommits{}, CodeInvalidInput)
	w.must(OperatorCommits{From: "a", To: "b", SHAs: []string{"b"}})
	w.status(protocol.RunActive)
	if value(w.run.State.AcceptedIntegration, "") != "git:b" || !slices.Contains(w.types(), "state_reconciled_operator_commits") {
		t.Errorf("%+v, %v", w.run.State, w.types())
	}
	w.refused(Checkpointed{TurnID: "turn_no", SHA: "a"}, CodeTurnNotActive)
	pm := w.turn("pm")
	w.accept(pm)
	w.refused(Checkpointed{TurnID: pm}, CodeInvalidInput)
	w.must(Checkpointed{TurnID: pm, SHA: "c"})
	if c := w.run.State.LastCompletedTurn; c.CheckpointSHA != "c" || c.Role != "pm" || c.Phase != "planning" {
		t.Errorf("%+v", c)
	}
}

func TestATurnThatNeverStartedBeginsAnew(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, class string
		started     bool
		fresh       bool
	}{
		{"its agent cannot do it", "unsupported", false, true},
		{"its program is not there", "spawn_failed", false, true},
		{"its program has worked", "spawn_failed", true, false},
		{"its agent has no login", "auth_failure", true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, config(t))
			w.to("implementation")
			dev := w.turn("dev")
			if tc.started {
				w.must(WorkerAttached{TurnID: dev, PID: 7})
			}
			w.must(DispatchFailed{TurnID: dev, Class: tc.class})
			head := "abc"
			w.must(Unblock{Baseline: &protocol.Baseline{HeadRef: &head}})
			got := w.run.State.ActiveTurns.At(dev).Baseline
			if fresh := got != nil && got.HeadRef != nil && *got.HeadRef == head; fresh != tc.fresh {
				t.Errorf("the baseline is %+v", got)
			}
		})
	}
}

func TestAnOlderBlockHoldsAgain(t *testing.T) {
	t.Parallel()
	t.Run("another turn's", func(t *testing.T) {
		t.Parallel()
		w, dev, qa := twoAtOnce(t)
		w.must(DispatchFailed{TurnID: dev, Class: "exit", ExitCode: 3})
		w.must(DispatchFailed{TurnID: qa, Class: "timeout"})
		w.blockedOn("dispatch:timeout")
		w.accept(qa)
		w.blockedOn("dispatch:exit-3")
		if blockedTurn(&w.run.State) != dev || NextCommand(w.run) == "" {
			t.Errorf("blocked for %+v", w.run.State.BlockedReason)
		}
		w.accept(dev)
		w.status(protocol.RunActive)
	})
	t.Run("an operator's", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, config(t))
		pm := w.turn("pm")
		w.must(Escalate{Reason: "wait"})
		w.must(DispatchFailed{TurnID: pm, Class: "timeout"})
		w.accept(pm)
		w.blockedOn("escalation:operator:wait")
		w.must(Unblock{})
		w.status(protocol.RunActive)
	})
}
