package governance

import (
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

func TestTheHistoryOfAnAcceptedTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	pm := w.turn("pm")
	start := w.now
	change := protocol.Change{Field: "artifact.type", Original: []byte(`"code"`), Normalized: []byte(`"workspace"`), Rationale: "a synonym"}
	observed := &protocol.Observed{DerivedBy: "orchestrator", FilesChanged: []string{"a.md"}}
	w.must(AcceptTurn{TurnID: pm, Files: []string{"a.md", "a.md", protocol.StateFile}, Observed: observed, IntegrationRef: "workspace:dirty",
		Changes: []protocol.Change{change}, Warnings: []string{"careful"}, Session: "s1", AdapterMeta: &protocol.AdapterMeta{Model: "m"},
		Replay: &govern.Replay{Overall: "match"}, Result: w.result(pm, changes("said.md"), func(r *protocol.TurnResult) {
			r.Verification.ProducedFiles = []protocol.ProducedFile{{Path: "kept.txt", Disposition: "artifact"}, {Path: "noise.log", Disposition: "ignore"}}
			r.ProposedNextRole = "dev"
		})})
	h, ok := find[AppendHistory](w.effects)
	if !ok {
		t.Fatal("no line of history")
	}
	e := h.Entry
	if diff := cmp.Diff([]string{"a.md", "kept.txt"}, e.FilesChanged); diff != "" {
		t.Error(diff)
	}
	if e.AcceptedSequence != 2 || e.AssignedSequence != 1 || e.Attempt != 1 || e.Phase != "planning" || e.DurationMS != w.now.Sub(start).Milliseconds() ||
		e.AdapterMeta.Model != "m" || len(e.VerificationReplay) == 0 || len(e.Normalized) != 1 || e.ObservedArtifact != observed ||
		e.NormalizedVerification.Status != protocol.VerificationAttestedPass || e.Decisions == nil || e.ArtifactsCreated == nil || e.ConcurrentWith == nil {
		t.Errorf("the entry is %+v", e)
	}
	st := w.run.State
	if value(st.AcceptedIntegration, "") != "workspace:dirty" || st.Sessions.At("pm") != "s1" || value(st.LastCompletedTurnID, "") != pm ||
		value(st.NextRecommendedRole, "") != "dev" {
		t.Errorf("the state is %+v", st)
	}
	want := []string{"run_started", "turn_dispatched", "artifact_type_auto_normalized", "turn_accepted"}
	if diff := cmp.Diff(want, w.types()); diff != "" {
		t.Error(diff)
	}
	last := w.events[len(w.events)-1]
	if last.Phase != "planning" || !strings.Contains(string(last.Payload), "careful") {
		t.Errorf("the event is %+v", last)
	}
	if a, ok := find[Archive](w.effects); !ok || a.TurnID != pm {
		t.Error("the turn's files are not archived")
	}
	w.refused(AcceptTurn{TurnID: pm}, CodeAlreadyAccepted)
}

func TestAnAcceptanceNamesThePhaseItHappenedIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t, `"plan": {"requires_human_approval": true}`, `"plan": {}`))
	w.accept(w.turn("pm"), asksFor("implementation"))
	types := w.types()
	i, j := slices.Index(types, "turn_accepted"), slices.Index(types, "phase_entered")
	if i < 0 || j < i || w.events[i].Phase != "planning" || w.events[j].Phase != "implementation" {
		t.Errorf("%v", types)
	}
}

