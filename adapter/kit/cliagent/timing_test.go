package cliagent

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// scripted is a process.Handle in virtual time: lines at given moments, then the end of the streams, then the exit.
type scripted struct {
	steps    []step
	eof      time.Duration // when the streams end; 0: never by itself
	exit     time.Duration // when the process ends; 0: never by itself
	heed     time.Duration // from Stop to the end
	code     int
	start    time.Time
	lastByte time.Duration // reported by LastOutput

	mu      *sync.Mutex // made by run
	stopped chan struct{}
	stopAt  time.Time
	closed  time.Time
	written []string
	lineBuf [1]process.Line
}

type step struct {
	at   time.Duration
	text string
}

func (s *scripted) run(context.Context, process.Spec) (process.Handle, error) {
	s.start, s.mu = time.Now(), new(sync.Mutex)
	s.stopped = make(chan struct{})
	return s, nil
}

func (s *scripted) until(at time.Duration) <-chan time.Time {
	if at == 0 {
		return nil
	}
	return time.After(time.Until(s.start.Add(at)))
}

func (s *scripted) Next(ctx context.Context) ([]process.Line, error) {
	for {
		var next <-chan time.Time
		if len(s.steps) > 0 {
			next = time.After(time.Until(s.start.Add(s.steps[0].at)))
		}
		select {
		case <-next:
			s.lineBuf[0] = process.Line{Stream: process.Stdout, Data: []byte(s.steps[0].text)}
			s.steps = s.steps[1:]
			return s.lineBuf[:], nil
		case <-s.until(s.eof):
			return nil, io.EOF
		case <-s.until(s.exit):
			return nil, io.EOF
		case <-s.stopped:
			s.mu.Lock()
			rest := time.Until(s.stopAt.Add(s.heed))
			s.mu.Unlock()
			time.Sleep(rest)
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *scripted) Write(p []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = append(s.written, string(p))
	return nil
}

func (s *scripted) CloseInput() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = time.Now()
}

func (s *scripted) Signal(os.Signal) error { return nil }
func (s *scripted) Interrupt() error       { return nil }
func (s *scripted) Pause() error           { return nil }
func (s *scripted) Resume() error          { return nil }
func (s *scripted) PID() int               { return 1 }

func (s *scripted) LastOutput() time.Time {
	if s.lastByte == 0 {
		return time.Time{}
	}
	// Bytes keep coming until lastByte.
	return s.start.Add(min(s.lastByte, time.Since(s.start)))
}

func (s *scripted) Stop(time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopAt.IsZero() {
		s.stopAt = time.Now()
		close(s.stopped)
	}
}

func (s *scripted) Wait() process.Exit {
	select {
	case <-s.until(s.exit):
	case <-s.stopped:
		time.Sleep(time.Until(s.stopAt.Add(s.heed)))
		return process.Exit{Code: -1, Signal: "SIGTERM", Stopped: true, Duration: time.Since(s.start)}
	}
	return process.Exit{Code: s.code, Duration: time.Since(s.start)}
}

func (s *scripted) stoppedAfter() time.Duration {
	if s.stopAt.IsZero() {
		return 0
	}
	return s.stopAt.Sub(s.start)
}

func TestTiming(t *testing.T) {
	t.Parallel()
	const T = 10 * time.Second // the inactivity timeout of all cases
	type say struct {
		at  time.Duration
		cmd execution.Command
	}
	tests := []struct {
		name    string
		script  scripted
		say     []say
		open    bool // the input stays open to the end
		busy    time.Duration
		stopped time.Duration // when the process is stopped; 0: not at all
		reason  execution.ExitReason
	}{
		{name: "silence from the start", stopped: T, reason: execution.ExitInactivity},
		{name: "silence after output", script: scripted{steps: []step{{4 * time.Second, "text a"}}}, stopped: 14 * time.Second, reason: execution.ExitInactivity},
		{name: "output just in time", script: scripted{steps: []step{{9 * time.Second, "text a"}, {18 * time.Second, "result completed"}}, exit: 19 * time.Second},
			reason: execution.ExitCompleted},
		{name: "a running tool", script: scripted{steps: []step{{1 * time.Second, "tool t"}, {100 * time.Second, "toolend t"}}},
			stopped: 110 * time.Second, reason: execution.ExitInactivity},
		{name: "a second tool still runs", script: scripted{steps: []step{{1, "tool t"}, {2, "tool u"}, {50 * time.Second, "toolend t"}, {80 * time.Second, "toolend u"}}},
			stopped: 90 * time.Second, reason: execution.ExitInactivity},
		{name: "a question is open", script: scripted{steps: []step{{1 * time.Second, "ask q"}}},
			say: []say{{200 * time.Second, execution.Answer{ID: "q"}}}, stopped: 210 * time.Second, reason: execution.ExitInactivity},
		{name: "paused", say: []say{{3 * time.Second, execution.Pause{}}, {60 * time.Second, execution.Continue{}}},
			stopped: 70 * time.Second, reason: execution.ExitInactivity},
		{name: "between turns", script: scripted{steps: []step{{1 * time.Second, "end 0"}}},
			say: []say{{300 * time.Second, execution.Say{Text: "go on"}}}, open: true, stopped: 310 * time.Second, reason: execution.ExitInactivity},
		{name: "after the last turn", script: scripted{steps: []step{{1 * time.Second, "end 0"}}}, stopped: 11 * time.Second, reason: execution.ExitInactivity},
		{name: "a message is work", say: []say{{9 * time.Second, execution.Say{Text: "x"}}}, open: true, stopped: 19 * time.Second, reason: execution.ExitInactivity},
		{name: "a line that does not end", script: scripted{lastByte: 42 * time.Second}, stopped: 52 * time.Second, reason: execution.ExitInactivity},
		{name: "a busy consumer", script: scripted{steps: []step{{1 * time.Second, "text a"}}}, busy: 60 * time.Second,
			stopped: 71 * time.Second, reason: execution.ExitInactivity},
		{name: "done and gone", script: scripted{steps: []step{{1 * time.Second, "result completed"}, {2 * time.Second, "done"}}, exit: 4 * time.Second},
			reason: execution.ExitCompleted},
		{name: "done and still there", script: scripted{steps: []step{{1 * time.Second, "result completed"}, {2 * time.Second, "done"}}},
			stopped: 5 * time.Second, reason: execution.ExitCompleted},
		{name: "streams closed and still there", script: scripted{steps: []step{{1 * time.Second, "result completed"}}, eof: 2 * time.Second},
			stopped: 5 * time.Second, reason: execution.ExitCompleted},
		{name: "refused", script: scripted{steps: []step{{1 * time.Second, "refuse"}}}, stopped: 1 * time.Second, reason: execution.ExitCompleted},
		{name: "slow to stop", script: scripted{heed: 30 * time.Second}, stopped: T, reason: execution.ExitInactivity},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				spec := fakeSpec(t, "none")
				spec.Linger = 3 * time.Second
				req := request()
				req.Run.InactivityTimeoutMs = T.Milliseconds()
				in := newInbox()
				if len(tt.say) == 0 && !tt.open {
					close(in.commands)
				}
				for i, s := range tt.say {
					time.AfterFunc(s.at, func() {
						in.commands <- s.cmd
						if i == len(tt.say)-1 && !tt.open {
							close(in.commands)
						}
					})
				}
				p := tt.script
				o := execute(t, t.Context(), New(spec, Options{Runner: p.run}), req, in, func(e execution.Event) {
					if e.Body.Type() == "text_delta" {
						time.Sleep(tt.busy)
					}
				})
				if got := p.stoppedAfter(); got != tt.stopped {
					t.Errorf("stopped after %v, want %v", got, tt.stopped)
				}
				if o.result.ExitReason != tt.reason {
					t.Errorf("exit reason %s, want %s", o.result.ExitReason, tt.reason)
				}
				if tt.reason != execution.ExitInactivity {
					if o.has("timeout") {
						t.Errorf("a timeout event: %v", o.types())
					}
					return
				}
				if o.result.Error.Code != execution.FailureTimeout || o.result.Error.ErrorCode() != execution.CodeInactivityTimeout {
					t.Errorf("error %+v", o.result.Error)
				}
				if got := strings.Join(o.types(), " "); !strings.HasSuffix(got, "error timeout") {
					t.Errorf("events %s, want error and timeout at the end", got)
				}
			})
		})
	}
}

