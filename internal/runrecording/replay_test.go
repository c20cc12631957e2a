package runrecording

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/execution"
)

// script is an inbox that delivers commands once the replay has yielded so many events.
type script struct {
	t       *testing.T
	yielded int
	steps   []step
}

type step struct {
	after int
	cmd   execution.Command
}

func (s *script) Receive(context.Context) (execution.Command, error) {
	if len(s.steps) == 0 {
		return nil, io.EOF
	}
	next := s.steps[0]
	if s.yielded < next.after {
		s.t.Errorf("after %d events the replay waits for %+v, which a caller gives after %d", s.yielded, next.cmd, next.after)
	}
	s.steps = s.steps[1:]
	return next.cmd, nil
}

// TestWaiting: a replay waits for what it cannot do without, and not sooner than a caller that waits for the events before it.
func TestWaiting(t *testing.T) {
	t.Parallel()
	const (
		turn    = `{"event":{"schemaVersion":"1.0","type":"turn_start","turnIndex":0}}` + "\n"
		turnEnd = `{"event":{"schemaVersion":"1.0","type":"turn_end","turnIndex":0,"reason":"completed"}}` + "\n"
		say     = `{"command":{"say":{"id":"old","text":"more"}}}` + "\n"
		taken   = `{"event":{"schemaVersion":"1.0","type":"input_taken","inputId":"old"}}` + "\n"
		endIn   = `{"command":{"endInput":true}}` + "\n"
	)
	more := execution.Say{ID: "new", Text: "more"}
	for _, tt := range []struct {
		name, lines string
		steps       []step
		left        int    // commands that nothing waited for
		want        string // the error of the result
	}{
		{"a message for the next turn", turn + say + turnEnd + turn + turnEnd, []step{{2, more}}, 0, ""},
		{"a message for this turn", turn + say + event + taken + turnEnd, []step{{2, more}}, 0, ""},
		{"a message that was never taken", turn + say + turnEnd, []step{{9, more}}, 1, ""},
		{"a message that does not come", turn + say + turnEnd + turn + turnEnd, nil, 0, `a message: recorded "more": it did not come`},
		{"the end in place of a message", turn + say + turnEnd + turn, []step{{2, execution.EndInput{}}}, 0, "it did not come"},
		{"another message", turn + say + turnEnd + turn, []step{{2, execution.Say{Text: "less"}}}, 0, `a message: recorded "more", received "less"`},
		{"an interrupt in place of a message", turn + say + turnEnd + turn + turnEnd, []step{{2, execution.Interrupt{}}, {2, more}}, 0, ""},
		{"the end of the input", turn + endIn + turnEnd, []step{{2, execution.EndInput{}}}, 0, ""},
		{"another agent", "", nil, 0, `the agent: recorded "x", received "y"`},
	} {
		list, err := read(strings.NewReader(head + began + started + tt.lines + over + end))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		in := &script{t: t, steps: tt.steps}
		p := &Replay{path: "f", lines: list[0].lines}
		name := "x"
		if tt.name == "another agent" {
			name = "y"
		}
		var res *execution.Result
		for e := range p.Adapter(name, &adaptertest.Fake{}).Execute(t.Context(), execution.Request{}, in) {
			in.yielded++
			switch b := e.Body.(type) {
			case execution.InputTaken:
				if b.ID != "new" {
					t.Errorf("%s: taken %s", tt.name, b.ID)
				}
			case execution.Finished:
				res = &b.Result
			}
		}
		switch {
		case res == nil:
			t.Errorf("%s: no result", tt.name)
		case len(in.steps) != tt.left:
			t.Errorf("%s: %d commands are left, want %d", tt.name, len(in.steps), tt.left)
		case (res.Error != nil) != (tt.want != ""), res.Error != nil && !strings.Contains(res.Error.Message, tt.want):
			t.Errorf("%s: %+v, want %s", tt.name, res.Error, tt.want)
		}
	}
	list, err := read(strings.NewReader(head + began + `{"execution":{"agent":"x","sessionUsage":{"input":5}}}` + "\n" + over + end))
	if err != nil {
		t.Fatal(err)
	}
	if used := (&Replay{lines: list[0].lines}).SessionBefore(); used == nil || used.Input != 5 {
		t.Errorf("used before: %+v", used)
	}
}
