package claude

import (
	"encoding/json"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

var _ adapter.ModelRedirector = Adapter{}

// RedirectModel points Claude Code to another Messages API by its documented variables, and disables all other
// network access.
func (Adapter) RedirectModel(baseURL, home string) adapter.Redirect {
	return adapter.Redirect{
		Env: map[string]string{
			"HOME": home, "ANTHROPIC_BASE_URL": baseURL, "ANTHROPIC_API_KEY": "dummy-key-not-real",
			"DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		},
		Shell: func(command string, ask bool) adapter.ScriptedCall {
			return cliagent.Scripted("Bash", map[string]any{"command": command, "description": "run it"})
		},
		MCP: func(server, tool string, input json.RawMessage) adapter.ScriptedCall {
			return adapter.ScriptedCall{Name: "mcp__" + server + "__" + tool, Input: input}
		},
		Clarify: func(question string) adapter.ScriptedCall {
			options := []map[string]string{{"label": "one", "description": "the first"}, {"label": "two", "description": "the second"}}
			return cliagent.Scripted("AskUserQuestion", map[string]any{"questions": []map[string]any{{"question": question, "header": "Which", "options": options, "multiSelect": false}}})
		},
		Structured: func(value json.RawMessage) adapter.ScriptedCall {
			return adapter.ScriptedCall{Name: "StructuredOutput", Input: value}
		},
	}
}
