package cliagent

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// alarmParser sets its alarm by the lines it reads: "in 5s", "off", "done"; when it rings it says so, or panics.
type alarmParser struct {
	start time.Time
	rang  []time.Duration
	again time.Duration // set anew when it rings
	panic bool
	fail  bool
}

func (p *alarmParser) Open(s *Sink) { p.start = time.Now() }

func (p *alarmParser) Line(_ process.Stream, line []byte, s *Sink) {
	word, rest, _ := strings.Cut(string(bytes.TrimSpace(line)), " ")
	switch word {
	case "in":
		d, err := time.ParseDuration(rest)
		if err != nil {
			panic(err)
		}
		s.AlarmIn(d)
	case "off":
		s.AlarmIn(0)
	case "done":
		s.Done()
	}
}

func (p *alarmParser) Alarm(s *Sink) {
	p.rang = append(p.rang, time.Since(p.start))
	s.Emit(execution.Debug{Level: execution.DebugInfo, Message: "it rang"})
	s.Write([]byte("hurry\n"))
	if p.again > 0 {
		s.AlarmIn(p.again)
		p.again = 0
	}
	if p.panic {
		panic("no")
	}
	if p.fail {
		s.Fail(execution.Errorf(execution.CodeTimeout, "too late"))
	}
}

func (p *alarmParser) Command(execution.Command, *Sink) error { return nil }
func (p *alarmParser) Exit(process.Exit, *Sink) execution.Result {
	return execution.Result{Status: execution.StatusCompleted}
}

func TestAlarm(t *testing.T) {
	t.Parallel()
	const s = time.Second
	tests := []struct {
		name    string
		steps   []step
		parser  alarmParser
		pause   bool // from 2s to 20s
		rang    []time.Duration
		stopped time.Duration
		code    execution.ErrorCode
	}{
		{name: "rings once", steps: []step{{1 * s, "in 5s"}}, rang: []time.Duration{6 * s}},
		{name: "set anew", steps: []step{{1 * s, "in 5s"}, {3 * s, "in 5s"}}, rang: []time.Duration{8 * s}},
		{name: "set sooner", steps: []step{{1 * s, "in 50s"}, {3 * s, "in 1s"}}, rang: []time.Duration{4 * s}},
		{name: "switched off", steps: []step{{1 * s, "in 5s"}, {3 * s, "off"}}},
		{name: "set when it rings", steps: []step{{1 * s, "in 5s"}}, parser: alarmParser{again: 4 * s}, rang: []time.Duration{6 * s, 10 * s}},
		{name: "paused", steps: []step{{1 * s, "in 5s"}}, pause: true, rang: []time.Duration{20 * s}},
		{name: "fails the run", steps: []step{{1 * s, "in 5s"}}, parser: alarmParser{fail: true}, rang: []time.Duration{6 * s}, stopped: 6 * s, code: execution.CodeTimeout},
		{name: "panics", steps: []step{{1 * s, "in 5s"}}, parser: alarmParser{panic: true}, rang: []time.Duration{6 * s}, stopped: 6 * s, code: execution.CodeInternal},
		{name: "behind the end", steps: []step{{1 * s, "in 20s"}, {2 * s, "done"}}, stopped: 7 * s},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				parser := tt.parser
				spec := fakeSpec(t, "none")
				spec.Linger = 5 * s
				spec.NewParser = func(execution.Request) Parser { return &parser }
				in := newInbox()
				if tt.pause {
					time.AfterFunc(2*s, func() { in.commands <- execution.Pause{} })
					time.AfterFunc(20*s-time.Millisecond, func() { in.commands <- execution.Continue{} })
				}
				p := scripted{steps: tt.steps}
				if tt.stopped == 0 {
					p.exit = 40 * s
				}
				o := execute(t, t.Context(), New(spec, Options{Runner: p.run}), request(), in, nil)
				if got := p.stoppedAfter(); got != tt.stopped {
					t.Errorf("stopped after %v, want %v", got, tt.stopped)
				}
				if len(parser.rang) != len(tt.rang) {
					t.Fatalf("rang at %v, want %v", parser.rang, tt.rang)
				}
				for i, at := range tt.rang {
					if late := parser.rang[i] - at; late < 0 || late > pausedAlarm {
						t.Errorf("rang at %v, want %v", parser.rang, tt.rang)
					}
				}
				if o.result.Error.ErrorCode() != tt.code {
					t.Errorf("%+v", o.result.Error)
				}
				if said := strings.Count(strings.Join(p.written, ""), "hurry"); said != len(tt.rang) || strings.Count(strings.Join(o.types(), " "), "debug") != len(tt.rang) {
					t.Errorf("it said %d things, events %v", said, o.types())
				}
			})
		})
	}
}
