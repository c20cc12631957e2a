package governance

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

// made is an input with its moment.
type made struct {
	Input
	at protocol.Time
}

// walk drives a run with random inputs: legal and illegal ones.
type walk struct {
	*world
	r       *rand.Rand
	inputs  []made // that were not refused
	ids     int
	results int
	calm    bool // few faults, so that the walk gets far
	lazy    bool // nobody writes what the gate needs
}

func newWalk(t *testing.T, seed int64) *walk {
	t.Helper()
	r := rand.New(rand.NewSource(seed)) //nolint:gosec // a test that can be repeated
	var edits []string
	maybe := func(from, to string) {
		if r.Intn(2) == 0 {
			edits = append(edits, from, to)
		}
	}
	maybe(`"allowed_next_roles": ["dev", "qa", "human"], "exit_gate": "built"`,
		fmt.Sprintf(`"allowed_next_roles": ["dev", "qa", "pm", "human"], "max_concurrent_turns": %d, "exit_gate": "built"`, 1+r.Intn(4)))
	maybe(`"plan": {"requires_human_approval": true}`, `"plan": {}`)
	maybe(`"ship": {"requires_human_approval": true}`, `"ship": {}`)
	if seed%3 == 0 {
		edits = append(edits, `"per_turn_max_usd": 2, "per_run_max_usd": 10`, `"per_turn_max_usd": 1, "per_run_max_usd": 3.5`)
	} else {
		maybe(`"per_run_max_usd": 10`, `"per_run_max_usd": 10, "on_exceed": "warn"`)
	}
	maybe(`"budget": {`, `"rules": {"max_turn_retries": 3}, "budget": {`)
	maybe(`"budget": {`, `"policies": [{"id":"cheap","rule":"max_cost_per_turn","action":"escalate","params":{"limit_usd":1.5}},`+
		`{"id":"tired","rule":"max_consecutive_same_role","action":"escalate","params":{"limit":4}}], "budget": {`)
	maybe(`"budget": {`, fmt.Sprintf(`"timeouts": {"per_phase_minutes": 3, "per_run_minutes": 20, "action": %q}, "budget": {`,
		[]string{"escalate", "warn"}[r.Intn(2)]))
	w := &walk{world: &world{t: t}, r: r, calm: seed%4 != 1, lazy: seed%4 == 0}
	w.now = w.now.AddDate(2025, 0, 0)
	w.run = Run{Config: config(t, edits...), State: protocol.State{Status: protocol.RunIdle}}
	return w
}

func (w *walk) id(prefix string) string {
	w.ids++
	return fmt.Sprintf("%s_%016x", prefix, w.ids)
}

func pick[T any](w *walk, list ...T) T { return list[w.r.Intn(len(list))] }

// someTurn is an active turn, or now and then one that is not there.
func (w *walk) someTurn() string {
	ids := w.run.State.ActiveTurns.Keys()
	if len(ids) == 0 || w.r.Intn(12) == 0 {
		if n := len(w.run.History); n > 0 {
			return w.run.History[w.r.Intn(n)].TurnID
		}
		return "turn_none"
	}
	return pick(w, ids...)
}

func (w *walk) files() map[string]string {
	if w.lazy || w.r.Intn(2) == 0 {
		return nil
	}
	return map[string]string{"NOTES.md": "notes"}
}

func (w *walk) baseline() *protocol.Baseline {
	return pick(w, nil, new(clean()))
}

