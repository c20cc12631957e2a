package claude

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var tools = &toolcall.Table{
	Tools: toolcall.Tools{toolcall.Shell: {"Bash"}, toolcall.Read: {"Read"}, toolcall.Write: {"Write"}, toolcall.Edit: {"Edit", "MultiEdit", "NotebookEdit"}, toolcall.Agent: {"Task", "Agent"},
		toolcall.Skill: {"Skill"}, toolcall.Search: {"Glob", "Grep", "LS", "NotebookRead"}, toolcall.Fetch: {"WebFetch", "WebSearch"}},
	Input: toolcall.Input{Path: "file_path", OtherPath: "notebook_path", Command: "command", Agent: "subagent_type", Prompt: "prompt",
		Content: "content", Skill: "skill"},
	DefaultAgent: "general-purpose",
	MCP:          toolcall.Naming{Prefix: "mcp__", Separator: "__"},
}

// toolEnd is a line's information about the end of a call.
type toolEnd struct {
	id, parent string
	content    jsonscan.Value // text for the model
	detail     jsonscan.Value // data for Claude's own display: an object, or a text
	meta       jsonscan.Value
	failed     bool
	at         time.Time
}

type metaForm struct{ ID, NonExecutionKind jsonscan.Value }

var metaShape jsonscan.Shape[metaForm]

// refused reports whether the tool never ran.
func (e toolEnd) refused() bool {
	for _, element := range e.meta.Array {
		var v metaForm
		if metaShape.From(element, &v) && v.ID.IsStr(e.id) && v.NonExecutionKind.Kind() == jsonscan.String {
			return true
		}
	}
	return false
}

func (p *parser) toolDone(e toolEnd, s *cliagent.Sink) {
	c, text := p.Calls.Expect(e.id, e.parent), contentText(e.content)
	end := toolcall.End{Output: toolcall.Raw(e.content, "null"), Failed: e.failed, At: e.at}
	if e.failed {
		end.Error = plainError(text)
	}
	switch c.Kind {
	case toolcall.Shell:
		end.Command = p.command(c, e, text)
	case toolcall.Agent:
		if st := p.Sub(c.ID); st != nil && !c.Async {
			p.endMessage(st, s)
		}
		status := e.detail.Get("status")
		end.Async = status.IsStr("async_launched") || status.IsStr("remote_launched")
		end.Summary = summary(cmp.Or(contentText(e.detail.Get("content")), text))
	case toolcall.Write:
		// A sub-agent's lines have no detail, only the text for its model.
		kind := e.detail.Get("type")
		end.Created = kind.IsStr("create") || !kind.Exists() && strings.HasPrefix(text, "File created")
	case toolcall.Edit:
		end.Diff = unified(e.detail.Get("structuredPatch"))
	}
	p.Calls.End(c, end, s)
}

func plainError(text string) string {
	text = strings.TrimPrefix(text, "<tool_use_error>")
	return strings.TrimSuffix(text, "</tool_use_error>")
}

type shellForm struct {
	_                                jsonscan.Camel
	Stdout, Stderr, BackgroundTaskID jsonscan.Value
}

var shellShape jsonscan.Shape[shellForm]

// command returns the end of a command, nil if it never ran. Claude states no exit code: success means 0, and a
// failure starts with "Exit code N". Both streams are combined, except where it separates them.
func (p *parser) command(c *toolcall.Call, e toolEnd, text string) *toolcall.Exit {
	code, rest, exited := toolcall.CutExitCode(text)
	switch {
	case !e.failed:
		code = 0
	case e.refused() || !exited && !c.Running():
		return nil
	case !exited:
		code, rest = -1, plainError(text)
	}
	var v shellForm
	exit := &toolcall.Exit{Stdout: rest, Code: code}
	if shellShape.From(e.detail, &v) {
		exit.Stdout, exit.Stderr = v.Stdout.Str(), v.Stderr.Str()
	} else if !e.failed {
		exit.Stdout = text
	}
	exit.Exited = v.BackgroundTaskID.Kind() != jsonscan.String // otherwise it continues in the background
	return exit
}

// summary returns a sub-agent's answer without Claude's prefix for its model.
func summary(text string) string {
	const end = "</tools-used-before-summary>"
	if i := strings.LastIndex(text, end); i >= 0 {
		text = text[i+len(end):]
	}
	return strings.TrimSpace(text)
}

var patchShape jsonscan.Shape[struct {
	_                                             jsonscan.Camel
	OldStart, OldLines, NewStart, NewLines, Lines jsonscan.Value
}]

// unified formats Claude's hunks as a unified diff without file names.
func unified(patch jsonscan.Value) string {
	var b strings.Builder
	for _, hunk := range patch.Array {
		v, ok := patchShape.Of(hunk)
		if !ok {
			continue
		}
		b.WriteString("@@ -" + strconv.FormatInt(cliagent.Count(v.OldStart), 10) + "," + strconv.FormatInt(cliagent.Count(v.OldLines), 10) +
			" +" + strconv.FormatInt(cliagent.Count(v.NewStart), 10) + "," + strconv.FormatInt(cliagent.Count(v.NewLines), 10) + " @@\n")
		for _, l := range v.Lines.Array {
			b.WriteString(l.Str())
			b.WriteByte('\n')
		}
	}
	return b.String()
}

var progressShape jsonscan.Shape[struct{ ToolUseID jsonscan.Value }]

// toolProgress handles the keep-alive of a slow tool.
func (p *parser) toolProgress(line []byte, s *cliagent.Sink) bool {
	v, ok := progressShape.Read(line)
	if !ok {
		return false
	}
	if c := p.Calls.Open(v.ToolUseID.Str()); c != nil && c.Ready {
		p.Calls.Run(c, s)
	}
	return true
}
