// Package google is the adapter of Google's Gemini API, for whoever has a key and no agent.
package google

import (
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
		Access: service.Access{Name: "google", Title: "the Gemini API",
			Base: vendormodel.Address("google"), BaseVars: []string{"GOOGLE_GEMINI_BASE_URL"}, KeyVars: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
			KeyPage: "https://aistudio.google.com/apikey"},
		Wire: wire{}, Default: "gemini-3.5-flash",
		Capabilities: func(c *execution.Capabilities) {
			c.Agent.ThinkingEfforts = []execution.ThinkingEffort{execution.EffortLow, execution.EffortMedium, execution.EffortHigh}
			c.Agent.ThinkingBudgetTokens = true
		},
	}
}

// Descriptor describes the adapter. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor {
	models := vendormodel.Of("google")
	for i := range models {
		models[i].Protocol = execution.ProtocolCustom
	}
	return Spec().Descriptor(adapter.Descriptor{DisplayName: "Gemini API", Models: models, Docs: "https://ai.google.dev/api/generate-content"})
}
