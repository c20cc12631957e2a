package governance

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

func objects(list ...protocol.Objection) func(*protocol.TurnResult) {
	return func(r *protocol.TurnResult) { r.Objections = list }
}

var ann = protocol.Person{Name: "Ann", Email: "ann@x", User: "root"}

// objected is a run with one turn of the pm that raised an objection.
func objected(t *testing.T, severity string) *world {
	t.Helper()
	w := newWorld(t, config(t))
	w.accept(w.turn("pm"), objects(protocol.Objection{ID: "OBJ-001", Severity: severity, Statement: "it deletes the data"}))
	return w
}

// TestWhatAPersonMayRuleOnAnObjection goes through its states: what changes nothing is refused, with the words that say why.
func TestWhatAPersonMayRuleOnAnObjection(t *testing.T) {
	t.Parallel()
	w := objected(t, "low")
	rule := func(status string) RuleObjection {
		return RuleObjection{ID: "OBJ-001", Status: status, Reason: "so", By: ann}
	}
	refused := func(status, want string) {
		t.Helper()
		if r := w.refused(rule(status), CodeInvalidInput); !strings.Contains(r.Message, want) {
			t.Errorf("%s: %s, want %q", status, r.Message, want)
		}
	}
	refused(protocol.ObjectionRaised, "OBJ-001 is open")
	refused("resolved", "not set it to")
	w.refused(RuleObjection{ID: "OBJ-009", Status: protocol.ObjectionAcknowledged, Reason: "so"}, CodeUnknownObjection)
	w.refused(RuleObjection{ID: "OBJ-001", Status: protocol.ObjectionAcknowledged, Reason: " "}, CodeInvalidInput)
	w.must(rule(protocol.ObjectionAcknowledged))
	refused(protocol.ObjectionAcknowledged, "is already acknowledged")
	w.must(rule(protocol.ObjectionRaised)) // what was acknowledged is opened again
	refused(protocol.ObjectionRaised, "is open")
	w.must(rule(protocol.ObjectionResolvedByHuman))
	if len(w.run.State.OpenObjections) != 0 {
		t.Errorf("still open: %+v", w.run.State.OpenObjections)
	}
	refused(protocol.ObjectionResolvedByHuman, "already resolved")
	refused(protocol.ObjectionAcknowledged, "already resolved")
	w.must(rule(protocol.ObjectionRaised))
	if o := w.run.State.OpenObjections; len(o) != 1 || o[0].Status != protocol.ObjectionRaised || o[0].Statement != "it deletes the data" || o[0].Role != "pm" {
		t.Errorf("reopened as %+v", o)
	}
	var said []string
	for _, n := range w.notes {
		if string(n.Extra.At("by")) != `"Ann <ann@x>"` || string(n.Extra.At("by_user")) != `"root"` || string(n.Extra.At("severity")) != `"low"` {
			t.Errorf("noted %+v", n)
		}
		said = append(said, n.Decision+" "+string(n.Extra.At("from")))
	}
	if got, want := strings.Join(said, ", "), `objection_acknowledged "raised", objection_reopened "acknowledged", objection_resolved "raised", objection_reopened "resolved"`; got != want {
		t.Errorf("noted %s, want %s", got, want)
	}
}

