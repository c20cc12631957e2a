package cliagent

import (
	"testing"

	"github.com/drawbar/drawbar/execution"
)

func TestSessionOf(t *testing.T) {
	t.Parallel()
	goesOn := &execution.Continuation{Kind: execution.ContinuationDeferred, State: map[string]any{"sessionId": "c"}}
	for _, tt := range []struct {
		name string
		req  execution.Request
		id   string
		fork bool
	}{
		{"new", execution.Request{}, "", false},
		{"resumed", execution.Request{Run: execution.RunOptions{SessionID: "s", ForkSessionID: "f"}, Continuation: goesOn}, "s", false},
		{"forked", execution.Request{Run: execution.RunOptions{ForkSessionID: "f"}, Continuation: goesOn}, "f", true},
		{"continued", execution.Request{Continuation: goesOn}, "c", false},
		{"continued without a session", execution.Request{Continuation: &execution.Continuation{}}, "", false},
		{"none wanted", execution.Request{Run: execution.RunOptions{NoSession: true}, Continuation: goesOn}, "", false},
	} {
		if id, fork := SessionOf(tt.req); id != tt.id || fork != tt.fork {
			t.Errorf("%s: got %q %v, want %q %v", tt.name, id, fork, tt.id, tt.fork)
		}
	}
}

func TestIsUUID(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"": false, "latest": false, "00000000-0000-4000-8000-00000000000A": true, "00000000-0000-4000-8000-00000000000g": false,
		"00000000_0000-4000-8000-000000000000": false, "00000000-0000-4000-8000-0000000000000": false,
	} {
		if IsUUID(s) != want {
			t.Errorf("%q: got %v", s, !want)
		}
	}
}

func TestCodeOfStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[int64]execution.ErrorCode{
		0: "", 200: "", 400: execution.CodeInvalidRequest, 401: execution.CodeAuth, 403: execution.CodeAuth, 404: execution.CodeModelNotFound,
		408: execution.CodeProvider, 413: execution.CodeInvalidRequest, 429: execution.CodeRateLimited, 500: execution.CodeProvider, 529: execution.CodeProvider,
	} {
		if got := CodeOfStatus(status); got != want {
			t.Errorf("%d: got %q, want %q", status, got, want)
		}
	}
}
