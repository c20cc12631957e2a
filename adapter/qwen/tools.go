package qwen

import (
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// Tools of Qwen Code that are named elsewhere.
const (
	toolShell     = "run_shell_command"
	toolStructure = "structured_output"
)

var tools = &toolcall.Table{
	Tools: toolcall.Tools{toolcall.Shell: {toolShell}, toolcall.Read: {"read_file"}, toolcall.Write: {"write_file"}, toolcall.Edit: {"edit"}, toolcall.Agent: {"agent", "task"},
		toolcall.Skill: {"skill"}, toolcall.Search: {"list_directory", "glob", "grep_search", "search_file_content", "read_many_files"}, toolcall.Fetch: {"web_fetch", "web_search"}},
	Input:        toolcall.Input{Path: "file_path", Command: "command", Agent: "subagent_type", Prompt: "prompt", Content: "content", Skill: "skill"},
	DefaultAgent: "general-purpose",
	Deferred:     "tool_call",
	MCP:          toolcall.Naming{Prefix: "mcp__", Separator: "__"},
}

// toolDone handles the end of a call.
func (p *parser) toolDone(id, parent string, content jsonscan.Value, failed bool, s *cliagent.Sink) {
	c, text := p.Calls.Expect(id, parent), sessionfile.Text(content)
	end := toolcall.End{Output: toolcall.Raw(content, "null"), Failed: failed, Error: text, Summary: text}
	refused := failed && isRefusal(text)
	if refused {
		p.Calls.Deny(c, c.Name, text, s)
	}
	switch c.Kind {
	case toolcall.Shell:
		if !refused {
			end.Command = p.command(text, failed)
		}
	case toolcall.Agent:
		if st := p.Sub(c.ID); st != nil {
			p.endStep(st, s)
		}
	case toolcall.Write:
		end.Created = strings.HasPrefix(text, "Successfully created")
	}
	p.Calls.End(c, end, s)
}

// isRefusal reports whether a failed call was refused for lack of permission.
func isRefusal(text string) bool {
	return strings.HasPrefix(text, "Qwen Code requires permission to use") && strings.Contains(text, "declined")
}

// command returns the end of a command, nil if it never ran. A successful command shows its output only; a failed one
// has an account with its exit code. Old versions report no failure; the unknown exit code is -1 then.
func (p *parser) command(text string, failed bool) *toolcall.Exit {
	exit := &toolcall.Exit{Stdout: text, Exited: true}
	switch code, output, ok := account(text); {
	case ok:
		exit.Code, exit.Stdout = code, output
	case failed && !strings.HasPrefix(text, "[Operation Cancelled]"):
		return nil // refused by a permission or a hook: no shell ran
	case failed || !p.tellsExitCodes():
		exit.Code = -1
	}
	return exit
}

// account parses Qwen's account of a command: fields by line; the output may span several.
func account(text string) (code int, output string, ok bool) {
	if !strings.HasPrefix(text, "Command: ") {
		return 0, "", false
	}
	i := strings.LastIndex(text, "\nExit Code: ")
	if i < 0 {
		return 0, "", false
	}
	digits, _, _ := strings.Cut(text[i+len("\nExit Code: "):], "\n")
	code, err := strconv.Atoi(strings.TrimSpace(digits))
	if err != nil {
		code = -1 // ended by a signal
	}
	if _, rest, found := strings.Cut(text[:i], "\nOutput: "); found {
		output = rest
		if end := strings.LastIndex(rest, "\nError: "); end >= 0 {
			output = rest[:end]
		}
		if output == "(empty)" {
			output = ""
		}
	}
	return code, output, true
}