func TestGatesOfAnAcceptance(t *testing.T) {
	t.Parallel()
	auto := `"budget": {`
	policy := `"approval_policy": {"phase_transitions": {"default": "auto_approve"}, "run_completion": {"action": "auto_approve"}}, "budget": {`
	t.Run("a gate that fails keeps the turn", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, config(t))
		w.to("implementation")
		dev := w.turn("dev")
		w.must(AcceptTurn{TurnID: dev, Result: w.result(dev, asksFor("qa"))})
		f := w.run.State.LastGateFailure
		if w.run.State.Phase != "implementation" || f == nil || f.GateID != "built" || f.ToPhase != "qa" || f.RequestedByTurn != dev || f.QueuedRequest ||
			!slices.Equal(f.MissingFiles, []string{"NOTES.md"}) || w.run.State.PhaseGateStatus.At("built") != protocol.GateFailed {
			t.Errorf("the failure is %+v", f)
		}
		if !slices.Contains(w.types(), "gate_failed") || w.notes[len(w.notes)-1].Type != "gate_failure" || w.run.State.ActiveTurns.Len() != 0 {
			t.Errorf("%v, %+v", w.types(), w.notes)
		}
		w.accept(w.turn("dev"), asksFor("qa"))
		if w.run.State.Phase != "qa" || w.run.State.LastGateFailure != nil || w.run.State.PhaseGateStatus.At("built") != protocol.GatePassed {
			t.Errorf("then: %+v", w.run.State)
		}
	})
	t.Run("the approval policy stands in for a person", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, config(t, auto, policy))
		w.to("qa")
		w.accept(w.turn("qa"), asksForEnd)
		w.status(protocol.RunCompleted)
		n := 0
		for _, note := range w.notes {
			if note.Type == "approval_policy" {
				n++
			}
		}
		if n != 2 || slices.Contains(w.types(), "gate_pending") {
			t.Errorf("noted %d times: %v", n, w.types())
		}
		w.checkEvents()
	})
	t.Run("the end of the run in another phase", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, config(t))
		w.accept(w.turn("pm"), asksForEnd)
		w.status(protocol.RunActive)
		if warn, ok := find[Warn](w.effects); !ok || warn.Code != "run_completion_not_final_phase" {
			t.Errorf("no warning: %v", w.effects)
		}
	})
	t.Run("the end of the run that its gate refuses", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, config(t, `"ship": {"requires_human_approval": true}`, `"ship": {"requires_verification_pass": true}`))
		w.to("qa")
		w.accept(w.turn("qa"), asksForEnd, func(r *protocol.TurnResult) { r.Verification.Status = "fail" })
		w.status(protocol.RunActive)
		if f := w.run.State.LastGateFailure; f == nil || f.GateType != "run_completion" || !f.MissingVerification {
			t.Errorf("the failure is %+v", f)
		}
	})
}

func TestNormalizedVerification(t *testing.T) {
	t.Parallel()
	zero, one := protocol.Evidence{Command: "a"}, protocol.Evidence{Command: "b", ExitCode: 1}
	for _, tc := range []struct {
		name     string
		v        protocol.Verification
		runtime  string
		want     string
		repeated bool
	}{
		{"fail", protocol.Verification{Status: "fail"}, "local_cli", "fail", false},
		{"skipped", protocol.Verification{Status: "skipped"}, "manual", "skipped", false},
		{"nothing said", protocol.Verification{}, "manual", "skipped", false},
		{"a person attests", protocol.Verification{Status: "pass", MachineEvidence: []protocol.Evidence{zero}}, "manual", "attested_pass", false},
		{"a plain model attests", protocol.Verification{Status: "pass"}, "api_proxy", "attested_pass", false},
		{"all zero", protocol.Verification{Status: "pass", MachineEvidence: []protocol.Evidence{zero, zero}}, "agent", "pass", true},
		{"no evidence", protocol.Verification{Status: "pass"}, "local_cli", "not_reproducible", false},
		{"one is not zero", protocol.Verification{Status: "pass", MachineEvidence: []protocol.Evidence{zero, one}}, "local_cli", "not_reproducible", false},
	} {
		if got := NormalizeVerification(tc.v, tc.runtime); got.Status != tc.want || got.Reproducible != tc.repeated || got.Reason == "" {
			t.Errorf("%s: %+v", tc.name, got)
		}
	}
}

func TestWhoIsRecommendedNext(t *testing.T) {
	t.Parallel()
	for proposed, want := range map[string]string{"dev": "dev", "human": "", "qa": "", "cook": ""} { // NextRole falls back on the role that enters the phase
		w := newWorld(t, config(t))
		w.accept(w.turn("pm"), func(r *protocol.TurnResult) { r.ProposedNextRole = proposed })
		if got := value(w.run.State.NextRecommendedRole, ""); got != want {
			t.Errorf("%s leads to %q, want %q", proposed, got, want)
		}
	}
}