// TestWhatATurnSaysOfAnObjectionIsItsOwn: an agent's word is not a person's or a director's, and one role does not resolve what another
// one blocks with.
func TestWhatATurnSaysOfAnObjectionIsItsOwn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		severity, raised, role, says, want string // want is empty where it is resolved
	}{
		"a person resolves what blocks":        {"blocking", "dev", "pm", protocol.ObjectionResolvedByHuman, ""},
		"an agent is no person":                {"blocking", "pm", "dev", protocol.ObjectionResolvedByHuman, protocol.ObjectionAcknowledged},
		"an agent does not direct those above": {"blocking", "pm", "dev", protocol.ObjectionResolvedByDirector, protocol.ObjectionAcknowledged},
		"the role that raised it":              {"blocking", "dev", "dev", protocol.ObjectionResolved, ""},
		"what does not block, anyone":          {"high", "pm", "dev", protocol.ObjectionResolved, ""},
		"as a person, what does not block":     {"high", "pm", "dev", protocol.ObjectionResolvedByHuman, ""},
		"as its director, what does not block": {"high", "pm", "dev", protocol.ObjectionResolvedByDirector, ""},
		"a person who only acknowledges":       {"blocking", "dev", "pm", protocol.ObjectionAcknowledged, protocol.ObjectionAcknowledged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, config(t, `"allowed_next_roles": ["dev", "qa", "human"]`, `"allowed_next_roles": ["dev", "qa", "pm", "human"]`))
			w.to("implementation")
			w.accept(w.turn(tc.raised), objects(protocol.Objection{ID: "OBJ-500", Severity: tc.severity, Statement: "it deletes the data"}))
			w.accept(w.turn(tc.role), objects(protocol.Objection{ID: "OBJ-500", Severity: tc.severity, Status: tc.says, Statement: "there is a backup"}))
			got := ""
			for _, o := range w.run.State.OpenObjections {
				if o.ID == "OBJ-500" {
					got = o.Status
				}
			}
			if got != tc.want {
				t.Errorf("it is %q, want %q", got, tc.want)
			}
			last := w.run.History[len(w.run.History)-1].Objections[0].Status
			if honest := strings.HasPrefix(tc.says, last) || tc.role == "pm"; !honest && tc.want == "" {
				t.Errorf("the history says %q of what %s said as %q", last, tc.role, tc.says)
			}
			if tc.role == "dev" && (last == protocol.ObjectionResolvedByHuman || last == protocol.ObjectionResolvedByDirector) {
				t.Errorf("the history takes %q from an agent", last)
			}
		})
	}
}

// TestOpenObjectionsAreBoundedAndCaughtUp: the state repeats no more than the beginning of a statement, and what another program accepted is
// folded in before the next word.
func TestOpenObjectionsAreBoundedAndCaughtUp(t *testing.T) {
	t.Parallel()
	w := objected(t, "blocking")
	w.accept(w.turn("pm"), objects(protocol.Objection{ID: "OBJ-002", Severity: "low", Statement: strings.Repeat("ä", maxStatement+1)}))
	if s := w.run.State.OpenObjections[1].Statement; len([]rune(s)) != maxStatement+3 || !strings.HasSuffix(s, "ä...") {
		t.Errorf("kept %d runes", len([]rune(s)))
	}
	w.run.State.OpenObjections, w.run.State.ObjectionsThrough = nil, ""
	if open := OpenObjections(w.run); len(open) != 2 || len(w.run.State.OpenObjections) != 0 {
		t.Errorf("open are %+v; the run has %+v", open, w.run.State.OpenObjections)
	}
	if b := BlockingObjections(w.run); len(b) != 1 || b[0].ID != "OBJ-001" {
		t.Errorf("blocking are %+v", b)
	}
	w.must(RuleObjection{ID: "OBJ-001", Status: protocol.ObjectionResolvedByHuman, Reason: "so"})
	if open := w.run.State.OpenObjections; len(open) != 1 || open[0].ID != "OBJ-002" {
		t.Errorf("after a word on the first, %+v", open)
	}
}

// TestObjectionsTellTheirStory: in the order of what was said, with the highest severity, and nothing of another run.
func TestObjectionsTellTheirStory(t *testing.T) {
	t.Parallel()
	w := objected(t, "low")
	w.must(RuleObjection{ID: "OBJ-001", Status: protocol.ObjectionAcknowledged, Reason: "we know", By: ann})
	w.accept(w.turn("pm"), objects(protocol.Objection{ID: "OBJ-001", Severity: "high", Status: protocol.ObjectionEscalated, Statement: "it did"}))
	other := w.notes[0]
	other.RunID = "run_other"
	unrelated := w.notes[0]
	unrelated.Decision, unrelated.Extra = "gate_declined", protocol.Extra{}
	list := Objections(w.run.History, append(w.notes, other, unrelated))
	if len(list) != 1 || !list[0].Open || list[0].Severity != "high" || list[0].Status != protocol.ObjectionEscalated || list[0].Statement != "it deletes the data" {
		b, _ := json.Marshal(list)
		t.Fatalf("%s", b)
	}
	var said []string
	for _, word := range list[0].Words {
		said = append(said, word.Status+" "+word.Role+word.By+" "+word.Text)
	}
	if got, want := strings.Join(said, ", "), "raised pm it deletes the data, acknowledged Ann <ann@x> we know, escalated pm it did"; got != want {
		t.Errorf("said %s, want %s", got, want)
	}
}
