package acpagent

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// TestCommandBehindItsCall: an agent that says nothing after its message while a command of it goes on may wait for that, and the run
// says so once.
func TestCommandBehindItsCall(t *testing.T) {
	t.Parallel()
	line := func(update string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + update + `}}`
	}
	call := line(`{"sessionUpdate":"tool_call","toolCallId":"a","title":"run it","kind":"execute","rawInput":{"command":"x"},"status":"pending"}`)
	done := line(`{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed","content":[{"type":"content","content":{"type":"text","text":"goes on"}}]}`)
	over := line(`{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed","content":[{"type":"content","content":{"type":"text","text":"ended"}}]}`)
	said := line(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"done"}}`)
	for _, tt := range []struct {
		name  string
		lines []string
		rings bool
	}{
		{"a command goes on", []string{call, done, said}, true},
		{"and other news", []string{call, done, said, line(`{"sessionUpdate":"session_info_update","title":"x"}`)}, true},
		{"no command", []string{said}, false},
		{"a command that ended", []string{call, over, said}, false},
		{"another call runs", []string{call, done, said, strings.ReplaceAll(call, `"a"`, `"b"`)}, false},
		{"before the message", []string{call, done}, false},
	} {
		p, s := newParser(Spec{Name: "x", Background: func(c *ToolCall) bool { return c.Text() == "goes on" }}, execution.Request{}), cliagent.NewSink(false)
		p.open, p.running, p.session.id = true, true, "s"
		for _, l := range tt.lines {
			p.Line(process.Stdout, []byte(l), s)
		}
		s.Take()
		p.Alarm(s)
		if got := len(s.Take()); (got == 1) != tt.rings {
			t.Errorf("%s: %d events", tt.name, got)
		}
		if p.Alarm(s); len(s.Take()) > 0 {
			t.Errorf("%s: it is said twice", tt.name)
		}
	}
}
