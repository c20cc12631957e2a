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

// protocol describes Copilot over the Agent Client Protocol.
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
	// The session's MCP servers are available some time after the session starts, and its first turn does not know
	// them.
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

// toolName derives the name of a call's tool, which the protocol does not transmit, from the call's kind and input.
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

// mcpTool recognizes a call of an MCP server's tool. Its title is SERVER-TOOL, and both parts may contain dashes;
// tools of the user's own servers cannot be distinguished from other tools.
func mcpTool(c *acpagent.ToolCall, servers []string) (server, tool string, ok bool) {
	server, tool = tools.MCP.Split(c.Title, slices.Values(servers))
	return server, tool, server != ""
}

// shellOf reads the call of a command. The tool's output states how it ended.
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

// promptUsage reads the process's total usage. Its input includes cached tokens.
func promptUsage(result jsonscan.Value) (execution.Usage, bool) {
	u, ok := acpagent.Usage(result.Get("usage"))
	u.Input = max(0, u.Input-u.Cached-u.CacheWrite)
	return u.WithTotal(), ok
}

// aside recognizes Copilot's own notes in its model's text. Each note is a chunk with a leading word; only known
// notes count, because a model's text may start with that word too.
func aside(chunk string) (acpagent.Aside, bool) {
	if note, ok := strings.CutPrefix(chunk, "Info: "); ok {
		switch {
		case strings.HasSuffix(note, "Retrying..."):
			return acpagent.Aside{Retry: execution.CodeProvider, Message: strings.TrimSuffix(note, " Retrying...")}, true
		case note == "Operation cancelled by user":
			return acpagent.Aside{}, true
		case isPath(note): // a new file
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

// apiStatus finds the status of the model API in the message of a failed call.
var apiStatus = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([45][0-9][0-9]) |Last error: ([45][0-9][0-9])\b`)
})

func isPath(s string) bool {
	absolute := strings.HasPrefix(s, "/") || len(s) > 2 && s[1] == ':' && (s[2] == '\\' || s[2] == '/')
	return absolute && !strings.Contains(s, "\n")
}

// classify returns the code of a protocol error.
func classify(_ int64, message string) execution.ErrorCode {
	text := strings.ToLower(message)
	if strings.Contains(text, "session") && (strings.Contains(text, "not found") || strings.Contains(text, "invalid sessionid")) {
		return execution.CodeSessionNotFound
	}
	return failures.Text(text)
}
