package claude

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// talk is a parser in a conversation.
type talk struct {
	*parser
	s *cliagent.Sink
	t *testing.T
}

func newTalk(t *testing.T) talk {
	req := request()
	req.Run.Interactive = true
	return talk{newParser(req).(*parser), cliagent.NewSink(true), t}
}

func (k talk) hear(lines ...string) []execution.Event {
	k.t.Helper()
	for _, l := range lines {
		k.Line(process.Stdout, []byte(l), k.s)
	}
	return k.s.Take()
}

const okResult = `{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","result":"ok"}`

func ask(id, tool, input string) string {
	return `{"type":"control_request","request_id":"` + id + `","request":{"subtype":"can_use_tool","tool_name":"` + tool + `","input":` + input + `,"tool_use_id":"toolu_` + id + `"}}`
}

func code(err error) execution.ErrorCode { return execution.CodeOf(err) }

func TestCommandRefusals(t *testing.T) {
	t.Parallel()
	shot := newParser(request())
	s := cliagent.NewSink(false)
	for _, cmd := range []execution.Command{execution.Say{Text: "x"}, execution.Answer{ID: "q"}, execution.Interrupt{}} {
		if err := shot.Command(cmd, s); code(err) != execution.CodeStdinNotAvailable {
			t.Errorf("one shot, %T: got %v, want STDIN_NOT_AVAILABLE", cmd, err)
		}
	}
	k := newTalk(t)
	if err := k.Command(execution.Interrupt{}, k.s); err != nil {
		t.Errorf("the first message is on its way and cannot be interrupted: %v", err)
	}
	k.hear(initLine, okResult)
	if err := k.Command(execution.Interrupt{}, k.s); code(err) != execution.CodeInvalidStateTransition {
		t.Errorf("nothing to interrupt: got %v", err)
	}
	if err := k.Command(execution.Answer{ID: "none"}, k.s); code(err) != execution.CodeInteractionNotFound {
		t.Errorf("no such question: got %v", err)
	}
	if err := k.Command(execution.EndInput{}, k.s); err != nil || !k.done {
		t.Errorf("the input ended and nothing runs: %v, done %v", err, k.done)
	}
	if err := k.Command(execution.Say{Text: "x"}, k.s); code(err) != execution.CodeRunNotActive {
		t.Errorf("a message after the end: got %v", err)
	}
}

