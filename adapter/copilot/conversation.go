package copilot

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// protocol is Copilot over the Agent Client Protocol.
var protocol = acpagent.Spec{
	Name: name,
	Spawn: func(l *cliagent.Launch) (cliagent.Invocation, error) {
		inv := cliagent.Invocation{Args: []string{"--acp", "--no-ask-user"}}
		return inv, complete(l, &inv)
	},
	LoginHint:          loginGuidance,
	ModelInArgs:        true,
	EffortInArgs:       true,
	InstructionsInArgs: true,
	// Servers of the session are there some time after the session only, and its first turn does not know them.
	MCPInArgs:    true,
	ToolName:     toolName,
	MCPTool:      mcpTool,
	Shell:        shellOf,
	PromptUsage:  promptUsage,
	RunningTotal: true,
	Aside:        aside,
	Background:   background,
	Classify:     classify,
}

// toolName is the name of the tool of a call, which the protocol does not carry: what the call is and takes gives it away.
func toolName(c *acpagent.ToolCall) string {
	switch {
	case c.Name != "":
		return c.Name
	case c.Kind == "execute":
		return "bash"
	case c.Kind == "edit" && c.InputField("file_text") != "":
		return "create"
	case c.Kind == "edit":
		return "edit"
	case c.Kind == "read" && c.InputField("path") != "":
		return "view"
	case c.InputField("agent_type") != "":
		return "task"
	case strings.Contains(c.Title, " "):
		return c.Kind
	}
	return c.Title
}

// mcpTool recognizes a call of a tool of an MCP server of the request. Its title is SERVER-TOOL, and either part may hold
// dashes; those of the person's own servers cannot be told from other tools.
func mcpTool(c *acpagent.ToolCall, servers []string) (server, tool string, ok bool) {
	server, tool = tools.MCP.Split(c.Title, slices.Values(servers))
	return server, tool, server != ""
}

// shellOf reads the call of a command. How it ended is in the output of the tool.
func shellOf(c *acpagent.ToolCall) (acpagent.Shell, bool) {
	sh, ok := acpagent.DefaultShell(c)
	if !ok {
		return sh, false
	}
	sh.Output = written(sh.Output)
	output, err := jsonscan.Parse(c.Output)
	if err != nil {
		return sh, true
	}
	for _, part := range output.Get("contents").Array {
		if code, exited := part.Get("exitCode").Int(); exited && part.Get("type").IsStr("shell_exit") {
			n := int(code)
			sh.ExitCode, sh.Cwd = &n, cmp.Or(sh.Cwd, part.Get("cwd").Str())
		}
	}
	return sh, true
}

// background recognizes a command that Copilot did not wait for: it ends no turn while one runs.
func background(c *acpagent.ToolCall) bool {
	return c.Kind == "execute" && strings.Contains(c.Text(), "<command started in background with shellId: ")
}

// promptUsage reads what the process has used so far. Its input has the cached tokens in it.
func promptUsage(result jsonscan.Value) (execution.Usage, bool) {
	u, ok := acpagent.Usage(result.Get("usage"))
	u.Input = max(0, u.Input-u.Cached-u.CacheWrite)
	return u.WithTotal(), ok
}

// aside recognizes what Copilot itself says among the words of its model. Each of its notes is a chunk of its own, with a word in
// front; only what it is known to say counts, because a model may begin with that word too.
func aside(chunk string) (acpagent.Aside, bool) {
	if note, ok := strings.CutPrefix(chunk, "Info: "); ok {
		switch {
		case strings.HasSuffix(note, "Retrying..."):
			return acpagent.Aside{Retry: execution.CodeProvider, Message: strings.TrimSuffix(note, " Retrying...")}, true
		case note == "Operation cancelled by user":
			return acpagent.Aside{}, true
		case isPath(note): // a file that was made
			return acpagent.Aside{}, true
		}
		return acpagent.Aside{}, false
	}
	message, ok := strings.CutPrefix(chunk, "Error: ")
	if !ok {
		return acpagent.Aside{}, false
	}
	code := failures.Text(strings.ToLower(message))
	if m := apiStatus().FindStringSubmatch(message); code == "" && m != nil {
		status, _ := strconv.ParseInt(cmp.Or(m[1], m[2]), 10, 64) // three digits
		code = failures.Status(status)
	}
	if code == "" && strings.HasPrefix(message, "Failed to get response from the AI model") {
		code = execution.CodeProvider
	}
	return acpagent.Aside{Failed: code, Message: message}, code != ""
}

// apiStatus finds the status of the model API in what Copilot says of a failed call.
var apiStatus = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([45][0-9][0-9]) |Last error: ([45][0-9][0-9])\b`)
})

func isPath(s string) bool {
	absolute := strings.HasPrefix(s, "/") || len(s) > 2 && s[1] == ':' && (s[2] == '\\' || s[2] == '/')
	return absolute && !strings.Contains(s, "\n")
}

// classify is the word for an error of the protocol.
func classify(_ int64, message string) execution.ErrorCode {
	text := strings.ToLower(message)
	if strings.Contains(text, "session") && (strings.Contains(text, "not found") || strings.Contains(text, "invalid sessionid")) {
		return execution.CodeSessionNotFound
	}
	return failures.Text(text)
}
