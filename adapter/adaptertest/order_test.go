package adaptertest_test

import (
	"strings"
	"testing"
	"time"

	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// recorded is the stream of a real run, to break.
func recorded(t *testing.T, sc at.Scenario) ([]execution.Event, execution.Result) {
	t.Helper()
	s := at.FakeSubject(&at.Fake{})
	req := at.PlayRequest(sc)
	req.AssistantID, req.TurnID, req.Run.ApprovalMode = "a", "t", execution.ApprovalYolo
	r, err := agent.New(s.Backend()).Start(t.Context(), req, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var events []execution.Event
	for e, err := range r.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	res, err := r.Result(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return events, res
}

func renumber(events []execution.Event) []execution.Event {
	for i := range events {
		events[i].Seq = uint64(i + 1)
	}
	return events
}

func index[T execution.Body](t *testing.T, events []execution.Event) int {
	t.Helper()
	for i, e := range events {
		if _, ok := e.Body.(T); ok {
			return i
		}
	}
	t.Fatalf("no such event")
	return 0
}

func without[T execution.Body](t *testing.T, events []execution.Event) []execution.Event {
	i := index[T](t, events)
	return renumber(append(events[:i:i], events[i+1:]...))
}

// moved puts the first A right before the first B.
func moved[A, B execution.Body](t *testing.T, events []execution.Event) []execution.Event {
	a := events[index[A](t, events)]
	events = without[A](t, events)
	b := index[B](t, events)
	a.Time = events[b].Time
	return renumber(append(append(events[:b:b], a), events[b:]...))
}

func inserted[B execution.Body](t *testing.T, events []execution.Event, bodies ...execution.Body) []execution.Event {
	b := index[B](t, events)
	out := append([]execution.Event{}, events[:b]...)
	for _, body := range bodies {
		e := events[b]
		e.Body = body
		out = append(out, e)
	}
	return renumber(append(out, events[b:]...))
}

func TestCheckOrder(t *testing.T) {
	t.Parallel()
	type stream = []execution.Event
	tests := []struct {
		name   string
		sc     at.Scenario
		mutate func(*testing.T, stream, *execution.Result) stream
		want   string // empty: no fault
	}{
		{"good", at.Approval, func(_ *testing.T, e stream, _ *execution.Result) stream { return e }, ""},
		{"empty", at.Simple, func(*testing.T, stream, *execution.Result) stream { return nil }, "no events"},
		{"number missing", at.Simple, func(_ *testing.T, e stream, _ *execution.Result) stream { return append(e[:2:2], e[3:]...) }, "follows number"},
		{"time back", at.Simple, func(_ *testing.T, e stream, _ *execution.Result) stream {
			e[3].Time = e[2].Time.Add(-time.Second)
			return e
		}, "is before"},
		{"other run", at.Simple, func(_ *testing.T, e stream, _ *execution.Result) stream { e[3].RunID = "X"; return e }, "is of run"},
		{"no agent", at.Simple, func(_ *testing.T, e stream, _ *execution.Result) stream { e[3].Agent = ""; return e }, "names no agent"},
		{"no body", at.Simple, func(_ *testing.T, e stream, _ *execution.Result) stream { e[3].Body = nil; return e }, "no body"},
		{"no finished", at.Simple, func(t *testing.T, e stream, _ *execution.Result) stream { return without[execution.Finished](t, e) }, "not finished"},
		{"finished twice", at.Simple, func(_ *testing.T, e stream, _ *execution.Result) stream {
			return renumber(append(e, e[len(e)-1]))
		}, "is not the last event"},
		{"another result", at.Simple, func(_ *testing.T, e stream, r *execution.Result) stream {
			r.Status = execution.StatusDeferred
			return e
		}, "another result"},
		{"no session", at.Simple, func(t *testing.T, e stream, _ *execution.Result) stream { return without[execution.SessionStart](t, e) }, "before session_start"},
		{"no session end", at.Simple, func(t *testing.T, e stream, _ *execution.Result) stream { return without[execution.SessionEnd](t, e) }, "session has no end"},
		{"after session end", at.Simple, func(t *testing.T, e stream, _ *execution.Result) stream {
			return inserted[execution.Finished](t, e, execution.TokenUsage{})
		}, "after session_end"},
		{"no turn start", at.Simple, func(t *testing.T, e stream, _ *execution.Result) stream { return without[execution.TurnStart](t, e) }, "is outside any turn"},
		{"no turn end", at.Simple, func(t *testing.T, e stream, _ *execution.Result) stream { return without[execution.TurnEnd](t, e) }, "has no end"},
		{"turn in turn", at.Simple, func(t *testing.T, e stream, _ *execution.Result) stream {
			return inserted[execution.MessageStart](t, e, execution.TurnStart{TurnIndex: 1})
		}, "comes within turn"},
		{"wrong index", at.Simple, func(t *testing.T, e stream, _ *execution.Result) stream {
			e[index[execution.TurnEnd](t, e)].Body = execution.TurnEnd{TurnIndex: 4, Reason: execution.TurnCompleted}
			return e
		}, "has index 4"},
		{"no reason", at.Simple, func(t *testing.T, e stream, _ *execution.Result) stream {
			e[index[execution.TurnEnd](t, e)].Body = execution.TurnEnd{}
			return e
		}, "has no reason"},
		{"wrong turn", at.Simple, func(t *testing.T, e stream, _ *execution.Result) stream {
			e[index[execution.TextDelta](t, e)].Turn = 3
			return e
		}, "says turn 3"},
		{"step end without start", at.Steps, func(t *testing.T, e stream, _ *execution.Result) stream { return without[execution.StepStart](t, e) }, "which is not open"},
		{"message text", at.Simple, func(t *testing.T, e stream, _ *execution.Result) stream {
			e[index[execution.MessageStop](t, e)].Body = execution.MessageStop{Text: "ho"}
			return e
		}, "not that of its deltas"},
		{"accumulated", at.Simple, func(t *testing.T, e stream, _ *execution.Result) stream {
			e[index[execution.TextDelta](t, e)].Body = execution.TextDelta{Delta: "h"}
			return e
		}, "does not end with it"},
		{"thinking after text", at.Think, func(t *testing.T, e stream, _ *execution.Result) stream {
			return moved[execution.ThinkingDelta, execution.MessageStop](t, e)
		}, "after text of the same message"},
		{"result before call", at.Approval, func(t *testing.T, e stream, _ *execution.Result) stream {
			return moved[execution.ToolResultEvent, execution.ToolCallStart](t, e)
		}, "has not started"},
		{"result twice", at.Approval, func(t *testing.T, e stream, _ *execution.Result) stream {
			return inserted[execution.FileWrite](t, e, e[index[execution.ToolResultEvent](t, e)].Body)
		}, "has ended before"},
		{"ready twice", at.Approval, func(t *testing.T, e stream, _ *execution.Result) stream {
			return inserted[execution.ToolCallReady](t, e, e[index[execution.ToolCallReady](t, e)].Body)
		}, "was ready before"},
		{"input after ready", at.Approval, func(t *testing.T, e stream, _ *execution.Result) stream {
			return inserted[execution.ToolResultEvent](t, e, execution.ToolInputDelta{ToolCallID: "write-1"})
		}, "not collecting input"},
		{"file before result", at.Approval, func(t *testing.T, e stream, _ *execution.Result) stream {
			return moved[execution.FileWrite, execution.ToolResultEvent](t, e)
		}, "before the result of its tool call"},
		{"shell outside", at.Approval, func(t *testing.T, e stream, _ *execution.Result) stream {
			return inserted[execution.FileWrite](t, e, execution.ShellStart{ToolCallID: "write-1"})
		}, "outside its tool call"},
		{"shell without start", at.Approval, func(t *testing.T, e stream, _ *execution.Result) stream {
			return inserted[execution.ToolResultEvent](t, e, execution.ShellExit{ToolCallID: "write-1"})
		}, "before shell_start"},
		{"answer before question", at.Approval, func(t *testing.T, e stream, _ *execution.Result) stream {
			return inserted[execution.ApprovalRequired](t, e, execution.ApprovalGranted{ID: "ap1"})
		}, "was not asked"},
		{"answer twice", at.Approval, func(t *testing.T, e stream, _ *execution.Result) stream {
			return inserted[execution.TurnEnd](t, e, execution.ApprovalDenied{ID: "ap1"})
		}, "was answered before"},
		{"tool does not wait", at.Approval, func(t *testing.T, e stream, _ *execution.Result) stream {
			return moved[execution.ToolResultEvent, execution.ApprovalGranted](t, e)
		}, "did not wait"},
		{"taken, not queued", at.Simple, func(t *testing.T, e stream, _ *execution.Result) stream {
			return inserted[execution.TurnEnd](t, e, execution.InputTaken{ID: "i1"})
		}, "was not queued"},
		{"queued, not taken", at.Simple, func(t *testing.T, e stream, _ *execution.Result) stream {
			return inserted[execution.TurnEnd](t, e, execution.InputQueued{ID: "i1"})
		}, "neither taken nor cancelled"},
		{"taken twice", at.Simple, func(t *testing.T, e stream, _ *execution.Result) stream {
			return inserted[execution.TurnEnd](t, e, execution.InputQueued{ID: "i1"}, execution.InputTaken{ID: "i1"}, execution.InputCancelled{ID: "i1"})
		}, "taken or cancelled before"},
		{"failure not shown", at.Fail, func(t *testing.T, e stream, _ *execution.Result) stream { return without[execution.ErrorEvent](t, e) }, "no error event"},
		{"output after failure", at.Fail, func(t *testing.T, e stream, _ *execution.Result) stream {
			return inserted[execution.SessionEnd](t, e, execution.ImageOutput{MimeType: "image/png"})
		}, "follows the terminal error"},
		{"text of the result", at.Simple, func(_ *testing.T, e stream, r *execution.Result) stream { r.Text = "x"; return e }, "is not that of the deltas"},
		{"usage of the result", at.Spend, func(_ *testing.T, e stream, r *execution.Result) stream { r.Usage = nil; return e }, "usage"},
		{"cost of the result", at.Spend, func(_ *testing.T, e stream, r *execution.Result) stream { r.Cost = nil; return e }, "cost"},
		{"turns of the result", at.Simple, func(_ *testing.T, e stream, r *execution.Result) stream { r.TurnCount = 2; return e }, "counts 2 turns"},
		{"gap", at.Simple, func(_ *testing.T, e stream, _ *execution.Result) stream {
			gap := e[3]
			gap.Seq, gap.Body = e[3].Seq, execution.Gap{Count: e[3].Seq, From: 1, To: e[3].Seq}
			return append(stream{gap}, e[4:]...)
		}, ""},
		{"gap miscounted", at.Simple, func(_ *testing.T, e stream, _ *execution.Result) stream {
			gap := e[3]
			gap.Body = execution.Gap{Count: 1, From: 1, To: e[3].Seq}
			return append(stream{gap}, e[4:]...)
		}, "counts 1 lost events"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			events, res := recorded(t, tt.sc)
			events = tt.mutate(t, events, &res)
			err := at.CheckOrder(events, res)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %v, want no fault", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}
