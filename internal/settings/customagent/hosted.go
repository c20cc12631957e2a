package customagent

import (
	"cmp"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/a2a"
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

// hosted returns the descriptor of an agent that is a service.
func hosted(a config.CustomAgent) adapter.Descriptor {
	e := a.Entry
	access := service.Access{Name: a.Name, Title: cmp.Or(e.DisplayName, a.Name), Base: strings.TrimSuffix(e.API.URL, "/"), BaseVars: []string{baseVariable(a.Name)},
		Keyless: e.API.Key == "" && len(service.HeaderVariables(e.API.Headers)) == 0, KeyPage: e.API.KeyPage, Headers: e.API.Headers}
	if e.API.Key != "" {
		access.KeyVars = []string{e.API.Key}
	}
	d := adapter.Descriptor{DisplayName: access.Title, Docs: e.Docs, Documented: e.Documented, Described: true}
	if e.API.Format == declarative.APIA2A {
		return a2a.Describe(access, e.Notes, d)
	}
	s := formats[e.API.Format]()
	s.Access, s.Default = access, e.DefaultModel
	s.Notes = append([]string{"what a model can do depends on the service and the model"}, e.Notes...)
	if e.API.Format == declarative.APIChat {
		s.Scripted = "/v1" // its own spec's address has no path
	}
	return s.Descriptor(d)
}

// baseVariable is the variable that replaces the address of an agent's service.
func baseVariable(agent string) string {
	return strings.ToUpper(strings.ReplaceAll(agent, "-", "_")) + "_BASE_URL"
}
