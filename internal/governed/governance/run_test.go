package governance

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

func TestARunFromStartToEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	if w.run.State.Phase != "planning" || w.run.State.PhaseGateStatus.At("ship") != protocol.GatePending {
		t.Fatalf("started in %+v", w.run.State)
	}
	pm := w.turn("pm")
	w.must(WorkerAttached{TurnID: pm, PID: 7})
	w.must(FirstOutput{TurnID: pm, Stream: "stderr"})
	if s := w.run.State.ActiveTurns.At(pm); s.Status != protocol.TurnRunning || s.WorkerPID != 7 || s.FirstOutputStream != "stderr" {
		t.Errorf("the turn is %+v", s)
	}
	w.accept(pm, asksFor("implementation"))
	w.status(protocol.RunPaused)
	if got := value(w.run.State.BlockedOn, ""); got != "human_approval:plan" || w.run.State.BlockedReason != nil {
		t.Errorf("paused on %s with %v", got, w.run.State.BlockedReason)
	}
	w.refused(Unblock{}, CodeApprovalPending)
	w.refused(AssignTurn{Role: "dev", TurnID: "turn_x", Baseline: clean()}, CodeApprovalPending)
	w.must(Approve{By: protocol.Person{Name: "ann"}})

	dev := w.turn("dev")
	w.accept(dev, asksFor("qa"), changes("main.go"))
	if w.run.State.Phase != "qa" {
		t.Fatalf("the phase is %s: %+v", w.run.State.Phase, w.run.State.LastGateFailure)
	}
	qa := w.turn("qa")
	w.accept(qa, asksForEnd)
	w.status(protocol.RunPaused)
	w.must(Approve{Completion: true})
	w.status(protocol.RunCompleted)
	st := w.run.State
	if st.CompletedAt.IsZero() || st.PendingCompletion != nil || st.BlockedOn != nil || st.TurnSequence != 6 {
		t.Errorf("ended as %+v", st)
	}
	want := []string{"run_started", "turn_dispatched", "turn_accepted", "gate_pending", "gate_approved", "phase_entered",
		"turn_dispatched", "turn_accepted", "phase_entered", "turn_dispatched", "turn_accepted", "gate_pending", "gate_approved", "run_completed"}
	if diff := cmp.Diff(want, w.types()); diff != "" {
		t.Error(diff)
	}
	w.checkEvents()
	sum, ok := find[Summarize](w.effects)
	if !ok || sum.Summary.TotalTurns != 3 || !slices.Equal(sum.Summary.RolesUsed, []string{"pm", "dev", "qa"}) || len(sum.Summary.PhasesCompleted) != 3 {
		t.Errorf("summed up as %+v", sum)
	}
	w.refused(AssignTurn{Role: "dev", TurnID: "turn_x"}, CodeInvalidTransition)
	w.refused(StartRun{RunID: "run_2"}, CodeInvalidTransition)
	w.must(StartRun{RunID: "run_2", Restart: true})
	w.status(protocol.RunActive)
	if w.run.State.ID() != "run_2" || len(w.run.History) != 0 || w.run.State.Phase != "planning" {
		t.Errorf("restarted as %+v", w.run.State)
	}
	w.checkEvents()
}

func (w *world) checkEvents() {
	w.t.Helper()
	for _, e := range w.events {
		if r := validateEvent(e); r != nil {
			w.t.Errorf("%s: %s", e.EventType, r.Message)
		}
	}
	if r := ValidateOrdering(w.events); r != nil {
		w.t.Errorf("%s: %v", r.Message, w.types())
	}
}

