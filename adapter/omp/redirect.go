package omp

import (
	"encoding/json"
	"path/filepath"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
)

var _ adapter.ModelRedirector = Adapter{}

// RedirectModel points Oh My Pi to another Chat Completions API by a provider in models.yml, and to its model by settings.
func (Adapter) RedirectModel(baseURL, dir string) adapter.Redirect {
	type object = map[string]any
	encode := func(v any) []byte { // JSON is YAML
		b, err := json.Marshal(v)
		if err != nil {
			panic(err) // texts and numbers always encode
		}
		return b
	}
	model := func(id string) any {
		return object{"id": id, "reasoning": true, "input": []string{"text", "image"}, "contextWindow": 1000000, "maxTokens": 32000,
			"cost": object{"input": 2, "output": 10, "cacheRead": 0.2, "cacheWrite": 2}}
	}
	folder := filepath.Join(dir, filepath.FromSlash(home.Default))
	return adapter.Redirect{
		Env: acpagent.Loopback(dir, "PI_OFFLINE=1"),
		Files: map[string][]byte{
			filepath.Join(folder, "models.yml"): encode(object{"providers": object{"script": object{"baseUrl": baseURL + "/v1", "api": "openai-completions",
				"apiKey": "dummy", "models": []any{model("scripted-model"), model("scripted-other")}}}}),
			filepath.Join(folder, "config.yml"): encode(object{"modelRoles": object{"default": "script/scripted-model"}}),
		},
		Shell: acpagent.ScriptedShell("bash"), MCP: acpagent.ScriptedMCP("mcp__%s_%s"),
	}
}