// The agent states a result on its way out; silence was decided before.
func TestInactivityOutweighsALateResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		spec := fakeSpec(t, "none")
		spec.NewParser = func(execution.Request) Parser {
			return &lineParser{oneShot: true, res: execution.Result{Status: "completed", Output: &execution.Output{Text: "late"}}}
		}
		req := request()
		req.Run.InactivityTimeoutMs = 1000
		p := scripted{}
		o := execute(t, t.Context(), New(spec, Options{Runner: p.run}), req, closedInbox(), nil)
		if o.result.Status != "failed" || o.result.ExitReason != execution.ExitInactivity || o.result.Output.Text != "late" {
			t.Errorf("%+v", o.result)
		}
	})
}

func TestDoneClosesTheInput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted{steps: []step{{time.Second, "write hello"}, {2 * time.Second, "done"}}, exit: 3 * time.Second}
		spec := twoWay(fakeSpec(t, "none"))
		execute(t, t.Context(), New(spec, Options{Runner: p.run}), request(), newInbox(), nil)
		if got := p.closed.Sub(p.start); got != 2*time.Second {
			t.Errorf("input closed after %v, want 2s", got)
		}
		if got := strings.Join(p.written, ""); got != "hello\n" {
			t.Errorf("written %q", got)
		}
	})
}

