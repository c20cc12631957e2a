package governance

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

// asked is a run whose planning gate waits for a person.
func asked(t *testing.T, edits ...string) *world {
	t.Helper()
	w := newWorld(t, config(t, edits...))
	w.accept(w.turn("pm"), asksFor("implementation"))
	w.status(protocol.RunPaused)
	return w
}

// last is the payload of the last event of a type.
func (w *world) last(eventType string) string {
	w.t.Helper()
	for i := len(w.events) - 1; i >= 0; i-- {
		if w.events[i].EventType == eventType {
			return string(w.events[i].Payload)
		}
	}
	w.t.Fatalf("no event %s", eventType)
	return ""
}

func (w *world) says(text string, want ...string) {
	w.t.Helper()
	for _, s := range want {
		if !strings.Contains(text, s) {
			w.t.Errorf("%s lacks %s", text, s)
		}
	}
}

// TestAnApprovalIsSignedAndClearsWhatStoodBeforeIt: the block of a failed action goes, its human task too, and the gate has passed.
func TestAnApprovalIsSignedAndClearsWhatStoodBeforeIt(t *testing.T) {
	t.Parallel()
	w := asked(t)
	w.must(GateActionFailed{Label: "deploy", Detail: "exit 1"})
	w.blockedOn("gate_action:plan")
	if n := w.notes[len(w.notes)-1]; n.Type != "gate_action" || string(n.Extra.At("detail")) != `"exit 1"` {
		t.Errorf("noted %+v", n)
	}
	w.must(Approve{By: ann, Comment: "well planned"})
	st := w.run.State
	if st.Phase != "implementation" || st.PhaseGateStatus.At("plan") != protocol.GatePassed || len(st.OpenHuman) != 0 || st.BlockedReason != nil || st.BlockedOn != nil {
		t.Errorf("approved into %+v", st)
	}
	w.says(w.last("gate_approved"), `"by":"Ann <ann@x>"`, `"by_user":"root"`, `"comment":"well planned"`, `"gate_id":"plan"`, `"gate_type":"phase_transition"`)
	w.refused(Approve{}, CodeInvalidTransition)

	w.to("qa")
	w.accept(w.turn("qa"), asksForEnd)
	w.must(GateActionFailed{Label: "publish"})
	w.blockedOn("gate_action:ship")
	w.must(Approve{Completion: true})
	w.status(protocol.RunCompleted)
	if w.run.State.PhaseGateStatus.At("ship") != protocol.GatePassed || len(w.run.State.OpenHuman) != 0 {
		t.Errorf("completed as %+v", w.run.State)
	}
}

// TestAGateIsAskedAgainWhenItIsApproved: files that went, a gate or a phase that the configuration has no more, the end.
func TestAGateIsAskedAgainWhenItIsApproved(t *testing.T) {
	t.Parallel()
	files := []string{`"plan": {"requires_human_approval": true}`, `"plan": {"requires_human_approval": true, "requires_files": ["NOTES.md"]}`}
	w := asked(t, files...)
	w.says(w.refused(Approve{}, CodeGateFailed).Message, "plan does not pass", "NOTES.md")
	w.refused(Approve{Completion: true}, CodeInvalidTransition)

	w = asked(t)
	w.run.Config = config(t, `"exit_gate": "plan"`, `"exit_gate": "ship"`)
	w.says(w.refused(Approve{}, CodeGateFailed).Message, "gate plan is pending", "gate ship")
	w.run.Config = config(t, `"implementation": {"entry_role"`, `"building": {"entry_role"`)
	w.refused(Approve{}, CodeInvalidConfig)

	w = newWorld(t, config(t, `"ship": {"requires_human_approval": true}`, `"ship": {"requires_human_approval": true, "requires_files": ["NOTES.md"]}`))
	w.to("qa")
	w.accept(w.turn("qa"), asksForEnd)
	w.says(w.refused(Approve{Completion: true}, CodeGateFailed).Message, "ship does not pass")
	w.must(Approve{Completion: true, GateFiles: map[string]string{"NOTES.md": "notes"}})
	w.status(protocol.RunCompleted)
}

