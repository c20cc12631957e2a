//go:build unix

package cliagent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

func TestFakes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fake   string
		status execution.Status
		code   execution.ErrorCode // of the result's error
		reason execution.ExitReason
		exit   int    // -1: no exit code
		types  string // of the events, joined
	}{
		{"simple", "completed", "", execution.ExitCompleted, 0, "session_start turn_start text_delta text_delta turn_end"},
		{"tools", "completed", "", execution.ExitCompleted, 0, "session_start turn_start tool_call_ready tool_result tool_call_ready tool_result turn_end"},
		{"crash", "failed", execution.CodeAgentCrash, execution.ExitCrash, 3, "session_start text_delta crash"},
		{"signal", "failed", execution.CodeAgentCrash, execution.ExitKilled, -1, "session_start error"},
		{"failed", "failed", execution.CodeAuth, execution.ExitCompleted, 1, ""},
		{"wordless", "failed", execution.CodeInvalidOutput, execution.ExitCompleted, 0, ""},
		{"partial", "completed", "", execution.ExitCompleted, 0, "session_start"},
		{"deafexit", "completed", "", execution.ExitCompleted, 0, ""},
		{"endless", "failed", execution.CodeInvalidOutput, execution.ExitCompleted, 0, ""},
		{"closed", "completed", "", execution.ExitCompleted, -1, "session_start"},
		{"lingers", "completed", "", execution.ExitCompleted, -1, "session_start"},
		{"panics", "completed", "", execution.ExitCompleted, 0, "session_start text_delta error text_delta"},
	}
	for _, tt := range tests {
		t.Run(tt.fake, func(t *testing.T) {
			t.Parallel()
			o := runFake(t, tt.fake)
			if got := strings.Join(o.types(), " "); got != tt.types {
				t.Errorf("events: got %s, want %s", got, tt.types)
			}
			if o.result.Status != tt.status || o.result.Error.ErrorCode() != tt.code || o.result.ExitReason != tt.reason {
				t.Errorf("got %s %s %s (%+v), want %s %s %s", o.result.Status, o.result.Error.ErrorCode(), o.result.ExitReason,
					o.result.Error, tt.status, tt.code, tt.reason)
			}
			switch code := o.result.ExitCode; {
			case tt.exit < 0 && code != nil:
				t.Errorf("exit code %d, want none", *code)
			case tt.exit >= 0 && (code == nil || *code != tt.exit):
				t.Errorf("exit code %v, want %d", code, tt.exit)
			}
		})
	}
}

func TestCrashHasItsStderr(t *testing.T) {
	t.Parallel()
	o := runFake(t, "crash")
	const want = "it went boom\n"
	if o.result.Error.Stderr != want {
		t.Errorf("got %q, want %q", o.result.Error.Stderr, want)
	}
	if again, twice := o.result.Error.Metadata["stderr"]; twice {
		t.Errorf("the same text is there twice: %v", again)
	}
	if c := o.events[len(o.events)-1].Body.(execution.Crash); c.ExitCode != 3 || c.Stderr != want {
		t.Errorf("crash event %+v", c)
	}
	if o.result.SessionID != "s1" {
		t.Errorf("session %q, want s1", o.result.SessionID)
	}
}

func TestNoise(t *testing.T) {
	t.Parallel()
	for _, debug := range []bool{false, true} {
		req := request()
		req.Run.Debug = debug
		o := execute(t, t.Context(), New(fakeSpec(t, "noise"), Options{}), req, closedInbox(), nil)
		if o.result.UnknownLines != 4 {
			t.Errorf("debug %v: %d unknown lines, want 4", debug, o.result.UnknownLines)
		}
		logs := 0
		for _, e := range o.events {
			if e.Body.Type() == "log" {
				logs++
			}
			if s, ok := e.Body.(execution.SessionStart); ok && debug != (string(e.Raw) == "session s1") {
				t.Errorf("debug %v: session %s has raw %q", debug, s.SessionID, e.Raw)
			}
		}
		if want := map[bool]int{false: 0, true: 4}[debug]; logs != want {
			t.Errorf("debug %v: %d log events, want %d", debug, logs, want)
		}
	}
}

func TestFlood(t *testing.T) {
	t.Parallel()
	o := runFake(t, "flood")
	if len(o.events) != 20001 {
		t.Fatalf("%d events, want 20001", len(o.events))
	}
	for i, e := range o.events[1:] {
		if got := e.Body.(execution.TextDelta).Delta; got != fmt.Sprint(i) {
			t.Fatalf("event %d is %q", i, got)
		}
	}
}

func TestInvalidUTF8(t *testing.T) {
	t.Parallel()
	o := runFake(t, "utf8")
	if o.text() != "a\xffb|" || o.result.UnknownLines != 1 || o.result.Status != "completed" {
		t.Errorf("got %q, %d unknown, %s", o.text(), o.result.UnknownLines, o.result.Status)
	}
}

