package governance

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

func TestARejectedTurnIsTriedAgainWhileAttemptsRemain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t, `"budget": {`, `"rules": {"max_turn_retries": 3}, "budget": {`))
	pm := w.turn("pm")
	fresh := clean()
	fresh.HeadRef = new("abc")
	for attempt := 1; attempt <= 2; attempt++ {
		w.must(FailAcceptance{TurnID: pm, Code: "validation_failed", Stage: protocol.StageSchema, Errors: []string{"summary: missing"}})
		if s := w.run.State.ActiveTurns.At(pm); s.Status != protocol.TurnFailedAcceptance || s.FailureReason != "validation_failed" {
			t.Fatalf("the turn is %+v", s)
		}
		n, ok := find[NotAccepted](w.effects)
		if !ok || n.Code != "validation_failed" || !strings.HasPrefix(turnCommand(&w.run.State, w.run.State.ActiveTurns.At(pm)), "drawbar govern reject --turn "+pm) {
			t.Errorf("got %+v", n)
		}
		in := RejectTurn{TurnID: pm, Reason: "invalid", Stage: protocol.StageSchema, Errors: []string{"summary: missing"}, Baseline: &fresh}
		w.must(in)
		s := w.run.State.ActiveTurns.At(pm)
		if s.Status != protocol.TurnRetrying || s.Attempt != attempt+1 || s.LastRejection.Attempt != attempt || s.LastRejection.FailedStage != "schema" ||
			s.LastRejection.ValidationErrors[0] != "summary: missing" || value(s.Baseline.HeadRef, "") != "abc" || !s.DeadlineAt.IsZero() {
			t.Fatalf("the turn is %+v", s)
		}
		k, ok := find[KeepRejected](w.effects)
		if !ok || k.Name != RejectedName(pm, attempt, w.at) || strings.ContainsAny(strings.TrimSuffix(k.Name, ".json"), ":.") {
			t.Errorf("kept as %+v", k)
		}
		w.must(Dispatched{TurnID: pm})
	}
	w.must(FailAcceptance{TurnID: pm, Code: "validation_failed"})
	w.must(RejectTurn{TurnID: pm, Reason: "invalid", Errors: []string{"x"}})
	w.blockedOn("escalation:retries-exhausted:pm")
	st := w.run.State
	if st.Escalation == nil || st.Escalation.FromTurnID != pm || st.BlockedReason.Category != "retries_exhausted" || !st.BlockedReason.Recovery.TurnRetained ||
		st.BlockedReason.Recovery.RecoveryAction != NextResume || st.ActiveTurns.At(pm).Status != protocol.TurnFailed || len(w.run.History) != 0 {
		t.Errorf("escalated as %+v, %+v", st.Escalation, st.BlockedReason)
	}
	// A person lets it try once more.
	w.must(Unblock{})
	w.must(Dispatched{TurnID: pm})
	w.accept(pm)
	w.checkEvents()
}

func TestAttempts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, rules, adapter, own string
		want                      int
	}{
		{"default", `{}`, "", "", 2},
		{"the rules count attempts", `{"max_turn_retries":4}`, "", "", 4},
		{"at least one", `{"max_turn_retries":0}`, "", "", 1},
		{"a role of the first edition counts retries", `{"max_turn_retries":4}`, "local_cli", `{"max_retries":5}`, 6},
		{"a role of the first edition that says nothing", `{"max_turn_retries":4}`, "local_cli", `{}`, 4},
		{"only the first edition says it itself", `{"max_turn_retries":4}`, "", `{"max_retries":5}`, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var c protocol.Config
			if err := json.Unmarshal([]byte(`{"roles":{"dev":{"adapter":"`+tc.adapter+`"}},"rules":`+tc.rules+`}`), &c); err != nil {
				t.Fatal(err)
			}
			r := c.Roles.At("dev")
			r.AdapterConfig = json.RawMessage(tc.own)
			c.Roles.Set("dev", r)
			if got := Attempts(&c, "dev"); got != tc.want {
				t.Errorf("%d attempts, want %d", got, tc.want)
			}
		})
	}
}

func TestRejectingNeedsATurnAndAReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	w.refused(RejectTurn{TurnID: "turn_no", Reason: "x"}, CodeTurnNotActive)
	pm := w.turn("pm")
	w.refused(RejectTurn{TurnID: pm, Reason: " "}, CodeInvalidInput)
	w.refused(FailAcceptance{TurnID: pm}, CodeInvalidInput)
}

