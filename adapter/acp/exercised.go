package acp

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

func cline() acpagent.Agent {
	return acpagent.Agent{
		About: adapter.Descriptor{Name: "cline", DisplayName: "Cline CLI", Command: "cline", TestedVersions: []string{"3.0.65"},
			Install: []adapter.InstallMethod{npm("cline", "3.0.65", "")}, Docs: "https://docs.cline.bot/cline-cli/acp-editor-integrations",
			HostSignals: []string{"CLINE_CONNECTOR_CLI_LAUNCH"}, Keys: []string{"CLINE_API_BASE_URL"}},
		Args:     []string{"--acp"},
		Login:    acpagent.Login{Provider: "Cline", Command: "cline auth", Variables: []adapter.AuthVariable{key("CLINE_API_KEY", "API key of the Cline account")}},
		Notes:    []string{"over ACP it uses a Cline account or a ChatGPT subscription; another provider that its settings name is ignored", "it states no tokens and no prices"},
		Quirks:   func(s *acpagent.Spec) { s.ToolName, s.FailedCall = acpagent.TitleWord, clineFailed },
		Limits:   stdioOnly,
		Redirect: redirectCline,
	}
}

// clineFailed returns the error in the output of a call that Cline reports as completed.
func clineFailed(c *acpagent.ToolCall) string { return c.OutputField("error").Str() }

// stdioOnly is for agents that take no MCP servers over HTTP, and so no tools of the caller.
func stdioOnly(c *execution.Capabilities) {
	c.Agent.MCPTransports = []execution.MCPTransport{execution.MCPStdio}
}