// someResult is a validated result of the turn, or none.
func (w *walk) someResult(id string) Validated {
	t := w.run.State.ActiveTurns.At(id)
	if t == nil || w.r.Intn(10) == 0 {
		return Validated{}
	}
	if w.calm && w.r.Intn(2) == 0 {
		return w.good(id)
	}
	phases := w.run.Config.Phases()
	return w.world.result(id, func(r *protocol.TurnResult) {
		r.Status = pick(w, protocol.ResultCompleted, protocol.ResultCompleted, protocol.ResultCompleted, protocol.ResultFailed, protocol.ResultBlocked,
			protocol.ResultNeedsHuman)
		r.ProposedNextRole = pick(w, "pm", "dev", "qa", "human", "cook")
		r.FilesChanged = pick(w, []string{"a.go"}, []string{"b.go", "NOTES.md"}, nil, []string{".planning/x.md"})
		r.Verification.Status = pick(w, "pass", "pass", "fail", "skipped")
		r.Cost = pick(w, nil, &protocol.Cost{USD: 0.25}, &protocol.Cost{USD: 3.5}, &protocol.Cost{USD: 4.5}, &protocol.Cost{USD: -1})
		r.Decisions = pick(w, nil, []protocol.Decision{decision("DEC-001", durable), decision("DEC-001")},
			[]protocol.Decision{decision(fmt.Sprintf("DEC-%03d", w.r.Intn(6)), overrides(fmt.Sprintf("DEC-%03d", w.r.Intn(6))))})
		if w.r.Intn(8) == 0 {
			r.Objections = nil
		}
		switch w.r.Intn(4) {
		case 0:
			r.PhaseTransitionRequest = new(pick(w, append(phases, "moon")...))
			if i := slices.Index(phases, w.run.State.Phase); w.r.Intn(3) > 0 && i+1 < len(phases) {
				r.PhaseTransitionRequest = new(phases[i+1])
			}
		case 1:
			r.RunCompletionRequest = new(true)
		case 2:
			r.Delegations = []protocol.Delegation{{ID: "del-001", ToRole: pick(w, "pm", "dev", "qa"), Charter: "c", AcceptanceContract: []string{"a"},
				RequiredDecisionIDs: []string{"DEC-001"}}}
		}
	})
}

func (w *walk) input() Input {
	if w.r.Intn(6) == 0 {
		w.now = w.now.Add(minutes(float64(w.r.Intn(8))))
	}
	turn := w.someTurn()
	kind := w.r.Intn(34)
	if w.calm && w.r.Intn(5) > 0 {
		kind = pick(w, 0, 1, 7, 13, 13, 26, 31)
	}
	switch kind {
	case 0:
		return StartRun{RunID: w.id("run"), Restart: w.r.Intn(2) == 0}
	case 1, 2, 3, 4, 5, 6:
		role, _ := NextRole(w.run)
		return AssignTurn{Role: pick(w, role, role, "pm", "dev", "qa", "cook"), TurnID: w.id("turn"), Baseline: clean()}
	case 7, 8, 9, 10:
		return Dispatched{TurnID: turn}
	case 11:
		if w.run.State.TurnSequence%2 == 0 {
			return Attempted{TurnID: turn, Session: "s", Cost: protocol.Cost{InputTokens: 5, USD: 0.001}}
		}
		return WorkerAttached{TurnID: turn, PID: 4}
	case 12:
		return FirstOutput{TurnID: turn, Stream: "stdout"}
	case 13, 14, 15, 16, 17, 18, 19:
		return AcceptTurn{TurnID: turn, Result: w.someResult(turn), GateFiles: w.files(), Resolution: pick(w, "", "", ResolutionHumanMerge),
			MergeConflicts: pick(w, nil, nil, nil, []string{"a.go"})}
	case 20:
		return FailAcceptance{TurnID: turn, Code: "validation_failed", Stage: protocol.StageSchema}
	case 21:
		return RejectTurn{TurnID: turn, Reason: "no", Baseline: w.baseline(), Reassign: w.r.Intn(2) == 0}
	case 22:
		return ReissueTurn{TurnID: turn, NewTurnID: w.id("turn"), Reason: "stale", Baseline: clean()}
	case 23:
		return DispatchFailed{TurnID: turn, Class: pick(w, "exit", "timeout", "rate_limited"), ExitCode: pick(w, 1, 75), Transient: w.r.Intn(2) == 0,
			Baseline: w.baseline()}
	case 24:
		return StartFailed{TurnID: turn}
	case 25:
		return Stalled{TurnID: turn}
	case 26, 27:
		return Approve{Completion: w.run.State.PendingCompletion != nil != (w.r.Intn(5) == 0)}
	case 28:
		return GateActionFailed{Label: "deploy"}
	case 29:
		return HookBlocked{Phase: pick(w, protocol.HookPhases()...), Hook: "guard", TurnID: pick(w, "", turn), Tamper: w.r.Intn(2) == 0}
	case 30:
		return Escalate{Reason: "stop", TurnID: pick(w, "", turn)}
	case 31, 32:
		return Unblock{GateFiles: w.files()}
	}
	switch w.r.Intn(8) {
	case 5, 6:
		return Decline{Gate: pick(w, "", "plan", "built", "ship"), Reason: pick(w, "no", "no", ""), Role: pick(w, "", "pm", "dev", "cook"),
			Phase: pick(w, "", "planning", "qa", "moon"), By: protocol.Person{Name: "ann"}}
	case 7:
		return RuleObjection{ID: pick(w, "OBJ-001", "OBJ-002"), Status: pick(w, protocol.ObjectionStatuses()...), Reason: "so", GateFiles: w.files()}
	case 0:
		return Checkpointed{TurnID: turn, SHA: "abc"}
	case 1:
		return OperatorCommits{From: "a", To: "b"}
	}
	return TimedOut{Scope: pick(w, ScopeTurn, ScopePhase, ScopeRun), TurnID: turn, Action: pick(w, "", TimeoutWarn, TimeoutSkipPhase),
		GateFiles: w.files()}
}

