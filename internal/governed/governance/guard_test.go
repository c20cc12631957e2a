package governance

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

const parallel = `"allowed_next_roles": ["dev", "qa", "human"], "max_concurrent_turns": 2, "exit_gate": "built"`

func TestGuardsInOrder(t *testing.T) {
	t.Parallel()
	oneAtATime := config(t)
	two := config(t, `"allowed_next_roles": ["dev", "qa", "human"], "exit_gate": "built"`, parallel)
	reservation := config(t, `"per_run_max_usd": 10`, `"per_run_max_usd": 3`)
	warn := config(t, `"per_run_max_usd": 10`, `"per_run_max_usd": 3, "on_exceed": "warn"`)
	active := func(phase string, edits ...func(*protocol.State)) protocol.State {
		s := protocol.State{RunID: new("run_1"), Status: protocol.RunActive, Phase: phase}
		for _, e := range edits {
			e(&s)
		}
		return s
	}
	with := func(role string) func(*protocol.State) {
		return func(s *protocol.State) {
			s.ActiveTurns.Set("turn_"+role, &protocol.Turn{TurnID: "turn_" + role, AssignedRole: role, Status: protocol.TurnRunning})
			s.BudgetReservations.Set("turn_"+role, protocol.Reservation{ReservedUSD: 2})
		}
	}
	spent := func(v float64) func(*protocol.State) { return func(s *protocol.State) { s.BudgetStatus.SpentUSD = v } }
	for _, tc := range []struct {
		name   string
		config *protocol.Config
		state  protocol.State
		role   string
		want   []string
	}{
		{"free", oneAtATime, active("implementation"), "dev", nil},
		{"idle", oneAtATime, protocol.State{Status: protocol.RunIdle}, "dev", []string{CodeInvalidTransition}},
		{"blocked", oneAtATime, active("qa", func(s *protocol.State) { s.Status = protocol.RunBlocked }), "dev", []string{CodeRunBlocked}},
		{"paused", oneAtATime, active("qa", func(s *protocol.State) { s.Status = protocol.RunPaused }), "dev", []string{CodeApprovalPending}},
		{"completed", oneAtATime, active("qa", func(s *protocol.State) { s.Status = protocol.RunCompleted }), "dev", []string{CodeInvalidTransition}},
		{"unknown role", oneAtATime, active("qa"), "cook", []string{CodeUnknownRole}},
		{"unknown runtime", config(t, `"runtime": "other"`, `"runtime": "gone"`), active("qa"), "qa", []string{CodeUnknownRuntime}},
		{"sequential", oneAtATime, active("implementation", with("qa")), "dev", []string{CodeTurnActive}},
		{"parallel", two, active("implementation", with("qa")), "dev", nil},
		{"one turn per role", two, active("implementation", with("dev")), "dev", []string{CodeRoleActive}},
		{"parallel is full", two, active("implementation", with("dev"), with("qa")), "pm", []string{CodeConcurrency}},
		{"parallel only where the phase says so", two, active("planning", with("dev")), "pm", []string{CodeTurnActive}},
		{"budget used up", oneAtATime, active("qa", spent(10)), "qa", []string{CodeBudgetExhausted, CodeReservation}},
		{"budget overdrawn", oneAtATime, active("qa", spent(99)), "qa", []string{CodeBudgetExhausted, CodeReservation}},
		{"reservation does not fit", reservation, active("qa", spent(1.5)), "qa", []string{CodeReservation}},
		{"reservation beside another", config(t, `"allowed_next_roles": ["dev", "qa", "human"], "exit_gate": "built"`, parallel, `"per_run_max_usd": 10`,
			`"per_run_max_usd": 3`), active("implementation", with("qa")), "dev", []string{CodeReservation}},
		{"a warning budget", warn, active("qa", spent(99)), "qa", nil},
		{"all at once", oneAtATime, active("qa", with("dev"), spent(99), func(s *protocol.State) { s.Status = protocol.RunBlocked }), "cook",
			[]string{CodeRunBlocked, CodeUnknownRole, CodeTurnActive, CodeBudgetExhausted, CodeReservation}},
		{"a review of delegations goes first", oneAtATime, active("qa", func(s *protocol.State) {
			s.PendingDelegation = &protocol.PendingReview{ParentRole: "dev", ParentTurnID: "turn_1"}
		}), "qa", []string{CodeReviewPending}},
		{"a review of delegations is alone", two, active("implementation", func(s *protocol.State) {
			s.ActiveTurns.Set("turn_r", &protocol.Turn{TurnID: "turn_r", AssignedRole: "dev", DelegationReview: json.RawMessage(`{}`)})
		}), "qa", []string{CodeReviewPending}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, r := range Guards(Run{Config: tc.config, State: tc.state}, tc.role) {
				got = append(got, r.Code)
				if !strings.HasPrefix(r.Next, "drawbar ") {
					t.Errorf("%s names no command: %q", r.Code, r.Next)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestAWriterNeedsACleanTree(t *testing.T) {
	t.Parallel()
	dirty := func(paths ...string) protocol.Baseline {
		b := protocol.Baseline{Kind: "git_worktree"}
		for _, p := range paths {
			b.DirtySnapshot.Set(p, "sha256:00")
		}
		return b
	}
	for _, tc := range []struct {
		name string
		in   AssignTurn
		want string
	}{
		{"clean", AssignTurn{Role: "dev", Baseline: clean()}, ""},
		{"dirty", AssignTurn{Role: "dev", Baseline: dirty("mine.go")}, CodeDirtyTree},
		{"what the orchestrator writes is exempt", AssignTurn{Role: "dev", Baseline: dirty(protocol.StateFile, protocol.ReviewsDir+"/x.md")}, ""},
		{"a reviewer", AssignTurn{Role: "qa", Baseline: dirty("mine.go")}, ""},
		{"without git", AssignTurn{Role: "dev", Baseline: protocol.Baseline{Kind: "no_git"}}, ""},
		{"in a worktree", AssignTurn{Role: "dev", Baseline: dirty("mine.go"), Worktree: ".agentxchain/worktrees/x"}, ""},
		{"the caller tells files apart", AssignTurn{Role: "dev", Baseline: dirty("mine.go"), AllowDirty: true}, ""},
		{"the last turn's files", AssignTurn{Role: "dev", Baseline: dirty("plan.md")}, CodeCheckpoint},
		{"the last turn's files and others", AssignTurn{Role: "dev", Baseline: dirty("plan.md", "mine.go")}, CodeDirtyTree},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, config(t))
			w.accept(w.turn("pm"), changes("plan.md"))
			tc.in.TurnID = "turn_x"
			if tc.want == "" {
				w.must(tc.in)
				return
			}
			w.refused(tc.in, tc.want)
		})
	}
}

func TestAnAssignedTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t, `"budget": {`, `"timeouts": {"per_turn_minutes": 30}, "budget": {`))
	in := AssignTurn{Role: "pm", TurnID: "turn_a", Baseline: clean(), Worktree: "wt", IntakeContext: json.RawMessage(`{"a":1}`)}
	w.must(in)
	got := w.run.State.ActiveTurns.At("turn_a")
	if got.Status != protocol.TurnAssigned || got.Attempt != 1 || got.AssignedSequence != 1 || got.RuntimeID != "hand" || got.Worktree != "wt" ||
		string(got.IntakeContext) != `{"a":1}` || got.DeadlineAt.Sub(w.at.Time).Minutes() != 30 || w.run.State.BudgetReservations.At("turn_a").ReservedUSD != 2 {
		t.Errorf("assigned %+v", got)
	}
	if _, ok := find[Emit](w.effects); ok {
		t.Error("an assignment is no dispatch")
	}
	w.must(Dispatched{TurnID: "turn_a"})
	w.accept("turn_a")
	for id, code := range map[string]string{"": CodeInvalidInput, "turn_a": CodeDuplicateTurn} {
		w.refused(AssignTurn{Role: "pm", TurnID: id, Baseline: clean()}, code)
	}
}

func TestADeadlineIsWhatTheConfigurationSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	in := AssignTurn{Role: "pm", TurnID: "turn_a", Baseline: clean()}
	w.must(in)
	if got := w.run.State.ActiveTurns.At("turn_a").DeadlineAt; !got.IsZero() {
		t.Errorf("nothing says a deadline, and it is %v", got)
	}
	limited := config(t)
	limited.Timeouts = &protocol.Timeouts{PerTurnMinutes: new(7.0)}
	w = newWorld(t, limited)
	w.must(in)
	if got := w.run.State.ActiveTurns.At("turn_a").DeadlineAt.Sub(w.at.Time).Minutes(); got != 7 {
		t.Errorf("the deadline is %v minutes away", got)
	}
	first := config(t)
	r := first.Roles.At("pm")
	r.Adapter = "manual"
	first.Roles.Set("pm", r)
	rt := first.Runtimes.At("hand")
	rt.TimeoutMS = new(60000)
	first.Runtimes.Set("hand", rt)
	w = newWorld(t, first)
	w.must(in)
	if got := w.run.State.ActiveTurns.At("turn_a").DeadlineAt.Sub(w.at.Time).Seconds(); got != 60 {
		t.Errorf("the first edition's deadline is %v seconds away", got)
	}
}

func TestTurnsSideBySide(t *testing.T) {
	t.Parallel()
	c := config(t, `"allowed_next_roles": ["dev", "qa", "human"], "exit_gate": "built"`, parallel,
		`"write_authority": "authoritative", "runtime": "cli"`, `"write_authority": "authoritative", "runtime": "cli", "declared_file_scope": ["src/"]`,
		`"write_authority": "review_only", "runtime": "other"`, `"write_authority": "review_only", "runtime": "other", "declared_file_scope": ["src/api/**", "docs"]`)
	w := newWorld(t, c)
	w.to("implementation")
	dev := w.turn("dev")
	w.must(AssignTurn{Role: "qa", TurnID: "turn_q", Baseline: protocol.Baseline{Kind: "git_worktree"}})
	if warn, ok := find[Warn](w.effects); !ok || warn.Code != "advisory_scope_overlap" || !strings.Contains(warn.Message, "src/") {
		t.Errorf("no warning of the overlap: %v", w.effects)
	}
	a, b := w.run.State.ActiveTurns.At(dev), w.run.State.ActiveTurns.At("turn_q")
	if !slices.Equal(a.ConcurrentWith, []string{"turn_q"}) || !slices.Equal(b.ConcurrentWith, []string{dev}) {
		t.Errorf("they do not know of each other: %v %v", a.ConcurrentWith, b.ConcurrentWith)
	}
	// The request of the first is kept until the second is over.
	w.accept(dev, asksFor("qa"), changes("main.go"))
	if w.run.State.Phase != "implementation" || w.run.State.QueuedTransition == nil {
		t.Fatalf("the request is not queued: %+v", w.run.State)
	}
	w.must(Dispatched{TurnID: "turn_q"})
	w.accept("turn_q")
	if w.run.State.Phase != "qa" || w.run.State.QueuedTransition != nil {
		t.Errorf("the queued request is not followed: %+v", w.run.State)
	}
}

