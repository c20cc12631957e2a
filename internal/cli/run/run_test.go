package run

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/control"
)

func TestParseLines(t *testing.T) {
	pending := func(list ...control.PendingQuestion) func(control.Call) (control.Reply, error) {
		return func(control.Call) (control.Reply, error) { return control.Reply{OK: true, Pending: list}, nil }
	}
	approve := execution.Decision{Approve: true}
	always := execution.Decision{Approve: true, Always: "Edit(**)"}
	reason := execution.Decision{Reason: "not now"}
	edited := execution.Decision{Approve: true, Input: json.RawMessage(`{"command":"ls"}`)}
	answer := execution.Decision{Approve: true, Text: "the second"}
	for _, tc := range []struct {
		name, line string
		pending    func(control.Call) (control.Reply, error)
		want       control.Call
		quit       bool
	}{
		{"a message", "go on", pending(), control.Call{Verb: "send", Text: "go on", When: execution.WhenNow}, false},
		{"nothing", "  ", pending(), control.Call{}, false},
		{"an approval", "y", pending(control.PendingQuestion{ID: "q1", Approval: true}), control.Call{Verb: "answer", Question: "q1", Decision: &approve}, false},
		{"for the run", "a", pending(control.PendingQuestion{ID: "q1", Approval: true, Always: "Edit(**)"}), control.Call{Verb: "answer", Question: "q1", Decision: &always}, false},
		{"another command", "e ls", pending(control.PendingQuestion{ID: "q1", Approval: true, Command: "rm x", Input: json.RawMessage(`{"command":"rm x"}`)}), control.Call{Verb: "answer", Question: "q1", Decision: &edited}, false},
		{"unclear too", "e ls", pending(control.PendingQuestion{ID: "q1", Approval: true}), control.Call{}, false},
		{"a denial", "n not now", pending(control.PendingQuestion{ID: "q1", Approval: true}), control.Call{Verb: "answer", Question: "q1", Decision: &reason}, false},
		{"unclear", "hm", pending(control.PendingQuestion{ID: "q1", Approval: true}), control.Call{}, false},
		{"view", "v", pending(control.PendingQuestion{ID: "q1", Approval: true}), control.Call{}, false},
		{"an answer", "the second", pending(control.PendingQuestion{ID: "q2"}), control.Call{Verb: "answer", Question: "q2", Decision: &answer}, false},
		{"typed ahead", "y", pending(control.PendingQuestion{ID: "unseen", Approval: true}), control.Call{Verb: "send", Text: "y", When: execution.WhenNow}, false},
		{"an empty line", "", pending(control.PendingQuestion{ID: "q1", Approval: true}), control.Call{}, false},
		{"queue", "/queue later on", pending(), control.Call{Verb: "queue", Text: "later on"}, false},
		{"steer", "/steer left", pending(), control.Call{Verb: "steer", Text: "left"}, false},
		{"interrupt", "/interrupt", pending(control.PendingQuestion{ID: "q"}), control.Call{Verb: "interrupt"}, false},
		{"help", "/help", pending(), control.Call{}, false},
		{"abort", "/abort", pending(), control.Call{Verb: "abort"}, false},
		{"a path is a message", "/etc/hosts is wrong", pending(), control.Call{Verb: "send", Text: "/etc/hosts is wrong", When: execution.WhenNow}, false},
		{"the cost", "/cost", pending(control.PendingQuestion{ID: "q2"}), control.Call{}, false},
		{"quit", "/quit", pending(), control.Call{}, true},
	} {
		helped, looked := false, ""
		call, quit := Parse(tc.line, tc.pending, func(id execution.QuestionID) bool { return id != "unseen" }, func(execution.QuestionID, cli.Reply) { helped = true },
			func(command string) { looked = command })
		if (looked == "/cost") != (tc.name == "the cost") {
			t.Errorf("%s: looked at %q", tc.name, looked)
		}
		if helped != (tc.name == "help" || tc.name == "unclear" || tc.name == "unclear too" || tc.name == "view") {
			t.Errorf("%s: helped %v", tc.name, helped)
		}
		if !reflect.DeepEqual(call, tc.want) || quit != tc.quit {
			t.Errorf("%s: %+v %v, want %+v %v", tc.name, call, quit, tc.want, tc.quit)
		}
	}
}

// TestTwoQuestions: of two questions at once one is on the screen; the other follows its answer, also when somebody else gives it.
func TestTwoQuestions(t *testing.T) {
	t.Parallel()
	asks := func(id string) execution.Event {
		return execution.Event{Body: execution.ApprovalRequired{ID: execution.QuestionID(id), ToolName: "Write"}}
	}
	var s Shown
	if !s.Add(asks("q1"), nil) || s.Add(asks("q2"), nil) || s.Add(asks("q3"), nil) {
		t.Error("not the first question alone is shown")
	}
	if _, waiting := s.Answered(execution.ApprovalGranted{ID: "q2"}); waiting != 0 {
		t.Error("an answer to a question that was not shown shows another one")
	}
	next, waiting := s.Answered(execution.ApprovalDenied{ID: "q1"})
	if waiting != 1 || cli.QuestionID(next.Body) != "q3" {
		t.Errorf("after the answer: %+v, %d wait", next.Body, waiting)
	}
	if _, waiting := s.Answered(execution.QuestionWithdrawn{ID: "q3"}); waiting != 0 || len(s.list) != 0 {
		t.Errorf("%d wait, left %+v", waiting, s.list)
	}
	s.Add(asks("q4"), nil)
	s.Add(asks("q5"), nil)
	s.Add(asks("q6"), nil)
	if next, waiting := s.Answered(execution.ApprovalGranted{ID: "q4"}); waiting != 2 || cli.QuestionID(next.Body) != "q5" {
		t.Errorf("of three: %+v, %d wait", next.Body, waiting)
	}
	if q, _ := s.find("q6"); !q.at.IsZero() {
		t.Error("a question that was not shown has a time")
	}
}

// TestAcknowledge: a message is acknowledged if the conversation does not show at once what becomes of it.
func TestAcknowledge(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		verb    string
		working bool
	}{
		"": {"send", false}, "  sent: the agent reads it as soon as it can\n": {"send", true},
		"  queued for after this turn: hi\n": {"queue", false}, "  sent to the running turn: hi\n": {"steer", true},
	} {
		var out bytes.Buffer
		Acknowledge(&cli.App{Err: &out}, control.Call{Verb: c.verb, Text: "hi"}, c.working)
		if out.String() != want {
			t.Errorf("%+v: %q", c, out.String())
		}
	}
}