// step applies an input and holds the outcome to what is always true.
func (w *walk) step(in Input) {
	w.t.Helper()
	before := w.run
	refused := w.do(in)
	st := &w.run.State
	if refused == nil {
		w.inputs = append(w.inputs, made{in, w.at})
	} else if !strings.Contains(refused.Next, "drawbar ") {
		w.t.Fatalf("%T is refused and names no command: %+v", in, refused)
	}
	if before.State.Status == protocol.RunCompleted && st.Status != protocol.RunCompleted {
		if s, ok := in.(StartRun); !ok || !s.Restart {
			w.t.Fatalf("%T leads out of a completed run", in)
		}
	}
	if n := len(accepted(w.run.History)) - len(accepted(before.History)); n > 0 {
		a, ok := in.(AcceptTurn)
		if !ok || n != 1 || w.run.History[len(w.run.History)-1].Summary != a.Result.Result().Summary {
			w.t.Fatalf("%T accepted %d turns without a validated result", in, n)
		}
		w.results++
	}
	w.budget(in, refused != nil)
	w.blocks(in)
}

func (w *walk) budget(in Input, refused bool) {
	w.t.Helper()
	b := w.run.State.BudgetStatus
	if b.SpentUSD < 0 || b.RemainingUSD != nil && *b.RemainingUSD < 0 {
		w.t.Fatalf("%T makes the budget negative: %+v", in, b)
	}
	for id, r := range w.run.State.BudgetReservations.All() {
		if r.ReservedUSD < 0 || !w.run.State.ActiveTurns.Has(id) {
			w.t.Fatalf("%T leaves the reservation %+v of %s", in, r, id)
		}
	}
	if _, assigned := in.(AssignTurn); assigned && !refused && b.RemainingUSD != nil && Reserved(&w.run.State) > *b.RemainingUSD+cent {
		w.t.Fatalf("more is reserved than left: %v of %v", Reserved(&w.run.State), *b.RemainingUSD)
	}
}

