package acpagent

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// TestOvertaken: a call and its question that the agent sends before the rest of its message come after it, whatever ends the wait;
// nothing of them is lost.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	line := func(update string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + update + `}}`
	}
	said := func(text string) string {
		return line(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}`)
	}
	eager := line(`{"sessionUpdate":"tool_call","toolCallId":"a","title":"Write x","kind":"edit","rawInput":{"file_path":"/x"},"status":"pending"}`)
	streamed := strings.Replace(eager, `{"file_path":"/x"}`, `{}`, 1)
	filled := strings.Replace(eager, `"tool_call"`, `"tool_call_update"`, 1)
	asks := `{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"a"},"options":[{"optionId":"y","kind":"allow_once","name":"yes"}]}}`
	usage := line(`{"sessionUpdate":"usage_update","used":1,"size":2}`)
	alarm, interrupt, exit := "alarm", "interrupt", "exit"
	for _, tt := range []struct {
		name   string
		always bool // the agent sends in order
		lines  []string
		text   string // when the question is asked
		asked  bool
	}{
		{"until the alarm", false, []string{said("I "), eager, asks, said("will."), usage, alarm}, "I will.", true},
		{"not yet", false, []string{said("I "), eager, asks, said("will."), usage}, "I will.", false},
		{"until something else", false, []string{said("I "), eager, asks, said("will."), filled}, "I will.", true},
		{"in order", false, []string{said("I "), said("will."), streamed, filled, asks}, "I will.", true},
		{"an agent that sends in order", true, []string{said("I "), eager, asks}, "I ", true},
		{"interrupted", false, []string{said("I "), eager, asks, interrupt}, "I ", true},
		{"ended", false, []string{said("I "), eager, asks, exit}, "I ", true},
	} {
		p, s := newParser(Spec{Name: "x", Overtakes: !tt.always}, execution.Request{}), cliagent.NewSink(false)
		p.open, p.running, p.session.id = true, true, "s"
		for _, l := range tt.lines {
			switch l {
			case alarm:
				p.Alarm(s)
			case interrupt:
				p.cancel(s)
			case exit:
				p.Exit(process.Exit{}, s)
			default:
				p.Line(process.Stdout, []byte(l), s)
			}
		}
		text, asked, called := "", false, false
		for _, e := range s.Take() {
			switch b := e.Body.(type) {
			case execution.TextDelta:
				text += b.Delta
			case execution.ToolCallStart:
				called = true
			case execution.ApprovalRequired:
				if asked = true; !called || text != tt.text {
					t.Errorf("%s: asked after %q, call announced: %v", tt.name, text, called)
				}
			}
		}
		if text != tt.text || asked != tt.asked || s.UnknownLines() > 0 {
			t.Errorf("%s: text %q, asked %v, %d unknown lines", tt.name, text, asked, s.UnknownLines())
		}
	}
}