func TestAnAcceptanceThatEndsTheRunLeavesRoomForItsCheckpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t, `"ship": {"requires_human_approval": true}`, `"ship": {}`))
	w.to("qa")
	qa := w.turn("qa")
	in := AcceptTurn{TurnID: qa, Result: w.result(qa, asksForEnd)}
	now := w.tick()
	next, effects := Transition(w.run, now, in)
	if next.State.Status != protocol.RunCompleted {
		t.Fatalf("the run is %s", next.State.Status)
	}
	next, more := Transition(next, now, Checkpointed{TurnID: qa, SHA: "abc", InAcceptance: true})
	var early, late []protocol.Event
	for _, e := range append(effects, more...) {
		if e, ok := e.(Emit); ok && e.AfterCheckpoint {
			late = append(late, e.Event)
		} else if ok {
			early = append(early, e.Event)
		}
	}
	w.events = append(append(w.events, early...), late...)
	types := w.types()
	if !slices.Equal(types[len(types)-3:], []string{"turn_accepted", "turn_checkpointed", "run_completed"}) {
		t.Errorf("the record ends with %v", types)
	}
	if r := ValidateOrdering(w.events); r != nil {
		t.Error(r.Message)
	}
	if next.State.Status != protocol.RunCompleted || value(next.State.AcceptedIntegration, "") != "git:abc" || next.History[len(next.History)-1].CheckpointSHA != "abc" {
		t.Errorf("the checkpoint left %+v", next.State)
	}
	_, more = Transition(next, w.tick(), Checkpointed{TurnID: qa, SHA: "abd"})
	if _, ok := find[Emit](more); ok {
		t.Error("an event stands behind the end of the run")
	}
}

func TestWhatStartsARun(t *testing.T) {
	t.Parallel()
	id := "run_9"
	for _, tc := range []struct {
		name    string
		state   protocol.State
		restart bool
		code    string
	}{
		{"idle", protocol.State{Status: protocol.RunIdle}, false, ""},
		{"blocked before any run", protocol.State{Status: protocol.RunBlocked}, false, ""},
		{"blocked", protocol.State{Status: protocol.RunBlocked, RunID: &id, BlockedOn: new("timeout:run")}, false, CodeInvalidTransition},
		{"blocked, restart", protocol.State{Status: protocol.RunBlocked, RunID: &id}, true, ""},
		{"active, restart", protocol.State{Status: protocol.RunActive, RunID: &id}, true, CodeInvalidTransition},
		{"paused, restart", protocol.State{Status: protocol.RunPaused, RunID: &id, PendingCompletion: &protocol.PendingEnd{Gate: "g"}}, true, CodeInvalidTransition},
		{"paused for nothing", protocol.State{Status: protocol.RunPaused, RunID: &id}, false, CodeInvalidTransition},
		{"paused for nothing, restart", protocol.State{Status: protocol.RunPaused, RunID: &id}, true, ""},
		{"completed", protocol.State{Status: protocol.RunCompleted, RunID: &id}, false, CodeInvalidTransition},
		{"completed, restart", protocol.State{Status: protocol.RunCompleted, RunID: &id}, true, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := &world{t: t, run: Run{Config: config(t), State: tc.state}}
			in := StartRun{RunID: "run_a", Restart: tc.restart, Provenance: json.RawMessage(`{"trigger":"manual"}`),
				RepoDecisions: []protocol.RepoDecision{{ID: "DEC-001", Status: "active"}, {ID: "DEC-002", Status: "overridden"}}}
			if tc.code != "" {
				w.refused(in, tc.code)
				return
			}
			w.must(in)
			if st := w.run.State; st.ID() != "run_a" || len(st.RepoDecisions) != 1 || string(st.Provenance) == "" || *st.BudgetStatus.RemainingUSD != 10 {
				t.Errorf("started as %+v", st)
			}
		})
	}
}