func (w *walk) blocks(in Input) {
	w.t.Helper()
	st := &w.run.State
	pending := st.PendingTransition != nil || st.PendingCompletion != nil
	switch st.Status {
	case protocol.RunBlocked:
		if st.BlockedOn == nil || st.BlockedReason == nil || !strings.HasPrefix(st.BlockedReason.Recovery.RecoveryAction, "drawbar ") {
			w.t.Fatalf("%T blocks without a reason or a command: %+v", in, st.BlockedReason)
		}
		if st.BlockedReason.Recovery.TurnRetained != st.ActiveTurns.Has(blockedTurn(st)) && blockedTurn(st) != "" {
			if _, reissued := in.(ReissueTurn); !reissued && st.ActiveTurns.Has(blockedTurn(st)) {
				w.t.Fatalf("%T says wrongly whether the turn is retained: %+v", in, st.BlockedReason)
			}
		}
	case protocol.RunPaused:
		if !pending || st.BlockedOn == nil || !strings.HasPrefix(*st.BlockedOn, "human_approval:") || st.BlockedReason != nil {
			w.t.Fatalf("%T pauses for nothing: %+v", in, st)
		}
	default:
		if st.BlockedOn != nil || st.BlockedReason != nil || st.Escalation != nil || pending {
			w.t.Fatalf("%T leaves a %s run that is stopped: %+v", in, st.Status, st)
		}
	}
	if st.Status == protocol.RunCompleted && (st.ActiveTurns.Len() > 0 || len(st.OpenHuman) > 0 || st.CompletedAt.IsZero()) {
		w.t.Fatalf("%T completes a run with open ends: %+v", in, st)
	}
	turns := map[string]bool{}
	for _, o := range st.OpenHuman {
		if o.TurnID != "" && turns[o.TurnID] {
			w.t.Fatalf("%T opens two entries for the turn %s", in, o.TurnID)
		}
		turns[o.TurnID] = true
	}
	if next := NextCommand(w.run); !strings.HasPrefix(next, "drawbar ") {
		w.t.Fatalf("after %T the next command is %q", in, next)
	}
}