func omp() acpagent.Agent {
	return acpagent.Agent{
		About: adapter.Descriptor{Name: "omp", Aliases: []string{"oh-my-pi"}, DisplayName: "Oh My Pi", Command: "omp", TestedVersions: []string{"18.2.3"},
			Install: []adapter.InstallMethod{ompInstall()}, Docs: "https://github.com/can1357/oh-my-pi",
			HostSignals: []string{"OMPCODE"}, HostTraces: []string{"OMP_RUN_ID", "OMP_SESSION_ID"}, HostCopies: []string{"CLAUDECODE"},
			Keys: []string{"PI_CODING_AGENT_DIR", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"}},
		Args:     []string{"acp"},
		Login:    acpagent.Login{Provider: "any model API", Command: "omp", Files: []string{".omp/agent/agent.db", ".omp/agent/models.yml"}},
		Notes:    []string{"it runs tools without asking unless its settings say otherwise"},
		Quirks:   func(s *acpagent.Spec) { s.FailedText = ompFailed },
		Redirect: redirectOmp,
	}
}

// ompFailed recognizes a failure of the model API: its status begins the answer, for which no tokens are stated.
func ompFailed(text string, spent execution.Usage) (execution.ErrorCode, bool) {
	if code, failed := acpagent.FailedAnswer(text, spent); failed {
		return code, true
	}
	word, _, _ := strings.Cut(text, " ")
	status, err := strconv.ParseInt(word, 10, 64)
	return cliagent.CodeOfStatus(status), err == nil && status >= 400 && status < 600 && spent.IsZero()
}

func ompInstall() adapter.InstallMethod {
	m := npm("@oh-my-pi/pi-coding-agent", "18.2.3", "")
	m.Requires = []adapter.Requirement{{Command: "bun", MinVersion: "1.3.14"}}
	return m
}

func droid() acpagent.Agent {
	return acpagent.Agent{
		About: adapter.Descriptor{Name: "droid", Aliases: []string{"factory-droid"}, DisplayName: "Factory Droid", Command: "droid", TestedVersions: []string{"0.215.0"},
			Install: []adapter.InstallMethod{npm("droid", "0.215.0", "")}, Docs: "https://docs.factory.ai/cli/droid-exec/overview",
			HostSignals: []string{"FACTORY_EXEC_TARGET_AUTONOMY"}, HostTraces: []string{"FACTORY_DISABLE_SETTINGS_PERSISTENCE"}},
		Args: []string{"exec", "--output-format", "acp"},
		Login: acpagent.Login{Provider: "Factory", Command: "droid", Variables: []adapter.AuthVariable{key("FACTORY_API_KEY", "API key of the Factory account")},
			Files: []string{".factory/settings.json"}},
		Notes:    []string{"a model of your own needs --model with the id that it offers, custom:NAME-0, and no login", "it states no tokens and no prices"},
		Quirks:   func(s *acpagent.Spec) { s.ToolName, s.MCPTool = acpagent.TitleWord, droidTool },
		Limits:   stdioOnly,
		Redirect: redirectDroid,
	}
}

// droidTool recognizes server___tool.
func droidTool(c *acpagent.ToolCall, servers []string) (server, tool string, ok bool) {
	for _, s := range servers {
		if tool, ok := strings.CutPrefix(acpagent.TitleWord(c), s+"___"); ok && tool != "" {
			return s, tool, true
		}
	}
	return "", "", false
}

func openclaw() acpagent.Agent {
	m := npm("openclaw", "2026.9.6", "24.16.0")
	return acpagent.Agent{
		About: adapter.Descriptor{Name: "openclaw", DisplayName: "OpenClaw", Command: "openclaw", TestedVersions: []string{"2026.9.6"},
			Install: []adapter.InstallMethod{m}, Docs: "https://docs.openclaw.ai/cli/acp",
			HostSignals: []string{"OPENCLAW_CLI", "OPENCLAW_SHELL"}, HostTraces: []string{"OPENCLAW_RUN_ID", "OPENCLAW_SESSION"},
			Keys: []string{"OPENCLAW_GATEWAY_TOKEN", "OPENCLAW_GATEWAY_URL", "OPENCLAW_GATEWAY_PORT", "OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH"}},
		Args:   []string{"acp"},
		Login:  acpagent.Login{Provider: "any model API", Command: "openclaw onboard", Files: []string{".openclaw/openclaw.json"}},
		Notes:  []string{"it needs its gateway, openclaw gateway run; OPENCLAW_GATEWAY_PORT and OPENCLAW_GATEWAY_TOKEN name another one than its settings do", "it takes no MCP servers over ACP"},
		Limits: func(c *execution.Capabilities) { c.Agent.MCP, c.Agent.MCPTransports = false, nil },
	}
}

func claudeBridge() acpagent.Agent {
	return acpagent.Agent{
		About: adapter.Descriptor{Name: "claude-agent-acp", Aliases: []string{"claude-acp"}, DisplayName: "Claude Agent, through claude-agent-acp", Command: "claude-agent-acp",
			TestedVersions: []string{"0.100.0"}, Install: []adapter.InstallMethod{npm("@agentclientprotocol/claude-agent-acp", "0.100.0", "22.0.0")},
			Docs: "https://github.com/agentclientprotocol/claude-agent-acp", Keys: []string{"ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR"}},
		Login: acpagent.Login{Provider: "Anthropic", Command: "claude /login", Files: []string{".claude/.credentials.json"}, Variables: []adapter.AuthVariable{
			key("ANTHROPIC_API_KEY", "API key of the Claude API"), key("CLAUDE_CODE_OAUTH_TOKEN", "token of a Claude subscription")}},
		Notes: []string{"it tries a request that the model API refuses, a wrong key too, again and again without a sign of it: give the run a --timeout",
			"the agent claude has more: its adapter drives Claude Code itself"},
		Quirks:   func(s *acpagent.Spec) { s.ToolName = toolName },
		Redirect: redirectClaude,
	}
}

func codexBridge() acpagent.Agent {
	return acpagent.Agent{
		About: adapter.Descriptor{Name: "codex-acp", DisplayName: "Codex, through codex-acp", Command: "codex-acp", TestedVersions: []string{"2.6.0"},
			Install: []adapter.InstallMethod{npm("@agentclientprotocol/codex-acp", "2.6.0", "")}, Docs: "https://github.com/agentclientprotocol/codex-acp",
			Keys: []string{"CODEX_HOME"}},
		Login: acpagent.Login{Provider: "OpenAI", Command: "codex login", Files: []string{".codex/auth.json"}, Variables: []adapter.AuthVariable{
			key("OPENAI_API_KEY", "API key of OpenAI"), key("CODEX_API_KEY", "API key of OpenAI, for Codex alone")}},
		Notes: []string{"the agent codex has more: its adapter drives Codex itself", "it asks before it leaves the workspace or uses the network; approval mode yolo gives it full access"},
		Quirks: func(s *acpagent.Spec) {
			s.MCPTool, s.Notice = codexTool, codexNotice
			s.Modes = map[execution.ApprovalMode]string{execution.ApprovalYolo: "agent-full-access", execution.ApprovalPrompt: "workspace-write", execution.ApprovalDeny: "workspace-write"}
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
	var failed struct{ Error struct{ Message string } }
	if json.Unmarshal([]byte(text), &failed) == nil && failed.Error.Message != "" {
		return acpagent.Notice{Message: failed.Error.Message, Failed: cmp.Or(acpagent.CodeOfText(text), execution.CodeProvider)}, true
	}
	warning, ok := strings.CutPrefix(strings.TrimSpace(text), "Warning: ")
	return acpagent.Notice{Message: warning}, ok
}
