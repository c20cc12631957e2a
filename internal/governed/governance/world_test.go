package governance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

// testConfig is a project of three phases: people plan, an agent builds, another one reviews.
const testConfig = `{
  "schema_version": "1.0",
  "project": {"id": "demo", "name": "Demo"},
  "roles": {
    "pm": {"title": "PM", "mandate": "plan", "write_authority": "review_only", "runtime": "hand", "decision_authority": 50},
    "dev": {"title": "Dev", "mandate": "build", "write_authority": "authoritative", "runtime": "cli", "decision_authority": 20},
    "qa": {"title": "QA", "mandate": "check", "write_authority": "review_only", "runtime": "other"}
  },
  "runtimes": {"hand": {"type": "manual"}, "cli": {"type": "local_cli", "command": ["true"]}, "other": {"type": "agent", "agent": "claude"}},
  "routing": {
    "planning": {"entry_role": "pm", "allowed_next_roles": ["pm", "dev", "human"], "exit_gate": "plan"},
    "implementation": {"entry_role": "dev", "allowed_next_roles": ["dev", "qa", "human"], "exit_gate": "built"},
    "qa": {"entry_role": "qa", "allowed_next_roles": ["dev", "qa", "human"], "exit_gate": "ship"}
  },
  "gates": {
    "plan": {"requires_human_approval": true},
    "built": {"requires_files": ["NOTES.md"], "requires_verification_pass": true},
    "ship": {"requires_human_approval": true}
  },
  "workflow_kit": {},
  "budget": {"per_turn_max_usd": 2, "per_run_max_usd": 10}
}`

func config(t testing.TB, edits ...string) *protocol.Config {
	t.Helper()
	text := testConfig
	for i := 0; i+1 < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			t.Fatalf("the configuration has no %s", edits[i])
		}
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	var c protocol.Config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

// world drives a run as an orchestrator does.
type world struct {
	t       testing.TB
	run     Run
	now     time.Time
	at      protocol.Time // of the last input
	effects []Effect      // of the last input
	events  []protocol.Event
	notes   []protocol.LedgerNote
	turns   int
}

func newWorld(t testing.TB, c *protocol.Config) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)}
	w.run = Run{Config: c, State: protocol.State{Status: protocol.RunIdle}}
	w.must(StartRun{RunID: "run_0000000000000001"})
	return w
}

func (w *world) tick() protocol.Time {
	w.now = w.now.Add(time.Second)
	return protocol.At(w.now)
}

// do applies an input and collects what it records.
func (w *world) do(in Input) *Refused {
	w.t.Helper()
	before := snapshot(w.run)
	w.at = w.tick()
	next, effects := Transition(w.run, w.at, in)
	w.effects = effects
	if len(effects) == 1 {
		if r, ok := effects[0].(Refused); ok {
			if after := snapshot(next); after != before {
				w.t.Fatalf("a refused %T changed the run: %s", in, cmp.Diff(before, after))
			}
			if r.Next == "" || r.Message == "" || r.Code == "" {
				w.t.Fatalf("%T is refused without a code, a message or a command: %+v", in, r)
			}
			return &r
		}
	}
	if after := snapshot(w.run); after != before {
		w.t.Fatalf("%T changed the run that it was given: %s", in, cmp.Diff(before, after))
	}
	w.run = next
	var last []protocol.Event
	for _, e := range effects {
		switch e := e.(type) {
		case Refused:
			w.t.Fatalf("%T is refused beside other effects: %+v", in, e)
		case AppendNote:
			w.notes = append(w.notes, e.Note)
		case Emit:
			ev := e.Event
			ev.EventID = fmt.Sprintf("evt_%d_%d", len(w.events), len(last))
			if e.AfterCheckpoint {
				last = append(last, ev)
			} else {
				w.events = append(w.events, ev)
			}
		}
	}
	w.events = append(w.events, last...)
	return nil
}

func (w *world) must(in Input) {
	w.t.Helper()
	if r := w.do(in); r != nil {
		w.t.Fatalf("%T is refused: %s: %s", in, r.Code, r.Message)
	}
}

func (w *world) refused(in Input, code string) Refused {
	w.t.Helper()
	r := w.do(in)
	if r == nil {
		w.t.Fatalf("%T is not refused, want %s", in, code)
	}
	if r.Code != code {
		w.t.Fatalf("%T is refused with %s (%s), want %s", in, r.Code, r.Message, code)
	}
	return *r
}

