package acpagent

import (
	"bytes"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/transport/process"
)

// overtakeWait is how long the rest of a message may take that a tool call has overtaken.
const overtakeWait = 200 * time.Millisecond

// overtaking is a tool call, with the question about it, that the agent has sent before the rest of the message that makes the call
// (Spec.Overtakes). They wait for the rest.
type overtaking struct{ lines [][]byte }

// overtakes sets the read line aside, if it has overtaken a message or follows one that has.
func (p *parser) overtakes(line []byte, s *cliagent.Sink) bool {
	if !p.spec.Overtakes || !p.running || p.cancelled {
		return false
	}
	update := p.v.Params.Update.Whole
	kind, _ := p.v.Params.Update.SessionUpdate.Plain()
	switch call := string(kind); {
	case len(p.ahead.lines) == 0:
		if input := update.Get("rawInput").Raw(); call != "tool_call" || len(input) <= len("{}") { // a streamed call has no input yet
			return false
		}
		s.AlarmIn(overtakeWait)
	case call == "tool_call", p.v.Method.IsStr(methodPermission):
	case call == "agent_message_chunk", call == "agent_thought_chunk", call == "usage_update":
		return false
	default:
		p.catchUp(s)
		lineShape.Into(line, &p.v) // again: the lines that waited were read into it
		return false
	}
	p.ahead.lines = append(p.ahead.lines, bytes.Clone(line))
	return true
}

// catchUp handles the lines that were set aside.
func (p *parser) catchUp(s *cliagent.Sink) {
	lines := p.ahead.lines
	if len(lines) == 0 {
		return
	}
	p.ahead.lines = nil
	s.AlarmIn(0)
	for _, line := range lines {
		if !lineShape.Into(line, &p.v) || !p.message(s) {
			s.Unknown(process.Stdout, line)
		}
	}
}