func TestStdin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fake string
		size int
	}{{"simple", 3}, {"simple", 100 << 10}, {"deafexit", 5 << 20}} {
		spec := fakeSpec(t, tt.fake)
		spawn := spec.Spawn
		text := strings.Repeat("p", tt.size)
		spec.Spawn = func(l *Launch) (Invocation, error) {
			inv, err := spawn(l)
			inv.Stdin = []byte(text)
			return inv, err
		}
		o := execute(t, t.Context(), New(spec, Options{}), request(), closedInbox(), nil)
		if o.result.Status != "completed" {
			t.Errorf("%s with %d bytes: %+v", tt.fake, tt.size, o.result)
		}
		if tt.fake == "simple" && o.text() != "hello|"+text+"|" {
			t.Errorf("%d bytes of input did not arrive", tt.size)
		}
	}
}

func TestConversation(t *testing.T) {
	t.Parallel()
	in := newInbox()
	in.commands <- execution.Say{ID: "1", Text: "one"}
	req := request()
	req.Run.Interactive = true
	turns := 0
	o := execute(t, t.Context(), New(twoWay(fakeSpec(t, "chat")), Options{}), req, in, func(e execution.Event) {
		if _, ok := e.Body.(execution.TurnEnd); !ok {
			return
		}
		switch turns++; turns {
		case 1:
			in.commands <- execution.Say{ID: "2", Text: "no"}
			in.commands <- execution.Interrupt{}
			in.commands <- execution.Say{ID: "3", Text: "three"}
		case 2:
			close(in.commands)
		}
	})
	if got, want := o.text(), "you said one|you said three|"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if o.result.TurnCount != 2 || o.result.Status != "completed" {
		t.Errorf("%d turns, %s", o.result.TurnCount, o.result.Status)
	}
	var cancelled []execution.InputCancelled
	for _, e := range o.events {
		if c, ok := e.Body.(execution.InputCancelled); ok {
			cancelled = append(cancelled, c)
		}
	}
	if diff := cmp.Diff([]execution.InputCancelled{{ID: "2", Reason: "not now"}}, cancelled); diff != "" {
		t.Error(diff)
	}
	want := []execution.ErrorEvent{{Code: execution.CodeCapability, Message: "no interrupt here", Recoverable: true}}
	if diff := cmp.Diff(want, o.errors()); diff != "" {
		t.Error(diff)
	}
}

func TestApproval(t *testing.T) {
	t.Parallel()
	in := newInbox()
	o := execute(t, t.Context(), New(twoWay(fakeSpec(t, "ask")), Options{}), request(), in, func(e execution.Event) {
		if q, ok := e.Body.(execution.ApprovalRequired); ok {
			in.commands <- execution.Answer{ID: q.ID, Decision: execution.Decision{Approve: true}}
		}
	})
	if got := o.text(); got != "got answer q1 true|" {
		t.Errorf("got %q", got)
	}
}

// The consumer sits in its loop body until the agent has got the answer: only a goroutine of the kit can bring it.
func TestCommandReachesTheAgentWhileTheConsumerIsBusy(t *testing.T) {
	t.Parallel()
	in := newInbox()
	spec := twoWay(fakeSpec(t, "ask"))
	written := make(chan struct{})
	runner := func(ctx context.Context, s process.Spec) (process.Handle, error) {
		h, err := process.Launch(ctx, s)
		return writeSpy{h, written}, err
	}
	o := execute(t, t.Context(), New(spec, Options{Runner: runner}), request(), in, func(e execution.Event) {
		if q, ok := e.Body.(execution.ApprovalRequired); ok {
			in.commands <- execution.Answer{ID: q.ID}
			select {
			case <-written:
			case <-time.After(10 * time.Second):
				t.Error("the answer did not reach the agent while the consumer was busy")
			}
		}
	})
	if o.result.Status != "completed" {
		t.Errorf("%+v", o.result)
	}
}

type writeSpy struct {
	process.Handle
	written chan struct{}
}

func (w writeSpy) Write(p []byte) error {
	err := w.Handle.Write(p)
	close(w.written)
	return err
}

// A child that holds the streams must not hold the run, nor live on.
func TestGrandchild(t *testing.T) {
	t.Parallel()
	start := time.Now()
	o := runFake(t, "family")
	if o.result.Status != "completed" || time.Since(start) > 10*time.Second {
		t.Errorf("%s after %v", o.result.Status, time.Since(start))
	}
	if o.result.Metadata["outputCut"] != true || !o.has("debug") {
		t.Errorf("the cut output is not told: %v, %v", o.result.Metadata, o.types())
	}
}

func TestFailEndsTheRun(t *testing.T) {
	t.Parallel()
	spec := fakeSpec(t, "hang")
	spec.NewParser = func(execution.Request) Parser {
		return failing{&lineParser{res: execution.Result{Status: "completed"}}}
	}
	o := execute(t, t.Context(), New(spec, Options{}), request(), newInbox(), nil)
	if o.result.Status != "failed" || o.result.Error.ErrorCode() != execution.CodeAuth || o.result.Error.Message != "first" {
		t.Errorf("%+v", o.result.Error)
	}
	if o.has("error") || o.has("crash") {
		t.Errorf("events %v", o.types())
	}
}