// turn assigns and dispatches a turn.
func (w *world) turn(role string) string {
	w.t.Helper()
	w.turns++
	id := fmt.Sprintf("turn_%016d", w.turns)
	w.must(AssignTurn{Role: role, TurnID: id, Baseline: clean()})
	w.must(Dispatched{TurnID: id})
	return id
}

func clean() protocol.Baseline { return protocol.Baseline{Kind: "git_worktree", Clean: true} }

// result is a result of an active turn that passes validation, with edits.
func (w *world) result(turn string, edits ...func(*protocol.TurnResult)) Validated {
	w.t.Helper()
	t := w.run.State.ActiveTurns.At(turn)
	if t == nil {
		w.t.Fatalf("the turn %s is not active", turn)
	}
	r := &protocol.TurnResult{SchemaVersion: "1.0", RunID: w.run.State.ID(), TurnID: turn, Role: t.AssignedRole, RuntimeID: t.RuntimeID,
		Status: protocol.ResultCompleted, Summary: "done", Verification: protocol.Verification{Status: "pass"},
		Artifact: protocol.ResultArtifact{Type: "workspace"}, ProposedNextRole: t.AssignedRole,
		Objections: []protocol.Objection{{ID: "OBJ-" + fmt.Sprintf("%03d", w.turns), Severity: "low", Statement: "could be shorter"}}}
	for _, e := range edits {
		e(r)
	}
	v, err := Prove(protocol.Stages(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func asksFor(phase string) func(*protocol.TurnResult) {
	return func(r *protocol.TurnResult) { r.PhaseTransitionRequest = &phase }
}

func asksForEnd(r *protocol.TurnResult) { r.RunCompletionRequest = new(true) }

func changes(files ...string) func(*protocol.TurnResult) {
	return func(r *protocol.TurnResult) { r.FilesChanged = files }
}

// accept accepts a turn; gate files hold what a gate of the test configuration needs.
func (w *world) accept(turn string, edits ...func(*protocol.TurnResult)) {
	w.t.Helper()
	w.must(AcceptTurn{TurnID: turn, Result: w.result(turn, edits...), GateFiles: map[string]string{"NOTES.md": "notes"}})
}

// to brings the run into a phase, approved.
func (w *world) to(phase string) {
	w.t.Helper()
	for w.run.State.Phase != phase {
		phases := w.run.Config.Phases()
		next := phases[slices.Index(phases, w.run.State.Phase)+1]
		role, _ := NextRole(w.run)
		w.accept(w.turn(role), asksFor(next))
		if w.run.State.Status == protocol.RunPaused {
			w.must(Approve{})
		}
	}
}

func (w *world) types() []string {
	var list []string
	for _, e := range w.events {
		list = append(list, e.EventType)
	}
	return list
}

func (w *world) blockedOn(want string) {
	w.t.Helper()
	st := w.run.State
	if st.Status != protocol.RunBlocked || st.BlockedOn == nil || *st.BlockedOn != want {
		w.t.Fatalf("the run is %s on %s, want blocked on %s", st.Status, value(st.BlockedOn, "nothing"), want)
	}
	if st.BlockedReason == nil || !strings.HasPrefix(st.BlockedReason.Recovery.RecoveryAction, "drawbar ") {
		w.t.Fatalf("the block names no command: %+v", st.BlockedReason)
	}
}

func (w *world) status(run protocol.RunStatus) {
	w.t.Helper()
	if w.run.State.Status != run {
		w.t.Fatalf("the run is %s on %s, want %s", w.run.State.Status, value(w.run.State.BlockedOn, "nothing"), run)
	}
}

func find[E Effect](effects []Effect) (E, bool) {
	for _, e := range effects {
		if e, ok := e.(E); ok {
			return e, true
		}
	}
	var none E
	return none, false
}

// snapshot is all of a run as text.
func snapshot(r Run) string {
	b, err := protocol.MarshalFile(map[string]any{"state": r.State, "history": r.History, "decisions": r.DecisionIDs, "objections": r.ObjectionIDs})
	if err != nil {
		panic(err)
	}
	return string(b)
}
