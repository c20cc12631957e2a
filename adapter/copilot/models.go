package copilot

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// modelFlag chooses the model of a run.
const modelFlag = "--model"

var efforts = []execution.ThinkingEffort{execution.EffortLow, execution.EffortMedium, execution.EffortHigh, execution.EffortMax}

// ids are the models in the help of Copilot CLI 1.0.102. GitHub tells only logged-in users which of them an account
// may use, their windows and their prices, so these are not stated here.
var ids = []string{"claude-sonnet-5.5", "claude-sonnet-5", "claude-fable-5.1", "claude-fable-5", "claude-opus-5.5", "claude-opus-5", "claude-opus-4.8",
	"claude-opus-4.8-fast", "claude-sonnet-4.6", "claude-haiku-5.5", "claude-haiku-4.5", "gpt-6.1-sol", "gpt-6-sol", "gpt-6-luna",
	"gpt-6-astra", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna", "gpt-5.5", "gpt-5.4", "gpt-5.4-mini", "gpt-5.3-codex", "gpt-5-mini",
	"mai-code-1.1-flash", "gemini-4-argon", "gemini-3.8-flash", "gemini-3.7-flash", "grok-4.7", "grok-4.6", "grok-4.5", "kimi-k3"}

// makers are the providers by the prefix of a model's name.
var makers = []struct{ prefix, provider string }{{"claude-", "anthropic"}, {"gpt-", "openai"}, {"gemini-", "google"}, {"grok-", "xai"},
	{"kimi-", "moonshot"}, {"mai-", "microsoft"}}

func models() []execution.Model {
	list := make([]execution.Model, 0, len(ids)+1)
	for _, id := range ids {
		m := execution.Model{ID: id, DisplayName: id, Abilities: execution.Abilities{Thinking: new(true)}, ThinkingEfforts: slices.Clone(efforts)}
		for _, maker := range makers {
			if strings.HasPrefix(id, maker.prefix) {
				m.Provider = maker.provider
			}
		}
		list = append(list, m)
	}
	return append(list, execution.Model{ID: "auto", DisplayName: "Auto (Copilot chooses)", Provider: "github"})
}
