package pi

import (
	"slices"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/pifile"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var tools = &toolcall.Table{
	Tools: toolcall.Tools{toolcall.Shell: {"bash", "powershell"}, toolcall.Read: {"read"}, toolcall.Write: {"write"}, toolcall.Edit: {"edit"},
		toolcall.Search: {"grep", "find", "ls"}},
	MCP:   toolcall.Naming{Prefix: "mcp__", Separator: "__", Spell: spelled},
	Input: toolcall.Input{Path: "path", Command: "command", Content: "content"},
}

// reading are the tools that change nothing.
var reading = slices.Concat(tools.Tools[toolcall.Read], tools.Tools[toolcall.Search])

type resultForm struct {
	Content jsonscan.Value
	Details struct{ Patch jsonscan.Value }
}

var resultShape jsonscan.Shape[resultForm]

// execution handles the start, the progress and the end of a tool's work.
func (p *parser) execution(typ string, s *cliagent.Sink) bool {
	id := p.names.Str(p.v.ToolCallID)
	if id == "" || !p.running {
		return id != ""
	}
	switch typ {
	case "tool_execution_start":
		c := p.calls.Start(id, p.names.Str(p.v.ToolName), "", s)
		if p.hooked {
			p.calls.Input(c, p.v.Args)
			break
		}
		p.calls.Called(c, p.v.Args, s)
	case "tool_execution_update":
		// Pi asks its extensions between the start and the first progress: only now the command runs.
		if c := p.calls.Open(id); c != nil && c.Kind == toolcall.Shell {
			p.calls.Called(c, p.v.Args, s)
			p.calls.Run(c, s)
			p.output(c, pifile.PlainText(p.v.PartialResult.Content), s)
		}
	case "tool_execution_end":
		c := p.calls.Open(id)
		if c == nil {
			return true
		}
		p.calls.Called(c, jsonscan.Value{}, s)
		var v resultForm
		resultShape.From(p.v.Result, &v)
		text := pifile.PlainText(v.Content)
		end := toolcall.End{Output: toolcall.Raw(v.Content, "null"), Failed: p.v.IsError.IsTrue(), Summary: text, Diff: v.Details.Patch.Str()}
		if end.Failed {
			end.Error = text
		}
		if c.Kind == toolcall.Shell && c.Running() {
			end.Command = p.ended(c, text, end.Failed, s)
		}
		delete(p.shell, id)
		p.calls.End(c, end, s)
	}
	return true
}

// output reports what a command has written since the last record, which repeats everything. Output that was cut at
// its beginning is reported at the end of the command.
func (p *parser) output(c *toolcall.Call, all string, s *cliagent.Sink) {
	if rest, ok := strings.CutPrefix(all, p.shell[c.ID]); ok {
		c.Stdout(rest, s)
		p.shell[c.ID] = all
	}
}

// exitedWith precedes the exit code behind the output of a failed command.
const exitedWith = "Command exited with code "

// ended returns the end of a command. Pi joins both streams; without a stated code a command that did not fail ended
// with 0, and a failed one did not end by itself.
func (p *parser) ended(c *toolcall.Call, text string, failed bool, s *cliagent.Sink) *toolcall.Exit {
	exit := &toolcall.Exit{Exited: !failed}
	if i := strings.LastIndex(text, exitedWith); failed && i >= 0 {
		code, err := strconv.Atoi(text[i+len(exitedWith):])
		exit.Code, exit.Exited = code, err == nil
		text = strings.TrimSuffix(strings.TrimRight(text[:i], "\n"), "(no output)")
	}
	if text != "(no output)" {
		p.output(c, text, s)
	}
	return exit
}
