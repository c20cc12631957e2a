package cliagent

import (
	"slices"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

func TestTalk(t *testing.T) {
	var did []string
	note := func(what string) func() { return func() { did = append(did, what) } }
	talk := Talk{Agent: "x", End: note("end"), Interrupt: note("interrupt"), Say: func(s execution.Say) { did = append(did, s.Text) },
		Answer: func(a execution.Answer) error { did = append(did, string(a.ID)); return nil }}
	shut := talk
	shut.Closed, shut.Idle = true, true
	for _, tt := range []struct {
		cmd  execution.Command
		does string
		shut execution.ErrorCode
	}{
		{execution.EndInput{}, "end", ""},
		{execution.Say{Text: "hi"}, "hi", execution.CodeRunNotActive},
		{execution.Answer{ID: "q"}, "q", ""},
		{execution.Interrupt{}, "interrupt", execution.CodeInvalidStateTransition},
		{nil, "", execution.CodeInternal},
	} {
		did = nil
		if err := talk.Take(tt.cmd); tt.does != "" && (err != nil || !slices.Equal(did, []string{tt.does})) {
			t.Errorf("%T: did %q, %v", tt.cmd, did, err)
		}
		did = nil
		if err := shut.Take(tt.cmd); execution.CodeOf(err) != tt.shut || err != nil && did != nil {
			t.Errorf("%T, closed and idle: did %q, %v, want %q", tt.cmd, did, err, tt.shut)
		}
	}
}

// TestQuestions: they are withdrawn in the order in which they were asked, and each once.
func TestQuestions(t *testing.T) {
	var open Questions[int]
	for i, id := range []execution.QuestionID{"c", "a", "d", "b", "a"} {
		open.Add(id, i)
	}
	if n, err := open.Find("a"); n != 4 || err != nil {
		t.Errorf("a: %d, %v", n, err)
	}
	open.Remove("c")
	if _, err := open.Find("c"); execution.CodeOf(err) != execution.CodeInteractionNotFound {
		t.Errorf("a removed question is %v", err)
	}
	open.Remove("c")
	s := NewSink(false)
	open.Withdraw("first", s, func(n int) bool { return n == 3 })
	open.Withdraw("rest", s, nil)
	open.Withdraw("again", s, nil)
	var got []execution.QuestionWithdrawn
	for _, e := range s.events {
		got = append(got, e.Body.(execution.QuestionWithdrawn))
	}
	if want := []execution.QuestionWithdrawn{{ID: "b", Reason: "first"}, {ID: "d", Reason: "rest"}, {ID: "a", Reason: "rest"}}; !slices.Equal(got, want) {
		t.Errorf("withdrawn: %v, want %v", got, want)
	}
}