func TestConcurrencyIsAtMostFour(t *testing.T) {
	t.Parallel()
	for n, want := range map[string]int{"1": 1, "4": 4, "9": 4, "0": 1, "2.5": 1, `"x"`: 1} {
		c := config(t, `"allowed_next_roles": ["dev", "qa", "human"], "exit_gate": "built"`, strings.Replace(parallel, "2", n, 1))
		if got := concurrency(Run{Config: c, State: protocol.State{Phase: "implementation"}}); got != want {
			t.Errorf("max_concurrent_turns %s lets %d be active, want %d", n, got, want)
		}
	}
}

func TestWhoIsNext(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		edit func(*protocol.State)
		want string
	}{
		{"the role that enters the phase", func(*protocol.State) {}, "dev"},
		{"the proposed role", func(s *protocol.State) { s.NextRecommendedRole = new("qa") }, "qa"},
		{"a proposed role that is not legal here", func(s *protocol.State) { s.NextRecommendedRole = new("pm") }, "dev"},
		{"a delegation", func(s *protocol.State) {
			s.NextRecommendedRole = new("dev")
			s.DelegationQueue = []protocol.QueuedDelegation{{ToRole: "qa", Status: DelegationPending}}
		}, "qa"},
		{"a review of delegations", func(s *protocol.State) {
			s.PendingDelegation = &protocol.PendingReview{ParentRole: "pm"}
			s.DelegationQueue = []protocol.QueuedDelegation{{ToRole: "qa", Status: DelegationPending}}
		}, "pm"},
		{"a phase that routing does not know", func(s *protocol.State) { s.Phase = "nowhere" }, "pm"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			st := protocol.State{Status: protocol.RunActive, Phase: "implementation"}
			tc.edit(&st)
			if got, why := NextRole(Run{Config: config(t), State: st}); got != tc.want || why == "" {
				t.Errorf("next is %s (%s), want %s", got, why, tc.want)
			}
		})
	}
	if got, _ := NextRole(Run{Config: &protocol.Config{}}); got != "" {
		t.Errorf("without roles %s is next", got)
	}
}
