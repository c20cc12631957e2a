package opencode

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
)

// models are listed with the providers that have a login: a line PROVIDER/MODEL before the JSON of each.
var models = declared.ModelTable{Args: []string{"models", "--verbose"}, Rows: func(said adapter.SpawnOutcome) (list []execution.Model, err error) {
	rest := said.Stdout
	for {
		at := strings.Index(rest, "{")
		if at < 0 {
			return list, nil
		}
		d := json.NewDecoder(strings.NewReader(rest[at:]))
		var m listedModel
		if err := d.Decode(&m); err != nil {
			return list, err
		}
		rest = rest[at+int(d.InputOffset()):]
		list = append(list, m.model())
	}
}}

type listedModel struct {
	ID, ProviderID, Name, Status string
	Cost                         struct {
		Input, Output float64
		Cache         struct{ Read, Write *float64 }
	}
	Limit        struct{ Context, Output float64 }
	Capabilities struct {
		Reasoning, ToolCall *bool
		Input               struct{ Image, PDF *bool }
		Output              struct{ Image *bool }
	}
	Variants map[string]any
}

func (m listedModel) model() execution.Model {
	c := m.Capabilities
	return execution.Model{ID: m.ProviderID + "/" + m.ID, DisplayName: m.Name, Provider: m.ProviderID, Deprecated: m.Status == "deprecated",
		ContextWindow: declared.Tokens(m.Limit.Context), MaxOutputTokens: declared.Tokens(m.Limit.Output),
		ThinkingEfforts: declared.Efforts(slices.Collect(maps.Keys(m.Variants))),
		Price:           declared.PriceOf(m.Cost.Input, m.Cost.Output, m.Cost.Cache.Read, m.Cost.Cache.Write),
		Abilities: execution.Abilities{Thinking: c.Reasoning, ToolCalling: c.ToolCall, ImageInput: c.Input.Image, ImageOutput: c.Output.Image,
			FileInput: c.Input.PDF}}
}
