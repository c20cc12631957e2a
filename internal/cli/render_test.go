package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

func TestRenderDenialOnce(t *testing.T) {
	t.Parallel()
	var out, err bytes.Buffer
	r := NewRenderer(&App{Out: &out, Err: &err, NoColor: true}, false, nil)
	for _, b := range []execution.Body{execution.ApprovalDenied{ID: "q", Reason: "denied by the user"}, execution.ToolError{ToolCallID: "c", ToolName: "Write", Error: "denied by the user"}} {
		r.Event(execution.Event{Body: b})
	}
	if got := strings.TrimSpace(err.String()); got != "denied by the user" {
		t.Errorf("%q", got)
	}
}

// TestRenderUnasked: what the approval mode answers by itself is no question to a person.
func TestRenderUnasked(t *testing.T) {
	t.Parallel()
	var out, err bytes.Buffer
	r := NewRenderer(&App{Out: &out, Err: &err, NoColor: true}, false, nil)
	r.Unasked = true
	for _, b := range []execution.Body{execution.ApprovalRequired{ID: "q", Action: "Bash", Detail: "ls"}, execution.ApprovalGranted{ID: "q", Detail: "approval mode yolo"}} {
		r.Event(execution.Event{Body: b})
	}
	if err.Len() > 0 {
		t.Errorf("%q", err.String())
	}
}

func TestRenderRetry(t *testing.T) {
	t.Parallel()
	for want, b := range map[string]execution.Retry{
		"another attempt":          {},
		"attempt 2":                {Attempt: 2},
		"attempt 2 of 5 in 1.5s":   {Attempt: 2, MaxAttempts: 5, DelayMs: 1500},
		"another attempt in 250ms": {DelayMs: 250, MaxAttempts: 3},
	} {
		if got := retryText(b); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