// Without a conflict there is nothing to put on top of: --reassign is a rejection as any other, and gives no attempt for nothing.
func TestReassigningWithoutAConflictIsARejection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	pm := w.turn("pm")
	reject := RejectTurn{TurnID: pm, Reason: "x", Reassign: true, Baseline: new(clean())}
	for attempt := range Attempts(w.run.Config, "pm") {
		if turn := w.run.State.ActiveTurns.At(pm); turn.Attempt != attempt+1 {
			t.Fatalf("attempt %d after %d rejections", turn.Attempt, attempt)
		}
		w.must(reject)
	}
	w.blockedOn("escalation:retries-exhausted:pm")
}

func TestADispatchThatFails(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		in    DispatchFailed
		retry bool
		on    string
		human string
	}{
		{"exit code", DispatchFailed{Class: "exit", ExitCode: 3}, false, "dispatch:exit-3", "needs_decision"},
		{"exit 75 asks to be tried again", DispatchFailed{Class: "exit", ExitCode: 75}, true, "", ""},
		{"a transient fault", DispatchFailed{Class: "rate_limited", Transient: true}, true, "", ""},
		{"a fault that stays", DispatchFailed{Class: "rate_limited"}, false, "dispatch:rate_limited", "needs_decision"},
		{"timeout", DispatchFailed{Class: "timeout"}, false, "dispatch:timeout", "needs_decision"},
		{"login", DispatchFailed{Class: "auth_failure"}, false, "dispatch:auth_failure", "needs_credential"},
		{"nothing is known", DispatchFailed{ExitCode: 1}, false, "dispatch:exit-1", "needs_decision"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, config(t))
			w.to("implementation")
			dev := w.turn("dev")
			in := tc.in
			in.TurnID = dev
			w.must(in)
			turn := w.run.State.ActiveTurns.At(dev)
			if tc.retry {
				w.status(protocol.RunActive)
				if turn.Status != protocol.TurnRetrying || turn.Attempt != 2 || turn.LastRejection.FailedStage != "dispatch" {
					t.Errorf("the turn is %+v", turn)
				}
				w.must(Dispatched{TurnID: dev})
				w.must(in)
				w.blockedOn("dispatch:" + map[bool]string{true: "exit-75", false: "rate_limited"}[in.Class == "exit"])
				if !strings.Contains(w.run.State.BlockedReason.Recovery.Detail, "attempt 2 of 2") {
					t.Errorf("the detail is %q", w.run.State.BlockedReason.Recovery.Detail)
				}
				return
			}
			w.blockedOn(tc.on)
			raised, _ := find[RaiseHuman](w.effects)
			r := w.run.State.BlockedReason
			if r.Category != "dispatch_error" || r.Recovery.RecoveryAction != NextStepResume || !r.Recovery.TurnRetained || turn.Status != protocol.TurnFailed ||
				raised.Entry.Type != tc.human {
				t.Errorf("blocked for %+v, the turn is %+v, raised %+v", r, turn, raised)
			}
			// Resuming carries the same turn on, with the attempts it has.
			w.must(Unblock{})
			if turn := w.run.State.ActiveTurns.At(dev); turn.Status != protocol.TurnRetrying || turn.Attempt != 1 {
				t.Errorf("resumed as %+v", turn)
			}
		})
	}
}

func TestALateResultUnblocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	pm := w.turn("pm")
	w.must(DispatchFailed{TurnID: pm, Class: "timeout"})
	if w.run.State.BlockedReason.Recovery.RecoveryAction != NextResume {
		t.Errorf("a person's turn goes on with %s", w.run.State.BlockedReason.Recovery.RecoveryAction)
	}
	w.accept(pm)
	w.status(protocol.RunActive)
	if len(w.run.State.OpenHuman) != 0 || w.run.State.BlockedReason != nil {
		t.Errorf("left over: %+v", w.run.State)
	}
}

