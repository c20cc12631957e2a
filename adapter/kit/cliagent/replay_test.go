package cliagent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

func TestReplay(t *testing.T) {
	t.Parallel()
	stdout := "session s1\r\ntext a\n\npanic\nbegin\none\ntwo\nfinish\nresult completed\nbegin\nthree\nfour"
	stderr := "noise\n"
	before := stdout + stderr
	out, errs := []byte(stdout), []byte(stderr)
	events, res := Replay(&lineParser{oneShot: true}, out, errs, process.Exit{Code: 0}, false)
	o := outcome{events: events, result: res}
	// The block that stderr's line ended up in is flushed at the end.
	if got, want := o.text(), "a|one\ntwo\nfinish|three\nfour\nnoise|"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	if got := strings.Join(o.types(), " "); got != "session_start text_delta error text_delta text_delta" {
		t.Errorf("events %s", got)
	}
	if res.Status != "completed" || res.SessionID != "s1" || res.UnknownLines != 1 || res.ExitCode == nil || res.BackendID != "" {
		t.Errorf("result %+v", res)
	}
	if string(out)+string(errs) != before {
		t.Error("the input was changed")
	}
	again, _ := Replay(&lineParser{oneShot: true}, out, errs, process.Exit{}, false)
	if diff := cmp.Diff(events, again); diff != "" {
		t.Errorf("the second replay differs: %s", diff)
	}
}

func TestReplayLines(t *testing.T) {
	t.Parallel()
	lines := []process.Line{
		{Stream: process.Stdout, Data: []byte("text a")},
		{Stream: process.Stderr, Data: []byte("what")},
		{Stream: process.Stdout, Data: []byte("text long"), Truncated: true, Skipped: 7},
	}
	events, res := ReplayLines(&lineParser{}, lines, process.Exit{Code: 2, StderrTail: "what\n"}, true)
	o := outcome{events: events}
	if got := strings.Join(o.types(), " "); got != "text_delta log error text_delta crash" {
		t.Errorf("events %s", got)
	}
	if e := o.errors()[0]; e.Code != execution.CodeParse || !e.Recoverable || !strings.Contains(e.Message, "7 skipped") {
		t.Errorf("error %+v", e)
	}
	if string(events[0].Raw) != "text a" || events[1].Raw != nil {
		t.Errorf("raw %q, %q", events[0].Raw, events[1].Raw)
	}
	if res.Error.ErrorCode() != execution.CodeAgentCrash || res.Error.Stderr != "what\n" {
		t.Errorf("result %+v", res.Error)
	}
}

// The crash event stands where the process ended, before what the assembler still held.
func TestOrderOfTheEnd(t *testing.T) {
	t.Parallel()
	events, _ := Replay(&lineParser{}, []byte("begin\nheld\nback"), nil, process.Exit{Code: 1}, false)
	if got := strings.Join(outcome{events: events}.types(), " "); got != "crash text_delta" {
		t.Errorf("events %s", got)
	}
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	stated := execution.Result{Status: execution.StatusCompleted}
	unsuccessful := execution.Result{Error: execution.NewResultError(execution.CodeRateLimited, "slow down")}
	tests := []struct {
		name   string
		res    execution.Result
		exit   process.Exit
		why    stopReason
		status execution.Status
		code   execution.ErrorCode
		reason execution.ExitReason
		events string
	}{
		{"code 0 proves nothing", execution.Result{}, process.Exit{}, stopNone, "failed", execution.CodeInvalidOutput, execution.ExitCompleted, ""},
		{"another code", execution.Result{}, process.Exit{Code: 9}, stopNone, "failed", execution.CodeAgentCrash, execution.ExitCrash, "crash"},
		{"a signal", execution.Result{}, process.Exit{Code: -1, Signal: "SIGSEGV"}, stopNone, "failed", execution.CodeAgentCrash, execution.ExitKilled, "error"},
		{"an unknown end", execution.Result{}, process.Exit{Code: -1, Err: process.ErrKeeperLost}, stopNone, "failed", execution.CodeAgentCrash, execution.ExitCrash, "crash"},
		{"stopped from outside", execution.Result{}, process.Exit{Code: -1, Signal: "SIGTERM", Stopped: true}, stopNone, "failed", execution.CodeAborted, execution.ExitReasonAbort, ""},
		{"stated and code 1", stated, process.Exit{Code: 1}, stopNone, "completed", "", execution.ExitCompleted, ""},
		{"stated and lingered", stated, process.Exit{Code: -1, Signal: "SIGTERM", Stopped: true}, stopLinger, "completed", "", execution.ExitCompleted, ""},
		{"stated while aborted", stated, process.Exit{Code: 143, Stopped: true}, stopContext, "completed", "", execution.ExitReasonAbort, ""},
		{"an error without status", unsuccessful, process.Exit{Code: 1}, stopNone, "failed", execution.CodeRateLimited, execution.ExitCompleted, ""},
		{"deadline", execution.Result{}, process.Exit{Code: 143, Stopped: true}, stopDeadline, "failed", execution.CodeTimeout, execution.ExitByTimeout, ""},
		{"done without a result", execution.Result{}, process.Exit{Code: -1, Signal: "SIGTERM", Stopped: true}, stopLinger, "failed", execution.CodeInvalidOutput, execution.ExitCompleted, ""},
		{"failed without a word", execution.Result{Status: "failed"}, process.Exit{}, stopNone, "failed", execution.CodeInternal, execution.ExitCompleted, ""},
		{"inactivity", stated, process.Exit{Code: 143, Stopped: true}, stopInactivity, "failed", execution.CodeInactivityTimeout, execution.ExitInactivity, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := drive{name: "fake", parser: &lineParser{res: tt.res}, sink: NewSink(false)}
			res := d.finish(tt.exit, tt.why)
			if res.Status != tt.status || res.Error.ErrorCode() != tt.code || res.ExitReason != tt.reason {
				t.Errorf("got %s %s %s, want %s %s %s", res.Status, res.Error.ErrorCode(), res.ExitReason, tt.status, tt.code, tt.reason)
			}
			if got := strings.Join(outcome{events: d.sink.Take()}.types(), " "); got != tt.events {
				t.Errorf("events %q, want %q", got, tt.events)
			}
		})
	}
	if _, mutated := unsuccessful.Error.Metadata["stderr"]; mutated {
		t.Error("the parser's metadata was changed")
	}
}

