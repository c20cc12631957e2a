package qwen

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

var _ adapter.ModelRedirector = Adapter{}

// thinkingModel returns a model with every thinking effort.
const thinkingModel = "kimi-k3"

// RedirectModel points Qwen Code to another Chat Completions API by its documented variables, and disables background
// memories and all other network access.
func (Adapter) RedirectModel(baseURL, home string) adapter.Redirect {
	const model, key = "qwen-max", "OPENAI_API_KEY"
	api := strings.TrimSuffix(baseURL, "/") + "/v1"
	// Qwen Code offers no thinking effort for a model without a provider, and sends no images to one that is not
	// declared to see.
	var provider []map[string]any
	for _, id := range []string{model, "qwen3-coder-plus", thinkingModel} {
		provider = append(provider, map[string]any{"id": id, "envKey": key, "baseUrl": api,
			"generationConfig": map[string]any{"modalities": map[string]bool{"image": true}}})
	}
	off := map[string]bool{"enableManagedAutoMemory": false, "enableManagedAutoDream": false}
	settingsForm, err := json.Marshal(map[string]any{"memory": off, "privacy": map[string]bool{"usageStatisticsEnabled": false},
		"general": map[string]bool{"enableAutoUpdate": false}, "ui": map[string]bool{"enableFollowupSuggestions": false}, "security": map[string]any{"auth": map[string]string{"selectedType": authOpenAI}},
		"modelProviders": map[string]any{authOpenAI: provider}})
	if err != nil {
		panic(err) // texts always encode
	}
	return adapter.Redirect{
		Env: map[string]string{"HOME": home, "OPENAI_BASE_URL": api, key: "dummy-key-not-real",
			"OPENAI_MODEL": model, "QWEN_DISABLE_AUTO_TITLE": "1", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"},
		Files: map[string][]byte{filepath.Join(home, ".qwen", "settings.json"): settingsForm},
		Model: model, ThinkingModel: thinkingModel,
		Shell: func(command string, _ bool) adapter.ScriptedCall {
			return cliagent.Scripted(toolShell, map[string]any{"command": command, "is_background": false})
		},
		MCP: func(server, tool string, input json.RawMessage) adapter.ScriptedCall {
			return adapter.ScriptedCall{Name: "mcp__" + server + "__" + tool, Input: input}
		},
		Structured: func(value json.RawMessage) adapter.ScriptedCall {
			return adapter.ScriptedCall{Name: toolStructure, Input: value}
		},
	}
}
