package copilot

import (
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// shellOutput handles a command's output while it is written.
func (p *parser) shellOutput(s *cliagent.Sink) bool {
	v := &p.values.Data
	if v.ToolCallID.Kind() != jsonscan.String {
		return false
	}
	c := p.calls.Open(p.names.Str(v.ToolCallID))
	if c == nil {
		return true // of a background command whose call has its result
	}
	p.calls.Run(c, s)
	if v.Stream.IsStr("stderr") {
		c.Stderr(v.Text.Str(), s)
	} else {
		c.Stdout(v.Text.Str(), s)
	}
	return true
}

// partialResult repeats all of a command's output each time. It only shows that the command runs.
func (p *parser) partialResult(s *cliagent.Sink) bool {
	id := p.values.Data.ToolCallID
	if id.Kind() != jsonscan.String {
		return false
	}
	if c := p.calls.Open(p.names.Str(id)); c != nil {
		p.calls.Run(c, s)
	}
	return true
}

// written returns a command's output without the line that Copilot appends for its model.
func written(content string) string {
	if i := strings.LastIndex(content, "<shellId: "); i >= 0 && strings.HasSuffix(content, ">") {
		return content[:i]
	}
	return content
}
