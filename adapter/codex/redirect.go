package codex

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

var _ adapter.ModelRedirector = Adapter{}

// RedirectModel points Codex to another Responses API by a custom model provider, and disables all other network
// access.
func (Adapter) RedirectModel(baseURL, home string) adapter.Redirect {
	dir := filepath.Join(home, ".codex")
	const variable, model = "DRAWBAR_MODEL_KEY", "gpt-5.5"
	config := strings.Join([]string{
		"model = " + tomlString(model),
		`model_provider = "drawbar"`,
		"check_for_update_on_startup = false",
		"",
		"[model_providers.drawbar]",
		`name = "drawbar"`,
		"base_url = " + tomlString(strings.TrimSuffix(baseURL, "/")+"/v1"),
		"env_key = " + tomlString(variable),
		`wire_api = "responses"`,
		"request_max_retries = 2",
		"stream_max_retries = 2",
		"",
		"[analytics]",
		"enabled = false",
		"",
		"[otel]",
		`exporter = "none"`,
		"",
	}, "\n")
	return adapter.Redirect{
		Env:   map[string]string{"HOME": home, "CODEX_HOME": dir, variable: "dummy-key-not-real", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"},
		Files: map[string][]byte{filepath.Join(dir, "config.toml"): []byte(config)},
		Model: model,
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
		// Clarify stays nil: the tool that asks a person is part of a feature under development.
	}
}
