package customagent

import (
	"cmp"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/anthropic"
	"github.com/drawbar/drawbar/adapter/google"
	"github.com/drawbar/drawbar/adapter/kit/declarative"
	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/adapter/kit/service"
	"github.com/drawbar/drawbar/adapter/ollama"
	"github.com/drawbar/drawbar/adapter/openai"
	"github.com/drawbar/drawbar/internal/settings/config"
)

// formats are the services that an entry's service resembles, by format.
var formats = map[string]func() modelapi.Spec{declarative.APIChat: ollama.Spec, declarative.APIResponses: openai.Spec,
	declarative.APIMessages: anthropic.Spec, declarative.APIGenerate: google.Spec}

// hosted returns the descriptor of an agent that is a service of models.
func hosted(a config.CustomAgent) adapter.Descriptor {
	e := a.Entry
	s := formats[e.API.Format]()
	s.Name, s.Title = a.Name, cmp.Or(e.DisplayName, a.Name)
	s.Base, s.Root, s.BaseVars = strings.TrimSuffix(e.API.URL, "/"), nil, []string{baseVariable(a.Name)}
	s.KeyVars, s.Keyless, s.KeyPage, s.Headers = nil, e.API.Key == "" && len(service.HeaderVariables(e.API.Headers)) == 0, e.API.KeyPage, e.API.Headers
	if e.API.Key != "" {
		s.KeyVars = []string{e.API.Key}
	}
	s.Default, s.Notes = e.DefaultModel, append([]string{"what a model can do depends on the service and the model"}, e.Notes...)
	if e.API.Format == declarative.APIChat {
		s.Scripted = "/v1" // its own spec's address has no path
	}
	return s.Descriptor(adapter.Descriptor{DisplayName: s.Title, Docs: e.Docs, Documented: e.Documented, Described: true})
}

// baseVariable is the variable that replaces the address of an agent's service.
func baseVariable(agent string) string {
	return strings.ToUpper(strings.ReplaceAll(agent, "-", "_")) + "_BASE_URL"
}
