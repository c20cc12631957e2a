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

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of texts and numbers always encode
	}
	return string(b)
}

func redirectCline(baseURL, home string) adapter.Redirect {
	return adapter.Redirect{
		Env: acpagent.Loopback(home, "CLINE_API_KEY=dummy", "CLINE_API_BASE_URL="+baseURL),
		Shell: func(command string, _ bool) adapter.ScriptedCall {
			return cliagent.Scripted("run_commands", map[string]any{"commands": []string{command}})
		},
		MCP: acpagent.ScriptedMCP("%s__%s"),
	}
}

func redirectOmp(baseURL, home string) adapter.Redirect {
	models := text(map[string]any{"providers": map[string]any{"script": map[string]any{"baseUrl": baseURL + "/v1", "api": "openai-completions", "apiKey": "dummy",
		"models": []any{map[string]any{"id": scripted, "name": "Scripted", "contextWindow": 128000, "maxTokens": 8192}}}}})
	return adapter.Redirect{
		Env:   acpagent.Loopback(home, "PI_OFFLINE=1"),
		Files: map[string][]byte{filepath.Join(home, ".omp", "agent", "models.yml"): []byte(models)}, // JSON is YAML
		Shell: acpagent.ScriptedShell("bash"), MCP: acpagent.ScriptedMCP("mcp__%s_%s"),
	}
}

func redirectDroid(baseURL, home string) adapter.Redirect {
	settings := text(map[string]any{"cloudSessionSync": false, "customModels": []any{map[string]any{"model": scripted, "displayName": "Scripted",
		"baseUrl": baseURL + "/v1", "apiKey": "dummy", "provider": "generic-chat-completion-api", "maxOutputTokens": 8192}}})
	return adapter.Redirect{
		Env:   acpagent.Loopback(home, "FACTORY_API_KEY=fk-dummy", "FACTORY_DROID_AUTO_UPDATE_ENABLED=false"),
		Files: map[string][]byte{filepath.Join(home, ".factory", "settings.json"): []byte(settings)},
		Model: "custom:Scripted-0",
		Shell: func(command string, _ bool) adapter.ScriptedCall {
			return cliagent.Scripted("Execute", map[string]any{"command": command, "summary": "Run the given command", "riskLevel": "high",
				"riskLevelReason": "It changes files."})
		},
		MCP: acpagent.ScriptedMCP("%s___%s"),
	}
}

func redirectClaude(baseURL, home string) adapter.Redirect {
	return adapter.Redirect{
		Env: acpagent.Loopback(home, "ANTHROPIC_BASE_URL="+baseURL, "ANTHROPIC_API_KEY=dummy", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
			"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "IS_SANDBOX=1"),
		Shell: acpagent.ScriptedShell("Bash"), MCP: acpagent.ScriptedMCP("mcp__%s__%s"),
	}
}

func redirectCodex(baseURL, home string) adapter.Redirect {
	config := fmt.Sprintf("model = %q\nmodel_provider = \"script\"\n\n[model_providers.script]\nname = \"script\"\nbase_url = %q\nenv_key = \"OPENAI_API_KEY\"\n"+
		"wire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n", scripted, baseURL+"/v1")
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
		MCP: func(server, tool string, input json.RawMessage) adapter.ScriptedCall {
			return adapter.ScriptedCall{Name: tool, Namespace: "mcp__" + server, Input: input}
		},
	}
}
