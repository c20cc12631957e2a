package copilot

import (
	"encoding/json"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

var _ adapter.ModelRedirector = Adapter{}

// scriptedModel is a name unknown to Copilot; a custom provider needs some name.
const scriptedModel = "scripted-model"

// RedirectModel points Copilot CLI to another Chat Completions API by its documented variables for custom providers;
// this needs no GitHub login, and disables all other network access.
func (Adapter) RedirectModel(baseURL, home string) adapter.Redirect {
	return adapter.Redirect{
		Env: map[string]string{
			"HOME": home, "COPILOT_PROVIDER_BASE_URL": strings.TrimSuffix(baseURL, "/") + "/v1", "COPILOT_PROVIDER_API_KEY": "dummy-key-not-real",
			"COPILOT_MODEL": scriptedModel, "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false",
			// Copilot assumes a small window for an unknown model.
			"COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "2000000",
		},
		Shell: func(command string, ask bool) adapter.ScriptedCall {
			return cliagent.Scripted("bash", map[string]any{"command": command, "description": "run it"})
		},
		MCP: func(server, tool string, input json.RawMessage) adapter.ScriptedCall {
			return adapter.ScriptedCall{Name: server + "-" + tool, Input: input}
		},
		// Clarify stays nil: without a terminal Copilot does not offer its tool that asks. Structured stays nil:
		// there is no structured output.
	}
}