func TestABlockThatIsAnotherTurnsStays(t *testing.T) {
	t.Parallel()
	w, dev, qa := twoAtOnce(t)
	w.must(DispatchFailed{TurnID: dev, Class: "timeout"})
	r := w.run.State.BlockedReason.Recovery.RecoveryAction
	if r != NextStepResume+" --turn "+dev {
		t.Errorf("the recovery is %s", r)
	}
	w.accept(qa, asksFor("qa"))
	w.blockedOn("dispatch:timeout")
	if w.run.State.QueuedTransition == nil {
		t.Error("the request behind the block is lost")
	}
	w.accept(dev)
	w.status(protocol.RunActive)
	if w.run.State.Phase != "qa" {
		t.Errorf("the phase is %s", w.run.State.Phase)
	}
}

func TestGhostsAndStalledTurns(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		before func(*world, string)
		in     func(string, protocol.Time) Input
		status protocol.TurnStatus
		on     string
		events []string
		next   string
	}{
		{"never spawned", func(*world, string) {}, func(id string, now protocol.Time) Input { return StartFailed{TurnID: id} }, protocol.TurnFailedStart, "turn:failed_start:",
			[]string{"turn_start_failed", "runtime_spawn_failed", "run_blocked", "human_escalation_raised"}, "ghost"},
		{"spawned and silent", func(w *world, id string) { w.must(WorkerAttached{TurnID: id, PID: 1}) },
			func(id string, now protocol.Time) Input { return StartFailed{TurnID: id} }, protocol.TurnFailedStart, "turn:failed_start:",
			[]string{"turn_start_failed", "stdout_attach_failed", "run_blocked", "human_escalation_raised"}, "ghost"},
		{"went silent", func(w *world, id string) { w.must(FirstOutput{TurnID: id, Stream: "stdout"}) },
			func(id string, now protocol.Time) Input { return Stalled{TurnID: id} }, protocol.TurnStalled, "turn:stalled:",
			[]string{"turn_stalled", "run_blocked", "human_escalation_raised"}, "stale"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, config(t))
			w.to("implementation")
			dev := w.turn("dev")
			tc.before(w, dev)
			n := len(w.events)
			w.must(tc.in(dev, w.tick()))
			w.blockedOn(tc.on + dev)
			var types []string
			for _, e := range w.events[n:] {
				types = append(types, e.EventType)
			}
			if !slices.Equal(types, tc.events) || w.run.State.ActiveTurns.At(dev).Status != tc.status || w.run.State.BudgetReservations.Has(dev) {
				t.Errorf("%v, %+v", types, w.run.State.ActiveTurns.At(dev))
			}
			want := "drawbar govern reissue --turn " + dev + " --reason " + tc.next
			if got := NextCommand(w.run); got != want {
				t.Errorf("next is %s, want %s", got, want)
			}
			w.must(ReissueTurn{TurnID: dev, NewTurnID: "turn_new", Reason: tc.next, Baseline: clean()})
			w.status(protocol.RunActive)
			re := w.run.State.ActiveTurns.At("turn_new")
			h := w.run.History[len(w.run.History)-1]
			if re == nil || re.Attempt != 2 || re.ReissuedFrom != dev || h.Status != protocol.StatusReissued || w.run.State.ActiveTurns.Has(dev) ||
				!w.run.State.BudgetReservations.Has("turn_new") || len(w.run.State.OpenHuman) != 0 {
				t.Errorf("reissued as %+v, history %+v", re, h)
			}
			w.must(Dispatched{TurnID: "turn_new"})
			w.accept("turn_new")
			w.checkEvents()
		})
	}
	w := newWorld(t, config(t))
	pm := w.turn("pm")
	w.refused(Stalled{TurnID: pm}, CodeInvalidTransition)
	w.refused(ReissueTurn{TurnID: pm, NewTurnID: pm}, CodeDuplicateTurn)
}

func TestOneDispatchEventPerDispatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	pm := w.turn("pm")
	w.must(RejectTurn{TurnID: pm, Reason: "no"})
	count := func() (n int) {
		for _, e := range w.types() {
			if e == "turn_dispatched" {
				n++
			}
		}
		return n
	}
	if count() != 1 {
		t.Errorf("a rejection counts as a dispatch: %v", w.types())
	}
	w.must(Dispatched{TurnID: pm})
	if count() != 2 {
		t.Errorf("%v", w.types())
	}
}

func TestAResultWithoutADispatchIsRecordedInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	w.must(AssignTurn{Role: "pm", TurnID: "turn_a", Baseline: clean()})
	w.accept("turn_a")
	w.checkEvents()
}
