package opencode

import (
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
)

// scripted is the model that a redirected agent asks for.
const scripted = "scripted-model"

// RedirectModel points OpenCode to another Chat Completions API by a provider in its settings, and disables all other network access.
func (Adapter) RedirectModel(baseURL, home string) adapter.Redirect {
	models := map[string]any{}
	for _, id := range []string{scripted, "scripted-other"} {
		models[id] = map[string]any{"name": id, "tool_call": true, "attachment": true, "cost": map[string]any{"input": 2, "output": 10},
			"modalities": map[string]any{"input": []string{"text", "image"}, "output": []string{"text"}}, "limit": map[string]any{"context": 2000000, "output": 32000}}
	}
	config := encode(map[string]any{"autoupdate": false, "share": "disabled", "model": "script/" + scripted, "small_model": "script/" + scripted,
		"provider": map[string]any{"script": map[string]any{"npm": "@ai-sdk/openai-compatible", "name": "Script",
			"options": map[string]any{"baseURL": baseURL + "/v1", "apiKey": "dummy"},
			"models":  models}}})
	return adapter.Redirect{
		Env: acpagent.Loopback(home, "OPENCODE_CONFIG_CONTENT="+string(config), "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1",
			"OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1"),
		Shell: acpagent.ScriptedShell("bash"), MCP: acpagent.ScriptedMCP("%s_%s"),
	}
}
