//go:build unix

package cliagent

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

func TestPanics(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*Spec)
		events int
	}{
		{"NewParser", func(s *Spec) { s.NewParser = func(execution.Request) Parser { panic("x") } }, 0},
		{"nil parser", func(s *Spec) { s.NewParser = func(execution.Request) Parser { return nil } }, 0},
		{"Spawn", func(s *Spec) { s.Spawn = func(*Launch) (Invocation, error) { panic("x") } }, 0},
		{"Open", func(s *Spec) { s.NewParser = panicking("open") }, -1},
		{"Command", func(s *Spec) { s.NewParser = panicking("command") }, -1},
		{"Exit", func(s *Spec) { s.NewParser = panicking("exit") }, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := fakeSpec(t, "hang")
			if tt.name == "Exit" {
				spec = fakeSpec(t, "simple")
			}
			tt.change(&spec)
			o := execute(t, t.Context(), New(spec, Options{}), request(), closedInbox(), nil)
			if o.result.Status != "failed" || o.result.Error.Code != execution.FailureBackendExecution ||
				o.result.Error.ErrorCode() != execution.CodeInternal {
				t.Errorf("%s %+v", o.result.Status, o.result.Error)
			}
		})
	}
}

func panicking(where string) func(execution.Request) Parser {
	return func(execution.Request) Parser { return &lineParser{panicIn: where, oneShot: true} }
}

func TestPanickingHooksMeanTheirDefault(t *testing.T) {
	t.Parallel()
	hooks := Hooks{
		OnSpawnError:  func(error) execution.Body { panic("x") },
		OnTimeout:     func() execution.Body { panic("x") },
		OnProcessExit: func(process.Exit) []execution.Body { panic("x") },
		ShouldRetry:   func(execution.Body, int, execution.RetryPolicy) bool { panic("x") },
	}
	spec := fakeSpec(t, "crash")
	spec.Hooks = hooks
	if o := execute(t, t.Context(), New(spec, Options{}), request(), closedInbox(), nil); !o.has("crash") {
		t.Errorf("no default event for the exit: %v", o.types())
	}
	spec.Command = "there-is-no-such-command"
	o := execute(t, t.Context(), New(spec, Options{}), request(), closedInbox(), nil)
	if c, ok := o.events[0].Body.(execution.Crash); !ok || c.ExitCode != -1 {
		t.Errorf("no default event for the start: %v", o.types())
	}
	if e, ok := hooks.timeout().(execution.ErrorEvent); !ok || e.Code != execution.CodeInactivityTimeout || e.Recoverable {
		t.Errorf("default of OnTimeout: %+v", e)
	}
	if hooks.shouldRetry(execution.Crash{}, 0, execution.DefaultRetryPolicy()) {
		t.Error("a panicking ShouldRetry said yes")
	}
}

func TestHooks(t *testing.T) {
	t.Parallel()
	spec := fakeSpec(t, "crash")
	spec.Hooks.OnProcessExit = func(e process.Exit) []execution.Body {
		return []execution.Body{nil, execution.Debug{Message: fmt.Sprint(e.Code)}}
	}
	o := execute(t, t.Context(), New(spec, Options{}), request(), closedInbox(), nil)
	if got := strings.Join(o.types(), " "); got != "session_start text_delta debug" {
		t.Errorf("got %s", got)
	}
	spec.Command = "there-is-no-such-command"
	spec.Hooks.OnSpawnError = func(err error) execution.Body { return execution.AuthError{Message: err.Error()} }
	o = execute(t, t.Context(), New(spec, Options{}), request(), closedInbox(), nil)
	if got := strings.Join(o.types(), " "); got != "auth_error" {
		t.Errorf("got %s", got)
	}
}

// panickyInbox is a caller's bug on a goroutine of the kit.
type panickyInbox struct{}

func (panickyInbox) Receive(context.Context) (execution.Command, error) { panic("broken inbox") }

func TestInboxPanics(t *testing.T) {
	t.Parallel()
	o := execute(t, t.Context(), New(twoWay(fakeSpec(t, "chat")), Options{}), request(), panickyInbox{}, nil)
	if o.result.Status != "completed" || !o.has("debug") {
		t.Errorf("%s, %v", o.result.Status, o.types())
	}
}

func TestNilInbox(t *testing.T) {
	t.Parallel()
	for _, err := range New(fakeSpec(t, "simple"), Options{}).Execute(t.Context(), request(), nil) {
		if err == nil {
			t.Error("a broken caller is an error")
		}
	}
}