func TestShouldRetry(t *testing.T) {
	t.Parallel()
	policy := execution.DefaultRetryPolicy()
	tests := []struct {
		name    string
		failure execution.Body
		attempt int
		want    bool
	}{
		{"a crash", execution.Crash{ExitCode: 1}, 0, true},
		{"the second attempt", execution.Crash{ExitCode: 1}, 1, true},
		{"the last attempt", execution.Crash{ExitCode: 1}, 2, false},
		{"a rate limit", execution.RateLimitError{}, 0, true},
		{"a listed code", execution.ErrorEvent{Code: execution.CodeTimeout, Recoverable: true}, 0, true},
		{"a listed code for good", execution.ErrorEvent{Code: execution.CodeTimeout}, 0, false},
		{"another code", execution.ErrorEvent{Code: execution.CodeProvider, Recoverable: true}, 0, false},
		{"a login", execution.AuthError{}, 0, false},
		{"a full context", execution.ContextExceeded{}, 0, false},
		{"silence", execution.Timeout{Kind: execution.TimeoutInactivity}, 0, true},
		{"no failure", execution.TurnStart{}, 0, false},
		{"a result", execution.Finished{Result: execution.Result{Error: execution.NewResultError(execution.CodeRateLimited, "")}}, 0, true},
		{"a good result", execution.Finished{}, 0, false},
		{"nothing", nil, 0, false},
		{"a negative attempt", execution.Crash{}, -1, false},
	}
	for _, tt := range tests {
		if got := (Hooks{}).shouldRetry(tt.failure, tt.attempt, policy); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
	asked := 0
	h := Hooks{ShouldRetry: func(execution.Body, int, execution.RetryPolicy) bool { asked++; return true }}
	if !h.shouldRetry(execution.AuthError{}, 7, policy) || asked != 1 {
		t.Error("the hook was not asked")
	}
}

// FuzzReplay holds for every output of an agent: no panic leaves the kit, one result, every line accounted for.
func FuzzReplay(f *testing.F) {
	f.Add([]byte("session s1\ntext a\npanic\nbegin\nx\nfinish\nresult completed"), []byte("noise"), 0, false)
	f.Add([]byte("tool\ntool a\ntoolend\nend x\ndone\nrefuse\nwrite \xff"), []byte{}, 1, true)
	f.Fuzz(func(t *testing.T, stdout, stderr []byte, code int, debug bool) {
		events, res := Replay(&lineParser{}, stdout, stderr, process.Exit{Code: code}, debug)
		if res.Status == "" || res.Status == execution.StatusFailed && res.Error == nil || res.SchemaVersion == "" {
			t.Errorf("result %+v", res)
		}
		for _, e := range events {
			if e.Body == nil {
				t.Fatal("an event without a body")
			}
		}
	})
}

func BenchmarkReplay(b *testing.B) {
	stdout := []byte("session s1\n" + strings.Repeat("other\n", 100000) + "result completed\n")
	b.SetBytes(int64(len(stdout)))
	b.ReportAllocs()
	for b.Loop() {
		Replay(&lineParser{}, stdout, nil, process.Exit{}, false)
	}
}