func TestARestartArchivesWhatWasActive(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	pm := w.turn("pm")
	w.must(Escalate{Reason: "stop"})
	w.must(StartRun{RunID: "run_b", Restart: true})
	if a, ok := find[Archive](w.effects); !ok || a.TurnID != pm {
		t.Errorf("the turn is not archived: %v", w.effects)
	}
	if s, ok := find[Summarize](w.effects); !ok || s.Summary.Status != protocol.RunBlocked || s.Summary.RunID == "run_b" {
		t.Errorf("the old run is not summed up: %+v", s)
	}
	if len(w.run.State.OpenHuman) != 0 || w.run.State.ActiveTurns.Len() != 0 || w.run.State.BudgetReservations.Len() != 0 {
		t.Errorf("left over: %+v", w.run.State)
	}
}

func TestAConfigurationWithoutARuntimeDoesNotStart(t *testing.T) {
	t.Parallel()
	w := &world{t: t, run: Run{Config: config(t, `"runtime": "cli"`, `"runtime": "gone"`), State: protocol.State{Status: protocol.RunIdle}}}
	r := w.refused(StartRun{RunID: "run_a"}, CodeInvalidConfig)
	if !strings.Contains(r.Message, "gone") || r.Detail["field"] != "roles.dev.runtime" {
		t.Errorf("refused with %+v", r)
	}
}

func TestNothingIsAcceptedWithoutValidation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	pm := w.turn("pm")
	w.refused(AcceptTurn{TurnID: pm}, CodeNotValidated)
	if _, effects := Transition(w.run, protocol.Time{}, Dispatched{TurnID: pm}); effects[0].(Refused).Code != CodeInvalidInput {
		t.Errorf("an input without its moment: %+v", effects)
	}
	for _, passed := range [][]protocol.Stage{nil, protocol.Stages()[:4], {protocol.StageSchema, protocol.StageSchema, "artifact", "verification", "protocol"}} {
		if v, err := Prove(passed, w.result(pm).Result()); err == nil || v.Result() != nil {
			t.Errorf("%v proves a result", passed)
		}
	}
	if _, err := Prove(protocol.Stages(), nil); err == nil {
		t.Error("nothing proves a result")
	}
	for name, edit := range map[string]func(*protocol.TurnResult){
		"turn":    func(r *protocol.TurnResult) { r.TurnID = "turn_other" },
		"run":     func(r *protocol.TurnResult) { r.RunID = "run_other" },
		"role":    func(r *protocol.TurnResult) { r.Role = "dev" },
		"runtime": func(r *protocol.TurnResult) { r.RuntimeID = "cli" },
	} {
		t.Run(name, func(t *testing.T) {
			w.refused(AcceptTurn{TurnID: pm, Result: w.result(pm, edit)}, CodeForeignResult)
		})
	}
	v := w.result(pm)
	v.Result().Summary = "changed behind the proof"
	if v.Result().Summary != "done" {
		t.Error("a proof can be changed")
	}
}

func TestNothingChangesACompletedRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	w.to("qa")
	qa := w.turn("qa")
	result := w.result(qa)
	w.accept(qa, asksForEnd)
	w.must(Approve{Completion: true})
	for _, in := range []Input{
		StartRun{}, AssignTurn{}, TakeUp{}, Dispatched{}, WorkerAttached{}, Attempted{}, FirstOutput{}, AcceptTurn{}, FailAcceptance{},
		RejectTurn{}, ReissueTurn{}, DispatchFailed{}, StartFailed{}, Stalled{}, Approve{}, GateActionFailed{}, HookBlocked{},
		Escalate{}, Unblock{}, TimedOut{}, OperatorCommits{}, RuleObjection{}, Decline{},
	} {
		if r := w.refused(in, CodeInvalidTransition); r.Next != NextRestart {
			t.Errorf("%T: next is %s", in, r.Next)
		}
	}
	w.refused(Checkpointed{}, CodeTurnNotActive) // of no turn; one of the run's is recorded
	w.refused(OperatorCommits{From: "a", To: "b"}, CodeInvalidTransition)
	w.refused(AcceptTurn{TurnID: qa, Result: result}, CodeAlreadyAccepted)
}
