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

// protocol describes Qwen Code's ACP mode. It marks the end of every model call by an empty text with the tokens, and
// a sub-agent's updates by the call that started it.
func protocol() acpagent.Spec {
	return acpagent.Spec{
		Name:               name,
		Spawn:              spawnACP,
		LoginHint:          loginGuidance,
		ModelInArgs:        true,
		InstructionsInArgs: true,
		ModelName:          func(_, name string) string { return name }, // the id also names the kind of login
		ToolName:           func(c *acpagent.ToolCall) string { return c.MetaField("toolName").Str() },
		MCPTool:            mcpCall,
		Shell:              shellCall,
		Subagent:           subagentCall,
		Notice:             messageNotice,
		Parent:             func(update jsonscan.Value) string { return update.Get("_meta").Get("parentToolCallId").Str() },
		CallUsage:          callUsage,
		Steps:              true,
		Classify: func(_ int64, message string) execution.ErrorCode {
			// The model API's message follows a word of the protocol.
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
		// Qwen asks for messages sent in the meantime: there are none in the middle of a turn.
		Quiet: []string{"craft/drainMidTurnQueue", "authenticate/update", "qwen/notify/session/prompt-suggestion", "qwen/notify/session/title-update",
			"qwen/notify/session/pr-binding", "qwen/notify/session/recording-degraded", "qwen/notify/session/mode-update",
			"qwen/notify/session/model-update", "qwen/notify/session/artifact-event", "qwen/notify/session/terminal-sequence",
			"qwen/notify/session/mcp-budget-event", "qwen/notify/session/generation/event", "qwen/notify/workspace/generation/event",
			"qwen/notify/session/sources-changed"},
		Stderr: acpStderr,
	}
}

// spawnACP returns the command line of a two-way run.
func spawnACP(l *cliagent.Launch) (cliagent.Invocation, error) {
	if id, _ := cliagent.SessionOf(l.Request); id != "" && !cliagent.IsUUID(id) {
		return cliagent.Invocation{}, noSession(id)
	}
	over, err := overEnv(l)
	if err != nil {
		return cliagent.Invocation{}, err
	}
	return cliagent.Invocation{Args: append([]string{"--acp"}, commonArgs(l.Request)...), Env: environment(l.Request.Run), EnvOver: over}, nil
}

// mcpCall recognizes an MCP server's tool by its name; Qwen's other field only has the name's first part.
func mcpCall(c *acpagent.ToolCall, servers []string) (server, tool string, ok bool) {
	server, tool = tools.MCP.Split(c.MetaField("toolName").Str(), slices.Values(servers))
	return server, tool, server != ""
}

// shellCall reads the call of a command, whose result has the fields of the account in the text.
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

// messageNotice reads the program's own messages: the end of a background task, once at once and once when the model
// is told, and notes about images and to-do items.
func messageNotice(update jsonscan.Value) (acpagent.Notice, bool) {
	meta := update.Get("_meta")
	own, _ := meta.Get("qwenDiscreteMessage").Bool()
	if !own || meta.Get("source").IsStr("background_notification_response") || meta.Get("source").IsStr("realtime_voice") {
		return acpagent.Notice{}, false // a message of the model after all
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

// callUsage reads the tokens of a model call. The input includes cached tokens, and the output usually includes
// thinking, as the total reveals.
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

// acpStderr reads a line of standard error: the program's log, which repeats its replies.
func acpStderr(line []byte, s *cliagent.Sink) bool {
	if !stderrLine(line, s) && s.Debug() {
		s.Emit(execution.Log{Source: execution.LogStderr, Line: strings.ToValidUTF8(string(line), "\uFFFD")})
	}
	return true
}