type failing struct{ *lineParser }

func (f failing) Open(s *Sink) {
	s.Fail(execution.Errorf(execution.CodeAuth, "first"))
	s.Fail(execution.Errorf(execution.CodeInternal, "second"))
}

func TestWriteWithoutStdin(t *testing.T) {
	t.Parallel()
	spec := fakeSpec(t, "ask")
	spec.NewParser = func(execution.Request) Parser { return &lineParser{oneShot: true} }
	in := newInbox()
	in.commands <- execution.Say{ID: "1", Text: "x"}
	in.commands <- execution.Say{ID: "2", Text: "y"}
	o := execute(t, t.Context(), New(spec, Options{}), request(), in, nil)
	if errs := o.errors(); len(errs) != 1 || errs[0].Code != execution.CodeStdinNotAvailable {
		t.Errorf("got %+v, want one STDIN_NOT_AVAILABLE", errs)
	}
}

func TestEnvironmentReachesTheAgent(t *testing.T) {
	t.Parallel()
	exe, _ := os.Executable()
	dir := t.TempDir()
	if err := os.Symlink(exe, filepath.Join(dir, "agentbinary")); err != nil {
		t.Fatal(err)
	}
	spec := fakeSpec(t, "env")
	spec.Command = "agentbinary"
	environ := func() []string { return []string{"PATH=/nowhere", "CLAUDECODE=1", "HOME=/h", "X=inherited"} }
	req := request()
	req.Run.Env = map[string]string{"PATH": dir, "X": "asked"}
	o := execute(t, t.Context(), New(spec, Options{Environ: environ}), req, closedInbox(), nil)
	got := strings.Split(o.text(), "|")
	for _, want := range []string{"PATH=" + dir, "X=asked", "HOME=/h"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing: %v, %+v", want, got, o.result.Error)
		}
	}
	if slices.Contains(got, "CLAUDECODE=1") {
		t.Error("another agent's marker was inherited")
	}
}

func TestPauseAndContinue(t *testing.T) {
	t.Parallel()
	spec := twoWay(fakeSpec(t, "chat"))
	in := newInbox()
	parser := &lineParser{}
	spec.NewParser = func(execution.Request) Parser { return parser }
	for _, c := range []execution.Command{execution.Pause{}, execution.Say{ID: "1", Text: "a"}, execution.Continue{}} {
		in.commands <- c
	}
	close(in.commands)
	o := execute(t, t.Context(), New(spec, Options{}), request(), in, nil)
	if o.text() != "you said a|" {
		t.Errorf("got %q", o.text())
	}
	if diff := cmp.Diff([]execution.Command{execution.Say{ID: "1", Text: "a"}, execution.EndInput{}}, parser.commands); diff != "" {
		t.Errorf("the parser saw: %s", diff)
	}
}

func TestPausedProcessIsAborted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in := newInbox()
	time.AfterFunc(100*time.Millisecond, cancel)
	in.commands <- execution.Pause{}
	o := execute(t, ctx, New(fakeSpec(t, "hang"), Options{}), request(), in, nil)
	if o.result.ExitReason != execution.ExitReasonAbort {
		t.Errorf("%+v", o.result)
	}
}

func TestConcurrentRuns(t *testing.T) {
	t.Parallel()
	a := New(fakeSpec(t, "flood"), Options{})
	for range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			if o := execute(t, t.Context(), a, request(), closedInbox(), nil); len(o.events) != 20001 {
				t.Errorf("%d events, want 20001", len(o.events))
			}
		})
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	spec := fakeSpec(t, "colors")
	spawn := spec.Spawn
	spec.Spawn = func(l *Launch) (Invocation, error) {
		inv, err := spawn(l)
		inv.PTY = true
		return inv, err
	}
	req := request()
	req.Run.Debug = true
	o := execute(t, t.Context(), New(spec, Options{}), req, closedInbox(), nil)
	if got := o.text(); got != "green|plain|" || o.result.Status != "completed" {
		t.Errorf("got %q, %+v", got, o.result)
	}
	if raw := string(o.events[0].Raw); raw != "\x1b[32mtext green\x1b[0m" {
		t.Errorf("raw %q", raw)
	}
}

func TestInactivity(t *testing.T) {
	t.Parallel()
	req := request()
	req.Run.InactivityTimeoutMs = 2000
	o := execute(t, t.Context(), New(fakeSpec(t, "hang"), Options{}), req, closedInbox(), nil)
	if o.result.ExitReason != execution.ExitInactivity || o.result.Error.Code != execution.FailureTimeout {
		t.Errorf("%s %+v", o.result.ExitReason, o.result.Error)
	}
	if got := strings.Join(o.types(), " "); got != "session_start error timeout" {
		t.Errorf("events %s", got)
	}
	// The tool runs for 3 s.
	o = execute(t, t.Context(), New(fakeSpec(t, "silenttool"), Options{}), req, closedInbox(), nil)
	if o.result.Status != "completed" || o.has("timeout") {
		t.Errorf("%s, %v", o.result.Status, o.types())
	}
}
