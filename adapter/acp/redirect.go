package acp

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

// scripted is the model that a redirected agent asks for.
const scripted = "scripted-model"

// loopback keeps a proxy of the environment from a server on this machine.
func loopback(home string, more ...string) map[string]string {
	env := map[string]string{"HOME": home, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
	for _, pair := range more {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	return env
}

// shell returns the scripted calls of a tool that runs its input's command.
func shell(tool string) func(command string, ask bool) adapter.ScriptedCall {
	return func(command string, _ bool) adapter.ScriptedCall {
		return cliagent.Scripted(tool, map[string]any{"command": command, "description": "run it"})
	}
}

// mcpNamed returns the scripted calls of tools that are named by a format with the server and the tool.
func mcpNamed(format string) func(server, tool string, input json.RawMessage) adapter.ScriptedCall {
	return func(server, tool string, input json.RawMessage) adapter.ScriptedCall {
		return adapter.ScriptedCall{Name: fmt.Sprintf(format, server, tool), Input: input}
	}
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of texts and numbers always encode
	}
	return string(b)
}

func redirectOpencode(baseURL, home string) adapter.Redirect {
	config := text(map[string]any{"autoupdate": false, "share": "disabled", "model": "script/" + scripted, "small_model": "script/" + scripted,
		"provider": map[string]any{"script": map[string]any{"npm": "@ai-sdk/openai-compatible", "name": "Script",
			"options": map[string]any{"baseURL": baseURL + "/v1", "apiKey": "dummy"},
			"models":  map[string]any{scripted: map[string]any{"name": "Scripted", "tool_call": true, "attachment": true, "modalities": map[string]any{"input": []string{"text", "image"}, "output": []string{"text"}}, "limit": map[string]any{"context": 128000, "output": 8192}}}}}})
	return adapter.Redirect{
		Env: loopback(home, "OPENCODE_CONFIG_CONTENT="+config, "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1",
			"OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1"),
		Shell: shell("bash"), MCP: mcpNamed("%s_%s"),
	}
}

func redirectGoose(baseURL, home string) adapter.Redirect {
	return adapter.Redirect{
		Env: loopback(home, "GOOSE_PROVIDER=openai", "GOOSE_MODEL="+scripted, "OPENAI_HOST="+baseURL, "OPENAI_BASE_PATH=v1/chat/completions",
			"OPENAI_API_KEY=dummy", "GOOSE_DISABLE_KEYRING=1", "GOOSE_TELEMETRY_ENABLED=false"),
		Shell: shell("shell"), MCP: mcpNamed("%s__%s"),
	}
}

func redirectClaude(baseURL, home string) adapter.Redirect {
	return adapter.Redirect{
		Env: loopback(home, "ANTHROPIC_BASE_URL="+baseURL, "ANTHROPIC_API_KEY=dummy", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
			"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "IS_SANDBOX=1"),
		Shell: shell("Bash"), MCP: mcpNamed("mcp__%s__%s"),
	}
}

func redirectCodex(baseURL, home string) adapter.Redirect {
	config := fmt.Sprintf("model = %q\nmodel_provider = \"script\"\n\n[model_providers.script]\nname = \"script\"\nbase_url = %q\nenv_key = \"OPENAI_API_KEY\"\n"+
		"wire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n", scripted, baseURL+"/v1")
	return adapter.Redirect{
		Env:   loopback(home, "OPENAI_API_KEY=dummy"),
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
