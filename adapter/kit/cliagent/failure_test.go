package cliagent_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

func TestFailure(t *testing.T) {
	much := execution.ContextExceeded{UsedTokens: 5, MaxTokens: 4}
	for code, want := range map[execution.ErrorCode]execution.Body{
		execution.CodeAuth:            execution.AuthError{Message: "m", Guidance: "h"},
		execution.CodeRateLimited:     execution.RateLimitError{Message: "m"},
		execution.CodeContextExceeded: much,
		execution.CodeProvider:        execution.ErrorEvent{Code: execution.CodeProvider, Message: "m", Recoverable: true},
	} {
		f := cliagent.Failure{Code: code, Message: "m", Hint: "h", Context: much}
		if diff := cmp.Diff(want, f.Event()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", code, diff)
		}
		e := f.Result()
		if e.ErrorCode() != code || e.Message != "m" || e.Metadata["hint"] != "h" {
			t.Errorf("%s: the result has %+v", code, e)
		}
		if code == execution.CodeRateLimited && !e.Retryable {
			t.Errorf("%s is worth another attempt", code)
		}
		f.Final, f.Hint = true, ""
		if event, ok := f.Event().(execution.ErrorEvent); ok && event.Recoverable {
			t.Errorf("%s, final: the event says that it may pass", code)
		}
		if e = f.Result(); e.Retryable || e.Recoverable || e.Metadata["hint"] != nil {
			t.Errorf("%s, final and without a hint: the result has %+v", code, e)
		}
	}
	f := cliagent.Failure{Code: execution.CodeInternal}
	if e := f.Result(); e.Code != execution.FailureBackendExecution {
		t.Errorf("the agent's failure is %s", e.Code)
	}
}

func TestPhrases(t *testing.T) {
	p := cliagent.Phrases{{Code: execution.CodeSessionNotFound, Parts: []string{"absent", "no session"}}, {Code: execution.CodeConfig, Parts: []string{"session"}}}
	for _, tc := range []struct {
		name    string
		exit    process.Exit
		code    execution.ErrorCode
		message string
	}{
		{"the first phrase", process.Exit{Code: 1, StderrTail: "Error: No Session x\n"}, execution.CodeSessionNotFound, "No Session x"},
		{"a later one", process.Exit{Code: 2, StderrTail: "wrong session \xff"}, execution.CodeConfig, "wrong session \uFFFD"},
		{"none", process.Exit{Code: 1, StderrTail: "boom"}, "", "boom"},
		{"success", process.Exit{StderrTail: "no session"}, "", ""},
		{"a signal", process.Exit{Code: -1, Signal: "SIGTERM", StderrTail: "no session"}, "", ""},
		{"stopped", process.Exit{Code: 1, Stopped: true, StderrTail: "no session"}, "", ""},
	} {
		if code, message := p.Complaint(tc.exit); code != tc.code || message != tc.message {
			t.Errorf("%s: %s %q", tc.name, code, message)
		}
	}
}

func TestContextNumbers(t *testing.T) {
	for text, want := range map[string]execution.ContextExceeded{"too long: has 12 of 10": {UsedTokens: 12, MaxTokens: 10}, "has 12 of many": {}, "12 of 10": {}} {
		if got := cliagent.ContextNumbers(text, "has ", "%d of %d"); got != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestCodeOfStatus(t *testing.T) {
	for status, want := range map[int64]execution.ErrorCode{0: "", 200: "", 400: execution.CodeInvalidRequest, 401: execution.CodeAuth, 403: execution.CodeAuth,
		404: execution.CodeModelNotFound, 408: execution.CodeProvider, 422: execution.CodeInvalidRequest, 429: execution.CodeRateLimited, 529: execution.CodeProvider} {
		if got := cliagent.CodeOfStatus(status); got != want {
			t.Errorf("%d: %s", status, got)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	f := cliagent.Failures{
		Statuses: map[int64]execution.ErrorCode{404: execution.CodeInvalidRequest},
		Words:    []cliagent.Words{{Code: execution.CodeAuth, Names: []string{"login", "key"}}, {Code: execution.CodeConfig, Names: []string{"file"}}},
		Phrases: cliagent.Phrases{{Code: execution.CodeModelNotFound, And: "does not exist", Parts: []string{"model"}},
			{Code: execution.CodeRateLimited, Parts: []string{"quota"}}},
	}
	for name, want := range map[string]execution.ErrorCode{"key": execution.CodeAuth, "file": execution.CodeConfig, "keys": "", "": ""} {
		if got := f.Word(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	for status, want := range map[int64]execution.ErrorCode{0: "", 200: "", 401: execution.CodeAuth, 404: execution.CodeInvalidRequest,
		429: execution.CodeRateLimited, 599: execution.CodeProvider, 600: "", 99999: ""} {
		if got := f.Status(status); got != want {
			t.Errorf("%d: %q, want %q", status, got, want)
		}
	}
	for text, want := range map[string]execution.ErrorCode{"the model": "", "it does not exist": "", "the model x does not exist": execution.CodeModelNotFound, "no quota": execution.CodeRateLimited} {
		if got := f.Text(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	// A text replaces a word for many things and no other.
	for code, want := range map[execution.ErrorCode]execution.ErrorCode{"": execution.CodeRateLimited, execution.CodeProvider: execution.CodeRateLimited,
		execution.CodeInvalidRequest: execution.CodeRateLimited, execution.CodeAuth: execution.CodeAuth} {
		if got := f.Sharper(code, "quota"); got != want {
			t.Errorf("%q with a text: %q, want %q", code, got, want)
		}
	}
	if got := f.Sharper(execution.CodeProvider, "nothing"); got != execution.CodeProvider {
		t.Errorf("without a word for the text: %q", got)
	}
}
