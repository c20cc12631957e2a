package pi

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

var _ adapter.ModelRedirector = Adapter{}

// The models of the provider that RedirectModel describes.
const (
	scriptedModel = "scripted-model"
	otherModel    = "scripted-other"
)

// RedirectModel points Pi to another Chat Completions API by a provider in models.json, and to its model by settings.
func (Adapter) RedirectModel(baseURL, dir string) adapter.Redirect {
	encode := func(v any) []byte {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err) // strings and numbers always encode
		}
		return b
	}
	type object = map[string]any
	model := func(id string) any {
		return object{"id": id, "reasoning": true, "input": []string{"text", "image"}, "contextWindow": 1000000, "maxTokens": 32000,
			"cost": object{"input": 2, "output": 10, "cacheRead": 0.2, "cacheWrite": 2}}
	}
	folder := filepath.Join(dir, ".pi", "agent")
	return adapter.Redirect{
		Env: map[string]string{"HOME": dir, "PI_OFFLINE": "1", "PI_TELEMETRY": "0"},
		Files: map[string][]byte{
			filepath.Join(folder, "models.json"): encode(object{"providers": object{"scripted": object{"baseUrl": strings.TrimSuffix(baseURL, "/") + "/v1",
				"api": "openai-completions", "apiKey": "dummy-key-not-real", "models": []any{model(scriptedModel), model(otherModel)}}}}),
			filepath.Join(folder, settingsFile): encode(object{"defaultProvider": "scripted", "defaultModel": scriptedModel}),
		},
		Shell: func(command string, _ bool) adapter.ScriptedCall {
			return cliagent.Scripted("bash", map[string]any{"command": command})
		},
		MCP: func(server, tool string, input json.RawMessage) adapter.ScriptedCall {
			return adapter.ScriptedCall{Name: tools.MCP.Name(server, tool), Input: input}
		},
		// Clarify stays nil: only extensions ask for text. Structured stays nil: there
		// is no structured output.
	}
}
