// Package ollama is the adapter of Ollama, a server of models on this machine, over the chat completions that it speaks besides its
// own format.
package ollama

import (
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/adapter/kit/modelapi/chat"
	"github.com/drawbar/drawbar/adapter/kit/service"
	"github.com/drawbar/drawbar/execution"
)

func init() { adapter.Register(Descriptor) }

// Spec describes the API. Services that speak the same format differ in address, key and name. Every call returns a fresh copy.
func Spec() modelapi.Spec {
	return modelapi.Spec{
		Access: service.Access{Name: "ollama", Title: "Ollama",
			Base: "http://127.0.0.1:11434/v1", BaseVars: []string{"OLLAMA_HOST"}, KeyVars: []string{"OLLAMA_API_KEY"}, Keyless: true, Root: root},
		Wire: chat.Wire{}, NoTopK: true, Notes: []string{"what a model can do depends on the model: drawbar run ollama/MODEL"},
		Capabilities: func(c *execution.Capabilities) {
			c.Agent.ThinkingEfforts = []execution.ThinkingEffort{execution.EffortLow, execution.EffortMedium, execution.EffortHigh}
			c.Agent.FileAttachments = false
		},
	}
}

// root completes OLLAMA_HOST, which may lack the scheme and the port (https://docs.ollama.com/faq), and has no path.
func root(host string) string {
	if !strings.Contains(host, "://") {
		if !strings.Contains(strings.TrimPrefix(host, "["), ":") {
			host += ":11434"
		}
		host = "http://" + host
	}
	return strings.TrimSuffix(host, "/") + "/v1"
}

// Descriptor describes the adapter. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor {
	return Spec().Descriptor(adapter.Descriptor{DisplayName: "Ollama", Docs: "https://docs.ollama.com/api"})
}
