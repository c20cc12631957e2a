package qwen

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// protocol is what is particular about Qwen Code in its ACP mode. It marks the end of every model call with an empty text
// that has the tokens, and what a sub-agent does with the call that started it.
func protocol() acpagent.Spec {
	return acpagent.Spec{
		Name:               name,
		Spawn:              spawnACP,
		LoginHint:          loginGuidance,
		ModelInArgs:        true,
		InstructionsInArgs: true,
		ModelName:          func(_, name string) string { return name }, // the id names the kind of login besides
		ToolName:           func(c *acpagent.ToolCall) string { return c.MetaField("toolName").Str() },
		MCPTool:            mcpCall,
		Shell:              shellCall,
		Subagent:           subagentCall,
		Notice:             messageNotice,
		Parent:             func(update jsonscan.Value) string { return update.Get("_meta").Get("parentToolCallId").Str() },
		CallUsage:          callUsage,
		Steps:              true,
		Classify: func(_ int64, message string) execution.ErrorCode {
			// What the model API said stands behind a word of the protocol.
			_, details, _ := strings.Cut(message, ": ")
			for _, text := range []string{details, message} {
				if code := failures.Text(strings.ToLower(text)); code != "" {
					return code
				}
				if code := cliagent.CodeOfStatus(status(text)); code != "" {
					return code
				}
			}
			return ""
		},
		// A request for messages that were said meanwhile is refused: this client has none for the middle of a turn.
		Quiet: []string{"craft/drainMidTurnQueue", "authenticate/update", "qwen/notify/session/prompt-suggestion", "qwen/notify/session/title-update",
			"qwen/notify/session/pr-binding", "qwen/notify/session/recording-degraded", "qwen/notify/session/mode-update",
			"qwen/notify/session/model-update", "qwen/notify/session/artifact-event", "qwen/notify/session/terminal-sequence",
			"qwen/notify/session/mcp-budget-event", "qwen/notify/session/generation/event", "qwen/notify/workspace/generation/event",
			"qwen/notify/session/sources-changed"},
		Stderr: acpStderr,
	}
}

// spawnACP makes the command line of a two-way run.
func spawnACP(l *cliagent.Launch) (cliagent.Invocation, error) {
	if id, _ := cliagent.SessionOf(l.Request); id != "" && !cliagent.IsUUID(id) {
		return cliagent.Invocation{}, noSession(id)
	}
	env := environment(l.Request.Run)
	if err := addHooks(l, env); err != nil {
		return cliagent.Invocation{}, err
	}
	return cliagent.Invocation{Args: append([]string{"--acp"}, commonArgs(l.Request)...), Env: env}, nil
}

// mcpCall recognizes the tool of an MCP server by its name: what Qwen states besides is nothing but the first cut.
func mcpCall(c *acpagent.ToolCall, servers []string) (server, tool string, ok bool) {
	server, tool = tools.MCP.Split(c.MetaField("toolName").Str(), slices.Values(servers))
	return server, tool, server != ""
}

// shellCall reads the call of a command, whose result has the parts of the account that the text shows.
func shellCall(c *acpagent.ToolCall) (acpagent.Shell, bool) {
	if c.MetaField("toolName").Str() != toolShell {
		return acpagent.Shell{}, false
	}
	sh := acpagent.Shell{Command: c.InputField("command")}
	if sh.Command == "" {
		sh.Command = c.Title
	}
	var result struct {
		Type     string `json:"type"`
		Output   string `json:"output"`
		Cwd      string `json:"directory"`
		ExitCode *int   `json:"exitCode"`
	}
	if json.Unmarshal(c.Output, &result) == nil && result.Type == "shell_result" {
		sh.Output, sh.Cwd, sh.ExitCode = result.Output, result.Cwd, result.ExitCode
	}
	return sh, true
}

// subagentCall reads the call that starts a sub-agent.
func subagentCall(c *acpagent.ToolCall) (acpagent.Subagent, bool) {
	if tools.Kind(c.MetaField("toolName").Str()) != toolcall.Agent {
		return acpagent.Subagent{}, false
	}
	a := acpagent.Subagent{Name: cmp.Or(c.InputField(tools.Input.Agent), tools.DefaultAgent), Prompt: c.InputField(tools.Input.Prompt), Summary: c.Text()}
	var result struct {
		Mode   string `json:"executionMode"`
		Status string `json:"status"`
		Reason string `json:"terminateReason"`
	}
	if json.Unmarshal(c.Output, &result) == nil {
		a.Running = result.Mode == "background" || result.Status == "background" || result.Status == "running"
		if result.Status == "failed" || result.Status == "cancelled" {
			a.Failure = result.Reason
			if a.Failure == "" {
				a.Failure = a.Summary
			}
		}
	}
	return a, true
}

// messageNotice reads what Qwen says in its model's place: that a task in the background has ended, once at once and once when its model
// is told so, and what became of images and of things to do.
func messageNotice(update jsonscan.Value) (acpagent.Notice, bool) {
	meta := update.Get("_meta")
	own, _ := meta.Get("qwenDiscreteMessage").Bool()
	if !own || meta.Get("source").IsStr("background_notification_response") || meta.Get("source").IsStr("realtime_voice") {
		return acpagent.Notice{}, false // the model's, after all
	}
	text, task := update.Get("content").Get("text").Str(), meta.Get("backgroundTask")
	n := acpagent.Notice{Message: "qwen: " + text}
	if task.Get("kind").IsStr("agent") {
		n.Call = task.Get("toolUseId").Str()
		if n.End.Summary = text; !task.Get("status").IsStr("completed") {
			n.End.Failure = cmp.Or(text, "it ended as "+task.Get("status").Str())
		}
	}
	return n, true
}

var callUsageShape jsonscan.Shape[struct {
	_                                                                       jsonscan.Camel
	InputTokens, OutputTokens, ThoughtTokens, CachedReadTokens, TotalTokens jsonscan.Value
}]

// callUsage reads the tokens of a model call, of which the input holds those of the cache, and the output mostly the
// thoughts: the total tells.
func callUsage(update jsonscan.Value) (execution.Usage, bool) {
	f, ok := callUsageShape.Of(update.Get("_meta").Get("usage"))
	if !ok || !f.InputTokens.Exists() && !f.OutputTokens.Exists() {
		return execution.Usage{}, false
	}
	u := execution.Usage{Input: cliagent.Count(f.InputTokens), Output: cliagent.Count(f.OutputTokens),
		Thinking: cliagent.Count(f.ThoughtTokens)}
	u.Cached = min(cliagent.Count(f.CachedReadTokens), u.Input)
	if apart := cliagent.Count(f.TotalTokens) - u.Input - u.Output; apart > 0 && u.Input > 0 {
		u.Output += apart
		u.Thinking = max(u.Thinking, apart)
	}
	u.Thinking = min(u.Thinking, u.Output)
	u.Input -= u.Cached
	return u.WithTotal(), true
}

// acpStderr reads a line of standard error: the program's log, which repeats what it answers.
func acpStderr(line []byte, s *cliagent.Sink) bool {
	if !stderrLine(line, s) && s.Debug() {
		s.Emit(execution.Log{Source: execution.LogStderr, Line: strings.ToValidUTF8(string(line), "\uFFFD")})
	}
	return true
}
