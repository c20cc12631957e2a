package governance

import (
	"slices"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

func TestLimitsThatHavePassed(t *testing.T) {
	t.Parallel()
	c := config(t, `"budget": {`, `"timeouts": {"per_turn_minutes": 10, "per_phase_minutes": 30, "per_run_minutes": 60}, "budget": {`,
		`"exit_gate": "built"`, `"exit_gate": "built", "timeout_minutes": 5, "timeout_action": "skip_phase"`)
	at := func(m int) protocol.Time { return protocol.At(time.Date(2026, 4, 1, 12, m, 0, 0, time.UTC)) }
	st := protocol.State{Status: protocol.RunActive, Phase: "planning", CreatedAt: at(0), PhaseEnteredAt: at(0)}
	st.ActiveTurns.Set("t", &protocol.Turn{TurnID: "t", StartedAt: at(1)})
	for _, tc := range []struct {
		phase string
		now   int
		want  []Overdue
	}{
		{"planning", 10, nil},
		{"planning", 11, []Overdue{{ScopeTurn, "t", TimeoutEscalate, 10, 10}}},
		{"planning", 30, []Overdue{{ScopeTurn, "t", TimeoutEscalate, 10, 29}, {ScopePhase, "", TimeoutEscalate, 30, 30}}},
		{"implementation", 6, []Overdue{{ScopePhase, "", TimeoutSkipPhase, 5, 6}}},
		{"planning", 60, []Overdue{{ScopeTurn, "t", TimeoutEscalate, 10, 59}, {ScopePhase, "", TimeoutEscalate, 30, 60}, {ScopeRun, "", TimeoutEscalate, 60, 60}}},
	} {
		s := st
		s.Phase = tc.phase
		if diff := cmp.Diff(tc.want, Timeouts(Run{Config: c, State: s}, at(tc.now))); diff != "" {
			t.Errorf("%s at %d: %s", tc.phase, tc.now, diff)
		}
	}
	st.Status = protocol.RunCompleted
	if got := Timeouts(Run{Config: c, State: st}, at(60)); got != nil {
		t.Errorf("a completed run is late: %v", got)
	}
}

func TestWhatATimeoutDoes(t *testing.T) {
	t.Parallel()
	limits := func(action string) []string {
		return []string{`"budget": {`, `"timeouts": {"per_turn_minutes": 10, "per_phase_minutes": 30, "per_run_minutes": 60, "action": "` + action + `"}, "budget": {`}
	}
	t.Run("escalate", func(t *testing.T) {
		t.Parallel()
		for _, scope := range []string{ScopeTurn, ScopePhase, ScopeRun} {
			w := newWorld(t, config(t, limits("escalate")...))
			pm := w.turn("pm")
			w.must(TimedOut{Scope: scope, TurnID: pm})
			w.blockedOn("timeout:" + scope)
			if n := w.notes[len(w.notes)-1]; n.Type != "timeout" || w.run.State.BlockedReason.Category != "timeout" {
				t.Errorf("noted %+v", n)
			}
			// A run that stands still is not stopped once more for something else.
			w.must(TimedOut{Scope: ScopeRun})
			w.blockedOn("timeout:" + scope)
		}
	})
	t.Run("warn", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, config(t, limits("warn")...))
		w.must(TimedOut{Scope: ScopeRun})
		w.status(protocol.RunActive)
		if n := w.notes[len(w.notes)-1]; n.Type != "timeout_warning" {
			t.Errorf("noted %+v", n)
		}
	})
	t.Run("nonsense", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, config(t))
		w.refused(TimedOut{Scope: "moon"}, CodeInvalidInput)
		w.refused(TimedOut{Scope: ScopeTurn, TurnID: "turn_no"}, CodeTurnNotActive)
	})
	t.Run("at an acceptance", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, config(t, limits("escalate")...))
		pm := w.turn("pm")
		w.now = w.now.Add(31 * time.Minute)
		w.accept(pm)
		w.blockedOn("timeout:turn")
		if len(w.run.History) != 1 {
			t.Error("the turn is lost")
		}
	})
	t.Run("a run that is completed is not late", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, config(t, append(limits("escalate"), `"ship": {"requires_human_approval": true}`, `"ship": {}`)...))
		w.to("qa")
		qa := w.turn("qa")
		w.now = w.now.Add(61 * time.Minute)
		w.accept(qa, asksForEnd)
		w.status(protocol.RunCompleted)
	})
}

func TestSkippingAPhase(t *testing.T) {
	t.Parallel()
	skip := []string{`"exit_gate": "built"`, `"exit_gate": "built", "timeout_minutes": 5, "timeout_action": "skip_phase"`}
	notes := map[string]string{"NOTES.md": "notes"}
	t.Run("its gate passes", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, config(t, skip...))
		w.to("implementation")
		w.accept(w.turn("dev"))
		w.must(TimedOut{Scope: ScopePhase, GateFiles: notes})
		w.status(protocol.RunActive)
		if w.run.State.Phase != "qa" || w.notes[len(w.notes)-1].Type != "timeout_skip" {
			t.Errorf("the phase is %s, noted %+v", w.run.State.Phase, w.notes[len(w.notes)-1])
		}
	})
	t.Run("its gate does not pass", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, config(t, skip...))
		w.to("implementation")
		w.accept(w.turn("dev"))
		w.must(TimedOut{Scope: ScopePhase})
		w.blockedOn("timeout:phase")
		var types []string
		for _, n := range w.notes {
			types = append(types, n.Type)
		}
		if w.run.State.LastGateFailure == nil || !slices.Contains(types, "timeout_skip_failed") {
			t.Errorf("noted %v", types)
		}
	})
}

func TestTurnsWithoutProgressStopTheRun(t *testing.T) {
	t.Parallel()
	lazy := func(w *world, edits ...func(*protocol.TurnResult)) {
		w.t.Helper()
		dev := w.turn("dev")
		w.must(AcceptTurn{TurnID: dev, Result: w.result(dev, append([]func(*protocol.TurnResult){changes("main.go")}, edits...)...)})
	}
	for _, tc := range []struct {
		name  string
		edits []string
		limit int
	}{
		{"three by default", nil, 3},
		{"as configured", []string{`"budget": {`, `"run_loop": {"non_progress_threshold": 2}, "budget": {`}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, config(t, tc.edits...))
			w.to("implementation")
			for range tc.limit - 1 {
				lazy(w, asksFor("qa"))
				w.status(protocol.RunActive)
			}
			lazy(w)
			w.blockedOn("non_progress")
			if w.notes[len(w.notes)-1].Type != "non_progress_block" {
				t.Errorf("noted %+v", w.notes[len(w.notes)-1])
			}
			w.must(Unblock{})
			if w.run.State.NonProgressCount != 0 {
				t.Error("the count goes on")
			}
			lazy(w)
			w.status(protocol.RunActive)
		})
	}
	t.Run("work on the gate's files is progress", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, config(t))
		w.to("implementation")
		for range 4 {
			lazy(w, changes("NOTES.md"))
		}
		w.status(protocol.RunActive)
	})
	t.Run("work on code is progress where only the checks fail", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, config(t))
		w.to("implementation")
		for range 4 {
			w.accept(w.turn("dev"), changes("main.go"), func(r *protocol.TurnResult) { r.Verification.Status = "fail" })
		}
		w.status(protocol.RunActive)
	})
}