func TestProperties(t *testing.T) {
	t.Parallel()
	total, completed, blocked := 0, 0, map[string]bool{}
	for seed := range int64(32) {
		w := newWalk(t, seed)
		start := w.run
		for range 90 {
			w.step(w.input())
			if w.run.State.BlockedOn != nil {
				kind, _, _ := strings.Cut(*w.run.State.BlockedOn, ":")
				blocked[kind] = true
			}
		}
		total += w.results
		if slices.Contains(w.types(), "run_completed") {
			completed++
		}
		w.checkEvents()
		w.replay(start)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	// The walk is worth something only if it gets around.
	for _, kind := range []string{"human", "human_approval", "escalation", "dispatch", "hook", "gate_action", "policy", "timeout", "turn", "budget", "non_progress"} {
		if !blocked[kind] {
			t.Errorf("no walk was stopped by %s", kind)
		}
	}
	if total < 80 || completed < 3 {
		t.Errorf("the walks accepted %d turns and completed %d runs", total, completed)
	}
	t.Logf("%d turns accepted, %d walks with a completed run, stopped by %v", total, completed, blocked)
}

// replay applies the inputs again, the state by way of its file.
func (w *walk) replay(run Run) {
	w.t.Helper()
	for _, in := range w.inputs {
		next, effects := Transition(run, in.at, in.Input)
		if r, refused := find[Refused](effects); refused {
			w.t.Fatalf("replay refuses %+v: %s", in, r.Message)
		}
		file, err := protocol.MarshalFile(next.State)
		if err != nil {
			w.t.Fatal(err)
		}
		next.State = protocol.State{}
		if err := json.Unmarshal(file, &next.State); err != nil {
			w.t.Fatal(err)
		}
		run = next
	}
	if got, want := snapshot(run), snapshot(w.run); got != want {
		w.t.Fatalf("replay differs from the live run: %s", cmp.Diff(want, got))
	}
}

// TestTheNextCommandIsAWayOn types what the run says, wherever it stands: the command is legal and the run comes to its end.
func TestTheNextCommandIsAWayOn(t *testing.T) {
	t.Parallel()
	for seed := range int64(16) {
		w := newWalk(t, 1000+seed)
		for range 60 {
			w.step(w.input())
		}
		w.lazy = false
		for i := 0; w.run.State.Status != protocol.RunCompleted; i++ {
			if i == 80 {
				t.Fatalf("seed %d: the run is %s on %s, next is %s", seed, w.run.State.Status, value(w.run.State.BlockedOn, "-"), NextCommand(w.run))
			}
			w.typeNext()
		}
	}
}

// typeNext does what the next command stands for, as a helpful person with good agents.
func (w *walk) typeNext() {
	w.t.Helper()
	next := NextCommand(w.run)
	word := strings.Fields(strings.TrimPrefix(next, "drawbar govern "))
	arg := func(flag string) string {
		if i := slices.Index(word, flag); i >= 0 {
			return word[i+1]
		}
		return ""
	}
	notes := map[string]string{"NOTES.md": "notes"}
	switch word[0] {
	case "config":
		var limit float64
		if _, err := fmt.Sscan(word[3], &limit); err != nil {
			w.t.Fatal(err)
		}
		w.run.Config.Budget.PerRunMaxUSD = &limit
		if w.run.State.Status == protocol.RunBlocked {
			w.must(Unblock{GateFiles: notes})
		}
	case "approve":
		w.must(Approve{Completion: w.run.State.PendingCompletion != nil})
	case "reject":
		w.must(RejectTurn{TurnID: arg("--turn"), Reason: "no", Reassign: slices.Contains(word, "--reassign"), Baseline: new(clean())})
	case "reissue":
		w.must(ReissueTurn{TurnID: arg("--turn"), NewTurnID: w.id("turn"), Reason: arg("--reason"), Baseline: clean()})
	case "accept":
		w.must(AcceptTurn{TurnID: arg("--turn"), Result: w.good(arg("--turn")), Resolution: arg("--resolution"), GateFiles: notes})
	case "step", "resume":
		switch w.run.State.Status {
		case protocol.RunIdle:
			w.must(StartRun{RunID: w.id("run")})
			return
		case protocol.RunBlocked:
			w.must(Unblock{GateFiles: notes})
			return
		}
		if ids := w.run.State.ActiveTurns.Keys(); len(ids) > 0 {
			id := or(arg("--turn"), ids[0])
			w.must(Dispatched{TurnID: id})
			w.must(AcceptTurn{TurnID: id, Result: w.good(id), GateFiles: notes})
			return
		}
		role, _ := NextRole(w.run)
		if r := w.do(AssignTurn{Role: role, TurnID: w.id("turn"), Baseline: clean()}); r != nil {
			if r.Code != CodeBudgetExhausted && r.Code != CodeReservation {
				w.t.Fatalf("the role %s that is next gets no turn: %s", role, r.Message)
			}
			w.run.Config.Budget.PerRunMaxUSD = new(*w.run.Config.Budget.PerRunMaxUSD * 2)
		}
	default:
		w.t.Fatalf("the next command %q is not known", next)
	}
}

// good is the result of an agent that does everything right.
func (w *walk) good(id string) Validated {
	phases := w.run.Config.Phases()
	return w.world.result(id, changes("main.go"), func(r *protocol.TurnResult) {
		r.Cost = pick(w, nil, &protocol.Cost{USD: 1.4})
		if !w.lazy {
			r.FilesChanged = append(r.FilesChanged, "NOTES.md")
		}
		i := slices.Index(phases, w.run.State.Phase)
		var rev protocol.DelegationReview
		_ = json.Unmarshal(w.run.State.ActiveTurns.At(id).DelegationReview, &rev)
		for _, d := range rev.Results {
			if len(d.MissingDecisionIDs) > 0 {
				return
			}
		}
		if i == len(phases)-1 {
			r.RunCompletionRequest = new(true)
		} else {
			r.PhaseTransitionRequest = &phases[i+1]
		}
		// Nobody does more than a few turns in a row.
		roles := slices.DeleteFunc([]string{"pm", "dev", "qa"}, func(role string) bool {
			return role == r.Role || !legalIn(w.run, w.run.State.Phase, role)
		})
		if len(roles) > 0 {
			r.ProposedNextRole = roles[w.r.Intn(len(roles))]
		}
	})
}
