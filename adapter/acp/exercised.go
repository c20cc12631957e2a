package acp

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

func claudeBridge() acpagent.Agent {
	return acpagent.Agent{
		About: adapter.Descriptor{Name: "claude-agent-acp", Aliases: []string{"claude-acp"}, DisplayName: "Claude Agent, through claude-agent-acp", Command: "claude-agent-acp",
			TestedVersions: []string{"0.100.0", "0.101.0"}, Install: []adapter.InstallMethod{acpagent.NPM("@agentclientprotocol/claude-agent-acp", "0.101.0", "22.0.0")},
			Docs: "https://github.com/agentclientprotocol/claude-agent-acp", Keys: []string{"ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR"}, Unasked: declared.UnaskedByClaude()},
		Login: acpagent.Login{Provider: "Anthropic", Command: "claude /login", Files: []string{".claude/.credentials.json"}, Variables: []adapter.AuthVariable{
			key("ANTHROPIC_API_KEY", "API key of the Claude API"), key("CLAUDE_CODE_OAUTH_TOKEN", "token of a Claude subscription")}},
		Notes: []string{"it tries a request that the model API refuses, a wrong key too, again and again without a sign of it: give the run a --timeout",
			"the agent claude has more: its adapter drives Claude Code itself"},
		Quirks: func(s *acpagent.Spec) {
			// Stated always, as for Claude Code itself: since 0.101.0 its default is that a model decides in the place of the person.
			s.Modes = map[execution.ApprovalMode]string{execution.ApprovalYolo: "default", execution.ApprovalPrompt: "default", execution.ApprovalDeny: "default"}
			s.Overtakes, s.ToolName, s.Shell, s.Blobs = true, toolName, claudeShell, func(mediaType string) bool { return mediaType == "application/pdf" }
		},
		Redirect: redirectClaude,
	}
}

// claudeShell reads a command by Claude's text for its model, which states the exit code of a command that failed alone.
func claudeShell(c *acpagent.ToolCall) (acpagent.Shell, bool) {
	sh, ok := acpagent.DefaultShell(c)
	var text string
	var in struct {
		RunInBackground bool `json:"run_in_background"`
	}
	_ = json.Unmarshal(c.Input, &in)
	if !ok || in.RunInBackground || json.Unmarshal(c.Output, &text) != nil {
		return sh, ok
	}
	sh.Output = text
	if code, rest, exited := toolcall.CutExitCode(text); exited && c.Status == "failed" {
		sh.Output, sh.ExitCode = rest, new(code)
	} else if c.Status == "completed" {
		sh.ExitCode = new(0)
	}
	return sh, true
}

func codexBridge() acpagent.Agent {
	return acpagent.Agent{
		About: adapter.Descriptor{Name: "codex-acp", DisplayName: "Codex, through codex-acp", Command: "codex-acp", TestedVersions: []string{"2.6.0"},
			Install: []adapter.InstallMethod{acpagent.NPM("@agentclientprotocol/codex-acp", "2.6.0", "")}, Docs: "https://github.com/agentclientprotocol/codex-acp",
			Keys: []string{"CODEX_HOME"}, Unasked: []settings.Unasked{{Path: ".codex/config.toml", Format: "toml", Keys: []string{"mcp_servers", "hooks", "notify"}}}},
		Login: acpagent.Login{Provider: "OpenAI", Command: "codex login", Files: []string{".codex/auth.json"}, Variables: []adapter.AuthVariable{
			key("OPENAI_API_KEY", "API key of OpenAI"), key("CODEX_API_KEY", "API key of OpenAI, for Codex alone")}},
		Notes: []string{"the agent codex has more: its adapter drives Codex itself", "it trusts the directory of a run: servers and hooks of the project's settings run once you trust them in Drawbar", "it asks before it leaves the workspace or uses the network; approval mode yolo gives it full access, and deny none to write",
			"a denied permission ends the turn, and with it a run with one prompt: it offers no other way to deny"},
		Limits: func(c *execution.Capabilities) { c.Agent.DenialEndsTurn = true },
		Quirks: func(s *acpagent.Spec) {
			s.MCPTool, s.Notice, s.Blobs = codexTool, codexNotice, acpagent.NoBlobs
			s.Modes = map[execution.ApprovalMode]string{execution.ApprovalYolo: "agent-full-access", execution.ApprovalPrompt: "workspace-write", execution.ApprovalDeny: "read-only"}
		},
		Redirect: redirectCodex,
	}
}

// codexTool recognizes a call of an MCP server by its _meta; its input names both.
func codexTool(c *acpagent.ToolCall, _ []string) (server, tool string, ok bool) {
	server, tool = c.InputField("server"), c.InputField("tool")
	return server, tool, c.MetaField("is_mcp_tool_call").IsTrue() && server != "" && tool != ""
}

// codexNotice recognizes warnings and errors of the model API that codex-acp sends as pieces of its message: what the model
// says has the id of a message.
func codexNotice(update jsonscan.Value) (acpagent.Notice, bool) {
	text := update.Get("content").Get("text").Str()
	if update.Get("messageId").Exists() || text == "" {
		return acpagent.Notice{}, false
	}
	var failed struct {
		Error struct{ Type, Message string }
	}
	if json.Unmarshal([]byte(text), &failed) == nil && failed.Error.Message != "" {
		code := cmp.Or(acpagent.CodeOfText(text), execution.CodeProvider)
		if failed.Error.Type == "invalid_request_error" && code == execution.CodeProvider {
			code = execution.CodeInvalidRequest
		}
		return acpagent.Notice{Message: failed.Error.Message, Failed: code}, true
	}
	text = strings.TrimSpace(text)
	for _, f := range codexFailures {
		if strings.HasPrefix(text, f.start) {
			return acpagent.Notice{Message: text, Failed: cmp.Or(f.code, acpagent.CodeOfText(text), execution.CodeProvider)}, true
		}
	}
	warning, ok := strings.CutPrefix(text, "Warning: ")
	return acpagent.Notice{Message: warning}, ok
}

// codexFailures are how Codex's words for a turn that failed begin; codex-acp 2.6.0 sends them as text, and ends the turn in order.
var codexFailures = []struct {
	start string
	code  execution.ErrorCode // empty: as the text says
}{{"exceeded retry limit, last status: ", ""}, {"unexpected status ", ""}, {"stream disconnected before completion: ", ""},
	{"We’re currently experiencing high demand", execution.CodeProvider}, {"Missing environment variable: ", execution.CodeAuth}}
