// Package anthropic is the adapter of Anthropic's Messages API, for whoever has a key and no agent.
package anthropic

import (
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/adapter/kit/service"
	"github.com/drawbar/drawbar/adapter/kit/vendormodel"
	"github.com/drawbar/drawbar/execution"
)

func init() { adapter.Register(Descriptor) }

// Spec describes the API. Services that speak the same format differ in address, key and name. Every call returns a fresh copy.
func Spec() modelapi.Spec {
	return modelapi.Spec{
		Access: service.Access{Name: "anthropic", Title: "the Anthropic API",
			Base: vendormodel.Address("anthropic"), BaseVars: []string{"ANTHROPIC_BASE_URL"}, KeyVars: []string{"ANTHROPIC_API_KEY"},
			KeyPage: "https://console.anthropic.com/settings/keys",
			// Claude Code takes an address with or without the version.
			Root: func(base string) string { return strings.TrimSuffix(strings.TrimSuffix(base, "/"), "/v1") }},
		Wire: wire{}, Default: "claude-sonnet-5-5",
		Capabilities: func(c *execution.Capabilities) {
			c.Agent.ThinkingEfforts = []execution.ThinkingEffort{execution.EffortLow, execution.EffortMedium, execution.EffortHigh, execution.EffortMax}
			c.Agent.ThinkingBudgetTokens = true
		},
	}
}

// Descriptor describes the adapter. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor {
	models := vendormodel.Of("anthropic")
	for i := range models {
		models[i].Protocol = execution.ProtocolMessages
	}
	return Spec().Descriptor(adapter.Descriptor{DisplayName: "Anthropic API", Models: models, Docs: "https://docs.anthropic.com/en/api/messages"})
}
