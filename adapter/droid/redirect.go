package droid

import (
	"encoding/json"
	"path/filepath"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

// scripted is the id that Droid gives to the first model of one's own, by its name.
const scripted = "custom:Scripted-0"

var _ adapter.ModelRedirector = Adapter{}

// RedirectModel points Droid to another Chat Completions API by a model of one's own in settings.json.
func (Adapter) RedirectModel(baseURL, dir string) adapter.Redirect {
	settings, err := json.Marshal(map[string]any{"cloudSessionSync": false, "sessionDefaultSettings": map[string]any{"model": scripted}, "customModels": []any{map[string]any{"model": "scripted-model", "displayName": "Scripted",
		"baseUrl": baseURL + "/v1", "apiKey": "dummy", "provider": "generic-chat-completion-api", "maxOutputTokens": 8192, "noImageSupport": false}}})
	if err != nil {
		panic(err) // texts and numbers always encode
	}
	return adapter.Redirect{
		Env:   acpagent.Loopback(dir, "FACTORY_API_KEY=fk-dummy", "FACTORY_DROID_AUTO_UPDATE_ENABLED=false"),
		Files: map[string][]byte{filepath.Join(dir, ".factory", "settings.json"): settings},
		Shell: func(command string, _ bool) adapter.ScriptedCall {
			return cliagent.Scripted("Execute", map[string]any{"command": command, "summary": "Run the given command", "riskLevel": "high",
				"riskLevelReason": "It changes files."})
		},
		MCP: acpagent.ScriptedMCP("%s___%s"),
	}
}
