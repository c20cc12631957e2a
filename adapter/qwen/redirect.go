package qwen

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter"
)

var _ adapter.ModelRedirector = Adapter{}

// RedirectModel points Qwen Code at another Chat Completions API by its documented variables; the memories that it would make
// of the conversation with requests of its own are switched off, and so is everything that would reach for the network besides.
func (Adapter) RedirectModel(baseURL, home string) adapter.Redirect {
	const model = "qwen-max"
	settings := `{"memory":{"enableManagedAutoMemory":false,"enableManagedAutoDream":false},"privacy":{"usageStatisticsEnabled":false},` +
		`"general":{"enableAutoUpdate":false},"security":{"auth":{"selectedType":"openai"}}}` + "\n"
	return adapter.Redirect{
		Env: map[string]string{"HOME": home, "OPENAI_BASE_URL": strings.TrimSuffix(baseURL, "/") + "/v1", "OPENAI_API_KEY": "dummy-key-not-real",
			"OPENAI_MODEL": model, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"},
		Files: map[string][]byte{filepath.Join(home, ".qwen", "settings.json"): []byte(settings)},
		Model: model,
		Shell: func(command string, _ bool) adapter.ScriptedCall {
			return scripted(toolShell, map[string]any{"command": command, "is_background": false})
		},
		MCP: func(server, tool string, input json.RawMessage) adapter.ScriptedCall {
			return adapter.ScriptedCall{Name: "mcp__" + server + "__" + tool, Input: input}
		},
		Structured: func(value json.RawMessage) adapter.ScriptedCall {
			return adapter.ScriptedCall{Name: toolStructure, Input: value}
		},
	}
}

func scripted(name string, input any) adapter.ScriptedCall {
	b, err := json.Marshal(input)
	if err != nil {
		panic(err) // the inputs above are strings
	}
	return adapter.ScriptedCall{Name: name, Input: b}
}