// The context ends while the consumer sits in its loop body: the process is stopped at that moment, not later.
func TestStopDoesNotWaitForTheConsumer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		p := scripted{steps: []step{{time.Second, "text a"}}, heed: time.Second}
		time.AfterFunc(5*time.Second, func() { cancel(errors.New("stop")) })
		o := execute(t, ctx, New(fakeSpec(t, "none"), Options{Runner: p.run}), request(), newInbox(), func(e execution.Event) {
			if e.Body.Type() == "text_delta" {
				time.Sleep(time.Minute)
			}
		})
		if got := p.stoppedAfter(); got != 5*time.Second {
			t.Errorf("stopped after %v, want 5s", got)
		}
		if o.result.ExitReason != execution.ExitReasonAbort {
			t.Errorf("%+v", o.result)
		}
	})
}

func TestGracePeriod(t *testing.T) {
	t.Parallel()
	ms := func(n int64) *int64 { return &n }
	for _, tt := range []struct {
		stated *int64
		want   time.Duration
	}{{nil, 200 * time.Millisecond}, {ms(0), -1}, {ms(1500), 1500 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			var got time.Duration
			p := scripted{exit: time.Second}
			req := request()
			req.Run.GracePeriodMs = tt.stated
			execute(t, t.Context(), New(fakeSpec(t, "none"), Options{Runner: func(ctx context.Context, s process.Spec) (process.Handle, error) {
				got = s.Grace
				return p.run(ctx, s)
			}}), req, closedInbox(), nil)
			if got != tt.want {
				t.Errorf("grace %v, want %v", got, tt.want)
			}
		})
	}
}

// What a command makes reaches the consumer although the agent says nothing.
func TestEventsOfACommandDoNotWaitForOutput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := scripted{}
		in := newInbox()
		start := time.Now()
		time.AfterFunc(5*time.Second, func() { in.commands <- execution.Say{ID: "1", Text: "no"} })
		time.AfterFunc(time.Minute, cancel)
		execute(t, ctx, New(fakeSpec(t, "none"), Options{Runner: p.run}), request(), in, func(e execution.Event) {
			if e.Body.Type() == "input_cancelled" && time.Since(start) != 5*time.Second {
				t.Errorf("the refusal came after %v, want 5s", time.Since(start))
			}
		})
	})
}
