package governance

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/internal/governed/governance/protocol"
)

func TestARunFromStartToEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	if w.run.State.Phase != "planning" || w.run.State.PhaseGateStatus.At("ship") != protocol.GatePending {
		t.Fatalf("started in %+v", w.run.State)
	}
	pm := w.turn("pm")
	w.must(WorkerAttached{TurnID: pm, PID: 7, Now: w.tick()})
	w.must(FirstOutput{TurnID: pm, Stream: "stderr", Now: w.tick()})
	if s := w.run.State.ActiveTurns.At(pm); s.Status != protocol.TurnRunning || s.WorkerPID != 7 || s.FirstOutputStream != "stderr" {
		t.Errorf("the turn is %+v", s)
	}
	w.accept(pm, asksFor("implementation"))
	w.status(protocol.RunPaused)
	if got := value(w.run.State.BlockedOn, ""); got != "human_approval:plan" || w.run.State.BlockedReason != nil {
		t.Errorf("paused on %s with %v", got, w.run.State.BlockedReason)
	}
	w.refused(Unblock{Now: w.tick()}, CodeApprovalPending)
	w.refused(AssignTurn{Role: "dev", TurnID: "turn_x", Now: w.tick(), Baseline: clean()}, CodeApprovalPending)
	w.must(Approve{Now: w.tick(), By: protocol.Person{Name: "ann"}})

	dev := w.turn("dev")
	w.accept(dev, asksFor("qa"), changes("main.go"))
	if w.run.State.Phase != "qa" {
		t.Fatalf("the phase is %s: %+v", w.run.State.Phase, w.run.State.LastGateFailure)
	}
	qa := w.turn("qa")
	w.accept(qa, asksForEnd)
	w.status(protocol.RunPaused)
	w.must(Approve{Completion: true, Now: w.tick()})
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
	w.refused(AssignTurn{Role: "dev", TurnID: "turn_x", Now: w.tick()}, CodeInvalidTransition)
	w.refused(StartRun{RunID: "run_2", Now: w.tick()}, CodeInvalidTransition)
	w.must(StartRun{RunID: "run_2", Now: w.tick(), Restart: true})
	w.status(protocol.RunActive)
	if w.run.State.ID() != "run_2" || len(w.run.History) != 0 || w.run.State.Phase != "planning" {
		t.Errorf("restarted as %+v", w.run.State)
	}
	w.checkEvents()
}

func (w *world) checkEvents() {
	w.t.Helper()
	for _, e := range w.events {
		if r := ValidateEvent(e); r != nil {
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
	in := AcceptTurn{TurnID: qa, Now: w.tick(), Result: w.result(qa, asksForEnd)}
	next, effects := Transition(w.run, in)
	if next.State.Status != protocol.RunCompleted {
		t.Fatalf("the run is %s", next.State.Status)
	}
	next, more := Transition(next, Checkpointed{TurnID: qa, SHA: "abc", Now: in.Now, InAcceptance: true})
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
	_, more = Transition(next, Checkpointed{TurnID: qa, SHA: "abd", Now: w.tick()})
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
		{"blocked", protocol.State{Status: protocol.RunBlocked, RunID: &id, BlockedOn: ptr("timeout:run")}, false, CodeInvalidTransition},
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
			in := StartRun{RunID: "run_a", Now: w.tick(), Restart: tc.restart, Provenance: json.RawMessage(`{"trigger":"manual"}`),
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
	w.must(Escalate{Now: w.tick(), Reason: "stop"})
	w.must(StartRun{RunID: "run_b", Now: w.tick(), Restart: true})
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
	r := w.refused(StartRun{RunID: "run_a", Now: w.tick()}, CodeInvalidConfig)
	if !strings.Contains(r.Message, "gone") || r.Detail["field"] != "roles.dev.runtime" {
		t.Errorf("refused with %+v", r)
	}
}

func TestInputsHaveAJSONForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	pm := w.turn("pm")
	base := clean()
	base.DirtySnapshot.Set("b", "sha256:1")
	base.DirtySnapshot.Set("a", "deleted")
	for name, in := range map[string]Input{
		"accept_turn": AcceptTurn{TurnID: pm, Now: w.tick(), Result: w.result(pm), Files: []string{"a"}, Replay: &Replay{Overall: "match"}},
		"reject_turn": RejectTurn{TurnID: pm, Now: w.tick(), Reason: "no", Baseline: &base, Stage: protocol.StageSchema},
		"assign_turn": AssignTurn{Role: "pm", TurnID: "t", Now: w.tick(), Baseline: base},
	} {
		b, err := EncodeInput(in)
		if err != nil || !strings.HasPrefix(string(b), `{"`+name+`":`) {
			t.Fatalf("%s is written as %s, %v", name, b, err)
		}
		out, err := DecodeInput(b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := EncodeInput(out)
		if err != nil || string(again) != string(b) {
			t.Errorf("%s: %s became %s, %v", name, b, again, err)
		}
	}
	for _, bad := range []string{"", "[]", "{}", `{"nothing":{}}`, `{"approve":{},"stalled":{}}`, `{"approve":[]}`,
		`{"accept_turn":{"result":{"passed":["schema"],"result":{}}}}`} {
		if in, err := DecodeInput([]byte(bad)); err == nil {
			t.Errorf("%s is read as %+v", bad, in)
		}
	}
}

func TestNothingIsAcceptedWithoutValidation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	pm := w.turn("pm")
	w.refused(AcceptTurn{TurnID: pm, Now: w.tick()}, CodeNotValidated)
	w.refused(Dispatched{TurnID: pm}, CodeInvalidInput)
	for _, passed := range [][]protocol.Stage{nil, protocol.Stages()[:4], {protocol.StageSchema, protocol.StageSchema, "artifact", "verification", "protocol"}} {
		if v, err := Prove(passed, w.result(pm).Result()); err == nil || v.Valid() {
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
			w.refused(AcceptTurn{TurnID: pm, Now: w.tick(), Result: w.result(pm, edit)}, CodeForeignResult)
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
	w.must(Approve{Completion: true, Now: w.tick()})
	now := w.tick()
	for name, in := range inputs {
		b, err := EncodeInput(in)
		if err != nil {
			t.Fatal(err)
		}
		in, err := DecodeInput([]byte(strings.Replace(string(b), `"now":null`, `"now":"`+now.String()+`"`, 1)))
		if err != nil {
			t.Fatal(err)
		}
		want := CodeInvalidTransition
		if _, ok := in.(Checkpointed); ok {
			want = CodeTurnNotActive // of no turn; one of the run's is recorded
		}
		if r := w.refused(in, want); name != "checkpointed" && r.Next != NextRestart {
			t.Errorf("%s: next is %s", name, r.Next)
		}
	}
	w.refused(OperatorCommits{From: "a", To: "b", Now: now}, CodeInvalidTransition)
	w.refused(AcceptTurn{TurnID: qa, Now: now, Result: result}, CodeAlreadyAccepted)
}
