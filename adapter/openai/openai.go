// Package openai is the adapter of OpenAI's Responses API, for whoever has a key and no agent.
package openai

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
		Access: service.Access{Name: "openai", Title: "the OpenAI API",
			Base: vendormodel.Address("openai"), BaseVars: []string{"OPENAI_BASE_URL"}, KeyVars: []string{"OPENAI_API_KEY"},
			KeyPage: "https://platform.openai.com/api-keys"},
		Wire: wire{}, Default: "gpt-5.4", NoTopK: true,
		Capabilities: func(c *execution.Capabilities) {
			c.Agent.ThinkingEfforts = []execution.ThinkingEffort{execution.EffortLow, execution.EffortMedium, execution.EffortHigh, execution.EffortMax}
		},
		Scripted: "/v1",
	}
}

// Descriptor describes the adapter. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor {
	models := vendormodel.Of("openai")
	for i := range models {
		models[i].Protocol = execution.ProtocolResponses
	}
	return Spec().Descriptor(adapter.Descriptor{DisplayName: "OpenAI API", Models: models, Docs: "https://platform.openai.com/docs/api-reference/responses"})
}
