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

var tools = toolcall.New(toolcall.Table{
	Kinds: map[string]toolcall.Kind{"Bash": toolcall.Shell, "Read": toolcall.Read, "Write": toolcall.Write, "Edit": toolcall.Edit,
		"MultiEdit": toolcall.Edit, "NotebookEdit": toolcall.Edit, "Task": toolcall.Agent, "Agent": toolcall.Agent},
	Input: toolcall.Input{Path: "file_path", OtherPath: "notebook_path", Command: "command", Agent: "subagent_type", Prompt: "prompt",
		Content: "content"},
	DefaultAgent: "general-purpose",
	MCP:          toolcall.Naming{Prefix: "mcp__", Separator: "__"},
})

// toolEnd is what a line says of the end of a call.
type toolEnd struct {
	id, parent string
	content    jsonscan.Value // what the model is told
	detail     jsonscan.Value // what Claude's own display is told: an object, or a text
	meta       jsonscan.Value
	failed     bool
	at         time.Time
}

var metaKeys = jsonscan.NewKeySet("id", "non_execution_kind")

// refused reports that the tool never ran.
func (e toolEnd) refused() bool {
	for _, element := range e.meta.Array {
		var v [2]jsonscan.Value
		if element.Fields(v[:], metaKeys) && v[0].IsStr(e.id) && v[1].Kind() == jsonscan.String {
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
		// Lines of a sub-agent have no detail, only the text for its model.
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

var shellKeys = jsonscan.NewKeySet("stdout", "stderr", "backgroundTaskId")

// command is the end of a command, nil if it never ran. Claude states no exit code of its own: success means 0, and a failure
// begins with "Exit code N". Both streams arrive as one, except where it keeps them apart.
func (p *parser) command(c *toolcall.Call, e toolEnd, text string) *toolcall.Exit {
	code, rest, exited := exitCode(text)
	switch {
	case !e.failed:
		code = 0
	case e.refused() || !exited && !c.Running():
		return nil
	case !exited:
		code, rest = -1, plainError(text)
	}
	var v [3]jsonscan.Value
	exit := &toolcall.Exit{Stdout: rest, Code: code}
	if e.detail.Fields(v[:], shellKeys) {
		exit.Stdout, exit.Stderr = v[0].Str(), v[1].Str()
	} else if !e.failed {
		exit.Stdout = text
	}
	exit.Exited = v[2].Kind() != jsonscan.String // else it runs on in the background
	return exit
}

func exitCode(text string) (code int, rest string, ok bool) {
	after, ok := strings.CutPrefix(text, "Exit code ")
	if !ok {
		return 0, "", false
	}
	digits, rest, _ := strings.Cut(after, "\n")
	code, err := strconv.Atoi(strings.TrimSpace(digits))
	return code, rest, err == nil
}

// summary is a sub-agent's answer without what Claude puts in front of it for its model.
func summary(text string) string {
	const end = "</tools-used-before-summary>"
	if i := strings.LastIndex(text, end); i >= 0 {
		text = text[i+len(end):]
	}
	return strings.TrimSpace(text)
}

var patchKeys = jsonscan.NewKeySet("oldStart", "oldLines", "newStart", "newLines", "lines")

// unified writes Claude's hunks as a unified diff without file names.
func unified(patch jsonscan.Value) string {
	var b strings.Builder
	for _, hunk := range patch.Array {
		var v [5]jsonscan.Value
		if !hunk.Fields(v[:], patchKeys) {
			continue
		}
		b.WriteString("@@ -" + strconv.FormatInt(cliagent.Count(v[0]), 10) + "," + strconv.FormatInt(cliagent.Count(v[1]), 10) +
			" +" + strconv.FormatInt(cliagent.Count(v[2]), 10) + "," + strconv.FormatInt(cliagent.Count(v[3]), 10) + " @@\n")
		for _, l := range v[4].Array {
			b.WriteString(l.Str())
			b.WriteByte('\n')
		}
	}
	return b.String()
}

var progressKeys = jsonscan.NewKeySet("tool_use_id")

// toolProgress is a sign of life of a tool that takes its time.
func (p *parser) toolProgress(line []byte, s *cliagent.Sink) bool {
	var v [1]jsonscan.Value
	if jsonscan.Fields(line, v[:], progressKeys) != nil {
		return false
	}
	if c := p.Calls.Open(v[0].Str()); c != nil && c.Ready {
		p.Calls.Run(c, s)
	}
	return true
}
