package copilot

import (
	"strings"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var shellKeys = jsonscan.NewKeySet("toolCallId", "stream", "text")

// shellOutput is what a command writes, as it writes it.
func (p *parser) shellOutput(data jsonscan.Value, s *cliagent.Sink) bool {
	var v [3]jsonscan.Value
	if !data.Fields(v[:], shellKeys) || v[0].Kind() != jsonscan.String {
		return false
	}
	t := p.tools[p.names.Str(v[0])]
	if t == nil {
		return true // of a command in the background whose call has its result
	}
	t.heard = true
	p.shellStart(t, s)
	if text := v[2].Str(); text == "" {
		return true
	} else if v[1].IsStr("stderr") {
		s.EmitFrom(t.parent, execution.ShellStderrDelta{Delta: text, ToolCallID: t.id})
	} else {
		s.EmitFrom(t.parent, execution.ShellStdoutDelta{Delta: text, ToolCallID: t.id})
	}
	return true
}

// partialResult repeats, again and again, all that a command has written. It only shows that the command runs.
func (p *parser) partialResult(data jsonscan.Value, s *cliagent.Sink) bool {
	id := data.Get("toolCallId")
	if id.Kind() != jsonscan.String {
		return false
	}
	if t := p.tools[p.names.Str(id)]; t != nil {
		p.shellStart(t, s)
	}
	return true
}

// shellStart says that a command runs, once. A call that begins may still be refused.
func (p *parser) shellStart(t *tool, s *cliagent.Sink) {
	if t.running || !t.isShell() {
		return
	}
	t.running = true
	s.EmitFrom(t.parent, execution.ShellStart{Command: t.command, Cwd: p.req.Run.Cwd, ToolCallID: t.id})
}

// shellDone is the end of a command. One that was refused never ran; one in the background runs on.
func (p *parser) shellDone(t *tool, content string, code int64, exited bool, s *cliagent.Sink) {
	if !exited {
		return
	}
	p.shellStart(t, s)
	if text := written(content); !t.heard && text != "" {
		s.EmitFrom(t.parent, execution.ShellStdoutDelta{Delta: text, ToolCallID: t.id})
	}
	s.EmitFrom(t.parent, execution.ShellExit{ExitCode: int(code), DurationMs: p.elapsed(t), ToolCallID: t.id})
}

// written is what a command wrote, without the line that Copilot puts behind it for its model.
func written(content string) string {
	if i := strings.LastIndex(content, "<shellId: "); i >= 0 && strings.HasSuffix(content, ">") {
		return content[:i]
	}
	return content
}
