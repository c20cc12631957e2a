package acp

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

// scripted is the model that a redirected agent asks for.
const scripted = "scripted-model"

func redirectClaude(baseURL, home string) adapter.Redirect {
	return adapter.Redirect{
		Env: acpagent.Loopback(home, "ANTHROPIC_BASE_URL="+baseURL, "ANTHROPIC_API_KEY=dummy", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
			"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "IS_SANDBOX=1"),
		Shell: acpagent.ScriptedShell("Bash"), MCP: acpagent.ScriptedMCP("mcp__%s__%s"),
	}
}

func redirectCodex(baseURL, home string) adapter.Redirect {
	config := fmt.Sprintf("model = %q\nmodel_provider = \"script\"\n\n[model_providers.script]\nname = \"script\"\nbase_url = %q\nenv_key = \"OPENAI_API_KEY\"\n"+
		"wire_api = \"responses\"\nrequest_max_retries = 2\nstream_max_retries = 2\n", scripted, baseURL+"/v1")
	return adapter.Redirect{
		Env:   acpagent.Loopback(home, "OPENAI_API_KEY=dummy"),
		Files: map[string][]byte{filepath.Join(home, ".codex", "config.toml"): []byte(config)},
		Shell: func(command string, ask bool) adapter.ScriptedCall {
			input := map[string]any{"cmd": command}
			if ask {
				input["sandbox_permissions"], input["justification"] = "require_escalated", "it leads out of the sandbox"
			}
			return cliagent.Scripted("exec_command", input)
		},
		Unasked: "cannot ask for escalated permissions",
		MCP: func(server, tool string, input json.RawMessage) adapter.ScriptedCall {
			return adapter.ScriptedCall{Name: tool, Namespace: "mcp__" + server, Input: input}
		},
	}
}
