package gemini

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

// RedirectModel points Gemini CLI to another Gemini API. The URL alone would make Gemini select a login that it then
// refuses, so the settings name one; all other network access is disabled.
func (Adapter) RedirectModel(baseURL, home string) adapter.Redirect {
	const model = "gemini-2.5-flash"
	settingsForm, err := json.MarshalIndent(map[string]any{
		"security": map[string]any{"auth": map[string]any{"selectedType": authKey}},
		"privacy":  map[string]any{"usageStatisticsEnabled": false},
		"general":  map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false, "maxAttempts": 2},
		"model":    map[string]any{"name": model},
	}, "", "  ")
	if err != nil {
		panic(err) // texts always encode
	}
	return adapter.Redirect{
		Env: map[string]string{"HOME": home, "GOOGLE_GEMINI_BASE_URL": strings.TrimSuffix(baseURL, "/"), "GEMINI_API_KEY": "dummy-key-not-real",
			"GEMINI_TELEMETRY_ENABLED": "false", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"},
		Files: map[string][]byte{filepath.Join(home, ".gemini", settingsFile): settingsForm},
		Model: model,
		Shell: func(command string, ask bool) adapter.ScriptedCall {
			return cliagent.Scripted(toolShell, map[string]any{"command": command, "description": "run it"})
		},
		MCP: func(server, tool string, input json.RawMessage) adapter.ScriptedCall {
			return adapter.ScriptedCall{Name: tools.MCP.Prefix + server + tools.MCP.Separator + tool, Input: input}
		},
		// Clarify stays nil: without a terminal Gemini removes the tool that asks a person.
	}
}