// TestWhoApproves: only those whom the gate names, and as many people as it wants.
func TestWhoApproves(t *testing.T) {
	t.Parallel()
	w := asked(t, `"plan": {"requires_human_approval": true}`, `"plan": {"requires_human_approval": true, "approvers": ["ann@x", "bob@x"], "min_approvals": 2}`)
	bob := protocol.Person{Name: "Bob", Email: "bob@x"}
	eve := protocol.Person{Name: "Eve", Email: "eve@x"}
	w.refused(Approve{By: eve}, CodeNotApprover)
	w.refused(Decline{By: eve, Reason: "no"}, CodeNotApprover)
	w.must(Approve{By: ann, Comment: "yes"})
	w.status(protocol.RunPaused)
	w.says(w.last("gate_approval"), `"approvals":1`, `"required":2`, `"by":"Ann <ann@x>"`, `"comment":"yes"`)
	w.says(w.refused(Approve{By: ann}, CodeInvalidTransition).Message, "has already approved gate plan")
	w.must(Approve{By: bob})
	w.status(protocol.RunActive)
}

// TestADeclineSendsBack: to the role that asked in its phase, or where the person says, as far as the routing allows.
func TestADeclineSendsBack(t *testing.T) {
	t.Parallel()
	w := asked(t)
	w.refused(Decline{Reason: " "}, CodeInvalidInput)
	for what, in := range map[string]Decline{"another gate": {Gate: "built"}, "a later phase": {Phase: "qa"}, "no phase": {Phase: "moon"}, "a role of no turn here": {Role: "qa"}} {
		in.Reason = "no"
		if r := w.refused(in, CodeInvalidInput); r.Next == "" {
			t.Errorf("%s leads nowhere", what)
		}
	}
	w.must(GateActionFailed{Label: "deploy"})
	w.must(Decline{By: ann, Reason: "no tests"})
	st := &w.run.State
	if st.Status != protocol.RunActive || st.Phase != "planning" || st.PendingTransition != nil || len(st.OpenHuman) != 0 || st.PhaseGateStatus.At("plan") != protocol.GateFailed ||
		value(st.NextRecommendedRole, "") != "pm" || st.LastGateFailure == nil || !strings.Contains(st.LastGateFailure.Reasons[0], "Ann <ann@x>: no tests") {
		t.Errorf("declined into %+v", st)
	}
	if n := w.notes[len(w.notes)-1]; n.Decision != "gate_declined" || string(n.Extra.At("reason")) != `"no tests"` || string(n.Extra.At("by")) != `"Ann <ann@x>"` {
		t.Errorf("noted %+v", n)
	}
	w.says(w.last("gate_declined"), `"by":"Ann <ann@x>"`, `"to_role":"pm"`, `"from_phase":"planning"`)
	w.refused(Decline{Reason: "again"}, CodeInvalidTransition)
	// Until a turn answers, an approval takes it back; a turn under way has answered.
	if Reclaimable(st) == nil {
		t.Error("nobody has acted on it, and it cannot be taken back")
	}
	turn := w.turn("pm")
	if Reclaimable(st) != nil {
		t.Error("a turn is under way, and the decline is taken back")
	}
	w.accept(turn, asksFor("implementation"))
	w.must(Approve{})
	if w.run.State.Phase != "implementation" || strings.Contains(w.last("gate_approved"), "undoes") {
		t.Errorf("approved into %s: %s", w.run.State.Phase, w.last("gate_approved"))
	}

	w = asked(t)
	w.must(Decline{Reason: "no"})
	w.accept(w.turn("pm")) // it answers, and asks for nothing
	if Reclaimable(&w.run.State) != nil {
		t.Error("a turn has answered, and the decline is taken back")
	}

	w = asked(t, `"plan": {"requires_human_approval": true}`, `"plan": {"requires_human_approval": true, "min_approvals": 2}`)
	w.must(Decline{By: ann, Reason: "no"})
	w.must(Approve{By: ann})
	w.status(protocol.RunPaused)
	if w.run.State.LastGateFailure != nil || w.run.State.PendingTransition == nil {
		t.Errorf("it waits again, and says %+v", w.run.State.LastGateFailure)
	}

	w = asked(t)
	w.must(Decline{Reason: "no"})
	w.must(Approve{})
	w.says(w.last("gate_approved"), `"undoes":"gate_declined"`)
	if w.run.State.Phase != "implementation" || w.run.State.LastGateFailure != nil {
		t.Errorf("taken back into %+v", w.run.State)
	}
}