// TestEndWaits: the input of Claude may only be closed when nothing runs, waits or is asked. It loses the answer
// to a question otherwise, and still reports success.
func TestEndWaits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		play  func(k talk)
		ended bool
	}{
		{"before the first message arrives", func(talk) {}, false},
		{"in a turn", func(k talk) { k.hear(initLine) }, false},
		{"after the turn", func(k talk) { k.hear(initLine, okResult) }, true},
		{"with a message queued", func(k talk) {
			k.hear(initLine)
			k.s.TakeWrites()
			_ = k.Command(execution.Say{ID: "1", Text: "x"}, k.s)
			k.hear(okResult)
		}, false},
		{"with an open question", func(k talk) { k.hear(initLine, ask("1", "Bash", `{"command":"x"}`), okResult) }, false},
		{"after a session that is not known", func(k talk) {
			k.hear(`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found with session ID: x"]}`)
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := newTalk(t)
			tt.play(k)
			_ = k.Command(execution.EndInput{}, k.s)
			if k.done != tt.ended {
				t.Errorf("the run is ended %v, want %v", k.done, tt.ended)
			}
		})
	}
	// The other order: the input has ended, then the turn.
	k := newTalk(t)
	_ = k.Command(execution.EndInput{}, k.s)
	if k.hear(initLine); k.done {
		t.Error("the run was ended in its turn")
	}
	if k.hear(okResult); !k.done {
		t.Error("the run was not ended after its turn")
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	one := `{"questions":[{"question":"A?","options":[{"label":"x"}]}]}`
	two := `{"questions":[{"question":"A?"},{"question":"B?"}]}`
	tests := []struct {
		name        string
		tool, input string
		decision    execution.Decision
		want        string // the response, or an error code
	}{
		{"allow", "Bash", `{"command":"x"}`, execution.Decision{Approve: true}, `{"behavior":"allow","updatedInput":{"command":"x"}}`},
		{"allow something else", "Bash", `{"command":"x"}`, execution.Decision{Approve: true, Input: json.RawMessage(`{"command":"y"}`)}, `{"behavior":"allow","updatedInput":{"command":"y"}}`},
		{"deny", "Bash", `{"command":"x"}`, execution.Decision{Reason: "no"}, `{"behavior":"deny","message":"no"}`},
		{"deny without a reason", "Bash", `{"command":"x"}`, execution.Decision{}, `{"behavior":"deny","message":"the permission was refused"}`},
		{"no object", "Bash", `{"command":"x"}`, execution.Decision{Approve: true, Input: json.RawMessage(`[1]`)}, string(execution.CodeValidation)},
		{"text", "AskUserQuestion", one, execution.Decision{Text: "blue"}, `{"behavior":"allow","updatedInput":{"questions":[{"question":"A?","options":[{"label":"x"}]}],"answers":{"A?":"blue"}}}`},
		{"a line each", "AskUserQuestion", two, execution.Decision{Text: "1\n2\n"}, `{"behavior":"allow","updatedInput":{"questions":[{"question":"A?"},{"question":"B?"}],"answers":{"A?":"1","B?":"2"}}}`},
		{"by name", "AskUserQuestion", two, execution.Decision{Text: `{"A?":"1","B?":"2"}`}, `{"behavior":"allow","updatedInput":{"questions":[{"question":"A?"},{"question":"B?"}],"answers":{"A?":"1","B?":"2"}}}`},
		{"one for all", "AskUserQuestion", two, execution.Decision{Text: "same"}, `{"behavior":"allow","updatedInput":{"questions":[{"question":"A?"},{"question":"B?"}],"answers":{"A?":"same","B?":"same"}}}`},
		{"no answer", "AskUserQuestion", one, execution.Decision{Reason: "busy"}, `{"behavior":"deny","message":"busy"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := newTalk(t)
			events := k.hear(initLine, ask("q", tt.tool, tt.input))
			last := events[len(events)-1].Body
			if input, ok := last.(execution.InputRequired); ok != (tt.tool == "AskUserQuestion") || ok && !strings.HasPrefix(input.Question, "A?") {
				t.Errorf("the question is %+v", last)
			}
			err := k.Command(execution.Answer{ID: "q", Decision: tt.decision}, k.s)
			if err != nil {
				if string(code(err)) != tt.want {
					t.Errorf("got %v, want %s", err, tt.want)
				}
				if _, err := k.questions.Find("q"); err != nil {
					t.Error("a refused answer took the question away")
				}
				return
			}
			sameJSON(t, []byte(`{"type":"control_response","response":{"subtype":"success","request_id":"q","response":`+tt.want+`}}`), written(t, k.s, nil))
			if err := k.Command(execution.Answer{ID: "q", Decision: tt.decision}, k.s); code(err) != execution.CodeInteractionNotFound {
				t.Errorf("the second answer: got %v, want INTERACTION_NOT_FOUND", err)
			}
		})
	}
}

// TestUnknownRequest: Claude waits for an answer, so it gets one.
func TestUnknownRequest(t *testing.T) {
	t.Parallel()
	k := newTalk(t)
	events := k.hear(`{"type":"control_request","request_id":"e","request":{"subtype":"elicitation"}}`)
	if _, ok := events[0].Body.(execution.Log); !ok {
		t.Errorf("an unknown request is %+v, want a log event", events[0].Body)
	}
	sameJSON(t, []byte(`{"type":"control_response","response":{"subtype":"error","request_id":"e","error":"the request \"elicitation\" is not supported"}}`), written(t, k.s, nil))
}

func TestInputs(t *testing.T) {
	t.Parallel()
	k := newTalk(t)
	k.hear(initLine)
	uuids := map[execution.InputID]string{}
	for _, id := range []execution.InputID{"taken", "dropped", "left"} {
		if err := k.Command(execution.Say{ID: id, Text: "x"}, k.s); err != nil {
			t.Fatal(err)
		}
		var sent clientLine
		written(t, k.s, &sent)
		uuids[id] = sent.UUID
	}
	state := func(id execution.InputID, state string) string {
		return `{"type":"command_lifecycle","command_uuid":"` + uuids[id] + `","state":"` + state + `"}`
	}
	events := k.hear(state("taken", "queued"), `{"type":"assistant","parent_tool_use_id":null,"message":{"id":"m","content":[],"usage":{}}}`,
		state("taken", "started"), `{"type":"user","isReplay":true,"uuid":"`+uuids["taken"]+`","message":{"content":"x"}}`, state("taken", "completed"),
		state("dropped", "cancelled"))
	events = slices.Clone(events) // the sink reuses them
	k.Exit(process.Exit{}, k.s)
	events = append(events, k.s.Take()...)
	var got []execution.Body
	for _, e := range events {
		switch e.Body.(type) {
		case execution.InputTaken, execution.InputCancelled, execution.Log:
			got = append(got, e.Body)
		}
	}
	want := []execution.Body{execution.InputTaken{ID: "taken", Steered: true}, execution.InputCancelled{ID: "dropped", Reason: "claude dropped it: cancelled"},
		execution.InputCancelled{ID: "left", Reason: "claude ended before it took the message"}}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
}

func TestRefusedHandshake(t *testing.T) {
	t.Parallel()
	req := request()
	req.Run.Interactive = true
	_, res := cliagent.Replay(newParser(req), []byte(`{"type":"control_response","response":{"subtype":"error","request_id":"drawbar-initialize","error":"no"}}`), nil, process.Exit{}, false)
	if res.Status != execution.StatusFailed || !strings.Contains(res.Error.Message, "handshake") {
		t.Errorf("got %s %v", res.Status, res.Error)
	}
}
