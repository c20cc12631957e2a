package gemini

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// TestConversationRetries: Gemini holds the log of a conversation back until it ends. What it tells of retries is counted then, and is
// no news; lines that are not known are no sign of a change.
func TestConversationRetries(t *testing.T) {
	t.Parallel()
	req := newRequest()
	interactive(&req)
	req.Run.Cwd = "/w"
	p, s := newConversation(req), cliagent.NewSink(false)
	p.Open(s)
	for _, line := range []string{`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}`, `{"jsonrpc":"2.0","id":2,"result":{"sessionId":"` + sessionID + `"}}`} {
		p.Line(process.Stdout, []byte(line), s)
	}
	for _, line := range []string{"a line of the log", `Attempt 1 failed with status 500. Retrying with backoff... _ApiError: {"error":{"code":500,"message":"broken"}}`,
		"    at main (file:///x.js:1:1) {", "  status: 500", "}"} {
		p.Line(process.Stderr, []byte(line), s)
	}
	if r := bodies[execution.Retry](s.Take()); len(r) != 0 {
		t.Errorf("retries of the past are news: %+v", r)
	}
	if res := p.Exit(process.Exit{Stopped: true}, s); res.Retries != 1 {
		t.Errorf("%d retries in the result", res.Retries)
	}
}