// TestADeclineGoesToTheRoleThatAsked, and not to the one that begins the phase; another gate is not taken back while one waits.
func TestADeclineGoesToTheRoleThatAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t, `"requires_verification_pass": true`, `"requires_verification_pass": true, "requires_human_approval": true`))
	w.to("implementation")
	w.accept(w.turn("qa"), asksFor("qa"))
	w.says(w.refused(Decline{Gate: "plan", Reason: "no"}, CodeInvalidInput).Message, "gate built is pending, not plan")
	w.must(Decline{Reason: "no"})
	if role := value(w.run.State.NextRecommendedRole, ""); role != "qa" {
		t.Errorf("%s goes on, want qa", role)
	}

	w = newWorld(t, config(t))
	w.to("qa")
	w.accept(w.turn("qa"), asksForEnd)
	w.must(Decline{Reason: "not yet"})
	w.status(protocol.RunActive)
	if st := w.run.State; st.PendingCompletion != nil || st.Phase != "qa" || !strings.Contains(w.last("gate_declined"), "run_completion") {
		t.Errorf("declined into %+v", st)
	}
}

// TestAPassedGateIsTakenBack: between two turns only, with every gate on the way; a person chooses a role that has a turn there.
func TestAPassedGateIsTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	w.to("qa")
	w.refused(Decline{Gate: "ship", Reason: "no"}, CodeInvalidInput) // not passed
	w.refused(Decline{Gate: "moon", Reason: "no"}, CodeInvalidInput)
	turn := w.turn("qa")
	w.refused(Decline{Gate: "plan", Reason: "no"}, CodeInvalidTransition)
	w.accept(turn)
	w.must(Decline{Gate: "built", Phase: "planning", Reason: "the plan was wrong"})
	st := w.run.State
	if st.Phase != "planning" || st.PhaseGateStatus.At("plan") != protocol.GatePending || st.PhaseGateStatus.At("built") != protocol.GateFailed ||
		value(st.NextRecommendedRole, "") != "pm" { // qa had the last turn, and has none in planning
		t.Errorf("taken back into %s, %+v, next %s", st.Phase, st.PhaseGateStatus, value(st.NextRecommendedRole, ""))
	}
	w.says(w.last("gate_declined"), `"undoes":"gate_approved"`)
	w.says(w.last("phase_entered"), `"trigger":"declined"`, `"to":"planning"`)

	w = newWorld(t, config(t))
	w.to("implementation")
	w.run.State.PhaseGateStatus.Set("plan", protocol.GatePending)
	w.refused(Decline{Gate: "plan", Reason: "no"}, CodeInvalidInput)
}

// TestADeclineBeginsTheCountOfProgressAnew: what was done again after a no is no standstill.
func TestADeclineBeginsTheCountOfProgressAnew(t *testing.T) {
	t.Parallel()
	w := asked(t)
	w.run.State.NonProgressSignature, w.run.State.NonProgressCount = new("same"), 2
	w.must(Decline{Reason: "no"})
	if w.run.State.NonProgressCount != 0 || w.run.State.NonProgressSignature != nil {
		t.Errorf("%d without progress", w.run.State.NonProgressCount)
	}
}
